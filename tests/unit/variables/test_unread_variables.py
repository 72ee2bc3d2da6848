# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A misspelt variable is told; one that is read, or that has nothing to do with this collection, is not."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ansible_collections.mindcluster.recovery.plugins.plugin_utils._variables import FACTS, message, options, unread

CHECKOUT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("training_job_repalce", "training_job_replace"),
        ("recovery_plan_strategy", "recovery_plan_strategies"),
        ("npu_node_prodcut", "npu_node_product"),
        ("traning_image_base", "training_image_base"),
        ("training_imge_wheels", "training_image_wheels"),
    ],
)
def test_a_slip_is_told_with_what_was_meant(name: str, meant: str) -> None:
    assert unread([name]) == [name]
    assert f" {meant}." in message(name)


@pytest.mark.parametrize(
    "name",
    ["ansible_user", "registry", "job_name", "_training_job_x", "image", "start", "nodes", "training_image_info"],
)
def test_a_name_that_has_nothing_to_do_with_the_roles_is_passed_over(name: str) -> None:
    assert unread([name]) == []


def test_what_is_read_is_passed_over() -> None:
    assert unread(options() | FACTS) == []


def test_the_facts_are_those_that_the_roles_set() -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in CHECKOUT.glob("roles/*/tasks/*.yml"))
    text += "\n".join(path.read_text(encoding="utf-8") for path in CHECKOUT.glob("playbooks/**/*.yml"))
    said = re.findall(r"^ +((?:recovery|training|npu|start)_[a-z_]+):", text, flags=re.MULTILINE)
    assert {name for name in said if name not in options()} == FACTS


def test_hosts_that_have_the_name_are_counted() -> None:
    assert "npu_node_prodcut (host w-1 and 2 more): " in message("npu_node_prodcut", ["w-1", "w-2", "w-3"])
    assert "npu_node_prodcut (host w-1): " in message("npu_node_prodcut", ["w-1"])


LOOK = """
- hosts: all
  gather_facts: false
  tasks:
    - mindcluster.recovery.unread_variables:
        hosts: {w-2: [npu_node_prodcut, npu_node_product, 7], 5: [own]}
      register: seen
    - ansible.builtin.copy: {content: "{{ seen.names | to_json }}", dest: "{{ answer }}", mode: "0600"}
      check_mode: false
    - mindcluster.recovery.unread_variables:
        hosts: {w-2: npu_node_prodcut, w-3: null}
"""


def test_values_are_not_looked_at_and_a_wrong_shape_is_refused(tmp_path: Path) -> None:
    touched = tmp_path / "touched"
    own = {
        "ansible_connection": "local",
        "ansible_python_interpreter": sys.executable,
        "training_job_lazy": "{{ lookup('ansible.builtin.pipe', 'touch %s') }}" % touched,
        "npu_node_undefined": "{{ nowhere.x }}",
        "answer": str(tmp_path / "answer"),
    }
    secret = "      training_image_secret: !vault |\n        $ANSIBLE_VAULT;1.1;AES256\n        3030\n"
    hosts = "all:\n  hosts:\n    w-1:\n" + "".join(f"      {key}: {json.dumps(own[key])}\n" for key in own) + secret
    (tmp_path / "hosts.yml").write_text(hosts)
    (tmp_path / "look.yml").write_text(LOOK)
    ended = run_playbook(tmp_path, "look.yml", "--check")
    names = ["npu_node_prodcut", "npu_node_undefined", "training_image_secret", "training_job_lazy"]
    assert json.loads((tmp_path / "answer").read_text(encoding="utf-8")) == names, ended.stdout + ended.stderr
    assert not touched.exists()
    assert ended.returncode == 2
    assert "hosts: w-2 has 'npu_node_prodcut', and not the list" in ended.stdout + ended.stderr


def run_playbook(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    program = str(Path(sys.executable).with_name("ansible-playbook"))
    environment = {**os.environ, "ANSIBLE_NOCOLOR": "1", "HOME": str(folder), "COLUMNS": "1000"}
    command = [program, "-i", "hosts.yml", *words]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_the_names_of_every_node_are_looked_through(tmp_path: Path) -> None:
    (tmp_path / "hosts.yml").write_text(
        json.dumps(
            {
                "all": {
                    "vars": {"ansible_connection": "local", "recovery_plan_strategy": "retry"},
                    "children": {
                        "npu_master": {"hosts": {"m-1": None}},
                        "npu_worker": {"hosts": {"w-1": None, "w-2": {"npu_node_prodcut": "atlas-800t-a2"}}},
                    },
                }
            }
        )
    )
    variables = {
        "npu_node_product": "atlas-800t-a2",
        "npu_node_delivery": "gitops",
        "npu_node_gitops_dir": str(tmp_path / "tree"),
        "recovery_plan_strategies": ["retry"],
    }
    ended = run_playbook(tmp_path, "mindcluster.recovery.nodes", "-e", json.dumps(variables))
    assert ended.returncode == 0, ended.stdout + ended.stderr
    said = " ".join((ended.stdout + ended.stderr).split())
    assert "npu_node_prodcut (host w-2): no role of this collection reads a variable of this name" in said
    assert "recovery_plan_strategy: no role of this collection reads" in said
    assert said.count("no role of this collection reads") == 2


def test_jobs_that_bring_their_own_plans_are_looked_at_too(tmp_path: Path) -> None:
    (tmp_path / "hosts.yml").write_text("all: {hosts: {localhost: {ansible_connection: local}}}\n")
    (tmp_path / "jobs.yml").write_text(
        "- hosts: localhost\n  gather_facts: false\n  roles: [mindcluster.recovery.training_job]\n"
    )
    variables = {"training_jobs": [{"name": "j", "plan": {"strategies": ["retry"]}}], "training_job_repalce": True}
    ended = run_playbook(tmp_path, "jobs.yml", "-e", json.dumps(variables))
    assert "training_job_repalce: no role of this collection reads" in " ".join((ended.stdout + ended.stderr).split())
