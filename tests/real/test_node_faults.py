# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Labels reach the nodes of a real API server whatever happens to the requests, and what fails is named."""

from __future__ import annotations

import concurrent.futures
import pathlib
import time
import typing as t

import pytest
from kube_site import KubeSite
from run_module import Result, run_module

from parts.fault_proxy import Fault, FaultProxy

NODES = "/api/v1/nodes"
WORKER = {"workerselector": "dls-worker-node", "host-arch": "huawei-arm"}
NPU = "huawei.com/Ascend910"

Nodes = list[str]


class Cluster(t.NamedTuple):
    """The server behind faults, with a few nodes of the test's own; the user has the shipped rights and no more."""

    site: KubeSite
    proxy: FaultProxy
    kubeconfig: str
    nodes: Nodes

    def label(self, wanted: t.Mapping[str, str] | None = None, names: t.Sequence[str] = (), **options: t.Any) -> Result:
        nodes = [{"name": name, "labels": dict(WORKER if wanted is None else wanted)} for name in names or self.nodes]
        return run_module("node_labels", nodes=nodes, kubeconfig=self.kubeconfig, **options)

    def labels(self, name: str) -> dict[str, str]:
        return dict(self.site.get(f"{NODES}/{name}")["metadata"].get("labels", {}))

    def versions(self) -> list[str]:
        return [self.site.get(f"{NODES}/{name}")["metadata"]["resourceVersion"] for name in self.nodes]

    def fault(self, name: str, action: t.Any, **more: t.Any) -> Fault:
        """A fault that hits the patches of one node."""
        return self.proxy.add(Fault("PATCH", f"/nodes/{name}[?]", action, **more))

    def answers(self, name: str) -> list[int]:
        return self.proxy.statuses("PATCH", f"/nodes/{name}[?]")


@pytest.fixture
def cluster(kube: KubeSite, limited_kube: KubeSite, fresh_name: str, tmp_path: pathlib.Path) -> t.Iterator[Cluster]:
    names = [f"{fresh_name}-{number}" for number in range(4)]
    for name in names:
        labels = {"kubernetes.io/arch": "arm64", "zone": "z1"}
        kube.done("POST", NODES, {"metadata": {"name": name, "labels": labels}})
    with limited_kube.behind_faults(tmp_path) as (proxy, kubeconfig):
        yield Cluster(kube, proxy, kubeconfig, names)
    for name in names:
        kube.call("DELETE", f"{NODES}/{name}")


def failures(result: Result) -> dict[str, str]:
    return {failed["name"]: failed["code"] for failed in result.get("failed_nodes", [])}


def test_labels_are_set_once_with_the_shipped_rights_alone(cluster: Cluster) -> None:
    first = cluster.label()
    assert (first.failed, first["changed"], first["counts"]["changed"]) == (False, True, 4)
    assert all({**WORKER, "zone": "z1"}.items() <= cluster.labels(name).items() for name in cluster.nodes)
    before = cluster.versions()
    second = cluster.label()
    assert (second["changed"], cluster.versions()) == (False, before)


@pytest.mark.parametrize(
    ("action", "more"),
    [
        ("answer", {"status": 409}),
        ("answer", {"status": 429, "headers": {"Retry-After": "1"}}),
        ("answer", {"status": 500}),
        ("answer", {"status": 502}),
        ("answer", {"status": 503}),
        ("answer", {"status": 504}),
        ("answer_after", {"status": 504}),
        ("drop", {}),
        ("drop_after", {}),
        ("drop_body", {"after_bytes": 40}),
    ],
)
def test_a_fault_that_passes_is_got_over(cluster: Cluster, action: str, more: dict[str, t.Any]) -> None:
    name = cluster.nodes[1]
    cluster.fault(name, action, times=2, **more)
    result = cluster.label()
    assert (result.failed, result["counts"]["changed"]) == (False, 4)
    assert (len(cluster.answers(name)), cluster.answers(name)[-1]) == (3, 200)
    assert WORKER.items() <= cluster.labels(name).items()
    assert cluster.label()["changed"] is False


def test_the_server_is_given_the_time_that_it_asks_for(cluster: Cluster) -> None:
    cluster.fault(cluster.nodes[0], "answer", status=429, headers={"Retry-After": "3"})
    started = time.monotonic()
    assert not cluster.label(names=cluster.nodes[:1]).failed
    assert time.monotonic() - started >= 3


