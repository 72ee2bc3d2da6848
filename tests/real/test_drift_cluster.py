# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The playbook drift against a cluster: it fails on what is not delivered and on what somebody changed, and only then.

python3 tests/sandbox/sandbox.py run --with kube -- .venv/bin/python -m pytest tests/real/test_drift_cluster.py
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import typing as t
from pathlib import Path

import pytest
import yaml
from kubernetes import client, config

CHECKOUT = Path(__file__).resolve().parents[2]
DEMO = CHECKOUT / "examples" / "demo"
JOB = ("mindxdl.gitee.com", "v1", "default", "ascendjobs", "llama2-pretrain")


class Site:
    """The demo's site with the sandbox's cluster behind it."""

    def __init__(self, folder: Path, kubeconfig: str) -> None:
        self.folder = folder
        self.environment = dict(os.environ, PATH="%s:%s" % (Path(sys.executable).parent, os.environ["PATH"]))
        shutil.copytree(DEMO / "site", folder)
        settings = {
            "recovery_plan_arch": "x86_64",
            "training_job_image": "registry.example.com/training/llama2@sha256:" + "0" * 64,
            "training_job_kubeconfig": kubeconfig,
            "npu_node_kubeconfig": kubeconfig,
        }
        place = folder / "inventory" / "group_vars" / "all" / "cluster.yml"
        place.write_text("---\n" + yaml.safe_dump(settings), encoding="utf-8")
        inventory = self.run("ansible-inventory", "-i", "inventory", "--list").stdout
        self.run(sys.executable, str(DEMO / "register_nodes.py"), given=inventory)
        self.hosts = set(json.loads(inventory)["_meta"]["hostvars"])

    def run(self, *command: str, given: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, cwd=self.folder, env=self.environment, input=given, check=False, capture_output=True, text=True
        )

    def play(self, *names: str) -> subprocess.CompletedProcess[str]:
        books = ["mindcluster.recovery." + name for name in names]
        return self.run("ansible-playbook", "-i", "inventory", *books)

    def remove(self) -> None:
        """Leave the cluster as it was: other tests have Nodes of the same names."""
        for name in self.hosts & {node.metadata.name for node in client.CoreV1Api().list_node().items}:
            client.CoreV1Api().delete_node(name)
        with contextlib.suppress(client.ApiException):  # the test did not come to the job
            client.CustomObjectsApi().delete_namespaced_custom_object(*JOB)
        for kind in ("recovery-history", "reset-config"):
            with contextlib.suppress(client.ApiException):
                client.CoreV1Api().delete_namespaced_config_map("%s-%s" % (kind, JOB[-1]), JOB[2])


@pytest.fixture
def site(tmp_path: Path, need: t.Callable[[str], str]) -> t.Iterator[Site]:
    config.load_kube_config(need("KUBECONFIG"))
    made = Site(tmp_path / "site", need("KUBECONFIG"))
    yield made
    made.remove()


def test_drift_is_what_a_delivery_would_change(site: Site) -> None:
    before = site.play("drift")
    assert before.returncode != 0
    assert "18 of 18 Nodes would be labelled" in before.stdout, before.stdout[-2000:] + before.stderr[-1000:]
    delivered = site.play("scripts", "nodes", "job")
    assert delivered.returncode == 0, delivered.stdout[-2000:] + delivered.stderr[-1000:]
    same = site.play("drift")
    assert same.returncode == 0, same.stdout[-2000:] + same.stderr[-1000:]
    client.CoreV1Api().patch_node("worker-03", {"metadata": {"labels": {"accelerator-type": "module"}}})
    by_hand = {"metadata": {"labels": {"fault-scheduling": "force"}}}
    client.CustomObjectsApi().patch_namespaced_custom_object(*JOB, by_hand)
    after = site.play("drift")
    assert after.returncode != 0
    assert "1 of 18 Nodes would be labelled" in after.stdout, after.stdout[-2000:] + after.stderr[-1000:]
    assert "AscendJob default/llama2-pretrain: would be" in after.stdout
    # Looking changes nothing: the job is still the one that was changed by hand.
    stored = client.CustomObjectsApi().get_namespaced_custom_object(*JOB)
    assert stored["metadata"]["labels"]["fault-scheduling"] == "force"
