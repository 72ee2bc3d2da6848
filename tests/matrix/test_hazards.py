# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Machines that are hostile to a patch, each with the real files of torch 2.6.0."""

from __future__ import annotations

import json
import os
import pathlib
import py_compile
import shutil
import stat
import subprocess
import sys
import typing as t

import pytest
from real_site import SOURCE, codes, run_patcher
from torch_shapes import Site, make_site, vendor_sed

from ansible_collections.mindcluster.recovery.plugins.module_utils import _torch_patcher as patcher

NOBODY = 65534
#: A Python that every user may run, and that no virtual environment has changed.
SYSTEM_PYTHON = "/usr/bin/python3"


def is_patched(site: Site) -> bool:
    """Whether both patches are in it, by another way than the patcher's: the text of a sed on 2.7 and newer."""
    run, rendezvous = site.texts()
    return run.count(b"\nimport mindx_elastic.api\nimport os\n") == 1 and rendezvous.count(b"/worker/attempt_") == 1


def leftovers(site: Site) -> list[pathlib.Path]:
    return [path for path in site.folder.rglob(".*") if path.is_file()]


def in_private_mounts(site: Site, script: str) -> subprocess.CompletedProcess[str]:
    """Runs a shell script with mounts that nobody else sees; C($FOLDER), C($RUN), C($PATCH) are set."""
    distributed = site.torch / "distributed"
    environment = {
        **os.environ,
        "FOLDER": str(distributed),
        "RUN": str(site.run_py),
        "PATCH": "%s %s present --torch-path %s" % (sys.executable, SOURCE, site.torch),
    }
    command = ["unshare", "--mount", "sh", "-e", "-c", script]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


# Files ............................................................................................................


def test_read_only_files_are_patched_and_stay_read_only(site: Site) -> None:
    for path in (site.run_py, site.rendezvous_py):
        path.chmod(0o444)
    assert run_patcher(site, "present")["changed"]
    assert is_patched(site)
    assert [stat.S_IMODE(path.stat().st_mode) for path in (site.run_py, site.rendezvous_py)] == [0o444, 0o444]


def test_mode_owner_and_attributes_are_kept(site: Site) -> None:
    context = b"system_u:object_r:lib_t:s0\0"
    for path in (site.run_py, site.rendezvous_py):
        os.setxattr(path, "user.note", b"kept")
        os.setxattr(path, "security.selinux", context)
        os.chown(path, NOBODY, 12345)
        path.chmod(0o640)
    run_patcher(site, "present")
    assert is_patched(site)
    for path in (site.run_py, site.rendezvous_py):
        found = path.stat()
        assert (found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)) == (NOBODY, 12345, 0o640)
        assert os.getxattr(path, "user.note") == b"kept"
        assert os.getxattr(path, "security.selinux") == context


def as_nobody(site: Site, folder: pathlib.Path) -> dict[str, t.Any]:
    """Patches as a user without rights of its own; the patcher's file lies where that user can read it."""
    for parent in (folder, *folder.parents):
        if parent.owner() == "root" and parent != pathlib.Path("/tmp"):
            parent.chmod(parent.stat().st_mode | 0o055)
    command = ["setpriv", "--reuid=%d" % NOBODY, "--regid=%d" % NOBODY, "--clear-groups", SYSTEM_PYTHON, "-"]
    environment = {**os.environ, "PYTHONPATH": str(site.folder), "HOME": "/nonexistent"}
    arguments = ["present", "--json"]
    with SOURCE.open() as source:
        done = subprocess.run(
            command + arguments, env=environment, cwd="/", stdin=source, capture_output=True, text=True, check=False
        )
    return t.cast("dict[str, t.Any]", json.loads(done.stdout))


def test_a_user_without_rights_is_refused_before_anything_is_touched(site: Site, tmp_path: pathlib.Path) -> None:
    before = site.texts()
    result = as_nobody(site, tmp_path)
    assert set(codes(result["errors"])) == {"not-writable"}
    assert "user 65534" in result["errors"][0]["what"]
    assert site.texts() == before


def test_the_owner_needs_no_root(site: Site, tmp_path: pathlib.Path) -> None:
    for path in (site.folder, *site.folder.rglob("*")):
        os.chown(path, NOBODY, NOBODY)
    assert as_nobody(site, tmp_path)["errors"] == []
    assert is_patched(site)


