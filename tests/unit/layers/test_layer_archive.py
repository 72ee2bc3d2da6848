# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Layers as they are, and layers that somebody made to do harm: bounded memory, nothing written, a clear refusal."""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
import tracemalloc
import typing as t
from pathlib import Path

import pytest
import zstandard
from layer_files import HARD, LINK, elf, index_of, packed, tar_of

from ansible_collections.mindcluster.recovery.plugins.module_utils import _layer_index
from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Refused
from ansible_collections.mindcluster.recovery.plugins.module_utils._layer_index import read_files, read_index
from ansible_collections.mindcluster.recovery.plugins.module_utils._layer_stream import Limits

PYTHON = {"usr/bin/": "", "usr/bin/python3": LINK + "python3.11", "usr/bin/python3.11": "#!/bin/sh\n"}
ZEROS = bytes(1024 * 1024)


def header(name: str, size: int = 0, kind: bytes = b"0", **fields: bytes) -> bytes:
    """A header of an archive, with whatever in it."""
    info = tarfile.TarInfo(name)
    info.size = min(size, 8**11 - 1)
    block = bytearray(info.tobuf(tarfile.GNU_FORMAT))
    block[156:157] = kind
    places = {"raw_size": 124, "isextended": 482, "magic": 257}
    for field, value in fields.items():
        block[places[field] : places[field] + len(value)] = value
    block[148:156] = b" " * 8
    block[148:155] = b"%06o\0" % sum(block)
    return bytes(block)


def refusal(data: bytes, limits: Limits | None = None) -> str:
    with pytest.raises(Refused) as caught:
        index_of(data, limits)
    assert [finding.code for finding in caught.value.findings] == ["layer-malformed"]
    return str(caught.value)


@pytest.mark.parametrize(
    "pack",
    [
        lambda data: data,
        packed,
        lambda data: packed(data[:1000]) + packed(data[1000:]),
        lambda data: packed(data) + bytes(512),
        zstandard.ZstdCompressor().compress,
        lambda data: b"\x50\x2a\x4d\x18\x04\0\0\0note" + zstandard.ZstdCompressor().compress(data),
    ],
    ids=["plain", "gzip", "gzip in two members", "gzip padded", "zstd", "zstd after a note"],
)
def test_a_layer_is_read_however_it_is_packed(pack: t.Callable[[bytes], bytes]) -> None:
    data = tar_of(PYTHON)
    index = index_of(pack(data))
    assert index.children("usr/bin") == {"python3", "python3.11"}
    assert index.diff_id in ("", "sha256:" + hashlib.sha256(data).hexdigest())


def test_an_index_comes_back_from_its_bytes_and_from_nothing_else() -> None:
    index = index_of(tar_of({**PYTHON, "usr/lib/.wh.gone": "", "srv/.wh..wh..opq": ""}, uid=7, mtime=99))
    again = type(index).from_bytes(index.to_bytes())
    assert again is not None
    assert again.to_bytes() == index.to_bytes()
    entry = again.get("usr/bin/python3.11")
    assert entry is not None and (entry.uid, entry.mtime, entry.mode) == (7, 99, 0o755)
    assert (again.whiteouts, again.opaque) == ({"usr/lib/gone"}, {"srv"})
    assert type(index).from_bytes(index.to_bytes()[:-9]) is None
    assert type(index).from_bytes(b"") is None


@pytest.mark.parametrize("name", ["../etc/cron.d/x", "a/../../x", "/../x", "usr/bin/..", "a/./../../x"])
def test_a_name_that_leads_out_is_refused(name: str, tmp_path: Path) -> None:
    assert "leads out of the image" in refusal(header(name) + bytes(1024))
    assert list(tmp_path.iterdir()) == []


def test_a_hard_link_that_leads_out_is_refused() -> None:
    assert "leads out of the image" in refusal(tar_of({"usr/bin/python3": HARD + "../../etc/shadow"}))


def test_absolute_names_are_names_below_the_image() -> None:
    index = index_of(header("/usr/bin/python3") + header("./usr//bin/./pip") + bytes(1024))
    assert index.children("usr/bin") == {"python3", "pip"}


def test_ten_gigabytes_of_holes_cost_nothing() -> None:
    sparse = header("usr/bin/core", 512, b"S", isextended=b"\0") + bytes(512)
    index = index_of(sparse + tar_of(PYTHON))
    assert "usr/bin/python3" in index
    entry = index.get("usr/bin/core")
    assert entry is not None and entry.size == 512


def test_a_large_file_passes_through_in_pieces() -> None:
    """A file of 600 MB, packed, while a few MB are held at most."""
    size = 600 * 1024 * 1024
    data = gzip.compress(header("var/log/lastlog", size), 1)
    zeros = gzip.compress(ZEROS, 9)
    source = io.BytesIO(data + zeros * 600 + packed(tar_of(PYTHON)))
    tracemalloc.start()
    try:
        index = read_index(source, "sha256:test")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert "usr/bin/python3" in index
    assert peak < 24 * 1024 * 1024


def test_a_bomb_is_refused_by_how_much_it_unpacks_to() -> None:
    bomb = packed(header("x", 200 * len(ZEROS))) + gzip.compress(ZEROS, 9) * 200
    limits = Limits(suspicious=20 * len(ZEROS), ratio=100)
    assert "more than 100 times its size" in refusal(bomb, limits)
    assert "unpacks to more than" in refusal(bomb, Limits(unpacked=50 * len(ZEROS)))


def test_a_bomb_behind_the_end_of_the_archive_is_refused() -> None:
    bomb = packed(tar_of(PYTHON)) + gzip.compress(ZEROS, 9) * 40
    assert "goes on for more than" in refusal(bomb)


