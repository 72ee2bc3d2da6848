# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Writes small wheels for the tests."""

from __future__ import annotations

import typing as t
import zipfile
from pathlib import Path


def write_wheel(
    folder: Path,
    name: str,
    version: str = "1.0",
    tags: str = "py3-none-any",
    files: t.Mapping[str, str] | None = None,
    requires: t.Iterable[str] = (),
    inner_tags: t.Iterable[str] = ("py3-none-any",),
    filename: str = "",
) -> Path:
    """A wheel that pip installs."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / (filename or f"{name}-{version}-{tags}.whl")
    info = f"{name}-{version}.dist-info"
    metadata = [f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}"]
    metadata += [f"Requires-Dist: {requirement}" for requirement in requires]
    wheel = ["Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true"] + [f"Tag: {tag}" for tag in inner_tags]
    contents = dict(files if files is not None else {f"{name}/__init__.py": ""})
    contents[f"{info}/METADATA"] = "\n".join(metadata) + "\n"
    contents[f"{info}/WHEEL"] = "\n".join(wheel) + "\n"
    contents[f"{info}/RECORD"] = "".join(f"{entry},,\n" for entry in [*contents, f"{info}/RECORD"])
    with zipfile.ZipFile(path, "w") as archive:
        for entry, text in contents.items():
            archive.writestr(entry, text)
    return path
