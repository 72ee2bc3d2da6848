# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Packed layers: every unpacker gives the bytes back, and the packed bytes are the same everywhere."""

from __future__ import annotations

import gzip
import hashlib
import io
import subprocess
import zipfile
import zlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.mindcluster.recovery.plugins.module_utils._layer_deflate import deflate, stored
from ansible_collections.mindcluster.recovery.plugins.module_utils._layer_pack import InWheel, Packer

TEXT = Path(__file__).read_bytes()


def inflate(packed: bytes) -> bytes:
    stream = zlib.decompressobj(-15)
    data = stream.decompress(packed)
    assert stream.eof and not stream.unused_data
    return data


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.one_of(st.binary(max_size=3000), st.text("ab\0", max_size=3000).map(str.encode)))
def test_everything_comes_back(data: bytes) -> None:
    assert inflate(deflate(data)) == data
    assert inflate(b"".join(stored([data]))) == data


@pytest.mark.parametrize(
    "data",
    [b"", b"x", bytes(70_000), bytes(range(256)) * 300, TEXT * 30, hashlib.shake_256(b"").digest(40_000) * 2],
    ids=["nothing", "a byte", "zeros", "cycles", "text", "noise"],
)
def test_runs_and_matches_of_every_length_come_back(data: bytes) -> None:
    assert inflate(deflate(data)) == data


def test_the_packed_bytes_are_the_same_everywhere() -> None:
    """Told as digests, for they must not change with the machine or its zlib."""
    data = b"".join(b"%d import os\n" % number for number in range(500)) + bytes(2000)
    assert hashlib.sha256(deflate(data)).hexdigest() == (
        "33282a9785962b9aa606e3bc21023ea83c125c71f5967afff579a5713a379db4"
    )


def test_sources_and_headers_shrink() -> None:
    assert len(deflate(TEXT)) < len(TEXT) * 0.6
    assert len(deflate(bytes(512))) < 20


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED])
def test_files_of_wheels_stay_as_they_are_packed(tmp_path: Path, method: int) -> None:
    content = hashlib.shake_256(b"x").digest(300_000) + bytes(100_000)
    wheel = str(tmp_path / "x.whl")
    with zipfile.ZipFile(wheel, "w", method) as archive:
        archive.writestr("pkg/a.so", content)
        archive.writestr("pkg/empty.py", b"")
    stream = io.BytesIO()
    packer = Packer(stream)
    packer.write(b"before")
    packer.write_file(InWheel(wheel, "pkg/a.so"))
    packer.write_file(InWheel(wheel, "pkg/empty.py"))
    packer.write(b"after")
    digest, size, diff_id = packer.close()
    packed, plain = stream.getvalue(), b"before" + content + b"after"
    assert gzip.decompress(packed) == plain
    assert subprocess.run(["gzip", "-dc"], input=packed, capture_output=True, check=True).stdout == plain
    assert (digest, size) == ("sha256:" + hashlib.sha256(packed).hexdigest(), len(packed))
    assert diff_id == "sha256:" + hashlib.sha256(plain).hexdigest()
    assert size < Path(wheel).stat().st_size + 200
