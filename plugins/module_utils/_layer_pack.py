# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""Packs a layer with gzip so that equal bytes give equal bytes, whichever zlib the machine has.

A gzip file may have several members, which unpack to one stream. What comes out of a wheel keeps the form in which the
wheel has it packed, as a member of its own; the rest is packed by the deflate of this collection.
"""

from __future__ import annotations

import hashlib
import struct
import typing as t
import zipfile
import zlib

from ansible_collections.mindcluster.recovery.plugins.module_utils._layer_deflate import deflate, stored

# No name, no time, no operating system: nothing of the machine that packs.
_HEADER = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff"
_PIECE = 1024 * 1024
# More than this is not worth the time of packing; the files of torch have 40 KB.
_MOST = 1024 * 1024
_LOCAL_HEADER = struct.Struct("<4s22xHH")


class InWheel(t.NamedTuple):
    """A file inside a wheel."""

    wheel: str
    name: str


class Packer:
    """A gzip file.

    :param stream: where the packed bytes go.
    """

    def __init__(self, stream: t.IO[bytes]) -> None:
        self._stream = stream
        self._packed = hashlib.sha256()
        self._unpacked = hashlib.sha256()
        self._size = 0
        self._waiting: list[bytes] = []

    def write(self, data: bytes) -> None:
        """Bytes to be packed together with those before and after."""
        self._unpacked.update(data)
        self._waiting.append(data)

    def write_file(self, source: InWheel) -> None:
        """A file of a wheel, as the wheel has it packed."""
        self._flush()
        with zipfile.ZipFile(source.wheel) as archive:
            item = archive.getinfo(source.name)
            with archive.open(item) as stream:
                for piece in iter(lambda: stream.read(_PIECE), b""):
                    self._unpacked.update(piece)
            if item.compress_type == zipfile.ZIP_DEFLATED:
                self._member(_raw(source.wheel, item), item.CRC, item.file_size)
                return
            with archive.open(item) as stream:
                self._member(stored(iter(lambda: stream.read(_PIECE), b"")), item.CRC, item.file_size)

    def close(self) -> tuple[str, int, str]:
        """End the file; its digest, its size and the digest of what it unpacks to."""
        self._flush()
        return "sha256:" + self._packed.hexdigest(), self._size, "sha256:" + self._unpacked.hexdigest()

    def _flush(self) -> None:
        data = b"".join(self._waiting)
        self._waiting = []
        if data:
            self._member([deflate(data)] if len(data) <= _MOST else stored([data]), zlib.crc32(data), len(data))

    def _member(self, packed: t.Iterable[bytes], crc: int, size: int) -> None:
        self._emit(_HEADER)
        for piece in packed:
            self._emit(piece)
        self._emit(struct.pack("<II", crc, size & 0xFFFFFFFF))

    def _emit(self, data: bytes) -> None:
        self._stream.write(data)
        self._packed.update(data)
        self._size += len(data)


def _raw(path: str, item: zipfile.ZipInfo) -> t.Iterator[bytes]:
    """The packed bytes of a file in a wheel, which was read to its end and found right before."""
    with open(path, "rb") as stream:
        stream.seek(item.header_offset)
        dummy, name, extra = _LOCAL_HEADER.unpack(stream.read(_LOCAL_HEADER.size))
        stream.seek(name + extra, 1)
        left = item.compress_size
        while left:
            piece = stream.read(min(left, _PIECE))
            if not piece:
                raise EOFError("the wheel ends in the middle of %s" % item.filename)
            left -= len(piece)
            yield piece
