# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Where files are written and no cluster is asked, what only a cluster can do is said and not passed over."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import typing as t
from pathlib import Path

import pytest

JOB = {
    "recovery_plan_strategies": ["retry"],
    "recovery_plan_product": "atlas-800t-a2",
    "training_job_name": "pretrain",
    "training_job_image": "registry.example:5000/team/pretrain:1",
    "training_job_workers": 1,
    "training_job_command": "bash scripts/train_start.sh",
    "training_job_delivery": "gitops",
}
ALL = {"training_job_wait", "training_job_replace", "training_job_create_namespace"}


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({}, set()),
        ({"training_job_wait": 0, "training_job_replace": False, "training_job_create_namespace": False}, set()),
        ({"training_job_wait": "0", "training_job_replace": "false", "training_job_create_namespace": "no"}, set()),
        ({"training_job_wait": 30, "training_job_replace": True, "training_job_create_namespace": True}, ALL),
        ({"training_job_wait": "30", "training_job_replace": "true", "training_job_create_namespace": "yes"}, ALL),
    ],
)
def test_what_only_a_cluster_can_do_is_said(tmp_path: Path, given: dict[str, t.Any], told: set[str]) -> None:
    program = str(Path(sys.executable).with_name("ansible-playbook"))
    variables = {**JOB, **given, "training_job_gitops_dir": str(tmp_path / "tree")}
    command = [program, "-i", "localhost,", "mindcluster.recovery.job", "-e", json.dumps(variables)]
    environment = {**os.environ, "ANSIBLE_NOCOLOR": "1", "HOME": str(tmp_path)}
    ended = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    said = " ".join((ended.stdout + ended.stderr).split())
    assert {name for name in ALL if f"{name}: no" in said} == told
    assert (tmp_path / "tree" / "kustomization.yaml").exists()
