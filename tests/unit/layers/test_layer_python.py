# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which Python an image has, and where wheels go, for the ways in which distributors and tools install one."""

from __future__ import annotations

import pytest
from layer_files import LINK, elf, tree_of

from ansible_collections.mindcluster.recovery.plugins.module_utils import _layer_python
from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Refused
from ansible_collections.mindcluster.recovery.plugins.module_utils._layer_distributions import (
    Distributions,
    has_module,
)

GLIBC = {"usr/lib/x86_64-linux-gnu/libc.so.6": elf(libc="2.36"), "lib": LINK + "usr/lib"}
DEBIAN = {
    **GLIBC,
    "bin": LINK + "usr/bin",
    "usr/bin/python3": LINK + "python3.11",
    "usr/bin/python3.11": elf(version="3.11.2"),
    "usr/lib/python3.11/os.py": "",
    "usr/lib/python3.11/site.py": "# dist-packages",
    "usr/lib/python3.11/lib-dynload/_x.cpython-311-x86_64-linux-gnu.so": elf(),
    "usr/lib/python3.12/os.py": "",
    "usr/lib/python3/dist-packages/numpy/__init__.py": "",
    "usr/lib/python3/dist-packages/numpy-1.24.2.egg-info": "Name: numpy\nVersion: 1.24.2\n\nVersion: 9\n",
    "usr/local/lib/python3.11/dist-packages/": "",
}


def find(*layers: dict[str, str | bytes], name: str = "python3", **environment: str) -> _layer_python.Interpreter:
    return _layer_python.find_python(tree_of(*layers), name, environment, "base:1")


def refusal(*layers: dict[str, str | bytes], name: str = "python3") -> str:
    with pytest.raises(Refused) as caught:
        find(*layers, name=name)
    return str(caught.value)


def test_the_python_of_debian() -> None:
    python = find(DEBIAN)
    assert (python.path, python.version, python.minor) == ("/usr/bin/python3", "3.11.2", 11)
    assert (python.machine, python.bits, python.libc, python.libc_version) == ("x86_64", 64, "glibc", "2.36")
    assert python.search == ["/usr/local/lib/python3.11/dist-packages", "/usr/lib/python3/dist-packages"]
    assert python.scheme["purelib"] == python.scheme["platlib"] == "/usr/local/lib/python3.11/dist-packages"
    assert python.scheme["scripts"] == "/usr/local/bin"


def test_the_python_of_its_makers_image() -> None:
    files = {
        **GLIBC,
        "usr/local/bin/python3": LINK + "python3.12",
        "usr/local/bin/python3.12": elf("aarch64"),
        "usr/local/lib/libpython3.12.so.1.0": elf("aarch64", version="3.12.4"),
        "usr/local/lib/python3.12/os.py": "",
        "usr/local/lib/python3.12/site.py": "",
        "usr/local/lib/python3.12/site-packages/six.py": "",
    }
    python = find(files)
    assert (python.version, python.machine) == ("3.12.4", "aarch64")
    assert python.scheme["purelib"] == "/usr/local/lib/python3.12/site-packages"
    assert python.search == ["/usr/local/lib/python3.12/site-packages"]


def test_the_python_of_openeuler() -> None:
    files = {
        "usr/lib64/libc.so.6": LINK + "libc-2.34.so",
        "usr/lib64/libc-2.34.so": elf(),
        "usr/bin/python3": LINK + "./python3.9",
        "usr/bin/python3.9": elf(version="3.9.9"),
        "usr/lib64/python3.9/os.py": "",
        "usr/lib64/python3.9/lib-dynload/_x.cpython-39-x86_64-linux-gnu.so": elf(),
        "usr/lib64/python3.9/distutils/command/install.py": "if 'RPM_BUILD_ROOT' not in os.environ: pass",
        "usr/lib/python3.9/site-packages/six.py": "",
        "usr/lib64/python3.9/site-packages/numpy/__init__.py": "",
    }
    python = find(files)
    assert (python.version, python.libc_version) == ("3.9.9", "2.34")
    assert python.scheme["purelib"] == "/usr/local/lib/python3.9/site-packages"
    assert python.scheme["platlib"] == "/usr/local/lib64/python3.9/site-packages"
    assert python.search == ["/usr/lib64/python3.9/site-packages", "/usr/lib/python3.9/site-packages"]


def test_conda_by_its_full_path_and_by_the_path_of_the_image() -> None:
    files = {
        **DEBIAN,
        "opt/conda/envs/ms/bin/python3": LINK + "python3.10",
        "opt/conda/envs/ms/bin/python3.10": elf(version="3.10.14"),
        "opt/conda/envs/ms/lib/python3.10/os.py": "",
        "opt/conda/envs/ms/lib/python3.10/site-packages/mindspore/__init__.py": "",
    }
    for python in (find(files, name="/opt/conda/envs/ms/bin/python3"), find(files, PATH="/opt/conda/envs/ms/bin:/bin")):
        assert python.path == "/opt/conda/envs/ms/bin/python3"
        assert python.version == "3.10.14"
        assert python.scheme["scripts"] == "/opt/conda/envs/ms/bin"
        assert python.search == ["/opt/conda/envs/ms/lib/python3.10/site-packages"]


