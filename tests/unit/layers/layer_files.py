# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Makes layers and images of a few files for the tests."""

from __future__ import annotations

import gzip
import io
import tarfile
import typing as t

from ansible_collections.mindcluster.recovery.plugins.module_utils._layer_index import Index, read_files, read_index
from ansible_collections.mindcluster.recovery.plugins.module_utils._layer_stream import Limits
from ansible_collections.mindcluster.recovery.plugins.module_utils._layer_tree import Tree

# A path that ends in a slash is a folder; a value that starts so is a symbolic link, or a hard link.
LINK, HARD = "-> ", "=> "
Files = t.Mapping[str, str | bytes]


def elf(machine: str = "x86_64", version: str = "", libc: str = "") -> bytes:
    """A program as far as it is looked at: its head, Python's version, the C library's."""
    head = bytearray(64)
    head[:6] = b"\x7fELF\x02\x01"
    head[18:20] = {"x86_64": 0x3E, "aarch64": 0xB7}[machine].to_bytes(2, "little")
    words = f"\0{version}\0" if version else ""
    words += f"GNU C Library (Example GLIBC {libc}-1) stable release version {libc}.\n" if libc else ""
    return bytes(head) + words.encode()


def tar_of(files: Files, **attributes: int) -> bytes:
    """An archive of these files."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path, content in files.items():
            entry = tarfile.TarInfo(path.rstrip("/"))
            entry.mode = 0o755 if path.endswith("/") or "/bin/" in path else 0o644
            for name, value in attributes.items():
                setattr(entry, name, value)
            data = content.encode() if isinstance(content, str) else content
            if path.endswith("/"):
                entry.type, data = tarfile.DIRTYPE, b""
            elif data.startswith((LINK.encode(), HARD.encode())):
                entry.type = tarfile.SYMTYPE if data.startswith(LINK.encode()) else tarfile.LNKTYPE
                entry.linkname, data = data[3:].decode(), b""
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return stream.getvalue()


def index_of(data: bytes, limits: Limits | None = None) -> Index:
    return read_index(io.BytesIO(data), "sha256:test", limits)


def tree_of(*layers: Files) -> Tree:
    """An image of these layers, the oldest first."""
    archives = [tar_of(layer) for layer in layers][::-1]
    indexes = [index_of(archive) for archive in archives]

    def fetch(number: int, is_wanted: t.Callable[[str], bool]) -> dict[str, bytes]:
        return read_files(io.BytesIO(archives[number]), "sha256:test", is_wanted)

    return Tree(len(indexes), lambda number: indexes[number], fetch)


def packed(data: bytes) -> bytes:
    return gzip.compress(data, 1)
