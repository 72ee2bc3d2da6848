# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The stage that runs inside images, run here by the Python of a virtual environment in an image's place."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import typing as t
import venv
from pathlib import Path

import pytest
from wheel_files import write_wheel

from ansible_collections.mindcluster.recovery.plugins.module_utils import _image_context, _image_stage, _wheels
from ansible_collections.mindcluster.recovery.plugins.module_utils._image_engine import stage_result

PATCH = """
from packaging import version
from google.protobuf import message, service

if version.parse("2.7") >= version.parse("2.6"):
    print(version)

@service.register("agent")
class Agent(message.Base):
    pass

import yet_another
"""
RUN_PY = '"""Runs."""\nimport os\nimport torch\n'
RENDEZVOUS = (
    "import os\nfrom torch.distributed import TCPStore\n\n"
    "def _create_c10d_store(hostname, port, rank, world_size, timeout, use_libuv=True):\n"
    "    if _torchelastic_use_agent_store():\n"
    "        return TCPStore(hostname, port, world_size, False, timeout)\n"
    "    return TCPStore(hostname, port, world_size, rank == 0, timeout)\n"
)


class Image:
    """A virtual environment, and what to put into it."""

    def __init__(self, place: Path, folder: Path) -> None:
        self.python = place / "bin" / "python"
        self.site = next((place / "lib").glob("python3*")) / "site-packages"
        self.folder = folder
        self.wheels: list[Path] = []
        self.house: list[Path] = []
        self.request: dict[str, t.Any] = {"imports": [], "run_py_import": None, "rendezvous": "never"}

    def wheel(self, name: str, **options: t.Any) -> None:
        self.wheels.append(write_wheel(self.folder / "wheels", name, **options))

    def in_house(self, name: str, version: str = "1.0", **options: t.Any) -> None:
        self.house.append(write_wheel(self.folder / "wheelhouse", name, version, **options))

    def has(self, name: str, version: str, module: str = "") -> None:
        """Have a distribution installed."""
        (self.site / (module or name)).mkdir()
        (self.site / (module or name) / "__init__.py").write_text("")
        info = self.site / f"{name}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        (info / "RECORD").write_text(f"{name}-{version}.dist-info/METADATA,,\n{name}-{version}.dist-info/RECORD,,\n")

    def has_torch(self) -> None:
        distributed = self.site / "torch" / "distributed"
        distributed.mkdir(parents=True)
        (self.site / "torch" / "__init__.py").write_text("")
        (distributed / "__init__.py").write_text("")
        (self.site / "torch" / "version.py").write_text("__version__ = '2.6.0'\n")
        (distributed / "run.py").write_text(RUN_PY)
        (distributed / "rendezvous.py").write_text(RENDEZVOUS)

    def install(self) -> dict[str, t.Any]:
        """Run the stage as a build does."""
        request = dict(self.request, wheels=_entries(self.wheels), candidates=_entries(self.house))
        (self.folder / "request.json").write_text(json.dumps(request))
        for name, text in _image_context.sources():
            (self.folder / f"{name}.py").write_text(text)
        command = [self.python, "-B", self.folder / "_image_stage.py", "install", self.folder]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        answer = stage_result(done.stdout)
        assert answer is not None, done.stdout + done.stderr
        assert (done.returncode == 0) is answer["ok"]
        assert not self.folder.exists(), "the stage removes the folder that it was given"
        return answer

    def codes(self) -> list[str]:
        answer = self.install()
        assert not answer["ok"]
        return [finding["code"] for finding in answer["findings"]]


def _entries(paths: list[Path]) -> list[dict[str, t.Any]]:
    entries = []
    for path in paths:
        wheel = _wheels.read_wheel(str(path))
        wheel["file"] = _wheels.installable_name(wheel)
        entries.append(wheel)
    return entries


@pytest.fixture(scope="session")
def pip_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the pip of the tests' own Python and nothing else; installing one into each image takes seconds."""
    spec = importlib.util.find_spec("pip")
    assert spec is not None and spec.origin is not None, "the tests need a Python with pip"
    site = Path(spec.origin).parent.parent
    folder = tmp_path_factory.mktemp("pip")
    for part in [site / "pip", *site.glob("pip-*.dist-info")]:
        (folder / part.name).symlink_to(part)
    return folder


