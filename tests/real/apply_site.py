# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Manifests for the tests of manifest_apply, and what the vendor's components do with a job, done by hand."""

from __future__ import annotations

import time
import typing as t

import yaml
from kube_site import KubeSite
from run_module import Result, run_module

JOBS = "/apis/mindxdl.gitee.com/v1/namespaces/%s/ascendjobs"
GROUPS = "/apis/scheduling.volcano.sh/v1beta1/namespaces/%s/podgroups"
CONFIG_MAPS = "/api/v1/namespaces/%s/configmaps"


def apply(kubeconfig: t.Any, *manifests: str, **options: t.Any) -> Result:
    return run_module("manifest_apply", manifests=list(manifests), kubeconfig=str(kubeconfig), **options)


def config_map(namespace: str, name: str = "settings", **data: str) -> str:
    metadata = {"name": name, "namespace": namespace}
    return yaml.safe_dump({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})


def job(namespace: str, name: str = "llama2", **labels: str) -> str:
    container = {"name": "ascend", "image": "r/x:1", "command": ["bash", "train_start.sh"]}
    replica = {"replicas": 1, "restartPolicy": "Never", "template": {"spec": {"containers": [container]}}}
    return yaml.safe_dump({
        "apiVersion": "mindxdl.gitee.com/v1",
        "kind": "AscendJob",
        "metadata": {"name": name, "namespace": namespace, "labels": {"framework": "pytorch", **labels}},
        "spec": {"schedulerName": "volcano", "replicaSpecs": {"Master": replica}},
    })  # fmt: skip


class Operator:
    """Does to jobs what ascend-operator does, one thing at a time."""

    def __init__(self, kube: KubeSite, namespace: str) -> None:
        self.kube = kube
        self.namespace = namespace

    def job(self, name: str) -> dict[str, t.Any]:
        found = self.kube.get(JOBS % self.namespace + "/" + name)
        assert found is not None, f"there is no job {name}"
        return dict(found)

    def takes(self, name: str) -> None:
        """Every release: the PodGroup."""
        group = {
            "apiVersion": "scheduling.volcano.sh/v1beta1",
            "kind": "PodGroup",
            "metadata": {"name": f"{name}-{self.job(name)['metadata']['uid']}"},
        }
        self.kube.done("POST", GROUPS % self.namespace, group)

    def when_new(self, name: str, old_uid: str) -> None:
        """Wait, as an operator that watches, until there is a job of that name that is another one than before."""
        deadline = time.monotonic() + 300
        while (self.kube.get(JOBS % self.namespace + "/" + name) or {}).get("metadata", {}).get("uid") in (
            None,
            old_uid,
        ):
            assert time.monotonic() < deadline, "the new job never came"
            time.sleep(0.2)

    def sends_event(self, name: str, reason: str, message: str) -> None:
        """Up to 7.3: a Warning Event, as client-go's recorder writes it."""
        found = self.job(name)
        event = {
            "metadata": {"generateName": f"{name}."},
            "involvedObject": {
                "apiVersion": "mindxdl.gitee.com/v1",
                "kind": "AscendJob",
                "name": name,
                "namespace": self.namespace,
                "uid": found["metadata"]["uid"],
            },
            "reason": reason,
            "message": message,
            "type": "Warning",
            "source": {"component": "ascendjob-controller"},
        }
        self.kube.done("POST", f"/api/v1/namespaces/{self.namespace}/events", event)

    def sets_condition(self, name: str, kind: str, reason: str, message: str) -> None:
        """A condition in the status; from 26.0.0 on so a refused job is told."""
        condition = {"type": kind, "status": "True", "reason": reason, "message": message}
        body = {"status": {"conditions": [condition], "replicaStatuses": {}}}
        self.kube.done("PATCH", JOBS % self.namespace + f"/{name}/status", body)
