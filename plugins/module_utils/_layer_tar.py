# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""Reads the entries of a tar stream, in one pass and without holding anything but the entry at hand.

The standard library's tarfile makes several objects for each entry and seeks; an image has half a million of them.
Whatever is not as the formats (ustar, pax, GNU) have it is refused, not guessed at.
"""

from __future__ import annotations

import typing as t

from ansible_collections.mindcluster.recovery.plugins.module_utils._layer_stream import Limits, malformed

BLOCK = 512
FILE, HARDLINK, SYMLINK, CHARACTER, BLOCKDEV, FOLDER, FIFO = "f", "h", "l", "c", "b", "d", "p"

_KINDS = {
    b"0": FILE, b"\0": FILE, b"7": FILE, b"1": HARDLINK, b"2": SYMLINK, b"3": CHARACTER, b"4": BLOCKDEV, b"5": FOLDER,
    b"6": FIFO, b"S": FILE,
}  # fmt: skip
_ZEROS = bytes(BLOCK)
_XATTR = "SCHILY.xattr."
# Names on Linux have at most 4096 bytes; attributes of a file 64 KiB each.
_LONGEST_NAME = 8192
_LONGEST_PAX = 1024 * 1024
_LARGEST_FILE = 256 * 1024**3


class Member:
    """One entry. C(name) and the target of a hard link are relative to the image's root, without C(.) and C(..)."""

    __slots__ = ("name", "kind", "size", "mode", "uid", "gid", "mtime", "link", "xattrs", "sparse")

    def __init__(self) -> None:
        self.name = ""
        self.kind = FILE
        self.size = 0
        self.mode = 0
        self.uid = 0
        self.gid = 0
        self.mtime = 0
        self.link = ""
        self.xattrs: dict[str, str] = {}
        self.sparse = False


