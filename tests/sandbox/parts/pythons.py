# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The Pythons that this machine has."""

from __future__ import annotations

import glob
import os
import subprocess
import sys
import typing as t

Version = tuple[int, int]


def found(wanted: t.Iterable[Version]) -> dict[Version, str]:
    """One interpreter for each wanted version that is here, from pyenv and from the search path."""
    here: dict[Version, str] = {}
    for version in wanted:
        path = sys.executable if version == sys.version_info[:2] else _look_for(version)
        if path:
            here[version] = path
    return here


def _look_for(version: Version) -> str:
    root = os.environ.get("PYENV_ROOT", os.path.expanduser("~/.pyenv"))
    for folder in [*glob.glob("%s/versions/%d.%d.*/bin" % (root, *version)), *os.get_exec_path()]:
        path = os.path.join(folder, "python%d.%d" % version)
        if os.access(path, os.X_OK) and _runs(path):
            return path
    return ""


def _runs(path: str) -> bool:
    """Pyenv puts a script for each version on the search path, which fails where that version is not chosen."""
    return subprocess.run([path, "-V"], capture_output=True, check=False).returncode == 0
