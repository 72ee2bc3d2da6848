# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.
"""Work that goes on in a thread of its own, some pieces ahead of whoever uses its results.

Receiving, hashing and unpacking let go of the interpreter, so that each of them can have a core.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import typing as t

# What may lie ready. More helps nobody: one side is slower than the other all the time.
_READY = 4


class Beside:
    """An iterator over the same pieces as another one, which a thread works on.

    It ends with the error that the other one ends with. Close it where it may be left before its end.

    :param pieces: none of them empty; closed in the end where it can be.
    """

    def __init__(self, pieces: t.Iterator[bytes]) -> None:
        self._pieces = pieces
        self._ready: queue.Queue[bytes | BaseException] = queue.Queue(maxsize=_READY)
        self._closing = threading.Event()
        self._ended: bytes | BaseException | None = None
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def __iter__(self) -> t.Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        if self._ended is None:
            piece = self._ready.get()
            if isinstance(piece, bytes) and piece:
                return piece
            self._ended = piece
        if isinstance(self._ended, BaseException):
            raise self._ended
        raise StopIteration

    def close(self) -> None:
        """End the work, wherever it is."""
        self._closing.set()
        while self._thread.is_alive():
            # It may wait for room.
            with contextlib.suppress(queue.Empty):
                self._ready.get(timeout=0.02)
        self._thread.join()
        self._ended = self._ended or b""

    def _work(self) -> None:
        last: bytes | BaseException = b""
        try:
            for piece in self._pieces:
                if self._closing.is_set():
                    break
                self._ready.put(piece)
        except BaseException as exc:
            last = exc
        close = getattr(self._pieces, "close", None)
        if close is not None:
            close()
        self._ready.put(last)