def test_a_file_of_another_owner_in_an_own_folder_is_left_alone(site: Site, tmp_path: pathlib.Path) -> None:
    """Who may write in the folder but not give the new file its owner back must not take the file over."""
    before = site.texts()
    os.chown(site.run_py.parent, NOBODY, NOBODY)
    result = as_nobody(site, tmp_path)
    assert codes(result["errors"]) == ["write-failed"]
    assert site.texts() == before
    assert leftovers(site) == []


def test_a_hard_linked_store_keeps_its_text(site: Site, tmp_path: pathlib.Path) -> None:
    other = tmp_path / "store"
    other.mkdir()
    for path in (site.run_py, site.rendezvous_py):
        os.link(path, other / path.name)
    before = site.texts()
    result = run_patcher(site, "present")
    assert is_patched(site)
    assert ((other / "run.py").read_bytes(), (other / "rendezvous.py").read_bytes()) == before
    assert codes(result["warnings"]) == ["shared-file", "shared-file"]
    assert "2 names" in result["warnings"][0]["what"]


def test_a_symbolic_link_into_a_store_becomes_a_file_of_its_own(site: Site, tmp_path: pathlib.Path) -> None:
    store = tmp_path / "store.py"
    shutil.move(site.run_py, store)
    site.run_py.symlink_to(store)
    before = store.read_bytes()
    result = run_patcher(site, "present")
    assert is_patched(site)
    assert not site.run_py.is_symlink()
    assert store.read_bytes() == before
    assert codes(result["warnings"]) == ["shared-file"]


@pytest.mark.parametrize("name", ["torch", "torch/distributed"])
def test_a_linked_folder_is_patched_for_all_and_that_is_said(site: Site, tmp_path: pathlib.Path, name: str) -> None:
    store = tmp_path / "store"
    shutil.move(site.folder / name, store)
    (site.folder / name).symlink_to(store)
    result = run_patcher(site, "present")
    assert is_patched(site)
    assert (site.folder / name).is_symlink()
    assert codes(result["warnings"]) == ["shared-folder"]
    assert str(store) in result["warnings"][0]["what"]


def test_windows_line_ends_stay(site: Site) -> None:
    for path in (site.run_py, site.rendezvous_py):
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    original = site.texts()
    run_patcher(site, "present")
    for text in site.texts():
        assert text.count(b"\n") == text.count(b"\r\n")
    assert b"\r\nimport mindx_elastic.api\r\nimport os\r\n" in site.run_py.read_bytes()
    run_patcher(site, "absent")
    assert site.texts() == original


def test_a_path_with_a_space_and_other_letters(site: Site, tmp_path: pathlib.Path) -> None:
    moved = Site(tmp_path / "my site 训练 é")
    shutil.move(site.folder, moved.folder)
    assert run_patcher(moved, "present")["torch_path"] == str(moved.torch)
    assert is_patched(moved)
    assert run_patcher(moved, "inspect", environment={"LC_ALL": "C", "PYTHONUTF8": "0"})["satisfied"]


# File systems .....................................................................................................


