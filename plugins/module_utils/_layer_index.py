# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""What one layer holds, as far as anybody asks: a small index, made in one pass over the layer."""

from __future__ import annotations

import bisect
import json
import typing as t
import zlib

from ansible_collections.mindcluster.recovery.plugins.module_utils import _layer_wanted as rules
from ansible_collections.mindcluster.recovery.plugins.module_utils._layer_stream import Limits, Unpacked, malformed
from ansible_collections.mindcluster.recovery.plugins.module_utils._layer_tar import FILE, FOLDER, Archive, Member

# Raised whenever an index keeps something else than before.
VERSION = 1

_WHITEOUT = ".wh."
_OPAQUE = ".wh..wh..opq"
# The engine's own bookkeeping in old layers.
_HOUSEKEEPING = ".wh..wh."
# Together of all files of one layer; what is beyond is read when somebody asks for it.
_MOST_CONTENTS = 24 * 1024 * 1024
_LONGEST_ENTRIES = 48 * 1024 * 1024
# What a short string costs that is held by itself.
_ROOM_OF_A_WORD = 64


class Entry:
    """One path of a layer."""

    __slots__ = ("kind", "mode", "uid", "gid", "mtime", "size", "link", "xattrs")

    def __init__(
        self,
        kind: str,
        mode: int = 0o755,
        uid: int = 0,
        gid: int = 0,
        mtime: int = 0,
        size: int = 0,
        link: str = "",
        xattrs: dict[str, str] | None = None,
    ) -> None:
        self.kind = kind
        self.mode = mode
        self.uid = uid
        self.gid = gid
        self.mtime = mtime
        self.size = size
        self.link = link
        self.xattrs = xattrs or {}

    def packed(self) -> str:
        """As one string: a layer may have a hundred thousand of them, and objects take five times the room."""
        numbers = "%s%o %d %d %d %d" % (self.kind, self.mode, self.uid, self.gid, self.mtime, self.size)
        rest = self.link + ("\0" + json.dumps(self.xattrs, sort_keys=True) if self.xattrs else "")
        return "%s\0%s" % (numbers, rest) if rest else numbers

    @classmethod
    def unpacked(cls, text: str) -> Entry:
        numbers, dummy, rest = text.partition("\0")
        mode, uid, gid, mtime, size = numbers[1:].split(" ")
        link, dummy, xattrs = rest.partition("\0")
        return cls(
            numbers[0],
            int(mode, 8),
            int(uid),
            int(gid),
            int(mtime),
            int(size),
            link,
            json.loads(xattrs) if xattrs else None,
        )


class Index:
    """What is known of one layer.

    :ivar diff_id: digest of the unpacked layer, empty where it was not needed.
    :ivar contents: bytes of the files that are kept.
    :ivar probes: what was found in programs.
    :ivar whiteouts: paths that the layer takes away from the ones below.
    :ivar opaque: folders of which it hides everything below.
    """

    def __init__(self) -> None:
        self.diff_id = ""
        self.contents: dict[str, bytes] = {}
        self.probes: dict[str, list[str]] = {}
        self.whiteouts: set[str] = set()
        self.opaque: set[str] = set()
        self._entries: dict[str, str] = {}
        self._names: list[str] | None = None

    def get(self, path: str) -> Entry | None:
        packed = self._entries.get(path)
        return None if packed is None else Entry.unpacked(packed)

    def is_folder(self, path: str) -> bool | None:
        """Whether the layer has a folder there; None where it has nothing there."""
        packed = self._entries.get(path)
        return None if packed is None else packed[0] == FOLDER

    def add(self, path: str, entry: Entry) -> None:
        self._entries[path] = entry.packed()
        self._names = None

    def __contains__(self, path: str) -> bool:
        return path in self._entries

    def __len__(self) -> int:
        return len(self._entries)

    def children(self, folder: str) -> set[str]:
        """Names of what the layer has directly in a folder."""
        if self._names is None:
            self._names = sorted(self._entries)
        start = folder + "/" if folder else ""
        names = set()
        at = bisect.bisect_left(self._names, start)
        while at < len(self._names) and self._names[at].startswith(start):
            name, slash, dummy = self._names[at][len(start) :].partition("/")
            names.add(name)
            # "0" comes right after "/": past everything that is in a folder at once.
            at = bisect.bisect_left(self._names, start + name + "0", at + 1) if slash else at + 1
        return names - {""}

    # --- as bytes, for the cache

    def to_bytes(self) -> bytes:
        data = {
            "version": VERSION,
            "diff_id": self.diff_id,
            "entries": dict(sorted(self._entries.items())),
            "contents": {path: data.decode("latin-1") for path, data in sorted(self.contents.items())},
            "probes": self.probes,
            "whiteouts": sorted(self.whiteouts),
            "opaque": sorted(self.opaque),
        }
        return zlib.compress(json.dumps(data, separators=(",", ":")).encode("ascii"), 6)

    @classmethod
    def from_bytes(cls, packed: bytes) -> Index | None:
        """The index that was written; None where it is of another version or not whole."""
        try:
            data = json.loads(zlib.decompress(packed).decode("ascii"))
            if data["version"] != VERSION:
                return None
            index = cls()
            index.diff_id = data["diff_id"]
            index._entries = data["entries"]
            index.contents = {path: text.encode("latin-1") for path, text in data["contents"].items()}
            index.probes = data["probes"]
            index.whiteouts, index.opaque = set(data["whiteouts"]), set(data["opaque"])
        except (zlib.error, ValueError, KeyError, TypeError, AttributeError):
            return None
        return index