@pytest.fixture
def image(pip_folder: Path, tmp_path: Path) -> Image:
    place = tmp_path / "image"
    venv.create(place, symlinks=True)
    folder = tmp_path / "context"
    folder.mkdir()
    made = Image(place, folder)
    (made.site / "shared.pth").write_text(f"{pip_folder}\n")
    return made


def test_wheels_are_installed_and_nothing_is_left(image: Image) -> None:
    image.wheel("mindio_ttp", requires=["six>=1.0", 'winonly; sys_platform == "win32"', 'extra_only; extra == "more"'])
    image.in_house("six", "1.2", files={"six.py": ""})
    image.in_house("unneeded")
    image.request["imports"] = ["mindio_ttp"]
    answer = image.install()
    assert answer["ok"]
    assert answer["result"]["imports"]["mindio_ttp"]["state"] == "imported"
    assert answer["result"]["installed"] == ["six-1.2-py3-none-any.whl"]
    installed = {path.name for path in image.site.iterdir()}
    assert {"mindio_ttp", "six.py"} <= installed
    assert "unneeded" not in installed
    assert not list(image.site.glob("mindio_ttp/__pycache__")), "byte code is left out"
    assert not list(image.site.glob("mindio_ttp*/direct_url.json")), "a path that is gone is not recorded"


def test_the_newest_that_fits_is_taken_with_what_it_needs(image: Image) -> None:
    image.wheel("mindio_ttp", requires=["alpha<3", "beta"])
    image.in_house("alpha", "1.10")
    image.in_house("alpha", "1.9")
    image.in_house("alpha", "3.0")
    image.in_house("alpha", "2.0", tags="py2-none-any")
    image.in_house("beta", requires=["gamma"])
    image.in_house("gamma")
    answer = image.install()
    assert answer["result"]["installed"] == [
        "alpha-1.10-py3-none-any.whl",
        "beta-1.0-py3-none-any.whl",
        "gamma-1.0-py3-none-any.whl",
    ]


def test_everything_that_is_missing_is_listed_at_once(image: Image) -> None:
    image.wheel(
        "taskd",
        requires=["grpcio>=1.62.2", "protobuf>=4.24.4", "pyOpenSSL"],
        files={"taskd/__init__.py": "", "taskd/patch.py": PATCH},
    )
    image.in_house("grpcio", "1.0")
    image.request["imports"] = ["taskd.patch"]
    answer = image.install()
    assert {(finding["code"], finding["what"].split(":")[0].split(", ")[0]) for finding in answer["findings"]} == {
        ("requirement-unmet", "taskd requires `grpcio>=1.62.2`"),
        ("requirement-unmet", "taskd requires `protobuf>=4.24.4`"),
        ("requirement-unmet", "taskd requires `pyOpenSSL`"),
        ("requirement-undeclared", "`import taskd.patch` needs the module `packaging`"),
        ("requirement-undeclared", "`import taskd.patch` needs the module `yet_another`"),
    }
    assert "the wheelhouse has only 1.0" in str(answer["findings"])


def test_what_is_undeclared_is_taken_from_the_wheelhouse(image: Image) -> None:
    image.wheel("taskd", files={"taskd/__init__.py": "", "taskd/patch.py": "import packaging.version, OpenSSL\n"})
    image.in_house("packaging", "24.0", files={"packaging/__init__.py": "", "packaging/version.py": ""})
    image.in_house("pyOpenSSL", "24.0", files={"OpenSSL/__init__.py": ""}, requires=["cryptography"])
    image.in_house("cryptography", "42.0")
    image.request["imports"] = ["taskd.patch"]
    answer = image.install()
    assert answer["ok"]
    assert len(answer["result"]["installed"]) == 3


def test_a_package_of_the_base_is_kept_where_it_will_do_and_replaced_where_not(image: Image) -> None:
    image.has("alpha", "2.5")
    image.has("beta", "1.0")
    image.wheel("mindio_ttp", requires=["alpha>=2", "beta>=2"])
    image.in_house("alpha", "3.0")
    image.in_house("beta", "2.0")
    result = image.install()["result"]
    assert result["replaced"] == ["beta 1.0 -> 2.0"]
    assert (image.site / "alpha-2.5.dist-info").exists()


