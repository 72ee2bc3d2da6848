# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A copy of what git knows or would take, for tools that want a tree that is clean and stands still."""

from __future__ import annotations

import shutil
import subprocess
import typing as t
from pathlib import Path

from .step import CHECKOUT


def copy(target: Path, wanted: t.Callable[[str], bool] = lambda _name: True) -> None:
    """Copy the files as they are in the working tree, and make the copy a git repository of its own."""
    shutil.rmtree(target, ignore_errors=True)
    listing = _git(CHECKOUT, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    for name in filter(None, listing.split("\0")):
        source = CHECKOUT / name
        if source.exists() and wanted(name):
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target / name, follow_symlinks=False)
    _git(target, "init", "-q")
    _git(target, "add", "-A")


def _git(folder: Path, *words: str) -> str:
    return subprocess.run(["git", "-C", str(folder), *words], check=True, capture_output=True, text=True).stdout
