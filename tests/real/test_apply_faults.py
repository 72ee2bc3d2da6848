# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Manifests reach the cluster once, whatever happens to the requests, and `changed` is the truth."""

from __future__ import annotations

import pathlib
import typing as t

import pytest
import yaml
from kube_site import KubeSite
from run_module import Result, run_module

from parts.fault_proxy import Fault, FaultProxy

Faulty = tuple[FaultProxy, str]


@pytest.fixture
def faulty(kube: KubeSite, tmp_path: pathlib.Path) -> t.Iterator[Faulty]:
    with kube.behind_faults(tmp_path) as found:
        yield found


def config_map(namespace: str, name: str = "settings", **data: str) -> str:
    metadata = {"name": name, "namespace": namespace}
    return yaml.safe_dump({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})


def apply(kubeconfig: str, *manifests: str, **options: t.Any) -> Result:
    return run_module("manifest_apply", manifests=list(manifests), kubeconfig=kubeconfig, **options)


def test_a_server_that_asks_to_wait_is_asked_again(kube: KubeSite, faulty: Faulty, namespace: str) -> None:
    proxy, kubeconfig = faulty
    proxy.add(Fault("PATCH", "/configmaps/", "answer", status=429, headers={"Retry-After": "1"}, times=2))
    result = apply(kubeconfig, config_map(namespace, colour="red"))
    assert (result.failed, result["changed"]) == (False, True)
    assert proxy.statuses("PATCH", "/configmaps/") == [429, 429, 201, 201]
    assert kube.get(f"/api/v1/namespaces/{namespace}/configmaps/settings")["data"] == {"colour": "red"}