def test_torch_is_never_replaced(image: Image) -> None:
    image.has("torch", "2.6.0")
    image.wheel("mindio_ttp", requires=["torch>=2.7"])
    image.in_house("torch", "2.7.1")
    assert image.codes() == ["framework-version-unfit"]


def test_a_wheel_of_the_same_version_replaces_the_one_that_is_there(image: Image) -> None:
    image.has("mindio_ttp", "1.0")
    image.wheel("mindio_ttp", files={"mindio_ttp/__init__.py": "MARK = 1\n"})
    assert image.install()["ok"]
    assert (image.site / "mindio_ttp" / "__init__.py").read_text() == "MARK = 1\n"


def test_a_wheel_without_the_module_that_is_imported(image: Image) -> None:
    image.wheel("mindx_elastic")
    image.request["imports"] = ["mindx_elastic.api"]
    assert image.codes() == ["module-not-in-wheel"]


def test_a_wheel_that_pip_refuses(image: Image) -> None:
    image.wheel("mindio_ttp")
    image.wheels[0].write_bytes(image.wheels[0].read_bytes()[:200])
    image.wheels = [write_wheel(image.folder / "copy", "mindio_ttp")]
    (image.folder / "wheels").mkdir(exist_ok=True)
    assert image.codes() == ["pip-failed"]


def test_both_patches_are_applied_and_proved(image: Image) -> None:
    image.has_torch()
    image.wheel("mindx_elastic", files={"mindx_elastic/__init__.py": "", "mindx_elastic/api.py": ""})
    image.request = {"imports": ["mindx_elastic.api"], "run_py_import": "mindx_elastic.api", "rendezvous": "auto"}
    result = image.install()["result"]
    assert {patch["name"]: patch["state"] for patch in result["patches"]} == {
        "run_py": "patched",
        "rendezvous": "patched",
    }
    assert result["torch"]["version"] == "2.6.0"
    assert "import mindx_elastic.api" in (image.site / "torch" / "distributed" / "run.py").read_text()


def test_nothing_is_patched_where_something_is_missing(image: Image) -> None:
    image.has_torch()
    image.wheel("mindx_elastic", files={"mindx_elastic/__init__.py": "", "mindx_elastic/api.py": "import nowhere\n"})
    image.request = {"imports": ["mindx_elastic.api"], "run_py_import": "mindx_elastic.api", "rendezvous": "auto"}
    assert image.codes() == ["requirement-undeclared"]
    assert (image.site / "torch" / "distributed" / "run.py").read_text() == RUN_PY


def test_an_import_may_write_into_its_folder_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "modules").mkdir()
    (tmp_path / "modules" / "writes.py").write_text("open('taskd.log', 'w').write('x')\n")
    (tmp_path / "modules" / "driver.py").write_text(
        "raise ImportError('libascend_hal.so: cannot open shared object file: No such file or directory')\n"
    )
    (tmp_path / "modules" / "ends.py").write_text("import os\nos._exit(3)\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "modules"))
    assert _image_stage.try_import("writes", [])["ok"]
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["driver.py", "ends.py", "modules", "writes.py"]
    assert _image_stage._proof(_image_stage.try_import("driver", []))["state"] == "needs-library"
    ended = _image_stage.try_import("ends", [])
    assert not ended["ok"]
    assert "code 3" in ended["error"]


def test_one_command_carries_the_code_and_the_request(image: Image) -> None:
    command = _image_context.one_command("facts", {"distributions": ["pip"]})
    assert max(len(word) for word in command) < 128 * 1024, "Linux takes no longer argument"
    done = subprocess.run([image.python, *command], capture_output=True, text=True, check=True)
    answer = stage_result(done.stdout)
    assert answer is not None
    assert answer["result"]["torch"] is None
    assert answer["result"]["pip"] == answer["result"]["distributions"]["pip"]
    assert answer["result"]["python"]["version"].startswith("%d.%d" % sys.version_info[:2])


def test_equal_contents_give_an_equal_context(tmp_path: Path) -> None:
    path = write_wheel(tmp_path, "taskd")
    files = {"wheels/taskd-1.0-py3-none-any.whl": str(path)}
    first = _image_context.build_context("FROM x\n", {"imports": []}, files).read()
    path.touch()
    assert _image_context.build_context("FROM x\n", {"imports": []}, files).read() == first
