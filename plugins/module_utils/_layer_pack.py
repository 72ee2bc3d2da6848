# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""Packs a layer with gzip so that equal bytes give equal bytes."""

from __future__ import annotations

import hashlib
import struct
import typing as t
import zlib

# No name, no time, no operating system: nothing of the machine that packs.
_HEADER = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff"


class Packer:
    """A gzip stream.

    :param stream: where the packed bytes go.
    """

    def __init__(self, stream: t.IO[bytes]) -> None:
        self._stream = stream
        self._digest = hashlib.sha256()
        self._size = 0
        self._crc = 0
        self._length = 0
        self._deflate = zlib.compressobj(9, zlib.DEFLATED, -15, 9)
        self._emit(_HEADER)

    def write(self, data: bytes) -> None:
        self._crc = zlib.crc32(data, self._crc)
        self._length += len(data)
        self._emit(self._deflate.compress(data))

    def close(self) -> tuple[str, int]:
        """End the stream; its digest and size."""
        self._emit(self._deflate.flush())
        self._emit(struct.pack("<II", self._crc, self._length & 0xFFFFFFFF))
        return "sha256:" + self._digest.hexdigest(), self._size

    def _emit(self, data: bytes) -> None:
        self._stream.write(data)
        self._digest.update(data)
        self._size += len(data)