@pytest.mark.parametrize("shared", [False, True])
def test_a_virtual_environment(shared: bool) -> None:
    settings = f"home = /usr/bin\nversion = 3.11.2\ninclude-system-site-packages = {str(shared).lower()}\n"
    files = {
        **DEBIAN,
        "opt/ms/pyvenv.cfg": settings,
        "opt/ms/bin/python3": LINK + "/usr/bin/python3",
        "opt/ms/lib/python3.11/site-packages/": "",
        "opt/ms/lib64": LINK + "lib",
    }
    python = find(files, name="/opt/ms/bin/python3")
    assert python.path == "/opt/ms/bin/python3"
    assert python.scheme["purelib"] == "/opt/ms/lib/python3.11/site-packages"
    assert python.scheme["scripts"] == "/opt/ms/bin"
    assert ("/usr/lib/python3/dist-packages" in python.search) is shared


def test_folders_that_pth_files_and_the_environment_name() -> None:
    site = "usr/local/lib/python3.11/dist-packages/"
    files = {
        **DEBIAN,
        site + "editable.pth": "# a note\nimport sys; sys.exit(1)\n/opt/src\nbeside\n/nowhere\n",
        site + "beside/bin/x": "",
        "opt/src/bin/x": "",
        "usr/local/Ascend/python/site-packages/x.py": "",
    }
    python = find(files, PYTHONPATH="/usr/local/Ascend/python/site-packages::relative:/gone")
    assert python.search == [
        "/usr/local/Ascend/python/site-packages",
        "/usr/local/lib/python3.11/dist-packages",
        "/opt/src",
        "/usr/local/lib/python3.11/dist-packages/beside",
        "/usr/lib/python3/dist-packages",
    ]


def test_musl_is_told_from_glibc() -> None:
    files = {
        "lib/ld-musl-x86_64.so.1": elf(),
        "usr/bin/python3": elf(version="3.12.3"),
        "usr/lib/python3.12/os.py": "",
    }
    assert find(files).libc == "musl"


def test_what_is_no_python_is_refused_with_the_remedy() -> None:
    assert "has no program `python3`" in refusal({"etc/os-release": ""})
    assert "has no program `/opt/python`" in refusal(DEBIAN, name="/opt/python")
    shim = {**DEBIAN, "root/.pyenv/shims/bin/python3": "#!/bin/sh\nexec pyenv exec python3\n"}
    assert "is no program but a script" in refusal(shim, name="/root/.pyenv/shims/bin/python3")
    circle = {"usr/bin/python3": LINK + "python", "usr/bin/python": LINK + "python3"}
    assert "has no program" in refusal(circle)
    alone = {"usr/bin/python3": elf(version="3.11.2")}
    assert "the modules of `/usr/bin/python3` are not found" in refusal(alone)


def test_distributions_by_the_first_place_on_the_search_path() -> None:
    local = "usr/local/lib/python3.11/dist-packages/"
    tree = tree_of(
        DEBIAN,
        {
            local + "numpy-2.0.0.dist-info/METADATA": "Name: NumPy\nVersion: 2.0.0\n\nName: other\n",
            local + "numpy-2.0.0.dist-info/RECORD": "numpy/__init__.py,,\n../../../bin/f2py,,\n",
            local + "pyOpenSSL-24.0.0.dist-info/METADATA": "Name: pyOpenSSL\nVersion: 24.0.0\n",
        },
    )
    python = _layer_python.find_python(tree, "python3", {}, "base:1")
    installed = Distributions(tree, python.search)
    assert installed.version("numpy") == "2.0.0"
    assert installed.version("PyOpenSSL") == "24.0.0"
    assert installed.version("torch") is None
    found = installed.get("numpy")
    assert found is not None
    assert installed.recorded(found) == ["/" + local + "numpy/__init__.py", "/usr/local/bin/f2py"]


def test_modules_are_found_by_their_files() -> None:
    site = "usr/local/lib/python3.11/dist-packages/"
    tree = tree_of(
        DEBIAN,
        {
            site + "google/protobuf/__init__.py": "",
            site + "fast.cpython-311-x86_64-linux-gnu.so": "",
            site + "six.py": "",
            site + "torch/__init__.py": "",
        },
    )
    python = _layer_python.find_python(tree, "python3", {}, "base:1")

    def has(module: str) -> bool:
        return has_module(tree, python.search, python.standard, module)

    assert all(map(has, ("google", "google.protobuf", "google.protobuf.message", "fast", "six", "six.moves", "os")))
    assert has("torch.anything")
    assert not any(map(has, ("google.cloud", "grpc", "packaging", "packaging.version")))
