# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The new layer: what is in it, that it is the same each time, and what is refused before there is one."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import sys
import tarfile
import tempfile
import typing as t
import zipfile
from pathlib import Path

import pytest
from fake_registry import FakeRegistry
from layer_files import LINK, elf, packed, tar_of

sys.path.insert(0, str(Path(__file__).parents[1] / "image"))
from wheel_files import write_wheel

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Refused
from ansible_collections.mindcluster.recovery.plugins.module_utils._layer_cache import Cache
from ansible_collections.mindcluster.recovery.plugins.module_utils._layer_compose import Composed, Order, compose
from ansible_collections.mindcluster.recovery.plugins.module_utils._layer_image import (
    Image,
    choose_platform,
    index_kind,
    make_image,
    make_index,
)
from ansible_collections.mindcluster.recovery.plugins.module_utils._layer_store import Store
from ansible_collections.mindcluster.recovery.plugins.module_utils._registry_client import (
    DOCKER_LIST,
    DOCKER_MANIFEST,
    OCI_INDEX,
    OCI_MANIFEST,
)
from ansible_collections.mindcluster.recovery.plugins.module_utils._wheels import read_wheel

SITE = "usr/local/lib/python3.11/dist-packages/"
TORCH = "usr/lib/python3/dist-packages/torch/"
RUN = '"""Doc."""\nimport os\nimport uuid\nfrom torch.distributed.elastic.agent import x\n'
RENDEZVOUS = (
    "import os\nfrom torch.distributed import TCPStore\n\n\n"
    "def _create_c10d_store(hostname, port, rank, world_size, timeout, use_libuv=True):\n"
    "    if _torchelastic_use_agent_store():\n"
    "        return TCPStore(host_name=hostname, port=port, world_size=world_size, is_master=False, timeout=timeout)\n"
    "    return None\n"
)
BASE: dict[str, str | bytes] = {
    "usr/bin/": "",
    "usr/bin/python3": LINK + "python3.11",
    "usr/bin/python3.11": elf("aarch64", "3.11.2"),
    "usr/lib/aarch64-linux-gnu/libc.so.6": elf("aarch64", libc="2.36"),
    "usr/lib/python3.11/os.py": "",
    "usr/lib/python3.11/site.py": "# dist-packages",
    "usr/lib/python3/dist-packages/packaging/__init__.py": "",
    "usr/lib/python3/dist-packages/packaging-23.0.egg-info/PKG-INFO": "Name: packaging\nVersion: 23.0\n",
    TORCH + "__init__.py": "",
    TORCH + "version.py": "__version__ = '2.6.0+cpu'\n",
    TORCH + "distributed/run.py": RUN,
    TORCH + "distributed/rendezvous.py": RENDEZVOUS,
    TORCH + "distributed/__pycache__/run.cpython-311.pyc": "x",
    TORCH + "distributed/__pycache__/rendezvous.cpython-311.pyc": "x",
    TORCH + "distributed/__pycache__/other.cpython-311.pyc": "x",
}
PLAN = {
    "image": {
        "wheels": ["mindx_elastic"],
        "imports": ["mindx_elastic.api"],
        "run_py_import": "mindx_elastic.api",
        "rendezvous": "auto",
    },
    "torch_version": "2.6.0",
}
ELASTIC = {"mindx_elastic/__init__.py": "", "mindx_elastic/api.py": "import packaging\n"}