def read_index(source: t.Any, layer: str, limits: Limits | None = None) -> Index:
    """The index of a layer, from its packed bytes.

    :param source: what C(read(size)) gives the packed bytes.
    :param layer: the layer's digest, for messages.
    :raises Refused: the layer is malformed.
    """
    limits = limits or Limits()
    unpacked = Unpacked(source, layer, limits)
    pieces = iter(unpacked)
    archive = Archive(pieces, layer, limits)
    index = Index()
    parents: set[str] = {""}
    room = [_MOST_CONTENTS, _LONGEST_ENTRIES]
    while True:
        member = archive.next_member()
        if member is None:
            break
        _take(index, archive, member, parents, room)
        if len(index) + len(index.whiteouts) + len(index.opaque) > limits.entries or room[1] < 0:
            raise malformed(layer, "has more folders, links and whiteouts than any image (%d)" % limits.entries)
    index.diff_id = unpacked.diff_id
    return index


def read_files(
    source: t.Any, layer: str, is_wanted: t.Callable[[str], bool], limits: Limits | None = None, most: int = 64 << 20
) -> dict[str, bytes]:
    """The bytes of chosen files of a layer, each under its own path, for what an index does not keep.

    Of compiled libraries only the path is told: nobody reads them.

    :param most: bytes of all of them together; what is beyond is left out.
    """
    limits = limits or Limits()
    archive = Archive(iter(Unpacked(source, layer, limits)), layer, limits)
    found: dict[str, bytes] = {}
    while True:
        member = archive.next_member()
        if member is None:
            return found
        whiteout = member.name.rpartition("/")[2].startswith(_WHITEOUT)
        if member.kind != FILE or member.sparse or whiteout or not is_wanted(member.name):
            continue
        library = member.name.endswith(".so")
        # Names count too, for there may be any number of them.
        room = len(member.name) + _ROOM_OF_A_WORD + (0 if library else member.size)
        if room <= most:
            found[member.name] = b"" if library else b"".join(archive.data())
            most -= room


def _take(index: Index, archive: Archive, member: Member, parents: set[str], room: list[int]) -> None:
    folder, dummy, base = member.name.rpartition("/")
    if base.startswith(_WHITEOUT):
        _take_whiteout(index, archive, folder, base)
        room[1] -= len(member.name)
        return
    if folder not in parents:
        _add_parents(index, folder, parents, room)
    kept = member.kind in "dl" or rules.is_kept(member.name)
    if member.kind == FOLDER:
        parents.add(member.name)
    if member.name in index.contents:
        # A later entry of one and the same name is the one that stays.
        del index.contents[member.name]
    if not kept:
        if member.name in index:
            index.add(member.name, _entry(member))
        return
    index.add(member.name, _entry(member))
    room[1] -= len(member.name) + len(member.link) + sum(len(key) + len(value) for key, value in member.xattrs.items())
    if member.kind == FILE and not member.sparse:
        _take_contents(index, archive, member, room)


def _take_whiteout(index: Index, archive: Archive, folder: str, base: str) -> None:
    if base == _OPAQUE:
        index.opaque.add(folder)
    elif not base.startswith(_HOUSEKEEPING):
        hidden = base[len(_WHITEOUT) :]
        if hidden in ("", ".", ".."):
            raise malformed(archive.layer, "has a whiteout that names no file: %s/%s" % (folder[:200], base))
        index.whiteouts.add("%s/%s" % (folder, hidden) if folder else hidden)


def _entry(member: Member) -> Entry:
    return Entry(
        member.kind, member.mode, member.uid, member.gid, member.mtime, member.size, member.link, member.xattrs
    )


def _add_parents(index: Index, folder: str, parents: set[str], room: list[int]) -> None:
    """Folders that the archive does not name, as an engine makes them."""
    while folder not in parents:
        parents.add(folder)
        if folder not in index:
            index.add(folder, Entry(FOLDER))
            room[1] -= len(folder)
        folder = folder.rpartition("/")[0]


def _take_contents(index: Index, archive: Archive, member: Member, room: list[int]) -> None:
    order = rules.wanted(member.name, member.size)
    if order is None:
        return
    how, most = order
    if how == rules.PROBE:
        index.probes[member.name] = rules.probe(archive.data())
        room[1] -= _ROOM_OF_A_WORD * len(index.probes[member.name])
        return
    size = min(most, member.size)
    if size > room[0]:
        return
    parts: list[bytes] = []
    for piece in archive.data():
        if size <= 0:
            break
        parts.append(piece[:size])
        size -= len(parts[-1])
    index.contents[member.name] = b"".join(parts)
    room[0] -= len(index.contents[member.name])
