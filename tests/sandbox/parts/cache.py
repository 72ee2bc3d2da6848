# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Things that take minutes to build and are built once: whole in the cache, or not there at all."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
import typing as t
from pathlib import Path

from . import locks, paths
from .console import elapsed, say


class Workbench(t.NamedTuple):
    """What a recipe works with: an empty folder that is thrown away afterwards, and the log."""

    folder: Path
    log: Path


def build_once(label: str, target: Path, recipe: t.Callable[[Workbench], Path]) -> Path:
    """The cached target; made by the recipe where it is missing.

    Two runs at once do not build twice: the second waits and finds the first one's result.

    :param target: where the result belongs inside the cache folder.
    :param recipe: makes the file or folder below the workbench and returns its path; it is renamed into place.
    """
    if target.exists():
        return target
    with locks.exclusive(target.name):
        if target.exists():
            return target
        started = time.monotonic()
        log = paths.logs() / f"{target.name}.log"
        log.unlink(missing_ok=True)
        say(f"{label}: building (log: {log})")
        work = paths.made(paths.cache() / "work")
        for leftover in work.glob(f"{target.name}.*"):  # of a run that was killed: the lock is ours
            _remove(leftover)
        folder = Path(tempfile.mkdtemp(prefix=f"{target.name}.", dir=work))
        try:
            _publish(recipe(Workbench(folder, log)), target)
        except BaseException:
            say(f"{label}: FAILED after {elapsed(time.monotonic() - started)}")
            raise
        finally:
            _remove(folder)
        say(f"{label}: built in {elapsed(time.monotonic() - started)}")
    return target


def _publish(result: Path, target: Path) -> None:
    """Move a finished result to its place, its bytes on the disk before its name is."""
    for path in [result, *result.rglob("*")] if result.is_dir() else [result]:
        if path.is_file():
            with open(path, "rb") as handle:
                os.fsync(handle.fileno())
    os.rename(result, target)


def _remove(folder: Path) -> None:
    """Remove a workbench, also where a build left folders without write permission, as Go's module cache does."""
    for parent, _names, _files in os.walk(folder):
        os.chmod(parent, 0o700)
    shutil.rmtree(folder)