class Bench:
    """A base image and the wheels for it."""

    def __init__(self, folder: Path, *layers: t.Mapping[str, str | bytes], kind: str = OCI_MANIFEST) -> None:
        self.folder = folder
        registry = FakeRegistry()
        tars = [tar_of(layer, uid=0) for layer in layers or (BASE,)]
        diff_ids = ["sha256:" + hashlib.sha256(tar).hexdigest() for tar in tars]
        self.store = Store(t.cast(t.Any, registry), "base", Cache(str(folder / "cache")))
        document = registry.image(*map(packed, tars), diff_ids=diff_ids, kind=kind, architecture="arm64")
        self.image: Image = self.store.image("base:1", document)
        self.wheels: dict[str, dict[str, t.Any]] = {}
        self.house: list[dict[str, t.Any]] = []
        self.plan: dict[str, t.Any] = PLAN
        self.wheel("mindx_elastic", ELASTIC)

    def wheel(self, name: str, files: t.Mapping[str, str], **options: t.Any) -> None:
        path = write_wheel(self.folder / "wheels", name, files=files, **options)
        self.wheels[name] = dict(read_wheel(str(path)), path=str(path))

    def offer(self, name: str, files: t.Mapping[str, str], **options: t.Any) -> None:
        path = write_wheel(self.folder / "house", name, files=files, **options)
        self.house.append(dict(read_wheel(str(path)), path=str(path)))

    def compose(self, place: str = "work") -> Composed:
        (self.folder / place).mkdir()
        order = Order(self.plan, self.wheels, self.house, "python3")
        return compose(self.image, self.store.tree(self.image), order, str(self.folder / place))

    def members(self, composed: Composed) -> dict[str, tuple[tarfile.TarInfo, bytes]]:
        data = gzip.decompress(Path(composed.path).read_bytes())
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            return {
                one.name: (one, t.cast(t.Any, archive.extractfile(one)).read() if one.isfile() else b"")
                for one in archive
            }

    def refusal(self) -> list[str]:
        with pytest.raises(Refused) as caught:
            self.compose()
        return [finding.code for finding in caught.value.findings]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_the_layer_holds_patches_wheels_and_the_folders_before_them(bench: Bench) -> None:
    composed = bench.compose()
    members = bench.members(composed)
    assert b"import mindx_elastic.api\nimport os" in members[TORCH + "distributed/run.py"][1]
    assert b"/worker/attempt_" in members[TORCH + "distributed/rendezvous.py"][1]
    assert members[SITE + "mindx_elastic/api.py"][1] == b"import packaging\n"
    assert members[SITE + "mindx_elastic-1.0.dist-info/INSTALLER"][1] == b"mindcluster.recovery\n"
    assert not any(name.endswith(".pyc") and ".wh." not in name for name in members)
    whiteouts = sorted(name for name in members if ".wh." in name)
    pycache = TORCH + "distributed/__pycache__/.wh."
    assert whiteouts == [pycache + "rendezvous.cpython-311.pyc", pycache + "run.cpython-311.pyc"]
    folders = {name for name, (one, _data) in members.items() if one.isdir()}
    assert {"usr", "usr/lib", SITE.rstrip("/"), TORCH + "distributed"} <= folders
    assert all(members[name.rpartition("/")[0]][0].isdir() for name in members if "/" in name)
    assert {(one.uid, one.gid) for one, _data in members.values()} == {(0, 0)}
    assert [patch["state"] for patch in composed.seen["patches"]] == ["patched", "patched"]
    assert composed.seen["imports"]["mindx_elastic.api"]["state"] == "found"


def test_the_same_inputs_give_the_same_layer(bench: Bench) -> None:
    one, other = bench.compose("one"), bench.compose("other")
    assert one.layer is not None and one.layer == other.layer
    data = Path(one.path).read_bytes()
    assert one.layer.digest == "sha256:" + hashlib.sha256(data).hexdigest()
    assert one.layer.diff_id == "sha256:" + hashlib.sha256(gzip.decompress(data)).hexdigest()
    assert one.layer.size == len(data)


def test_an_image_that_has_the_patches_gets_the_wheels_only(tmp_path: Path) -> None:
    first = Bench(tmp_path / "first")
    files = {name: data for name, (one, data) in first.members(first.compose()).items() if one.isfile()}
    patched = {name: data for name, data in files.items() if name.startswith(TORCH) and ".wh." not in name}
    again = Bench(tmp_path / "again", BASE, patched)
    members = again.members(again.compose())
    assert not any(name.startswith(TORCH) for name in members)
    assert SITE + "mindx_elastic/api.py" in members


def test_another_version_of_a_wheel_makes_room(tmp_path: Path) -> None:
    info = SITE + "mindx_elastic-0.9.dist-info/"
    old = {
        SITE + "mindx_elastic/__init__.py": "",
        SITE + "mindx_elastic/old.py": "",
        SITE + "mindx_extra.py": "",
        SITE + "shared/mindx/__init__.py": "",
        SITE + "shared/mindx/deep/inside/old.py": "",
        SITE + "shared/other/__init__.py": "",
        SITE + "__pycache__/mindx_extra.cpython-311.pyc": "",
        info + "METADATA": "Name: mindx-elastic\nVersion: 0.9\n",
        info + "RECORD": "mindx_elastic/__init__.py,,\nmindx_elastic/old.py,,\nmindx_extra.py,,\n"
        "shared/mindx/__init__.py,,\nshared/mindx/deep/inside/old.py,,\nplain/deep/in/side.txt,,\n"
        "mindx_elastic-0.9.dist-info/METADATA,,\nmindx_elastic-0.9.dist-info/RECORD,,\n../../../bin/gone,,\n",
    }
    bench = Bench(tmp_path, BASE, old)
    composed = bench.compose()
    marks = {name[len(SITE) :] for name in bench.members(composed) if ".wh." in name and name.startswith(SITE)}
    assert marks == {
        "mindx_elastic/.wh..wh..opq",
        ".wh.mindx_elastic-0.9.dist-info",
        ".wh.mindx_extra.py",
        ".wh.__pycache__",
        "shared/.wh.mindx",
    }
    assert composed.replaced == ["mindx-elastic 0.9 -> 1.0"]