@pytest.mark.parametrize(
    ("action", "more", "code"),
    [
        ("answer", {"status": 409}, "kube-conflict"),
        ("answer", {"status": 429}, "kube-throttled"),
        ("answer", {"status": 500}, "kube-server-error"),
        ("drop", {}, "kube-connection-broken"),
    ],
)
def test_a_fault_that_stays_fails_its_node_alone(
    cluster: Cluster, action: str, more: dict[str, t.Any], code: str
) -> None:
    name = cluster.nodes[2]
    cluster.fault(name, action, times=0, **more)
    result = cluster.label()
    assert (result.failed, failures(result)) == (True, {name: code})
    assert result["counts"] == {"requested": 4, "changed": 3, "unchanged": 0, "failed": 1}
    assert result["msg"].startswith("1 of 4 nodes could not be labelled, 3 were changed") and name in result["msg"]
    assert len(cluster.answers(name)) == 6
    assert all(WORKER.items() <= cluster.labels(other).items() for other in cluster.nodes if other != name)
    cluster.proxy.clear()
    again = cluster.label()
    assert (again.failed, [changed["name"] for changed in again["changed_nodes"]]) == (False, [name])


def test_a_node_that_is_deleted_in_between_fails_alone(cluster: Cluster) -> None:
    name = cluster.nodes[3]
    cluster.fault(name, "call", before=lambda: cluster.site.done("DELETE", f"{NODES}/{name}"))
    result = cluster.label()
    assert (result.failed, failures(result), result["counts"]["changed"]) == (True, {name: "node-gone"}, 3)
    assert cluster.site.get(f"{NODES}/{name}") is None


def test_a_list_that_breaks_off_or_expires_is_read_again(cluster: Cluster) -> None:
    cluster.proxy.add(Fault("GET", "/nodes[?]", "drop_body", after_bytes=200))
    cluster.proxy.add(Fault("GET", "/nodes[?]", "answer", status=410, body='{"kind": "Status", "code": 410}'))
    cluster.proxy.add(Fault("GET", "/nodes[?]", "answer", status=429, headers={"Retry-After": "1"}))
    assert cluster.label()["counts"]["changed"] == 4
    assert cluster.proxy.statuses("GET", "/nodes[?]") == [200, 410, 429, 200]


def test_a_list_that_cannot_be_read_changes_nothing(cluster: Cluster) -> None:
    cluster.proxy.add(Fault("GET", "/nodes[?]", "answer", status=500, times=0))
    result = cluster.label()
    assert (result.failed, result.codes) == (True, ["kube-server-error"])
    assert cluster.proxy.statuses("PATCH", "/") == []


def test_two_controllers_at_once_converge(cluster: Cluster) -> None:
    for name in cluster.nodes:
        cluster.fault(name, "delay", delay=0.3, times=2)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda _number: cluster.label(prune=True), range(2)))
    assert [result.failed for result in results] == [False, False]
    assert all(WORKER.items() <= cluster.labels(name).items() for name in cluster.nodes)
    assert cluster.label(prune=True)["changed"] is False


def test_what_somebody_else_sets_in_between_stays(cluster: Cluster) -> None:
    name = cluster.nodes[0]
    theirs = {"metadata": {"labels": {"team": "vision", "host-arch": "huawei-x86"}}}
    cluster.fault(name, "call", before=lambda: cluster.site.done("PATCH", f"{NODES}/{name}", theirs))
    assert not cluster.label().failed
    assert {**WORKER, "team": "vision", "zone": "z1"}.items() <= cluster.labels(name).items()


def test_check_mode_meets_the_same_faults_and_stores_nothing(cluster: Cluster) -> None:
    before = cluster.versions()
    cluster.fault(cluster.nodes[0], "answer", status=503, times=2)
    result = cluster.label(check=True)
    assert (result.failed, result["counts"]["changed"], cluster.versions()) == (False, 4, before)


def test_prune_takes_back_its_own_labels_and_leaves_those_of_the_device_plugin(cluster: Cluster) -> None:
    name = cluster.nodes[0]
    plugin = {"node.kubernetes.io/npu.chip.name": "910B3", "servertype": "Ascend910B-20", NPU + "-Recover": "0"}
    cluster.label({**WORKER, "accelerator": "huawei-Ascend910", "rack": "r1"}, [name])
    cluster.site.done("PATCH", f"{NODES}/{name}?fieldManager=device-plugin", {"metadata": {"labels": plugin}})
    # The device plugin selects its nodes by "accelerator", so a node that keeps labels of ours keeps this one.
    some = cluster.label({"host-arch": WORKER["host-arch"]}, [name], prune=True)
    assert some["changed_nodes"][0]["after"] == dict.fromkeys([*(set(WORKER) - {"host-arch"}), "rack"])
    assert cluster.labels(name)["accelerator"] == "huawei-Ascend910"
    none = cluster.label({}, [name], prune=True)
    assert none["changed_nodes"][0]["after"] == dict.fromkeys(["host-arch", "accelerator"])
    assert cluster.labels(name) == {"kubernetes.io/arch": "arm64", "zone": "z1", **plugin}


