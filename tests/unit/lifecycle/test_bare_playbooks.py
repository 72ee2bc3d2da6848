# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Playbooks of a site that names nothing, as with a mistyped variable: no run that did nothing ends well."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


def _run(site: Path, playbook: str, *words: str) -> subprocess.CompletedProcess[str]:
    program = Path(sys.executable).with_name("ansible-playbook")
    command = [str(program), "-i", "localhost,", "mindcluster.recovery.%s" % playbook, *words]
    environment = {**os.environ, "ANSIBLE_NOCOLOR": "1", "ANSIBLE_LOCALHOST_WARNING": "0", "HOME": str(site)}
    environment.pop("KUBECONFIG", None)
    return subprocess.run(command, cwd=site, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("playbook", "said"),
    [("drift", "drift.yml has compared nothing"), ("uninstall", "uninstall.yml has looked at nothing")],
)
def test_a_run_that_looks_at_nothing_fails(tmp_path: Path, playbook: str, said: str) -> None:
    ended = _run(tmp_path, playbook, "-e", "start_script_path=[a.sh]")
    assert ended.returncode != 0
    assert said in ended.stdout + ended.stderr
    assert "start_script_path: no role of this collection reads" in " ".join((ended.stdout + ended.stderr).split())


def test_a_misspelt_consent_is_told(tmp_path: Path) -> None:
    script = '{"start_script_paths": ["%s/train_start.sh"], "training_job_remvoe": true}' % tmp_path
    ended = _run(tmp_path, "uninstall", "-e", script)
    assert "training_job_remvoe: no role of this collection reads" in " ".join((ended.stdout + ended.stderr).split())


def test_what_is_not_there_is_said_and_no_mistake(tmp_path: Path) -> None:
    script = '{"start_script_paths": ["%s/train_start.sh"]}' % tmp_path
    ended = _run(tmp_path, "uninstall", "-e", script, "-e", "recovery_plan_strategies=retry")
    assert ended.returncode == 0, ended.stdout
    assert "train_start.sh: is not there" in ended.stdout


def test_a_misspelt_variable_stands_in_the_table_at_the_end(tmp_path: Path) -> None:
    ended = _run(tmp_path, "verify", "-e", "recovery_plan_strategies=retry", "-e", "training_job_repalce=true")
    (row,) = [line for line in ended.stdout.splitlines() if "training_job_repalce" in line and "warning " in line]
    assert "variables" in row
    told = _run(tmp_path, "verify", "-e", "recovery_plan_strategies=retry")
    assert not [line for line in told.stdout.splitlines() if "variables " in line and "warning " in line]


def test_the_misspelt_variable_of_a_node_stands_in_the_table_too(tmp_path: Path) -> None:
    hosts = "all: {children: {npu_worker: {hosts: {worker-1: {npu_node_prodct: atlas-800t-a2}}}}}"
    (tmp_path / "hosts.yml").write_text(hosts, encoding="utf-8")
    ended = _run(tmp_path, "verify", "-i", "hosts.yml", "-e", "recovery_plan_strategies=retry")
    assert [line for line in ended.stdout.splitlines() if "npu_node_prodct" in line and "variables " in line], (
        ended.stdout
    )