def test_what_is_needed_comes_from_the_wheelhouse_declared_or_not(bench: Bench) -> None:
    api = "import packaging\nfrom grpc import aio\nimport yaml\n"
    bench.wheel("mindx_elastic", {**ELASTIC, "mindx_elastic/api.py": api}, requires=["grpcio>=2; python_version<'4'"])
    bench.offer("grpcio", {"grpc/__init__.py": "import six", "grpc/aio.py": ""}, version="2.1")
    bench.offer("grpcio", {"grpc/__init__.py": ""}, version="1.0")
    bench.offer("PyYAML", {"yaml/__init__.py": ""})
    bench.offer("six", {"six.py": ""})
    bench.offer("unneeded", {"unneeded.py": ""})
    names = bench.members(bench.compose())
    assert {SITE + "grpc/aio.py", SITE + "yaml/__init__.py", SITE + "six.py"} <= set(names)
    assert SITE + "grpcio-2.1.dist-info/METADATA" in names
    assert SITE + "unneeded.py" not in names


def test_everything_that_is_nowhere_is_told_at_once(bench: Bench) -> None:
    api = "import grpc\nimport yaml\nfrom . import lacking"
    files = {**ELASTIC, "mindx_elastic/api.py": api}
    bench.wheel("mindx_elastic", files, requires=["grpcio>=2", "packaging>=99", "torch>=9", "winonly; os_name=='nt'"])
    assert bench.refusal() == [
        "requirement-unmet",
        "requirement-unmet",
        "framework-version-unfit",
        "requirement-undeclared",
    ]


def test_a_wheel_without_its_module_is_told_from_a_missing_package(bench: Bench) -> None:
    bench.wheel("mindx_elastic", {"mindx_elastic/__init__.py": ""})
    assert bench.refusal() == ["module-not-in-wheel"]


def test_wheels_that_do_not_fit_are_refused_by_their_names(bench: Bench) -> None:
    bench.wheel("mindx_elastic", ELASTIC, tags="py3-none-linux_x86_64")
    bench.wheel("mindio_ttp", {"mindio_ttp/__init__.py": ""}, tags="cp39-cp39-linux_aarch64")
    bench.wheel("taskd", {"taskd/__init__.py": ""}, tags="py3-none-manylinux_2_40_aarch64")
    assert bench.refusal() == ["wheel-wrong-python", "wheel-wrong-arch", "wheel-wrong-libc"]


def test_a_renamed_wheel_is_a_warning(bench: Bench) -> None:
    bench.wheel("mindx_elastic", ELASTIC, inner_tags=["cp39-cp39-linux_aarch64"])
    assert [warning.code for warning in bench.compose().warnings] == ["wheel-renamed"]


@pytest.mark.parametrize(
    "name", ["../../../../etc/cron.d/x", "mindx_elastic/../../x.py", "mindx_elastic-1.0.data/scripts/../../../x"]
)
def test_a_wheel_that_writes_elsewhere_is_refused(bench: Bench, name: str) -> None:
    bench.wheel("mindx_elastic", {**ELASTIC, name: ""})
    assert bench.refusal() == ["wheel-unreadable"]


@pytest.mark.parametrize("name", ["mindx_elastic/api.py", "mindx_elastic/data.txt"])
@pytest.mark.parametrize("part", ["bytes", "method", "lock"])
def test_a_wheel_that_is_damaged_inside_is_refused(bench: Bench, name: str, part: str) -> None:
    bench.wheel("mindx_elastic", {**ELASTIC, "mindx_elastic/data.txt": "some text"})
    path = Path(bench.wheels["mindx_elastic"]["path"])
    damaged = io.BytesIO(path.read_bytes())
    with zipfile.ZipFile(damaged) as archive:
        item, central = archive.getinfo(name), archive.start_dir
    data = bytearray(damaged.getvalue())
    entry = data.rindex(name.encode()) - 46
    if part == "bytes":
        begin = item.header_offset + 30 + len(name)
        data[begin : begin + item.compress_size] = b"\xff" * item.compress_size
    for local, place in ((item.header_offset, 6), (entry, 8)) if part != "bytes" else ():
        place += 0 if part == "lock" else 2
        data[local + place] = 1 if part == "lock" else 93
    assert central <= entry
    path.write_bytes(data)
    assert bench.refusal() == ["wheel-unreadable"]


