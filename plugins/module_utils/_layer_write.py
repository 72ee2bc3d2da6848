# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""Writes the changes as a layer: one tar archive, sorted, with fixed times, so that equal changes give equal bytes."""

from __future__ import annotations

import tarfile
import typing as t

from ansible_collections.mindcluster.recovery.plugins.module_utils._layer_changes import Changes
from ansible_collections.mindcluster.recovery.plugins.module_utils._layer_index import Entry
from ansible_collections.mindcluster.recovery.plugins.module_utils._layer_pack import InWheel, Packer

_XATTR = "SCHILY.xattr."


class Layer(t.NamedTuple):
    """A written layer: digest and size of its packed bytes, digest of its unpacked ones, what is in it."""

    digest: str
    size: int
    diff_id: str
    paths: list[str]


def write_layer(changes: Changes, stream: t.IO[bytes]) -> Layer:
    """Write the changes, packed, to a stream."""
    writer = _Writer(stream)
    changes.settle()
    members = _members(changes)
    for name in sorted(members):
        entry, data = members[name]
        writer.add(name, entry, data)
    return writer.close(sorted(changes.files) + ["-" + path for path in sorted(changes.removed | changes.emptied)])


def _members(changes: Changes) -> dict[str, tuple[Entry, bytes | InWheel | None]]:
    """Entries of the archive by their names."""
    members: dict[str, tuple[Entry, bytes | InWheel | None]] = {}
    mark = Entry("f", 0o644, 0, 0, changes.mtime, 0)
    for path, entry in changes.folders.items():
        if not (path in changes.removed or path in changes.files or changes.is_gone(path)):
            members[path.lstrip("/")] = (entry, None)
    for path, put in changes.files.items():
        members[path.lstrip("/")] = (put.entry, put.data)
    for path in changes.emptied:
        if path not in changes.removed and not changes.is_gone(path):
            members["%s/.wh..wh..opq" % path.lstrip("/")] = (mark, b"")
    for path in changes.removed:
        if changes.is_gone(path):
            continue
        folder, dummy, name = path.lstrip("/").rpartition("/")
        members["%s.wh.%s" % (folder + "/" if folder else "", name)] = (mark, b"")
    return members


class _Writer:
    def __init__(self, stream: t.IO[bytes]) -> None:
        self._packer = Packer(stream)

    def add(self, name: str, entry: Entry, data: bytes | InWheel | None) -> None:
        info = tarfile.TarInfo(name + ("/" if data is None else ""))
        info.type = tarfile.DIRTYPE if data is None else tarfile.REGTYPE
        info.mode, info.uid, info.gid, info.mtime = entry.mode, entry.uid, entry.gid, entry.mtime
        info.size = 0 if data is None else entry.size
        info.pax_headers = {_XATTR + key: value for key, value in sorted(entry.xattrs.items())}
        self._packer.write(info.tobuf(tarfile.PAX_FORMAT, "utf-8", "surrogateescape"))
        if isinstance(data, InWheel):
            self._packer.write_file(data)
        elif data:
            self._packer.write(data)
        self._packer.write(bytes(-info.size % 512))

    def close(self, paths: list[str]) -> Layer:
        self._packer.write(bytes(1024))
        digest, size, diff_id = self._packer.close()
        return Layer(digest, size, diff_id, paths)
