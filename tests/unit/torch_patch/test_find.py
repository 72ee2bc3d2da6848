# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which torch it is, and what is refused about it; always asked of a real interpreter by the command line."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import time
import typing as t

import pytest
from torch_shapes import Site

from ansible_collections.mindcluster.recovery.plugins.module_utils import _torch_patcher as patcher

NewSite = t.Callable[[str], Site]
SOURCE = pathlib.Path(patcher.__file__)


def ask(*arguments: str, path: str = "", cwd: pathlib.Path | None = None) -> dict[str, t.Any]:
    """Runs the patcher's file by itself, with C(path) as PYTHONPATH."""
    environment = {**os.environ, "PYTHONPATH": path}
    command = [sys.executable, str(SOURCE), *arguments, "--json"]
    done = subprocess.run(command, env=environment, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    result: dict[str, t.Any] = json.loads(done.stdout)
    assert done.returncode == (0 if result["ok"] else 1)
    return result


def code_of(result: dict[str, t.Any]) -> str:
    assert len(result["errors"]) == 1
    return str(result["errors"][0]["code"])


def record(site: Site, version: str) -> None:
    """An installation record as pip leaves it."""
    site.write(
        "torch-%s.dist-info/METADATA" % version, "Metadata-Version: 2.1\nName: torch\nVersion: %s\n\nx\n" % version
    )


def test_torch_is_where_the_interpreter_would_import_it_from(new_site: NewSite) -> None:
    site = new_site("2.13.0")
    record(site, "2.13.0")
    result = ask("present", path=str(site.folder))
    assert result["torch_path"] == str(site.torch)
    assert result["torch_version"] == "2.13.0+cpu"
    assert result["import"]["file"] == str(site.folder / "mindx_elastic/api.py")


def test_torch_is_not_imported_for_that(new_site: NewSite) -> None:
    site = new_site("2.13.0")
    site.write("torch/__init__.py", "raise SystemExit('imported')\n")
    assert ask("present", path=str(site.folder))["ok"]


@pytest.mark.parametrize("fed", [False, True])
def test_a_folder_by_its_name_in_the_current_folder_is_not_it(
    new_site: NewSite, tmp_path: pathlib.Path, fed: bool
) -> None:
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text("")
    site = new_site("2.13.0")
    command = [sys.executable, "-" if fed else str(SOURCE), "inspect", "--json"]
    environment = {**os.environ, "PYTHONPATH": str(site.folder)}
    done = subprocess.run(
        command, env=environment, cwd=tmp_path, input=SOURCE.read_text(), capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout)["torch_path"] == str(site.torch)


def test_without_torch_it_says_where_it_looked(tmp_path: pathlib.Path) -> None:
    result = ask("present", path=str(tmp_path))
    assert code_of(result) == "torch-missing"
    assert str(tmp_path) in result["errors"][0]["why"]
    assert sys.executable in result["errors"][0]["what"]


def test_an_empty_folder_by_the_name_of_torch_is_refused(tmp_path: pathlib.Path) -> None:
    (tmp_path / "torch").mkdir()
    assert code_of(ask("present", path=str(tmp_path))) == "torch-missing"


def test_a_wrong_torch_path_is_refused(tmp_path: pathlib.Path) -> None:
    assert code_of(ask("present", "--torch-path", str(tmp_path))) == "torch-missing"


@pytest.mark.parametrize(
    "version_py", ["", "__version__ = 1\n", "__version__ = 'unknown'\n", "(\n", "__version__: str\n"]
)
def test_a_version_that_cannot_be_read_is_refused(new_site: NewSite, version_py: str) -> None:
    site = new_site("2.13.0")
    site.write("torch/version.py", version_py)
    assert code_of(ask("present", path=str(site.folder))) == "torch-version-unreadable"


def test_two_records_of_two_releases_are_refused(new_site: NewSite) -> None:
    site = new_site("2.13.0")
    before = site.texts()
    record(site, "2.13.0")
    record(site, "2.5.1")
    result = ask("present", path=str(site.folder))
    assert code_of(result) == "torch-version-disagrees"
    assert "2.5.1" in result["errors"][0]["why"]
    assert site.texts() == before


def test_an_egg_info_of_another_release_is_refused(new_site: NewSite) -> None:
    site = new_site("2.13.0")
    site.write("torch-2.6.0+debian.egg-info", "Metadata-Version: 2.1\nName: torch\nVersion: 2.6.0+debian\n")
    assert code_of(ask("present", path=str(site.folder))) == "torch-version-disagrees"


def test_a_local_part_is_no_disagreement(new_site: NewSite) -> None:
    site = new_site("2.13.0")
    record(site, "2.13.0+cu130")
    assert ask("present", path=str(site.folder))["ok"]


def test_a_torch_without_run_py_is_refused(new_site: NewSite) -> None:
    site = new_site("2.13.0")
    site.run_py.unlink()
    assert code_of(ask("present", path=str(site.folder))) == "file-missing"


def test_a_newer_torch_than_was_tried_is_patched_with_a_warning(new_site: NewSite) -> None:
    site = new_site("2.15.0")
    site.write("torch/version.py", "__version__ = '2.99.0'\n")
    result = ask("present", path=str(site.folder))
    assert result["ok"]
    assert [warning["code"] for warning in result["warnings"]] == ["torch-untried"]


# The import that the patch adds ...................................................................................


def test_a_missing_wheel_is_refused_before_anything_is_touched(new_site: NewSite) -> None:
    site = new_site("2.13.0")
    before = site.texts()
    result = ask("present", "--import-module", "mindx_elastic.other", path=str(site.folder))
    assert code_of(result) == "import-missing"
    assert result["import"]["missing_module"] == "mindx_elastic.other"
    assert site.texts() == before


def test_what_the_module_needs_itself_is_named(new_site: NewSite) -> None:
    site = new_site("2.13.0")
    site.write("mindx_elastic/api.py", "import grpc_that_is_not_there\n")
    result = ask("present", path=str(site.folder))
    assert code_of(result) == "import-incomplete"
    assert "grpc_that_is_not_there" in result["errors"][0]["what"]
    assert site.run_py.read_bytes().count(b"mindx") == 0


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("raise RuntimeError('no driver')", "no driver"),
        ("import os; os._exit(7)", "status 7"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "signal 11"),
        ("raise SystemExit(0)", "SystemExit"),
        ("(", "SyntaxError"),
    ],
)
def test_a_module_that_dies_is_refused_with_its_words(new_site: NewSite, code: str, words: str) -> None:
    site = new_site("2.13.0")
    site.write("mindx_elastic/api.py", code)
    result = ask("present", path=str(site.folder))
    assert code_of(result) == "import-failed"
    assert words in result["errors"][0]["why"]


