# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The two modules as Ansible runs them, above all the examples of their documentation."""

from __future__ import annotations

import importlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import typing as t

import pytest
import yaml
from torch_shapes import Site, vendor_sed

NewSite = t.Callable[[str], Site]
MODULES = "ansible_collections.mindcluster.recovery.plugins.modules."


def examples(module: str) -> list[dict[str, t.Any]]:
    """The tasks of a module's EXAMPLES."""
    tasks: list[dict[str, t.Any]] = yaml.safe_load(importlib.import_module(MODULES + module).EXAMPLES)
    return tasks


def python_for(site: Site, folder: pathlib.Path) -> pathlib.Path:
    """An interpreter that finds a site's torch, as a virtual environment's does."""
    path = folder / "python"
    path.write_text('#!/bin/sh\nPYTHONPATH="%s" exec "%s" "$@"\n' % (site.folder, sys.executable))
    path.chmod(0o755)
    return path


def play(tasks: list[dict[str, t.Any]], folder: pathlib.Path, *options: str) -> list[dict[str, t.Any]]:
    """Runs tasks on this machine and returns their results in turn; a failed one is the last."""
    ansible = shutil.which("ansible-playbook", path=os.path.dirname(sys.executable)) or "ansible-playbook"
    playbook = folder / "play.yml"
    playbook.write_text(json.dumps([{"hosts": "localhost", "gather_facts": False, "tasks": tasks}]))
    environment = {
        **os.environ,
        "ANSIBLE_STDOUT_CALLBACK": "ansible.posix.json",
        "ANSIBLE_LOCALHOST_WARNING": "false",
        "ANSIBLE_PYTHON_INTERPRETER": sys.executable,
    }
    command = [ansible, "-i", "localhost,", "-c", "local", *options, str(playbook)]
    done = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, check=False)
    start = done.stdout.find("{")
    assert start >= 0, done.stdout + done.stderr
    report = json.loads(done.stdout[start:])
    return [task["hosts"]["localhost"] for task in report["plays"][0]["tasks"]]


def placed(tasks: list[dict[str, t.Any]], python: pathlib.Path, torch: pathlib.Path) -> list[dict[str, t.Any]]:
    """The tasks with the paths of the examples replaced by those of the test."""
    text = json.dumps(tasks)
    text = text.replace("/opt/venv/bin/python", str(python))
    text = text.replace("/srv/rootfs/usr/lib/python3/dist-packages/torch", str(torch))
    return t.cast("list[dict[str, t.Any]]", json.loads(text))


def test_the_examples_of_torch_patch_do_what_they_say(new_site: NewSite, tmp_path: pathlib.Path) -> None:
    venv, rootfs = new_site("2.6.0"), new_site("2.5.1")
    original = venv.texts()
    results = play(placed(examples("torch_patch"), python_for(venv, tmp_path), rootfs.torch), tmp_path)
    assert [result.get("msg") for result in results] == [None] * 4
    assert [result["changed"] for result in results] == [True] * 4
    first, moved, unpacked, back = results
    assert (first["run_py"]["state"], first["rendezvous"]["state"]) == ("patched", "patched")
    assert (moved["run_py"]["import_module"], moved["rendezvous"]["state"]) == ("taskd.python.adaptor.patch", "runtime")
    assert (unpacked["torch_path"], unpacked["rendezvous"]["state"]) == (str(rootfs.torch), "native")
    assert back["run_py"]["state"] == "unpatched"
    assert venv.texts() == original


def test_the_examples_of_torch_patch_info_do_what_they_say(new_site: NewSite, tmp_path: pathlib.Path) -> None:
    site = new_site("2.13.0")
    python = python_for(site, tmp_path)
    tasks = placed(examples("torch_patch_info"), python, site.torch)
    bare = play(tasks, tmp_path)
    assert bare[0]["satisfied"] is False
    assert bare[1]["failed"] is True
    vendor_sed(site)
    assert [result.get("failed", False) for result in play(tasks, tmp_path)] == [False, False]


def test_check_mode_and_diff_show_it_and_write_nothing(new_site: NewSite, tmp_path: pathlib.Path) -> None:
    site = new_site("2.13.0")
    before = site.texts()
    task = {"mindcluster.recovery.torch_patch": {"torch_path": str(site.torch)}}
    foretold = play([task], tmp_path, "--check", "--diff")[0]
    assert foretold["changed"] is True
    assert site.texts() == before
    assert [entry["before_header"] for entry in foretold["diff"]] == [str(site.run_py), str(site.rendezvous_py)]
    done, again = play([task, task], tmp_path, "--diff")
    assert (done["changed"], again["changed"]) == (True, False)
    assert done["diff"] == foretold["diff"]
    assert [entry["after"] for entry in done["diff"]] == [text.decode() for text in site.texts()]


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"python": "/nowhere/python"}, "python-missing"),
        ({"python": "/bin/false"}, "python-broken"),
        ({"torch_path": "/nowhere"}, "torch-missing"),
        ({"torch_path": "{site}", "import_module": "not_there"}, "import-missing"),
        ({"torch_path": "{site}", "import_module": "import os"}, "module-name"),
    ],
)
def test_a_refusal_is_one_message_with_its_remedy(
    new_site: NewSite, tmp_path: pathlib.Path, options: dict[str, str], code: str
) -> None:
    site = new_site("2.13.0")
    before = site.texts()
    placed_options = {key: value.replace("{site}", str(site.torch)) for key, value in options.items()}
    result = play([{"mindcluster.recovery.torch_patch": placed_options}], tmp_path)[0]
    assert result["failed"] is True
    assert [error["code"] for error in result["errors"]] == [code]
    assert result["errors"][0]["remedy"] in result["msg"]
    assert "Traceback" not in json.dumps(result)
    assert site.texts() == before
