# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""The bytes of an image layer, unpacked piece by piece: gzip, zstd or plain. Never more than a few pieces in memory."""

from __future__ import annotations

import hashlib
import queue
import threading
import typing as t
import zlib

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Finding, Refused

_inflater: t.Any = zlib
try:
    # Intel's library unpacks twice as fast; where it is not installed, Python's own does.
    from isal import isal_zlib

    _inflater = isal_zlib
except ImportError:
    pass

# Pieces that stay in the processor's cache on their way; larger ones take a third longer.
PIECE = 256 * 1024
_READ = 256 * 1024
_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
_ZSTD_SKIPPABLE = range(0x184D2A50, 0x184D2A60)
# zstd's own limit for what a reader must be ready to hold.
_ZSTD_WINDOW = 128 * 1024 * 1024


class Limits:
    """Where a layer stops being one.

    :ivar unpacked: bytes of one layer.
    :ivar suspicious: from so many bytes on C(ratio) counts; zeros of a large sparse file pack about 1000 to 1.
    :ivar ratio: how many times larger than packed.
    :ivar padding: bytes after the end of the archive.
    :ivar entries: entries that an index keeps.
    """

    __slots__ = ("unpacked", "suspicious", "ratio", "padding", "entries")

    def __init__(
        self,
        unpacked: int = 512 * 1024**3,
        suspicious: int = 32 * 1024**3,
        ratio: int = 500,
        padding: int = 16 * 1024**2,
        entries: int = 300_000,
    ) -> None:
        self.unpacked = unpacked
        self.suspicious = suspicious
        self.ratio = ratio
        self.padding = padding
        self.entries = entries


def malformed(layer: str, what: str) -> Refused:
    """The refusal of a layer that is not what a layer may be."""
    return Refused(
        Finding(
            "layer-malformed",
            "the layer %s of the base image %s" % (layer, what),
            "An engine would refuse it too, or do with it what nobody can foretell",
            "Push the base image anew from a source that you trust",
            "training_image_base",
        )
    )


class Unpacked:
    """An iterator over a layer's unpacked bytes, which counts them on the way.

    Whether they are whole is told by the checksum in gzip. With zstd they are hashed, for its checksum may be absent,
    and its end in the middle is not noticed. Hashing always would take a third of the time, to find what an engine
    finds when it pulls the base image: a configuration that does not fit its layers.

    :param source: its method C(read(size)) gives the packed bytes.
    :param layer: the layer's digest, for messages.
    """

    def __init__(self, source: t.Any, layer: str, limits: Limits) -> None:
        self._source = source
        self._layer = layer
        self._limits = limits
        self._hasher: _Hasher | None = None
        self.packed = 0
        self.size = 0

    def __iter__(self) -> t.Iterator[bytes]:
        try:
            for piece in self._pieces():
                self.size += len(piece)
                self._check_size()
                yield piece
        except (zlib.error, EOFError, _inflater.error) as exc:
            raise malformed(self._layer, "cannot be unpacked: %s" % exc) from exc
        finally:
            if self._hasher is not None:
                self._hasher.stop()

    @property
    def diff_id(self) -> str:
        """The digest of everything unpacked, where it was hashed; for when the iteration has ended."""
        return "sha256:" + self._hasher.hexdigest() if self._hasher is not None else ""

    def _check_size(self) -> None:
        limits = self._limits
        if self.size > limits.unpacked:
            raise malformed(self._layer, "unpacks to more than %d GiB" % (limits.unpacked // 1024**3))
        if self.size > limits.suspicious and self.size > self.packed * limits.ratio:
            raise malformed(self._layer, "unpacks to more than %d times its size" % limits.ratio)

    def _read(self) -> bytes:
        data: bytes = self._source.read(_READ)
        self.packed += len(data)
        return data

    def _pieces(self) -> t.Iterator[bytes]:
        head = self._read()
        while 0 < len(head) < 4:
            more = self._read()
            if not more:
                break
            head += more
        if head.startswith(_GZIP):
            return self._gzip(head)
        if head.startswith(_ZSTD) or int.from_bytes(head[:4], "little") in _ZSTD_SKIPPABLE:
            return self._zstd(head)
        return self._plain(head)

    def _plain(self, data: bytes) -> t.Iterator[bytes]:
        while data:
            yield data
            data = self._read()

    def _gzip(self, data: bytes) -> t.Iterator[bytes]:
        """One or several gzip members one after the other, as the format allows."""
        inflate = _inflater.decompressobj(31)
        while True:
            piece = inflate.decompress(data, PIECE)
            if piece:
                yield piece
            if inflate.eof:
                data = self._behind(inflate.unused_data)
                if not data:
                    return
                inflate = _inflater.decompressobj(31)
                continue
            data = inflate.unconsumed_tail
            if not data and len(piece) < PIECE:
                data = self._read()
                if not data:
                    raise EOFError("it ends in the middle")

    def _behind(self, data: bytes) -> bytes:
        """What comes after a gzip member, without the zeros that some tools pad with."""
        data = data or self._read()
        while data and data[0] == 0:
            data = data.lstrip(b"\0") or self._read()
        return data

    def _zstd(self, head: bytes) -> t.Iterator[bytes]:
        self._hasher = _Hasher()
        reader = _zstd_reader(_Rest(head, self._read), self._layer)
        try:
            while True:
                piece = reader.read(PIECE)
                if not piece:
                    return
                self._hasher.update(piece)
                yield piece
        except (Refused, OSError):
            raise
        except Exception as exc:
            raise EOFError(str(exc)) from exc


class _Rest:
    """A file-like object that gives what was read already first."""

    def __init__(self, head: bytes, read: t.Callable[[], bytes]) -> None:
        self._head = head
        self._read = read

    def read(self, size: int = -1) -> bytes:
        data = self._head or self._read()
        if 0 <= size < len(data):
            self._head = data[size:]
            return data[:size]
        self._head = b""
        return data


def _zstd_reader(source: _Rest, layer: str) -> t.Any:
    try:
        import zstandard
    except ImportError:
        raise Refused(
            Finding(
                "zstd-missing",
                "the layer %s is packed with zstd, and Python's library zstandard is not installed" % layer,
                "Without it the layer cannot be read",
                "Install it for the Python that runs the module: pip install zstandard",
                "training_image_base",
            )
        ) from None
    unpacker = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW)
    return unpacker.stream_reader(t.cast(t.Any, source), read_across_frames=True)


class _Hasher:
    """Hashes in a thread of its own: the library lets go of the interpreter, so that unpacking goes on beside it."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self._queue: queue.Queue[bytes | None] = queue.Queue(maxsize=4)
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def update(self, piece: bytes) -> None:
        self._queue.put(piece)

    def stop(self) -> None:
        if self._thread.is_alive():
            self._queue.put(None)
            self._thread.join()

    def hexdigest(self) -> str:
        return self._hash.hexdigest()

    def _work(self) -> None:
        while True:
            piece = self._queue.get()
            if piece is None:
                return
            self._hash.update(piece)
