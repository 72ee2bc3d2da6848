# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from pathlib import Path

import pytest
from wheel_files import write_wheel

from ansible_collections.mindcluster.recovery.plugins.module_utils import _wheels
from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Refused

ARM = _wheels.Target((3, 11), "aarch64", "glibc", (2, 35))


@pytest.mark.parametrize(
    ("filename", "name", "version", "tags"),
    [
        ("taskd-7.2rc1-py3-none-linux_aarch64.whl", "taskd", "7.2rc1", "py3-none-linux_aarch64"),
        ("taskd-7.0.RC1-py3-none-linux_aarch64.whl", "taskd", "7.0.RC1", "py3-none-linux_aarch64"),
        ("taskd-7.2rc1+spc1-py3-none-linux_x86_64.whl", "taskd", "7.2rc1+spc1", "py3-none-linux_x86_64"),
        ("grpcio-1.62.2-1-cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64.whl", "grpcio", "1.62.2",
         "cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64"),
    ],
)  # fmt: skip
def test_names_as_setuptools_and_as_the_vendor_writes_them(filename: str, name: str, version: str, tags: str) -> None:
    parsed = _wheels.parse_name(filename)
    assert parsed is not None
    assert (parsed.name, parsed.version, parsed.tags) == (name, version, tags)


@pytest.mark.parametrize(
    "filename", ["taskd.whl", "taskd-1.0.tar.gz", "taskd-1-py3-none.whl", "a-1-x-py3-none-any.whl", ""]
)
def test_names_that_are_none(filename: str) -> None:
    assert _wheels.parse_name(filename) is None


@pytest.mark.parametrize(
    "tags",
    [
        "py3-none-any",
        "py3-none-linux_aarch64",
        "py37-none-linux_aarch64",
        "cp311-cp311-manylinux_2_17_aarch64.manylinux2014_aarch64",
        "cp38-abi3-manylinux_2_35_aarch64",
        "cp311-none-linux_aarch64",
        "py2.py3-none-any",
    ],
)
def test_what_fits(tags: str) -> None:
    assert _wheels.misfit({"tags": tags}, ARM) is None


@pytest.mark.parametrize(
    ("tags", "code", "said"),
    [
        ("py3-none-linux_x86_64", "wheel-wrong-arch", "and the image is aarch64"),
        ("py3-none-win_amd64", "wheel-wrong-arch", "win_amd64"),
        ("cp310-cp310-linux_aarch64", "wheel-wrong-python", "and the image has 3.11"),
        ("cp312-abi3-linux_aarch64", "wheel-wrong-python", "3.11"),
        ("cp27-none-linux_aarch64", "wheel-wrong-python", "cp27"),
        ("py2-none-any", "wheel-wrong-python", "py2"),
        ("pp311-pypy311_pp73-linux_aarch64", "wheel-wrong-python", "pp311"),
        ("py3-none-manylinux_2_36_aarch64", "wheel-wrong-libc", "glibc 2.35"),
        ("py3-none-musllinux_1_2_aarch64", "wheel-wrong-libc", "glibc 2.35"),
    ],
)
def test_what_does_not_fit(tags: str, code: str, said: str) -> None:
    problem = _wheels.misfit({"tags": tags}, ARM)
    assert problem is not None
    assert problem[0] == code
    assert said in problem[1]


def test_the_old_abi_of_python_37() -> None:
    assert _wheels.misfit({"tags": "cp37-cp37m-linux_x86_64"}, _wheels.Target((3, 7), "x86_64")) is None


def test_a_wheel_tells_what_it_is(tmp_path: Path) -> None:
    path = write_wheel(
        tmp_path,
        "taskd",
        files={"taskd/__init__.py": "", "taskd/libs/libtaskd.so": "", "other.py": ""},
        requires=["grpcio>=1.62.2", "protobuf"],
        inner_tags=["cp310-cp310-linux_x86_64"],
    )
    wheel = _wheels.read_wheel(str(path))
    assert wheel["requires"] == ["grpcio>=1.62.2", "protobuf"]
    assert wheel["modules"] == ["other", "taskd"]
    assert wheel["libraries"] == ["taskd/libs/libtaskd.so"]
    assert wheel["inner_tags"] == ["cp310-cp310-linux_x86_64"]
    assert wheel["sha256"] == _wheels.sha256_of(str(path))


def test_a_name_that_pip_would_refuse_is_made_from_the_metadata(tmp_path: Path) -> None:
    path = write_wheel(tmp_path, "taskd", "7.0rc1", filename="taskd-7.0.RC1.SPC1-py3-none-any.whl")
    assert _wheels.installable_name(_wheels.read_wheel(str(path))) == "taskd-7.0rc1-py3-none-any.whl"


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 cut off", b"PK\x05\x06" + b"\0" * 18])
def test_a_damaged_file_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "taskd-1.0-py3-none-any.whl"
    path.write_bytes(content)
    with pytest.raises(Refused, match="is not a wheel that can be read"):
        _wheels.read_wheel(str(path))


@pytest.mark.parametrize(
    ("text", "digits"), [("A" * 64, "a" * 64), ("sha256:" + "0" * 64, "0" * 64), ("0" * 63, None), ("", None)]
)
def test_sha256(text: str, digits: str | None) -> None:
    assert _wheels.parse_sha256(text) == digits