def test_the_attempt_leaves_no_file_and_no_process_behind(new_site: NewSite) -> None:
    site = new_site("2.13.0")
    marker = site.folder / "marker"
    site.write(
        "mindx_elastic/api.py",
        "import os, pathlib, subprocess, sys, tempfile\n"
        "pathlib.Path('left-in-the-current-folder').write_text('')\n"
        "pathlib.Path('~/left-at-home').expanduser().write_text('')\n"
        "tempfile.mkstemp()\nprint('noise')\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        "pathlib.Path(%r).write_text('%%d %%s' %% (child.pid, os.getcwd()))\n" % str(marker),
    )
    before = set(site.folder.rglob("*")) | {marker}
    assert ask("present", path=str(site.folder))["ok"]
    assert set(site.folder.rglob("*")) == before
    child, folder = marker.read_text().split()
    assert not os.path.exists(folder)
    end = time.monotonic() + 60
    while has_work_left(child):
        assert time.monotonic() < end, "process %s still runs" % child
        time.sleep(0.02)


def has_work_left(process: str) -> bool:
    """Whether a process runs: after a signal it goes on for a moment, and is a zombie until somebody asks for it."""
    try:
        return "zombie" not in pathlib.Path("/proc/%s/status" % process).read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_inspect_says_whether_everything_is_in_place(new_site: NewSite) -> None:
    site = new_site("2.6.0")
    assert not ask("inspect", path=str(site.folder))["satisfied"]
    ask("present", path=str(site.folder))
    found = ask("inspect", path=str(site.folder))
    assert found["satisfied"]
    assert found["run_py"]["line"] == site.run_py.read_text().splitlines().index("import mindx_elastic.api") + 1
    assert "def _create_c10d_store" in "".join(
        site.rendezvous_py.read_text().splitlines()[: found["rendezvous"]["line"]]
    )
    (site.folder / "mindx_elastic/api.py").unlink()
    assert not ask("inspect", path=str(site.folder))["satisfied"]
    assert ask("inspect", "--no-import", path=str(site.folder))["satisfied"]
    assert not ask("inspect", "--no-import", "--rendezvous", "never", path=str(site.folder))["satisfied"]


def test_in_words_and_by_exit_code(new_site: NewSite) -> None:
    site = new_site("2.6.0")
    environment = {**os.environ, "PYTHONPATH": str(site.folder), "PYTHONIOENCODING": "ascii"}
    outcomes = []
    for verb in ("inspect", "present", "present", "inspect"):
        command = [sys.executable, str(SOURCE), verb, "--require"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        outcomes.append((done.returncode, done.stdout.splitlines()[-1]))
    assert outcomes == [(3, "not in place"), (0, "changed"), (0, "nothing to change"), (0, "in place")]