def offer(cluster: Cluster, name: str, npus: str, chip: str = "") -> None:
    """Say what a kubelet and a device plugin say."""
    resources = {"cpu": "64", NPU: npus}
    status = {"status": {"capacity": resources, "allocatable": resources}}
    cluster.site.done("PATCH", f"{NODES}/{name}/status", status)
    if chip:
        cluster.site.done("PATCH", f"{NODES}/{name}", {"metadata": {"labels": {"servertype": chip + "-20"}}})


def test_products_are_found_and_contradictions_told_all_at_once_before_any_patch(cluster: Cluster) -> None:
    first, second, third, fourth = cluster.nodes
    offer(cluster, first, "8", "Ascend910B")
    offer(cluster, second, "16")
    cluster.site.done("PATCH", f"{NODES}/{third}", {"metadata": {"labels": {"servertype": "Ascend910A3-24"}}})
    asked = {first: "auto", second: "atlas-800t-a2", third: "atlas-800t-a2", fourth: "atlas-200t-a2-box16"}
    nodes = [{"name": name, "labels": WORKER, "product": product} for name, product in asked.items()]
    result = run_module("node_labels", nodes=nodes, kubeconfig=cluster.kubeconfig)
    assert {error["where"]: error["code"] for error in result["errors"]} == {
        first: "product-ambiguous",
        second: "node-npus-contradiction",
        third: "node-chip-contradiction",
        fourth: "node-arch-contradiction",
    }
    assert "`atlas-800t-a2` or `atlas-900-a2-pod` or `atlas-800i-a2`" in result["msg"]
    assert cluster.proxy.statuses("PATCH", "/") == []
    usage = {"metadata": {"labels": {"server-usage": "infer"}}}
    cluster.site.done("PATCH", f"{NODES}/{first}", usage)
    found = run_module("node_labels", nodes=nodes[:1], kubeconfig=cluster.kubeconfig)
    assert (found.failed, found["found_products"], found["without_npus"]) == (False, {first: "atlas-800i-a2"}, [])
    assert cluster.labels(first)["accelerator-type"] == "module-910b-8"


def test_whole_nodes_are_read_through_faults_and_only_where_needed(cluster: Cluster) -> None:
    for name in cluster.nodes:
        offer(cluster, name, "8", "Ascend910B")
    nodes = [{"name": name, "labels": WORKER, "product": "atlas-800t-a2"} for name in cluster.nodes]
    cluster.proxy.add(Fault("GET", "fieldSelector", "drop_body", after_bytes=100))
    cluster.proxy.add(Fault("GET", "fieldSelector", "answer", status=503))
    first = run_module("node_labels", nodes=nodes, kubeconfig=cluster.kubeconfig)
    assert (first.failed, first["without_npus"], first.warnings) == (False, [], [])
    assert len(cluster.proxy.statuses("GET", "fieldSelector")) == 6
    cluster.proxy.clear()
    second = run_module("node_labels", nodes=nodes, kubeconfig=cluster.kubeconfig)
    assert (second["changed"], cluster.proxy.statuses("GET", "fieldSelector")) == (False, [])
    audit = run_module("node_labels_info", nodes=nodes, kubeconfig=cluster.kubeconfig)
    assert (audit["in_sync"], len(cluster.proxy.statuses("GET", "fieldSelector"))) == (True, 4)


def test_nodes_without_npus_are_named_and_labelled_unless_that_is_refused(cluster: Cluster) -> None:
    offer(cluster, cluster.nodes[0], "8", "Ascend910B")
    nodes = [{"name": name, "labels": WORKER, "product": "atlas-800t-a2"} for name in cluster.nodes]
    refused = run_module("node_labels", nodes=nodes, kubeconfig=cluster.kubeconfig, strict=True)
    assert [(error["code"], error["where"]) for error in refused["errors"]] == [
        ("node-without-npus", name) for name in cluster.nodes[1:]
    ]
    assert cluster.proxy.statuses("PATCH", "/") == []
    result = run_module("node_labels", nodes=nodes, kubeconfig=cluster.kubeconfig)
    assert (result.failed, result["without_npus"], result["counts"]["changed"]) == (False, cluster.nodes[1:], 4)
    (warning,) = result.warnings
    assert ", ".join(cluster.nodes[1:]) + ": 3 of 4 NPU nodes offer no huawei.com/Ascend910" in warning