def test_a_full_disk_leaves_the_old_files(site: Site) -> None:
    done = in_private_mounts(
        site,
        'mkdir "$FOLDER.kept"; cp -a "$FOLDER/." "$FOLDER.kept/"\n'
        'mount -t tmpfs -o size=512k none "$FOLDER"; cp -a "$FOLDER.kept/." "$FOLDER/"\n'
        'dd if=/dev/zero of="$FOLDER/filler" bs=4k 2>/dev/null || true\n'
        "$PATCH || true\n"
        'cmp "$FOLDER/run.py" "$FOLDER.kept/run.py"; cmp "$FOLDER/rendezvous.py" "$FOLDER.kept/rendezvous.py"\n'
        'ls -A "$FOLDER"\n',
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "No space left on device" in done.stdout
    assert "refused, nothing was changed" in done.stdout
    assert ".mindcluster-tmp" not in done.stdout
    assert "Traceback" not in done.stderr


def test_a_bind_mounted_file_is_refused(site: Site, tmp_path: pathlib.Path) -> None:
    original = site.run_py.read_bytes()
    (tmp_path / "host.py").write_bytes(original)
    done = in_private_mounts(site, 'mount --bind "%s" "$RUN"; $PATCH || echo "code $?"' % (tmp_path / "host.py"))
    assert "the file is a mount of its own" in done.stdout
    assert "code 1" in done.stdout
    assert (tmp_path / "host.py").read_bytes() == original
    assert not is_patched(site)


def test_a_read_only_mount_is_refused(site: Site) -> None:
    done = in_private_mounts(
        site, 'mount --bind "$FOLDER" "$FOLDER"; mount -o remount,bind,ro "$FOLDER"; $PATCH || echo "code $?"'
    )
    assert "make the file system writable" in done.stdout
    assert "code 1" in done.stdout


def test_when_the_second_file_cannot_be_replaced_the_first_is_put_back(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = site.texts()
    replace = os.replace

    def busy(source: str, target: str) -> None:
        if target.endswith("rendezvous.py"):
            raise OSError(16, "Device or resource busy")
        replace(source, target)

    monkeypatch.setattr(os, "replace", busy)
    result = patcher.apply(torch_path=str(site.torch))
    assert codes(result["errors"]) == ["write-failed"]
    assert "busy" in result["errors"][0]["what"]
    assert site.texts() == before
    assert leftovers(site) == []


# Byte code ........................................................................................................


def compiled(path: pathlib.Path, mode: py_compile.PycInvalidationMode) -> pathlib.Path:
    return pathlib.Path(str(py_compile.compile(str(path), doraise=True, invalidation_mode=mode)))


def names_that_python_loads(path: pathlib.Path) -> str:
    """What an import of a file by a fresh interpreter would run, by the names in its code."""
    code = (
        "import importlib.machinery as m, sys; sys.dont_write_bytecode = True;"
        "print(m.SourceFileLoader('x', sys.argv[1]).get_code('x').co_names)"
    )
    return subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("mode", list(py_compile.PycInvalidationMode))
def test_stale_byte_code_goes(site: Site, mode: py_compile.PycInvalidationMode) -> None:
    stale = [compiled(site.run_py, mode), compiled(site.rendezvous_py, mode)]
    foreign = stale[0].with_name("run.cpython-37.opt-1.pyc")
    shutil.copy(stale[0], foreign)
    foretold = run_patcher(site, "present", "--check")
    assert all(path.exists() for path in stale)
    result = run_patcher(site, "present")
    assert set(result["byte_code_removed"]) == {str(path) for path in [*stale, foreign]}
    assert foretold["byte_code_removed"] == result["byte_code_removed"]
    assert not any(path.exists() for path in [*stale, foreign])
    assert "mindx_elastic.api" in names_that_python_loads(site.run_py)


def test_unchecked_byte_code_of_the_old_text_is_found_beside_patched_files(site: Site) -> None:
    stale = compiled(site.run_py, py_compile.PycInvalidationMode.UNCHECKED_HASH)
    kept = stale.read_bytes()
    run_patcher(site, "present")
    stale.write_bytes(kept)
    assert "mindx_elastic.api" not in names_that_python_loads(site.run_py)

    found = run_patcher(site, "inspect")
    assert found["run_py"]["state"] == "patched"
    assert not found["satisfied"]
    assert codes(found["warnings"]) == ["byte-code-stale"]

    assert run_patcher(site, "present")["changed"]
    assert "mindx_elastic.api" in names_that_python_loads(site.run_py)
    assert not run_patcher(site, "present")["changed"]


def test_byte_code_elsewhere_goes_too(site: Site, tmp_path: pathlib.Path) -> None:
    environment = {"PYTHONPYCACHEPREFIX": str(tmp_path / "cache")}
    code = "import py_compile, sys; print(py_compile.compile(sys.argv[1], invalidation_mode=%s))"
    mode = "py_compile.PycInvalidationMode.UNCHECKED_HASH"
    command = [sys.executable, "-c", code % mode, str(site.run_py)]
    done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, check=True)
    stale = pathlib.Path(done.stdout.strip())
    assert stale.is_relative_to(tmp_path / "cache")
    run_patcher(site, "present", environment=environment)
    assert not stale.exists()


def test_an_installation_without_sources_is_refused(site: Site) -> None:
    py_compile.compile(str(site.run_py), cfile=str(site.run_py) + "c", doraise=True)
    site.run_py.unlink()
    result = run_patcher(site, "present")
    assert codes(result["errors"]) == ["file-sourceless"]
    assert "2.6.0" in result["errors"][0]["what"]


def test_byte_code_that_cannot_be_removed_is_refused_beforehand(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled(site.run_py, py_compile.PycInvalidationMode.UNCHECKED_HASH)
    before = site.texts()
    access = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: "__pycache__" not in str(path) and access(path, mode))
    result = patcher.apply(torch_path=str(site.torch))
    assert codes(result["errors"]) == ["not-writable"]
    assert site.texts() == before


# Installations ....................................................................................................


class Venv:
    """A virtual environment without pip."""

    def __init__(self, folder: pathlib.Path) -> None:
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
        self.python = str(folder / "bin" / "python")
        self.packages = next((folder / "lib").glob("python3*/site-packages"))


@pytest.fixture
def venv(tmp_path: pathlib.Path) -> Venv:
    return Venv(tmp_path / "venv")


def test_missing_torch(venv: Venv) -> None:
    result = run_patcher(None, "present", python=venv.python)
    assert codes(result["errors"]) == ["torch-missing"]
    assert venv.python in result["errors"][0]["what"]
    assert str(venv.packages) in result["errors"][0]["why"]


FINDER = """\
import importlib.machinery, sys
class Finder:
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if path is None and name in ("torch", "mindx_elastic"):
            return importlib.machinery.PathFinder.find_spec(name, [%r])
sys.meta_path.append(Finder)
"""


@pytest.mark.parametrize("kind", ["path", "finder"])
def test_an_editable_installation(site: Site, venv: Venv, kind: str) -> None:
    """Both ways in which build tools make one: a line in a .pth file, or a finder that a .pth file installs."""
    record = venv.packages / "torch-2.6.0a0+git1eba9b3.dist-info"
    record.mkdir()
    (record / "METADATA").write_text("Metadata-Version: 2.1\nName: torch\nVersion: 2.6.0a0+git1eba9b3\n")
    (venv.packages / "finder_of_torch.py").write_text(FINDER % str(site.folder))
    line = str(site.folder) if kind == "path" else "import finder_of_torch"
    (venv.packages / "__editable__.torch.pth").write_text(line + "\n")
    result = run_patcher(None, "present", python=venv.python)
    assert result["errors"] == []
    assert result["torch_path"] == str(site.torch)
    assert is_patched(site)


def test_two_dist_infos_of_two_releases_are_refused(site: Site) -> None:
    before = site.texts()
    for version in ("2.5.1", "2.6.0"):
        site.write(
            "torch-%s.dist-info/METADATA" % version, "Metadata-Version: 2.1\nName: torch\nVersion: %s\n" % version
        )
    result = run_patcher(site, "present")
    assert codes(result["errors"]) == ["torch-version-disagrees"]
    assert "torch-2.5.1.dist-info" in result["errors"][0]["why"]
    assert site.texts() == before


def test_a_shadow_on_the_search_path_is_what_is_patched_and_that_is_said(site: Site, venv: Venv) -> None:
    hidden = make_site(venv.packages, "2.5.1")
    before = hidden.texts()
    result = run_patcher(site, "present", python=venv.python)
    assert result["torch_path"] == str(site.torch)
    assert is_patched(site)
    assert hidden.texts() == before
    assert codes(result["warnings"]) == ["torch-hidden"]
    assert str(hidden.torch) in result["warnings"][0]["what"]


def test_of_several_pythons_only_the_one_that_trains_is_patched(tmp_path: pathlib.Path) -> None:
    one, other = Venv(tmp_path / "one"), Venv(tmp_path / "other")
    ours, theirs = make_site(one.packages, "2.13.0"), make_site(other.packages, "2.13.0")
    before = theirs.texts()
    assert run_patcher(None, "present", python=one.python)["torch_path"] == str(ours.torch)
    assert theirs.texts() == before


def test_what_is_installed_for_the_user_is_found_and_imported(site: Site, tmp_path: pathlib.Path) -> None:
    code = "import site; print(site.getusersitepackages())"
    environment = {"HOME": str(tmp_path / "home"), "PYTHONUSERBASE": ""}
    command = [SYSTEM_PYTHON, "-c", code]
    done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, check=True)
    packages = pathlib.Path(done.stdout.strip())
    packages.parent.mkdir(parents=True)
    shutil.move(site.folder, packages)
    result = run_patcher(None, "present", python=SYSTEM_PYTHON, environment=environment)
    assert result["errors"] == []
    assert is_patched(Site(packages))


