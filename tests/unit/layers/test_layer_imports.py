# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What an import would find missing, told from the sources."""

from __future__ import annotations

import pytest

from ansible_collections.mindcluster.recovery.plugins.module_utils._layer_imports import Scan, Sources

OUTSIDE = ("os", "sys", "torch", "torch.distributed", "google")


def scan(files: dict[str, str], module: str = "taskd.patch", version: tuple[int, int] = (3, 11)) -> Scan:
    sources = Sources()
    for name, text in {"taskd/__init__.py": "", **files}.items():
        sources.add(name, text.encode)
    found = Scan(sources, lambda name: name in OUTSIDE, version)
    found.run(module)
    return found


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("import packaging.version", ["packaging"]),
        ("from packaging import version", ["packaging"]),
        ("import os, torch.distributed, grpc", ["grpc"]),
        ("from google import protobuf", ["google.protobuf"]),
        ("from google.protobuf import message", ["google.protobuf"]),
        ("class A:\n    import grpc", ["grpc"]),
        ("with open('x') as f:\n    import grpc", ["grpc"]),
        ("try:\n    import grpc\nexcept ValueError:\n    pass", ["grpc"]),
        ("try:\n    pass\nfinally:\n    import grpc", ["grpc"]),
        ("if sys.version_info >= (3, 8):\n    import grpc\nelse:\n    import enum34", ["grpc"]),
        ("if sys.version_info < (3, 11):\n    import tomli", []),
        ("if sys.version_info > (3, 11):\n    import grpc", ["grpc"]),
        ("try:\n    import grpc\nexcept ImportError:\n    grpc = None", []),
        ("try:\n    import grpc\nexcept (OSError, ModuleNotFoundError):\n    grpc = None", []),
        ("try:\n    import grpc\nexcept:\n    grpc = None", []),
        ("with contextlib.suppress(ImportError):\n    import grpc", []),
        ("def late():\n    import grpc", []),
        ("if TYPE_CHECKING:\n    import grpc", []),
        ("if os.environ.get('X'):\n    import grpc", []),
        ("this is no Python", []),
    ],
)
def test_what_is_sure_to_be_imported(text: str, missing: list[str]) -> None:
    found = scan({"taskd/patch.py": text})
    assert (found.missing, found.absent) == (missing, [])


def test_the_chain_is_followed_through_the_wheels_own_modules() -> None:
    found = scan(
        {
            "taskd/patch.py": "from . import inner\nfrom .deep.more import thing\nfrom taskd.deep import last",
            "taskd/inner.py": "import grpc",
            "taskd/deep/__init__.py": "from ..inner import x",
            "taskd/deep/more.py": "import OpenSSL",
            "taskd/deep/last.py": "import yaml",
        }
    )
    assert found.missing == ["grpc", "OpenSSL", "yaml"]


def test_a_module_that_the_wheel_lacks_is_told_apart() -> None:
    assert scan({}).absent == ["taskd.patch"]
    found = scan({"taskd/patch.py": "from taskd.python import api"})
    assert (found.absent, found.missing) == (["taskd.python"], [])


def test_compiled_modules_and_folders_without_a_file_are_there() -> None:
    found = scan(
        {"taskd/patch.py": "from .libs import fast, slow", "taskd/libs/fast.cpython-311-x86_64-linux-gnu.so": ""}
    )
    assert found.absent == ["taskd.libs.slow"]


def test_modules_that_import_each_other_end() -> None:
    found = scan({"taskd/patch.py": "import taskd.other", "taskd/other.py": "import taskd.patch\nimport grpc"})
    assert found.missing == ["grpc"]