def test_a_size_beyond_all_measure_is_refused_before_it_is_read() -> None:
    huge = header("x", 0, b"0", raw_size=b"\x80" + bytes(3) + b"\xff" * 8)
    assert "has an entry of" in refusal(huge)


@pytest.mark.parametrize("kind", [b"x", b"g", b"L", b"K"])
def test_huge_extended_headers_are_refused_before_they_are_read(kind: bytes) -> None:
    assert "bytes" in refusal(header("PaxHeaders/x", 1 << 30, kind))


def extended(kind: bytes = b"x", **records: str) -> bytes:
    """An extended header with these records."""
    make = tarfile.TarInfo._create_pax_generic_header  # type: ignore[attr-defined]
    return bytes(make({key.replace("_", "."): value for key, value in records.items()}, kind, "utf-8"))


MANY = "v" * 900_000


@pytest.mark.parametrize("kind", [b"x", b"g"])
def test_extended_headers_that_pile_up_are_refused(kind: bytes) -> None:
    pile = (extended(kind, **{"k%d" % number: MANY}) for number in range(60))
    between = b"" if kind == b"x" else header("f", kind=b"5")
    words, peak = refusal_of(piece + between for piece in pile)
    assert "extended headers have" in words
    assert peak < 10e6


@pytest.mark.parametrize("kind", [b"x", b"g"])
def test_attributes_of_files_count_for_the_room_that_an_index_has(kind: bytes) -> None:
    first = extended(b"g", SCHILY_xattr_user="v" * 500_000) if kind == b"g" else b""
    own = extended(b"x", SCHILY_xattr_user="v" * 500_000) if kind == b"x" else b""
    words, peak = refusal_of([first, *(own + header("f%d" % number, kind=b"5") for number in range(1000))])
    assert "more folders, links and whiteouts than any image" in words
    assert peak < 100e6


def test_words_of_programs_count_for_the_room_that_an_index_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_layer_index, "_LONGEST_ENTRIES", 1 << 20)
    program = elf() + b"".join(b"\0003.%d.%d\0" % (number // 8, number % 8) for number in range(64))
    program += bytes(-len(program) % 512)
    pile = (header("%d/bin/python3" % number, len(program)) + program for number in range(1000))
    words, peak = refusal_of(pile)
    assert "more folders, links and whiteouts than any image" in words
    assert peak < 10e6


def test_files_that_are_asked_for_are_no_more_than_fit() -> None:
    names = {"opt/x/%05d.%s" % (number, "py" if number % 2 else "so"): "" for number in range(1000)}
    found = read_files(io.BytesIO(tar_of(names)), "sha256:test", lambda name: True, most=8000)
    assert 50 < len(found) < 200


def refusal_of(pieces: t.Iterable[bytes]) -> tuple[str, int]:
    """Why a layer is refused, and the most memory that it took on the way."""
    reader = io.BufferedReader(Pieces(pieces))
    tracemalloc.start()
    try:
        with pytest.raises(Refused) as caught:
            read_index(reader, "sha256:test")
        return str(caught.value), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


class Pieces(io.RawIOBase):
    """A stream that is made while it is read."""

    def __init__(self, pieces: t.Iterable[bytes]) -> None:
        self._pieces = iter(pieces)
        self._rest = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: t.Any) -> int:
        while not self._rest:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._rest = piece
        size = min(len(buffer), len(self._rest))
        buffer[:size], self._rest = self._rest[:size], self._rest[size:]
        return size


def test_garbled_extended_headers_are_refused() -> None:
    for record in (b"99999 path=x\n", b"x path=y\n", b"12 path=x", b"9 path:x\n"):
        data = header("PaxHeaders/x", len(record), b"x") + record + bytes(512 - len(record))
        assert "extended header" in refusal(data + header("y") + bytes(1024))
    record = b"16 mtime=never!\n"
    data = header("PaxHeaders/x", len(record), b"x") + record + bytes(512 - len(record))
    assert "number in an extended header" in refusal(data + header("y") + bytes(1024))


@pytest.mark.parametrize("name", ["usr/.wh.", "usr/.wh..", "usr/.wh...", ".wh.."])
def test_whiteouts_of_the_folder_itself_or_the_one_before_are_refused(name: str) -> None:
    assert "whiteout that names no file" in refusal(tar_of({name: ""}))


def test_more_whiteouts_than_any_image_has_are_refused() -> None:
    layer = tar_of({f"var/.wh.file{number}": "" for number in range(3000)})
    assert len(index_of(layer).whiteouts) == 3000
    assert "more folders, links and whiteouts" in refusal(layer, Limits(entries=1000))


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda data: data[: len(data) // 2], "cut off|in the middle|cannot be unpacked"),
        (lambda data: data[:-20] + bytes(20), "cannot be unpacked"),
        (lambda data: b"<html>" * 200, "is no tar archive|cut off"),
        (lambda data: packed(gzip.decompress(data)[:700]), "cut off"),
        (lambda data: packed(b"\xff" + gzip.decompress(data)[1:]), "checksum is wrong"),
        (lambda data: packed(header("x", 0, b"V") + bytes(1024)), "unknown kind"),
    ],
)
def test_damaged_layers_are_refused(damage: t.Callable[[bytes], bytes], words: str) -> None:
    data = packed(tar_of({**PYTHON, "usr/bin/tool": "x" * 4000}))
    with pytest.raises(Refused, match=words):
        index_of(damage(data))


def test_an_empty_layer_is_one() -> None:
    assert len(index_of(packed(bytes(1024)))) == 0