# At once, and killed ..............................................................................................


def test_six_runs_at_once_end_in_one_clean_patch(site: Site) -> None:
    vendor_sed(site, 2)
    environment = {**os.environ, "PYTHONPATH": str(site.folder)}
    command = [sys.executable, str(SOURCE), "present"]
    runs = [subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) for _number in range(6)]
    ends = sorted(run.communicate()[0].splitlines()[-1] for run in runs)
    assert [run.returncode for run in runs] == [0] * 6
    assert ends == ["changed"] + ["nothing to change"] * 5
    assert is_patched(site)
    assert leftovers(site) == []


def test_another_run_that_holds_the_lock_for_too_long_is_told_of(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    before = site.texts()
    monkeypatch.setattr(patcher, "LOCK_SECONDS", 0)
    with patcher.locked(str(site.torch / "distributed")):
        result = patcher.apply(torch_path=str(site.torch))
    assert codes(result["errors"]) == ["locked"]
    assert site.texts() == before


KILL_AT = """\
import os, runpy, signal, sys
source, count = sys.argv[1], int(sys.argv[2])
calls = {"left": count}
def mortal(function):
    def call(*args, **kwargs):
        calls["left"] -= 1
        if calls["left"] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return function(*args, **kwargs)
    return call
for name in ("replace", "fsync", "fchmod", "unlink", "open", "close", "setxattr"):
    setattr(os, name, mortal(getattr(os, name)))
sys.argv = [source] + sys.argv[3:]
runpy.run_path(source, run_name="__main__")
"""


def test_killed_at_each_step_each_file_is_old_or_new(site: Site) -> None:
    """A kill -9 before every single call that changes the disk, first to last, until a run gets through."""
    original = site.texts()
    run_patcher(site, "present")
    clean = site.texts()
    environment = {**os.environ, "PYTHONPATH": str(site.folder)}
    kills = {"present": 0, "absent": 0}
    seen = set()
    for verb, start, end in (("absent", clean, original), ("present", original, clean)):
        while True:
            for path, text in zip((site.run_py, site.rendezvous_py), start, strict=True):
                path.write_bytes(text)
            command = [sys.executable, "-c", KILL_AT, str(SOURCE), str(kills[verb] + 1), verb]
            done = subprocess.run(command, env=environment, capture_output=True, check=False)
            run, rendezvous = site.texts()
            assert run in (original[0], clean[0])
            assert rendezvous in (original[1], clean[1])
            seen.add((run == end[0], rendezvous == end[1]))
            if done.returncode == 0:
                break
            assert done.returncode == -9
            kills[verb] += 1
            assert kills[verb] < 500
        assert site.texts() == end
    assert min(kills.values()) >= 10
    # The kills did fall into the middle: neither done, one file done, both done.
    assert seen == {(False, False), (True, False), (True, True)}
    assert leftovers(site) == []


def test_kill_9_in_a_loop(site: Site) -> None:
    """The same by the clock: forty runs, each killed a little later than the one before."""
    original = site.texts()
    run_patcher(site, "present")
    clean = site.texts()
    environment = {**os.environ, "PYTHONPATH": str(site.folder)}
    for turn in range(40):
        verb = ("absent", "present")[turn % 2]
        run = subprocess.Popen([sys.executable, str(SOURCE), verb], env=environment, stdout=subprocess.DEVNULL)
        try:
            run.wait(0.02 + 0.008 * turn)
        except subprocess.TimeoutExpired:
            run.kill()
            run.wait()
        found = site.texts()
        assert found[0] in (original[0], clean[0])
        assert found[1] in (original[1], clean[1])
    assert run_patcher(site, "present")["ok"]
    assert site.texts() == clean
    assert leftovers(site) == []