def test_a_torch_whose_syntax_would_take_all_memory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    assert Bench(tmp_path, {**BASE, TORCH + "version.py": "a=1\n" * (1 << 20)}).refusal() == ["torch-file-too-large"]
    assert list((tmp_path / "temporary").iterdir()) == []


def test_names_that_no_file_system_takes_are_passed_over(tmp_path: Path) -> None:
    odd = {TORCH + "distributed/__pycache__/run.%s.pyc" % ("x" * 300): "x"}
    odd["usr/lib/python3/dist-packages/torch-%s.egg-info" % ("x" * 300)] = "Name: torch\nVersion: 2.6.0\n"
    bench = Bench(tmp_path, {**BASE, **odd})
    assert TORCH + "distributed/run.py" in bench.members(bench.compose())


def test_another_torch_than_planned_is_refused(bench: Bench) -> None:
    bench.plan = dict(PLAN, torch_version="2.7.1")
    assert bench.refusal() == ["torch-version-mismatch"]


def test_a_torch_that_nobody_knows_is_refused_with_the_patchers_words(tmp_path: Path) -> None:
    bench = Bench(tmp_path, BASE, {TORCH + "distributed/rendezvous.py": "x = 1\n", TORCH + "distributed/run.py": "(\n"})
    assert bench.refusal() == ["file-broken", "rendezvous-unsupported"]


def test_files_go_where_links_lead(tmp_path: Path) -> None:
    moved = {"usr/local/lib/python3.11": LINK + "/srv/python", "srv/python/dist-packages/": ""}
    bench = Bench(tmp_path, {**BASE, **moved})
    assert "srv/python/dist-packages/mindx_elastic/api.py" in bench.members(bench.compose())


# --- documents --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [OCI_MANIFEST, DOCKER_MANIFEST])
def test_the_new_image_is_of_its_bases_kind(tmp_path: Path, kind: str) -> None:
    bench = Bench(tmp_path, kind=kind)
    layer = ("sha256:" + "1" * 64, 5, "sha256:" + "2" * 64)
    made = make_image(bench.image, layer, {"b": "2", "a": "1"}, "what was done")
    manifest, config = json.loads(made.manifest.body), json.loads(made.config.body)
    assert manifest["mediaType"] == kind
    assert manifest["config"]["digest"] == "sha256:" + hashlib.sha256(made.config.body).hexdigest()
    assert [one["digest"] for one in manifest["layers"]] == [bench.image.layers[0]["digest"], layer[0]]
    assert manifest.get("annotations") == ({"a": "1", "b": "2"} if kind == OCI_MANIFEST else None)
    assert config["config"]["Labels"] == {"a": "1", "b": "2", "vendor": "x"}
    assert config["config"]["Env"] == ["PATH=/usr/bin"]
    assert config["rootfs"]["diff_ids"][1:] == [layer[2]]
    assert config["history"][1] == {"created": "2024-05-06T07:08:09.123Z", "created_by": "what was done"}
    index = make_index(index_kind([made]), {"linux/arm64/v8": (made, {"a": "1"})})
    entry = json.loads(index.body)["manifests"][0]
    assert index.media_type == (OCI_INDEX if kind == OCI_MANIFEST else DOCKER_LIST)
    assert entry["platform"] == {"os": "linux", "architecture": "arm64", "variant": "v8"}


@pytest.mark.parametrize(
    ("wanted", "offered", "chosen"),
    [
        ("linux/arm64", ["linux/amd64", "linux/arm64/v8"], "linux/arm64/v8"),
        ("linux/arm64", ["linux/arm64/v8", "linux/arm64/v9"], "linux/arm64/v8"),
        ("linux/arm64/v9", ["linux/arm64/v8", "linux/arm64/v9"], "linux/arm64/v9"),
        ("linux/arm64", ["linux/amd64"], None),
        ("windows/amd64", ["linux/amd64"], None),
    ],
)
def test_platforms_are_chosen_as_engines_choose_them(wanted: str, offered: list[str], chosen: str | None) -> None:
    assert choose_platform(wanted, offered) == chosen
