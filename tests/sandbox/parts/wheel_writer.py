# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Wheels without a build backend: a zip with a record, the same bytes for the same input."""

from __future__ import annotations

import base64
import hashlib
import typing as t
import zipfile
from pathlib import Path


class Wheel(t.NamedTuple):
    """What goes into a wheel.

    :ivar tag: Python, ABI and platform tag, such as C(py3-none-any).
    :ivar files: path inside the wheel to content.
    :ivar requires: lines for C(Requires-Dist).
    """

    name: str
    version: str
    files: t.Mapping[str, bytes | str]
    tag: str = "py3-none-any"
    requires: t.Sequence[str] = ()

    @property
    def filename(self) -> str:
        """The file name that the tags and the version make."""
        return f"{self.name}-{self.version}-{self.tag}.whl"


def write(wheel: Wheel, folder: Path) -> Path:
    """Write the wheel into a folder and return its path."""
    info = f"{wheel.name}-{wheel.version}.dist-info"
    members = {path: _encoded(content) for path, content in wheel.files.items()}
    members[f"{info}/METADATA"] = _metadata(wheel)
    members[f"{info}/WHEEL"] = _wheel_file(wheel)
    members[f"{info}/RECORD"] = _record(members, f"{info}/RECORD")
    path = folder / wheel.filename
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            entry = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
            entry.external_attr = 0o100644 << 16
            archive.writestr(entry, content, compress_type=zipfile.ZIP_DEFLATED)
    return path


def sha256(path: Path) -> str:
    """The checksum of a file, in hexadecimal."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _encoded(content: bytes | str) -> bytes:
    return content.encode() if isinstance(content, str) else content


def _metadata(wheel: Wheel) -> bytes:
    lines = ["Metadata-Version: 2.1", f"Name: {wheel.name}", f"Version: {wheel.version}"]
    return "\n".join([*lines, *(f"Requires-Dist: {line}" for line in wheel.requires), ""]).encode()


def _wheel_file(wheel: Wheel) -> bytes:
    pure = str(wheel.tag.endswith("-any")).lower()
    return f"Wheel-Version: 1.0\nGenerator: sandbox\nRoot-Is-Purelib: {pure}\nTag: {wheel.tag}\n".encode()


def _record(members: t.Mapping[str, bytes], own_name: str) -> bytes:
    lines = []
    for name, content in members.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        lines.append(f"{name},sha256={digest},{len(content)}")
    return "\n".join([*lines, f"{own_name},,", ""]).encode()
