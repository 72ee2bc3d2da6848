# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a user sees of a manifest that holds a password."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest
from ansible.module_utils.common.parameters import PASS_VARS

PASSWORD = "opened-by-vault"


def output(folder: pathlib.Path, path: str, *options: str) -> str:
    """All that a run prints which writes one manifest."""
    ansible = shutil.which("ansible-playbook", path=os.path.dirname(sys.executable)) or "ansible-playbook"
    files = [{"path": path, "content": "password: {{ lookup('ansible.builtin.env', 'UNIT_PASSWORD') }}\n"}]
    task = {"mindcluster.recovery.manifest_files": {"directory": str(folder / "tree"), "files": files}}
    playbook = folder / "play.yml"
    playbook.write_text(json.dumps([{"hosts": "localhost", "gather_facts": False, "tasks": [task]}]))
    environment = {**os.environ, "UNIT_PASSWORD": PASSWORD, "ANSIBLE_PYTHON_INTERPRETER": sys.executable}
    command = [ansible, "-i", "localhost,", "-c", "local", *options, str(playbook)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


@pytest.mark.parametrize(("path", "word"), [("job.yaml", "changed_paths"), ("../job.yaml", "not a relative path")])
def test_the_most_talkative_run_shows_no_password(tmp_path: pathlib.Path, path: str, word: str) -> None:
    said = output(tmp_path, path, "-vvv")
    assert word in said
    assert PASSWORD not in said


def test_who_asks_for_a_diff_sees_the_text(tmp_path: pathlib.Path) -> None:
    assert PASSWORD in output(tmp_path, "job.yaml", "--check", "--diff")


MODULE = """
import json, sys
from ansible.module_utils import basic
from ansible_collections.mindcluster.recovery.plugins.modules import manifest_files

basic._ANSIBLE_ARGS = sys.argv[1].encode()
basic._ANSIBLE_PROFILE = "legacy"
basic.AnsibleModule.log = lambda self, msg, log_args=None: sys.stderr.write(str(msg))
manifest_files.main()
"""


def module(folder: pathlib.Path, *paths: str, **options: object) -> subprocess.CompletedProcess[str]:
    """The module by itself; what it gives to the system's log is its standard error."""
    files = [{"path": path, "content": "password: %s\n" % PASSWORD} for path in paths]
    arguments = {"directory": str(folder / "tree"), "files": files, **options}
    words = [sys.executable, "-c", MODULE, json.dumps({"ANSIBLE_MODULE_ARGS": arguments})]
    return subprocess.run(words, capture_output=True, text=True, check=False)


def test_the_log_of_the_system_has_no_password_and_the_result_its_names(tmp_path: pathlib.Path) -> None:
    # Newer releases of ansible-core give the arguments back only where the controller asks for them, as with -vvv.
    asked = {"_ansible_inject_invocation": True} if "inject_invocation" in PASS_VARS else {}
    done = module(tmp_path, "job.yaml", _ansible_diff=True, **asked)
    assert "Invoked with" in done.stderr
    assert PASSWORD not in done.stderr
    result = json.loads(done.stdout)
    assert result["changed_paths"] == [str(tmp_path / "tree" / "job.yaml")]
    assert result["invocation"]["module_args"]["files"] == ["job.yaml"]
    assert PASSWORD in result["diff"][0]["after"]


def test_what_was_written_before_it_broke_off_is_told(tmp_path: pathlib.Path) -> None:
    result = json.loads(module(tmp_path, "a.yaml", "a.yaml/b.yaml").stdout)
    assert result["failed"] and result["changed"]
    assert "Before that %s was written" % (tmp_path / "tree" / "a.yaml") in result["msg"]
    refused = json.loads(module(tmp_path, "../b.yaml").stdout)
    assert refused["failed"] and not refused["changed"]
