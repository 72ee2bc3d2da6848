# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""How far a long run is, told through a file: a module's output is shown only when it has ended."""

from __future__ import annotations

import threading
import time
import typing as t

#: Seconds between two reports.
EVERY = 5.0


class ProgressFile:
    """Writes C(DONE TOTAL) into a file now and then.

    :param path: the file; None tells nothing.
    """

    def __init__(self, path: str | None, clock: t.Callable[[], float] = time.monotonic) -> None:
        self._path = path
        self._clock = clock
        self._told = clock()
        self._done = 0
        self._lock = threading.Lock()

    def step(self, total: int) -> None:
        """One more is done; may be called from several threads."""
        with self._lock:
            self._done += 1
            now = self._clock()
            if self._path is None or now - self._told < EVERY:
                return
            self._told = now
            # Nothing depends on it, so that a file that cannot be written stops no work.
            try:
                with open(self._path, "w", encoding="ascii") as stream:
                    stream.write("%d %d" % (self._done, total))
            except OSError:
                self._path = None


def read_progress(path: str) -> tuple[int, int] | None:
    """What was written last, or None where nothing was written yet."""
    try:
        with open(path, encoding="ascii") as stream:
            done, total = stream.read().split()
        return int(done), int(total)
    except (OSError, ValueError):
        return None
