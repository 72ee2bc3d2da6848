# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The playbook job.yml on a real cluster: many jobs, new namespaces, another release, the operator's verdict."""

from __future__ import annotations

import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import typing as t

import pytest
import yaml
from apply_site import JOBS, Operator, job
from kube_site import KubeSite

PLAYBOOK = pathlib.Path(__file__).parents[2] / "playbooks" / "job.yml"


class Run(t.NamedTuple):
    """How a run of the playbook ended."""

    code: int
    output: str

    @property
    def changed(self) -> int:
        """How many tasks have changed something, by Ansible's closing table."""
        found = re.search(r"^localhost .* changed=(\d+)", self.output, re.MULTILINE)
        assert found, self.output
        return int(found[1])

    @property
    def words(self) -> str:
        """The output on one line, since Ansible breaks long ones."""
        return " ".join(self.output.split())


Play = t.Callable[..., Run]


@pytest.fixture
def play(limited_kube: KubeSite, tmp_path: pathlib.Path) -> Play:
    """Runs the playbook as the user with the rights of docs/rbac alone."""

    def run(*options: str, **variables: t.Any) -> Run:
        given = tmp_path / "variables.json"
        given.write_text(json.dumps({"training_job_kubeconfig": str(limited_kube.kubeconfig), **variables}))
        command = [
            str(pathlib.Path(sys.executable).parent / "ansible-playbook"), "-i", "localhost,", "-e", f"@{given}",
            *options, str(PLAYBOOK),
        ]  # fmt: skip
        environment = {**os.environ, "ANSIBLE_NOCOLOR": "1", "ANSIBLE_LOCALHOST_WARNING": "false", "COLUMNS": "200"}
        done = subprocess.run(
            command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=500, check=False
        )
        return Run(done.returncode, done.stdout + done.stderr)

    return run


def test_jobs_of_one_file_and_from_variables_go_into_a_new_namespace_in_one_run(
    kube: KubeSite, play: Play, fresh_name: str, tmp_path: pathlib.Path
) -> None:
    manifest = tmp_path / "jobs.yaml"
    manifest.write_text("# 两个任务\n" + job(fresh_name, "one") + "---\n" + job(fresh_name, "two"))
    variables = {
        "recovery_plan_strategies": "retry",
        "training_job_namespace": fresh_name,
        "training_job_create_namespace": True,
        "training_job_history": False,
        "training_jobs": [
            {"manifest": str(manifest), "name": "one"},
            {"manifest": str(manifest), "name": "two", "plan": {"strategies": "recover"}},
            {"name": "three", "image": "r/x:1", "workers": 2, "npus_per_node": 8, "command": "bash train_start.sh"},
        ],
    }
    predicted = play("--check", "--diff", **variables)
    assert (predicted.code, predicted.changed) == (0, 1)
    assert kube.get(f"/api/v1/namespaces/{fresh_name}") is None
    first = play(**variables)
    assert (first.code, first.changed) == (0, 1)
    stored = {each["metadata"]["name"]: each["metadata"] for each in kube.get(JOBS % fresh_name)["items"]}
    assert {name: each["annotations"]["recover-strategy"] for name, each in stored.items()} == {
        "one": "retry", "two": "recover", "three": "retry",
    }  # fmt: skip
    again = play(**variables)
    assert (again.code, again.changed) == (0, 0)


def test_a_job_moves_to_another_release_only_by_being_made_anew(
    kube: KubeSite, play: Play, namespace: str, tmp_path: pathlib.Path
) -> None:
    manifest = tmp_path / "job.yaml"
    path = JOBS % namespace + "/llama2"
    manifest.write_text(job(namespace).replace("- train_start.sh", "- -c\n            - bash train_start.sh"))
    variables = {
        "recovery_plan_strategies": "retry",
        "training_job_manifest": str(manifest),
        "training_job_history": False,
    }
    assert play(recovery_plan_release="7.2.RC1", **variables).code == 0
    before = kube.get(path)
    assert "ELASTIC_PROCESS_RECOVER_ENABLE" in json.dumps(before)
    for check in ([], ["--check"]):
        refused = play(*check, recovery_plan_release="7.3.0", **variables)
        assert refused.code and "PodGroup is made once" in refused.words and "training_job_replace" in refused.words
        assert kube.get(path) == before
    predicted = play("--check", "--diff", recovery_plan_release="7.3.0", training_job_replace=True, **variables)
    assert (predicted.code, predicted.changed) == (0, 1)
    assert re.search(r"^-.*export ELASTIC_PROCESS_RECOVER_ENABLE=1", predicted.output, re.MULTILINE)
    assert re.search(r"^\+.*name: taskd-port", predicted.output, re.MULTILINE)
    assert kube.get(path) == before
    assert play(recovery_plan_release="7.3.0", training_job_replace=True, **variables).code == 0
    after = kube.get(path)
    assert after["metadata"]["uid"] != before["metadata"]["uid"]
    assert "ELASTIC_PROCESS_RECOVER_ENABLE" not in json.dumps(after["spec"])


@pytest.mark.parametrize("release", ["7.3.0", "26.0.0"])
def test_the_operators_refusal_is_the_plays_message(
    kube: KubeSite, play: Play, namespace: str, tmp_path: pathlib.Path, release: str
) -> None:
    manifest = tmp_path / "job.yaml"
    manifest.write_text(yaml.safe_dump(yaml.safe_load(job(namespace))))
    variables = {
        "recovery_plan_strategies": "dump",
        "recovery_plan_suite": "none",
        "recovery_plan_release": release,
        "training_job_manifest": str(manifest),
        "training_job_history": False,
    }
    operator = Operator(kube, namespace)

    def refuse() -> None:
        operator.when_new("llama2", "")
        if release == "7.3.0":
            operator.sends_event("llama2", "QueueGetFailed", "queue default not found")
        else:
            operator.sets_condition("llama2", "Failed", "JobValidFailed", "InvalidQueue: queue default not found")

    with concurrent.futures.ThreadPoolExecutor() as pool:
        acted = pool.submit(refuse)
        refused = play(training_job_wait=60, **variables)
        acted.result()
    assert refused.code and "queue default not found" in refused.words and "kubectl get queue" in refused.words
    with concurrent.futures.ThreadPoolExecutor() as pool:
        uid = operator.job("llama2")["metadata"]["uid"]
        acted = pool.submit(lambda: (operator.when_new("llama2", uid), operator.takes("llama2")))
        replaced = play(
            training_job_wait=60, training_job_replace=True, training_job_extra_labels={"round": "2"}, **variables
        )
        acted.result()
    assert replaced.code == 0, replaced.output
