# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Two jobs of one file are one file in the GitOps folder: it goes once, and its going is no mistake."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
import sys

FIXTURES = pathlib.Path(__file__).parents[1] / "job" / "fixtures"
ROLE = {"name": "mindcluster.recovery.training_job"}
VARIABLES = {
    "recovery_plan_strategies": ["retry"],
    "training_job_delivery": "gitops",
    "training_job_gitops_dir": "tree",
    "training_jobs": [
        {"manifest": "own.yaml", "name": "first"},
        {"manifest": "own.yaml", "name": "second", "plan": {"framework": "mindspore", "strategies": "recover"}},
    ],
}


def test_the_file_of_two_jobs_is_taken_out(tmp_path: pathlib.Path) -> None:
    shutil.copy(FIXTURES / "several.yaml", tmp_path / "own.yaml")
    written = {"ansible.builtin.stat": {"path": "{{ playbook_dir }}/tree/default.first.yaml"}, "register": "there"}
    tasks = [
        {"ansible.builtin.include_role": ROLE},
        written,
        {"ansible.builtin.assert": {"that": "there.stat.exists"}},
        {"ansible.builtin.include_role": {**ROLE, "tasks_from": "remove"}},
    ]
    play = tmp_path / "play.yml"
    play.write_text(json.dumps([{"hosts": "localhost", "gather_facts": False, "vars": VARIABLES, "tasks": tasks}]))
    program = pathlib.Path(sys.executable).with_name("ansible-playbook")
    command = [str(program), "-i", "localhost,", "-c", "local", str(play)]
    environment = {**os.environ, "ANSIBLE_NOCOLOR": "1", "ANSIBLE_PYTHON_INTERPRETER": sys.executable}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert not list((tmp_path / "tree").iterdir())
