# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A folder like site-packages with the real files of a release in it."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import typing as t

from torch_files import Release
from torch_shapes import Site, make_site

from ansible_collections.mindcluster.recovery.plugins.module_utils import _torch_patcher

SOURCE = pathlib.Path(_torch_patcher.__file__)


def make_real_site(folder: pathlib.Path, release: Release) -> Site:
    """The release's files, and both recovery modules as stubs."""
    site = make_site(folder, "2.13.0")
    for name, content in release.files["x86_64" if "x86_64" in release.files else "aarch64"].items():
        (folder / name).write_bytes(content)
    return site


def run_patcher(
    site: Site | None,
    *arguments: str,
    python: str = sys.executable,
    prefix: t.Sequence[str] = (),
    environment: t.Mapping[str, str] | None = None,
) -> dict[str, t.Any]:
    """Runs the patcher's file by itself; its result.

    :param site: what PYTHONPATH points to.
    :param prefix: a command that runs the interpreter, such as C(setpriv).
    """
    values = {**os.environ, **(environment or {})}
    if site is not None:
        values["PYTHONPATH"] = str(site.folder)
    command = [*prefix, python, str(SOURCE), *arguments, "--json"]
    done = subprocess.run(command, env=values, capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr, done.stderr
    assert done.stdout, done.stderr
    return t.cast("dict[str, t.Any]", json.loads(done.stdout))


def codes(findings: t.Iterable[t.Mapping[str, str]]) -> list[str]:
    """The codes of errors or warnings."""
    return [finding["code"] for finding in findings]