class Archive:
    """The entries of a tar stream, one after the other.

    After each :meth:`next_member` at most one :meth:`data` may follow; without it the entry's bytes are passed over.
    """

    def __init__(self, pieces: t.Iterator[bytes], layer: str, limits: Limits) -> None:
        self._pieces = pieces
        self.layer = layer
        self._limits = limits
        self._piece = b""
        self._at = 0
        self._left = 0  # bytes of the entry at hand that nobody has read
        self._pad = 0
        self._globals: dict[str, str] = {}

    def next_member(self) -> Member | None:
        """The next entry, or None at the archive's end.

        :raises Refused: the archive is malformed.
        """
        self._skip(self._left + self._pad)
        self._left = self._pad = 0
        records = self._globals
        long_name = long_link = ""
        extended = 0
        while True:
            header = self._take(BLOCK, at_end=True)
            if not header or header == _ZEROS:
                self._finish()
                return None
            size = self._check(header)
            kind = header[156:157]
            if kind in b"xg" and kind:
                extended += size
                self._check_length(extended)
                own = self._pax(self._meta(size, _LONGEST_PAX, "extended header"))
                if kind == b"g":
                    self._globals = records = dict(self._globals, **own)
                    self._check_length(sum(len(key) + len(value) for key, value in records.items()))
                else:
                    records = dict(records, **own)
            elif kind == b"L":
                long_name = _text(self._meta(size, _LONGEST_NAME, "name").rstrip(b"\0"))
            elif kind == b"K":
                long_link = _text(self._meta(size, _LONGEST_NAME, "link target").rstrip(b"\0"))
            else:
                return self._member(header, kind, size, records, long_name, long_link)

    def data(self) -> t.Iterator[bytes]:
        """The bytes of the entry at hand, piece by piece."""
        while self._left:
            piece = self._some(self._left)
            self._left -= len(piece)
            yield piece

    def _check_length(self, extended: int) -> None:
        """Extended headers are held until their entry comes, the global ones to the end."""
        if extended > _LONGEST_PAX:
            raise malformed(self.layer, "has entries whose extended headers have %d bytes together" % extended)

    # --- an entry

    def _member(
        self, header: bytes, kind: bytes, size: int, records: dict[str, str], long_name: str, long_link: str
    ) -> Member:
        member = Member()
        name = long_name or _text(header[:100].split(b"\0", 1)[0])
        if not long_name and header[257:263] == b"ustar\0" and header[345]:
            name = "%s/%s" % (_text(header[345:500].split(b"\0", 1)[0]), name)
        link = long_link or (_text(header[157:257].split(b"\0", 1)[0]) if header[157] else "")
        member.mode = self._number(header[100:108]) & 0o7777
        member.uid, member.gid = self._number(header[108:116]), self._number(header[116:124])
        member.mtime = self._number(header[136:148])
        if records:
            name, link, size = self._apply(member, records, name, link, size)
        member.kind = _KINDS.get(kind, "")
        if member.kind == "":
            raise malformed(self.layer, "has an entry of the unknown kind %r" % kind.decode("latin-1"))
        if kind in b"\x000" and name.endswith("/"):
            member.kind = FOLDER
        if kind == b"S":
            member.sparse = True
            self._skip_sparse_map(header)
        member.name = self._inside(name)
        member.link = self._inside(link) if member.kind == HARDLINK else link
        if len(member.link) > _LONGEST_NAME:
            raise malformed(self.layer, "has a link target of %d bytes" % len(member.link))
        if member.kind == FILE:
            if not 0 <= size <= _LARGEST_FILE:
                raise malformed(self.layer, "has an entry of %d bytes (%s)" % (size, member.name[:200]))
            member.size = self._left = size
            self._pad = -size % BLOCK
        return member

    def _apply(self, member: Member, records: dict[str, str], name: str, link: str, size: int) -> tuple[str, str, int]:
        """What extended headers say in place of the entry's own header."""
        try:
            member.uid, member.gid = int(records.get("uid", member.uid)), int(records.get("gid", member.gid))
            member.mtime = int(float(records.get("mtime", member.mtime)))
            size = int(records.get("size", size))
        except (ValueError, OverflowError) as exc:
            raise malformed(self.layer, "has a number in an extended header that is none: %s" % exc) from exc
        member.sparse = any(key.startswith("GNU.sparse.") for key in records)
        member.xattrs = {key[len(_XATTR) :]: value for key, value in records.items() if key.startswith(_XATTR)}
        return records.get("GNU.sparse.name", records.get("path", name)), records.get("linkpath", link), size

    def _inside(self, name: str) -> str:
        """A name as a path below the image's root."""
        if len(name) > _LONGEST_NAME:
            raise malformed(self.layer, "has a name of %d bytes" % len(name))
        if "\0" in name:
            raise malformed(self.layer, "has a name with a zero byte in it")
        if name.startswith("./"):
            name = name[2:]
        if "//" not in name and "./" not in name and not name.startswith("/") and not name.endswith(("/", "/.", "..")):
            return name if name != "." else ""
        parts = [part for part in name.split("/") if part not in ("", ".")]
        if ".." in parts:
            raise malformed(self.layer, "has an entry that leads out of the image: %s" % name[:200])
        return "/".join(parts)

    # --- headers

    def _check(self, header: bytes) -> int:
        """The size that a header states, after its checksum was found right."""
        stated = self._number(header[148:156])
        # The checksum's own eight bytes count as blanks.
        found = sum(header) - sum(header[148:156]) + 256
        if stated != found:
            raise malformed(self.layer, "is no tar archive: a header's checksum is wrong")
        return self._number(header[124:136])

    def _number(self, field: bytes) -> int:
        if field[-1] == 0:
            # The usual form, seven times for each entry.
            try:
                return int(field[:-1], 8)
            except ValueError:
                pass
        if field[0] & 0x80:
            value = int.from_bytes(field, "big", signed=False) & ((1 << (8 * len(field) - 1)) - 1)
            if field[0] & 0x40:
                value -= 1 << (8 * len(field) - 1)
            return value
        text = field.split(b"\0", 1)[0].strip()
        try:
            return int(text, 8) if text else 0
        except ValueError:
            raise malformed(self.layer, "is no tar archive: %r is no octal number" % text[:20]) from None

    def _meta(self, size: int, limit: int, what: str) -> bytes:
        if not 0 <= size <= limit:
            raise malformed(self.layer, "has an entry whose %s has %d bytes" % (what, size))
        data = self._take(size)
        self._skip(-size % BLOCK)
        return data

    def _pax(self, data: bytes) -> dict[str, str]:
        """Records of the form C(LENGTH KEY=VALUE)."""
        records = {}
        at = 0
        while at < len(data):
            space = data.find(b" ", at, at + 12)
            length = int(data[at:space]) if space > at and data[at:space].isdigit() else 0
            record = data[space + 1 : at + length]
            key, equals, value = record.partition(b"=")
            if not equals or not record.endswith(b"\n") or at + length > len(data):
                raise malformed(self.layer, "has an extended header that is cut off or garbled")
            # Values of extended attributes are bytes, not text.
            records[_text(key)] = _text(value[:-1])
            at += length
        return records

    def _skip_sparse_map(self, header: bytes) -> None:
        extended = header[482]
        while extended:
            extended = self._take(BLOCK)[504]

    def _finish(self) -> None:
        """Read on to the stream's end, which its digest covers too."""
        behind = len(self._piece) - self._at
        self._piece, self._at = b"", 0
        for piece in self._pieces:
            behind += len(piece)
            if behind > self._limits.padding:
                raise malformed(self.layer, "goes on for more than %d bytes after its end" % self._limits.padding)

    # --- bytes

    def _some(self, most: int) -> bytes:
        if self._at >= len(self._piece):
            self._piece, self._at = next(self._pieces, b""), 0
            if not self._piece:
                raise malformed(self.layer, "is cut off in the middle of an entry")
        if self._at == 0 and len(self._piece) <= most:
            piece, self._piece = self._piece, b""
            return piece
        piece = self._piece[self._at : self._at + most]
        self._at += len(piece)
        return piece

    def _take(self, size: int, at_end: bool = False) -> bytes:
        end = self._at + size
        if end <= len(self._piece):
            data = self._piece[self._at : end]
            self._at = end
            return data
        if at_end and self._at >= len(self._piece):
            self._piece, self._at = next(self._pieces, b""), 0
            if not self._piece:
                return b""
        parts = []
        while size:
            parts.append(self._some(size))
            size -= len(parts[-1])
        return b"".join(parts)

    def _skip(self, size: int) -> None:
        while size:
            here = len(self._piece) - self._at
            if size <= here:
                self._at += size
                return
            size -= here
            self._piece, self._at = next(self._pieces, b""), 0
            if not self._piece:
                raise malformed(self.layer, "is cut off in the middle of an entry")


def _text(data: bytes) -> str:
    """Names need not be UTF-8; what is not keeps its bytes."""
    return data.decode("utf-8", "surrogateescape")
