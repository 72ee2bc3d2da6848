# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Stand-ins for the vendor's wheels, which are not free to ship: same names, same modules, same habits on import."""

from __future__ import annotations

import json
import platform
import tempfile
import typing as t
from pathlib import Path

from .wheel_writer import Wheel, sha256, write

VERSION = "7.2rc1"
TORCH_MODULE = "torch.distributed.elastic.agent.server.api"
RECORDER = f'''\
"""Stand-in for the vendor's module: notes that it was imported, and whether torch's agent already was."""
import os
import sys

if os.environ.get("{{variable}}"):
    with open(os.environ["{{variable}}"], "a") as _record:
        _record.write("%s imported, torch agent loaded: %s\\n" % (__name__, "{TORCH_MODULE}" in sys.modules))
'''
TASKD_PATCH = '''\
"""Stand-in for the vendor's module: needs packaging without declaring it, and logs into the working directory."""
import os

from packaging import version

_folder = os.environ.get("TASKD_LOG_PATH") or os.path.join(os.getcwd(), "taskd_log")
os.makedirs(_folder, exist_ok=True)
with open(os.path.join(_folder, "taskd.log"), "a") as _log:
    _log.write("taskd imported, packaging %s\\n" % version.__name__)
'''


def write_all(folder: Path, arch: str = "") -> dict[str, str]:
    """Write the stand-ins, a wheelhouse with what they need, C(wheels.json) and some wheels that must be refused.

    :param arch: machine word for the platform tag; this machine's without one.
    :returns: the variables that name the folder.
    """
    arch = arch or platform.machine()
    index = {}
    for wheel in vendor_wheels(arch):
        path = write(wheel, folder)
        index[wheel.name] = {"path": str(path), "sha256": sha256(path)}
    wheelhouse = folder / "wheelhouse"
    wheelhouse.mkdir(exist_ok=True)
    for wheel in requirements():
        write(wheel, wheelhouse)
    bad = _write_bad(folder / "bad", arch)
    (folder / "wheels.json").write_text(json.dumps(index, indent=1) + "\n", encoding="utf-8")
    (folder / "bad" / "wheels.json").write_text(json.dumps(bad, indent=1) + "\n", encoding="utf-8")
    return {"SANDBOX_WHEELS": str(folder)}


def vendor_wheels(arch: str) -> list[Wheel]:
    """The three wheels of release 7.2.RC1, named as setuptools names them."""
    tag = f"py3-none-linux_{arch}"
    return [mindx_elastic(tag), mindio_ttp(tag), taskd(tag)]


def mindx_elastic(tag: str) -> Wheel:
    """The Elastic Agent."""
    files = {
        "mindx_elastic/__init__.py": "",
        "mindx_elastic/api.py": RECORDER.format(variable="MINDX_ELASTIC_RECORD"),
    }
    return Wheel("mindx_elastic", VERSION, files, tag)


def mindio_ttp(tag: str) -> Wheel:
    """MindIO's part for dying checkpoints and online recovery."""
    files = {
        "mindio_ttp/__init__.py": "",
        "mindio_ttp/framework_ttp/__init__.py": "",
        "mindio_ttp/controller_ttp/__init__.py": "",
    }
    return Wheel("mindio_ttp", VERSION, files, tag)


def taskd(tag: str) -> Wheel:
    """TaskD, with its library beside its Python."""
    packages = ("taskd", "taskd/python", "taskd/python/adaptor", "taskd/python/cython_api")
    files: dict[str, bytes | str] = {f"{name}/__init__.py": "" for name in packages}
    files["taskd/python/adaptor/patch.py"] = TASKD_PATCH
    files["taskd/python/adaptor/elastic_training.py"] = RECORDER.format(variable="TASKD_RECORD")
    files["taskd/python/cython_api/libs/libtaskd.so"] = b"\x7fELF stand-in\n"
    return Wheel("taskd", VERSION, files, tag, ("grpcio>=1.62.2", "protobuf>=4.24.4", "pyOpenSSL"))


def requirements() -> list[Wheel]:
    """What the wheels need beyond a base image, declared or not."""
    modules = {
        "grpcio": ("1.62.2", {"grpc/__init__.py": ""}),
        "protobuf": ("4.24.4", {"google/protobuf/__init__.py": ""}),
        "pyOpenSSL": ("24.0.0", {"OpenSSL/__init__.py": ""}),
        "packaging": ("24.0", {"packaging/__init__.py": "", "packaging/version.py": ""}),
    }
    return [Wheel(name, version, files) for name, (version, files) in modules.items()]


def _write_bad(folder: Path, arch: str) -> dict[str, dict[str, str]]:
    """Wheels that a build must refuse, each with what is wrong about it as its key."""
    other = "aarch64" if arch != "aarch64" else "x86_64"
    wheels = {
        "other_arch": mindx_elastic(f"py3-none-linux_{other}"),
        "other_python": mindx_elastic(f"cp27-none-linux_{arch}"),
        "without_api": Wheel("mindx_elastic", "3.0.0", {"mindx_elastic/__init__.py": ""}, f"py3-none-linux_{arch}"),
    }
    folder.mkdir(exist_ok=True)
    index = {}
    for fault, wheel in wheels.items():
        path = write(wheel, folder)
        index[fault] = {"path": str(path), "sha256": sha256(path)}
    broken = folder / f"mindio_ttp-{VERSION}-py3-none-linux_{arch}.whl"
    broken.write_bytes(b"PK\x03\x04 cut off")
    index["cut_off"] = {"path": str(broken), "sha256": sha256(broken)}
    return index


def once(folder: Path) -> dict[str, str]:
    """The stand-ins in a folder, written when the folder does not hold them as they would be written now."""
    with tempfile.TemporaryDirectory() as draft:
        fresh = _digests(Path(draft), write_all(Path(draft)))
    if folder.exists() and _digests(folder, {}) == fresh:
        return {"SANDBOX_WHEELS": str(folder)}
    folder.mkdir(parents=True, exist_ok=True)
    return write_all(folder)


def _digests(folder: Path, _written: t.Mapping[str, str]) -> dict[str, str]:
    return {str(path.relative_to(folder)): sha256(path) for path in sorted(folder.rglob("*.whl"))}
