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
