# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Locks between processes; the kernel frees them when their holder ends, however it ends."""

from __future__ import annotations

import contextlib
import fcntl
import typing as t

from . import paths
from .console import say


@contextlib.contextmanager
def exclusive(name: str) -> t.Iterator[None]:
    """Hold the named lock of the cache folder; wait, and say so, while another process holds it."""
    with open(paths.made(paths.cache() / "locks") / f"{name}.lock", "w", encoding="ascii") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"{name}: another run is at it, waiting")
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
