# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The module's steps against a server that fails in chosen ways."""

from __future__ import annotations

import threading
import typing as t
from pathlib import Path

import kube_fake_api
import pytest
from kube_fake_api import FakeApi, Fault

from ansible_collections.mindcluster.recovery.plugins.module_utils import _kube_node_read, _kube_progress
from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Refused
from ansible_collections.mindcluster.recovery.plugins.module_utils._kube import connect
from ansible_collections.mindcluster.recovery.plugins.module_utils._kube_node_run import (
    audit_nodes,
    failure_message,
    label_nodes,
)

WORKER = {"workerselector": "dls-worker-node", "host-arch": "huawei-arm"}


def params(api: FakeApi, wanted: t.Mapping[str, dict[str, str]], **more: t.Any) -> dict[str, t.Any]:
    nodes = [{"name": name, "labels": labels} for name, labels in wanted.items()]
    return {**api.params, "nodes": nodes, **more}


def on(path_end: str, fault: Fault, times: int = 10**6):
    """The fault for the first patches of one node."""
    left = [times]

    def decide(method: str, path: str, number: int) -> Fault | None:
        if method != "PATCH" or not path.endswith("/" + path_end) or left[0] == 0:
            return None
        left[0] -= 1
        return fault

    return decide


def test_labels_are_set_and_a_second_run_changes_nothing(api: FakeApi):
    wanted = params(api, {"worker-1": WORKER, "worker-2": WORKER})
    result = label_nodes(wanted, check_mode=False)
    assert result["changed"] is True
    assert api.labels("worker-1") == WORKER
    assert result["counts"] == {"requested": 2, "changed": 2, "unchanged": 0, "failed": 0}
    assert result["changed_nodes"][0] == {
        "name": "worker-1",
        "before": {"workerselector": None, "host-arch": None},
        "after": WORKER,
    }
    writes = len(api.writes())
    again = label_nodes(wanted, check_mode=False)
    assert (again["changed"], len(api.writes()) - writes) == (False, 0)


def test_labels_of_others_stay(api: FakeApi):
    api.labels("worker-1").update({"zone": "a", "host-arch": "huawei-x86"})
    result = label_nodes(params(api, {"worker-1": WORKER}), check_mode=False)
    assert api.labels("worker-1") == {"zone": "a", **WORKER}
    assert result["changed_nodes"][0]["before"]["host-arch"] == "huawei-x86"


def test_only_metadata_is_asked_for_in_pages(api: FakeApi, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(_kube_node_read, "PAGE", 2)
    label_nodes(params(api, {"worker-2": WORKER}), check_mode=False)
    lists = [request for request in api.requests if request[0] == "GET"]
    assert [query.get("continue") for _method, _path, query, _headers in lists] == [None, "2"]
    assert all("as=PartialObjectMetadataList" in headers["Accept"] for _m, _p, _q, headers in lists)
    assert api.labels("worker-2") == WORKER


@pytest.mark.parametrize("shape", [lambda page: page, lambda page: dict(reversed(page.items()))])
def test_every_page_is_read_wherever_it_says_that_there_is_another(
    api: FakeApi, monkeypatch: pytest.MonkeyPatch, shape: t.Callable[[dict[str, t.Any]], dict[str, t.Any]]
):
    monkeypatch.setattr(_kube_node_read, "PAGE", 1)
    made = kube_fake_api._page
    monkeypatch.setattr(kube_fake_api, "_page", lambda *of: shape({"kind": "NodeList", **made(*of)}))
    wanted = dict.fromkeys(api.nodes, WORKER)
    assert label_nodes(params(api, wanted), check_mode=False)["counts"]["changed"] == 3
    asked = [query.get("continue") for method, _path, query, _headers in api.requests if method == "GET"]
    assert asked == [None, "1", "2"]


@pytest.mark.parametrize("body", [b"[]", b"null", b'"nodes"', b"7", b'{"items": {"a": 1}}', b"{", b"<html>"])
def test_an_answer_that_is_no_list_is_refused(api: FakeApi, body: bytes):
    api.fault = lambda method, path, number: Fault(200, body=body)
    with pytest.raises(Refused, match="answers something else than an API's JSON"):
        label_nodes(params(api, {"worker-1": WORKER}), check_mode=False)
    assert api.writes() == []


def test_pages_are_short_again_where_nodes_with_a_large_status_follow(api: FakeApi, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(_kube_node_read, "PAGE", 5)
    monkeypatch.setattr(_kube_node_read, "PAGE_OF_WHOLE", 2)
    monkeypatch.setattr(_kube_node_read, "_SMALL", 2 * 1000)
    monkeypatch.setattr(_kube_node_read, "FEW", 0)
    api.nodes.clear()
    for number in range(20):
        status = {"images": ["x" * (2000 if 7 <= number < 12 else 1)]}
        api.nodes["node-%02d" % number] = {"metadata": {"name": "node-%02d" % number}, "status": status}
    found = _kube_node_read.list_offers(connect(api.params), set(api.nodes))
    assert len(found) == 20
    assert [query["limit"] for _method, _path, query, _headers in api.requests] == ["2", "5", "5", "2", "5", "5"]


def test_a_list_whose_position_expired_is_started_again(api: FakeApi, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(_kube_node_read, "PAGE", 2)
    api.fault = lambda method, path, number: Fault(410) if number == 2 else None
    assert label_nodes(params(api, {"worker-2": WORKER}), check_mode=False)["changed"] is True


def test_check_mode_tells_the_truth_and_stores_nothing(api: FakeApi):
    wanted = params(api, {"worker-1": WORKER, "worker-2": {}})
    predicted = label_nodes(wanted, check_mode=True)
    assert api.labels("worker-1") == {}
    real = label_nodes(wanted, check_mode=False)
    for result in (predicted, real):
        del result["elapsed"]
    assert predicted == real


def test_all_missing_nodes_are_refused_before_any_patch(api: FakeApi):
    with pytest.raises(Refused) as caught:
        label_nodes(params(api, {"worker-1": WORKER, "worker-8": WORKER, "worker-9": WORKER}), check_mode=False)
    assert "`worker-8`, `worker-9`" in str(caught.value)
    assert api.writes() == []


def test_a_node_of_another_architecture_is_refused_before_any_patch(api: FakeApi):
    api.labels("worker-2")["kubernetes.io/arch"] = "amd64"
    wanted = params(api, {"worker-1": WORKER, "worker-2": WORKER})
    for node in wanted["nodes"]:
        node["arch"] = "aarch64"
    with pytest.raises(Refused, match="worker-2: The node is amd64"):
        label_nodes(wanted, check_mode=False)
    assert api.writes() == []


def test_all_contradictions_are_told_at_once_before_any_patch(api: FakeApi):
    api.labels("worker-1").update({"kubernetes.io/arch": "arm64"})
    api.labels("worker-2").update({"servertype": "Ascend910A3-24"})
    api.nodes["master-1"]["status"]["capacity"] = {"huawei.com/Ascend910": "16"}
    wanted = params(api, dict.fromkeys((*api.nodes, "worker-9"), WORKER), strict=True)
    products = {"worker-1": "atlas-200t-a2-box16", "worker-9": "auto"}
    for node in wanted["nodes"]:
        node["product"] = products.get(node["name"], "atlas-800t-a2")
    with pytest.raises(Refused) as caught:
        label_nodes(wanted, check_mode=False)
    assert [(finding.code, finding.where) for finding in caught.value.findings] == [
        ("node-missing", "nodes"),
        ("node-npus-contradiction", "master-1"),
        ("node-arch-contradiction", "worker-1"),
        ("node-chip-contradiction", "worker-2"),
    ]
    assert api.writes() == []


def test_a_mistake_of_many_nodes_is_one_line_that_names_them(api: FakeApi):
    wanted = params(api, {name: {} for name in api.nodes})
    for node in wanted["nodes"]:
        node["product"] = "auto"
    with pytest.raises(Refused) as caught:
        label_nodes(wanted, check_mode=False)
    assert str(caught.value).startswith("master-1, worker-1, worker-2: No product is given")
    assert "\n" not in str(caught.value)
    assert [error["where"] for error in caught.value.as_dicts()] == ["master-1", "worker-1", "worker-2"]


def test_an_unknown_product_or_release_is_refused_before_the_cluster_is_asked(api: FakeApi):
    wanted = params(api, {"worker-1": WORKER})
    wanted["nodes"][0]["product"] = "atlas-800t-a9"
    with pytest.raises(Refused, match="Did you mean `atlas-800t-a"):
        label_nodes(wanted, check_mode=False)
    wanted["nodes"][0]["product"] = "auto"
    with pytest.raises(Refused, match="no MindCluster release"):
        label_nodes({**wanted, "release": "7.2.RC9"}, check_mode=False)
    assert api.requests == []


def test_a_found_product_gives_its_labels_and_a_second_run_changes_nothing(api: FakeApi):
    api.labels("worker-1").update({"kubernetes.io/arch": "amd64", "servertype": "Ascend910B-20"})
    npus = {"huawei.com/Ascend910": "16"}
    api.nodes["worker-1"]["status"] = {"capacity": npus, "allocatable": npus}
    wanted = params(api, {"worker-1": {}})
    wanted["nodes"][0]["product"] = "auto"
    warned: list[str] = []
    result = label_nodes(wanted, check_mode=False, warn=warned.append)
    assert result["found_products"] == {"worker-1": "atlas-200t-a2-box16"}
    assert api.labels("worker-1")["accelerator-type"] == "module-910b-16"
    assert (result["without_npus"], warned) == ([], [])
    assert label_nodes(wanted, check_mode=False)["changed"] is False
    audit = audit_nodes(wanted)
    assert (audit["in_sync"], audit["found_products"]) == (True, {"worker-1": "atlas-200t-a2-box16"})


def test_nodes_without_npus_are_named_in_a_warning_and_labelled_or_refused(api: FakeApi):
    wanted = params(api, {"worker-1": WORKER, "worker-2": WORKER, "master-1": {}})
    for node in wanted["nodes"][:2]:
        node["product"] = "atlas-800t-a2"
    with pytest.raises(Refused, match=r"worker-1, worker-2: 2 of 2 NPU nodes offer no huawei\.com/Ascend910"):
        label_nodes({**wanted, "strict": True}, check_mode=False)
    assert api.writes() == []
    warned: list[str] = []
    result = label_nodes(wanted, check_mode=False, warn=warned.append)
    assert result["without_npus"] == ["worker-1", "worker-2"]
    assert [line.partition(":")[0] for line in warned] == ["worker-1, worker-2"]
    assert api.labels("worker-2") == WORKER
    audit = audit_nodes(wanted)
    assert (audit["in_sync"], audit["without_npus"], audit["drift"]) == (False, ["worker-1", "worker-2"], [])


@pytest.mark.parametrize(
    ("small", "pages"), [(0, [("10", "")] * 5), (_kube_node_read._SMALL, [("10", ""), ("500", "")])]
)
def test_many_whole_nodes_are_read_in_pages_and_a_few_one_by_one(
    monkeypatch: pytest.MonkeyPatch, small: int, pages: list[tuple[str, str]]
):
    """Pages of nodes with a large status stay short."""
    monkeypatch.setattr(_kube_node_read, "PAGE_OF_WHOLE", 10)
    monkeypatch.setattr(_kube_node_read, "_SMALL", small)
    with FakeApi({"node-%02d" % number: {} for number in range(45)}) as api:
        one_by_one = [("", "metadata.name=node-%02d" % number) for number in range(3)]
        for number, expected in ((3, one_by_one), (45, pages)):
            api.requests.clear()
            wanted = params(api, {name: {"rack": str(number)} for name in list(api.nodes)[:number]})
            for node in wanted["nodes"]:
                node["product"] = "atlas-800t-a2"
            label_nodes(wanted, check_mode=False)
            whole = [
                (query.get("limit", ""), query.get("fieldSelector", ""))
                for method, _path, query, headers in api.requests
                if method == "GET" and "PartialObject" not in headers["Accept"]
            ]
            assert whole == expected


def test_an_empty_request_is_refused(api: FakeApi):
    with pytest.raises(Refused, match="npu_worker"):
        label_nodes(params(api, {}), check_mode=False)


def test_prune_removes_what_the_collection_has_set_and_nothing_else(api: FakeApi):
    label_nodes(params(api, {"worker-1": {**WORKER, "rack": "r1"}}), check_mode=False)
    api.patch("worker-1", {"metadata": {"labels": {"zone": "a"}}}, "kubectl-label")
    api.patch("worker-1", {"metadata": {"labels": {"rack": "r2"}}}, "kubectl-label")
    wanted = params(api, {"worker-1": {"workerselector": "dls-worker-node"}}, prune=True)
    result = label_nodes(wanted, check_mode=False)
    assert result["changed_nodes"][0]["after"] == {"host-arch": None}
    assert api.labels("worker-1") == {"workerselector": "dls-worker-node", "zone": "a", "rack": "r2"}
    assert label_nodes(wanted, check_mode=False)["changed"] is False


def test_without_prune_nothing_is_removed(api: FakeApi):
    label_nodes(params(api, {"worker-1": WORKER}), check_mode=False)
    assert label_nodes(params(api, {"worker-1": {}}), check_mode=False)["changed"] is False


def test_one_failing_node_does_not_stop_the_others(api: FakeApi):
    api.fault = on("worker-1", Fault(422))
    result = label_nodes(params(api, {"worker-1": WORKER, "worker-2": WORKER}), check_mode=False)
    assert api.labels("worker-2") == WORKER
    assert [failed["name"] for failed in result["failed_nodes"]] == ["worker-1"]
    assert [changed["name"] for changed in result["changed_nodes"]] == ["worker-2"]
    assert failure_message(result).startswith("1 of 2 nodes could not be labelled, 1 were changed, 0 were as they")


def test_a_node_deleted_in_between_is_told_as_such(api: FakeApi):
    def delete(method: str, path: str, number: int) -> Fault | None:
        if method == "PATCH":
            api.nodes.pop("worker-1", None)
        return None

    api.fault = delete
    result = label_nodes(params(api, {"worker-1": WORKER, "worker-2": WORKER}), check_mode=False)
    assert [(failed["name"], failed["code"]) for failed in result["failed_nodes"]] == [("worker-1", "node-gone")]
    assert api.labels("worker-2") == WORKER


@pytest.mark.parametrize("fault", [Fault(409), Fault(429, {"Retry-After": "1"}), Fault(500), Fault(503), Fault(0)])
def test_passing_faults_are_got_over(api: FakeApi, pauses: list[float], fault: Fault):
    api.fault = on("worker-1", fault, times=3)
    result = label_nodes(params(api, {"worker-1": WORKER, "worker-2": WORKER}), check_mode=False)
    assert result["failed_nodes"] == []
    assert api.labels("worker-1") == WORKER
    assert len(pauses) == 3


def test_an_answer_that_was_lost_after_the_work_was_done_is_got_over(api: FakeApi, pauses: list[float]):
    def work_and_drop(method: str, path: str, number: int) -> Fault | None:
        if method != "PATCH" or pauses:
            return None
        api.patch("worker-1", {"metadata": {"labels": WORKER}}, "mindcluster.recovery")
        return Fault(0)

    api.fault = work_and_drop
    assert label_nodes(params(api, {"worker-1": WORKER}), check_mode=False)["failed_nodes"] == []
    assert api.labels("worker-1") == WORKER


def test_a_server_that_dies_is_not_asked_thousands_of_times(pauses: list[float]):
    with FakeApi({"node-%03d" % number: {} for number in range(300)}) as api:
        api.fault = lambda method, path, number: Fault(503) if method == "PATCH" else None
        result = label_nodes(params(api, dict.fromkeys(api.nodes, WORKER)), check_mode=False)
        assert result["counts"]["failed"] == 300
        assert len(api.writes()) < 100
    codes = [failed["code"] for failed in result["failed_nodes"]]
    assert set(codes) == {"kube-server-error", "node-not-tried"}


def test_a_webhook_that_changes_the_labels_is_noticed(api: FakeApi, monkeypatch: pytest.MonkeyPatch):
    store = api.patch

    def change(name: str, body: t.Any, manager: str, dry_run: bool = False) -> t.Any:
        return store(
            name, {"metadata": {"labels": {**body["metadata"]["labels"], "host-arch": "mine"}}}, manager, dry_run
        )

    monkeypatch.setattr(api, "patch", change)
    result = label_nodes(params(api, {"worker-1": WORKER}), check_mode=False)
    assert [failed["code"] for failed in result["failed_nodes"]] == ["node-label-not-kept"]
    assert "host-arch" in result["failed_nodes"][0]["what"]


def test_two_runs_at_once_converge():
    with FakeApi({"node-%03d" % number: {} for number in range(40)}) as api:
        wanted = params(api, dict.fromkeys(api.nodes, WORKER))
        runs = [threading.Thread(target=label_nodes, args=(wanted, False)) for _number in range(2)]
        for run in runs:
            run.start()
        for run in runs:
            run.join()
        assert all(api.labels(name) == WORKER for name in api.nodes)
        assert label_nodes(wanted, check_mode=False)["changed"] is False


def test_connections_are_bounded_and_kept():
    with FakeApi({"node-%03d" % number: {} for number in range(100)}) as api:
        label_nodes(params(api, dict.fromkeys(api.nodes, WORKER)), check_mode=False)
        assert api.connections <= 5


def test_diff_shows_changed_keys_alone(api: FakeApi):
    api.labels("worker-1").update({"zone": "a", "host-arch": "huawei-x86"})
    diff = label_nodes(params(api, {"worker-1": WORKER}), check_mode=True)["diff"]
    assert diff["before"] == "worker-1: host-arch=huawei-x86\n"
    assert diff["after"] == "worker-1: host-arch=huawei-arm\nworker-1: workerselector=dls-worker-node\n"


def test_audit_reports_every_kind_of_drift_and_changes_nothing(api: FakeApi):
    label_nodes(params(api, {"worker-1": {**WORKER, "rack": "r1"}}), check_mode=False)
    api.labels("worker-1").update({"host-arch": "huawei-x86", "kubernetes.io/arch": "amd64"})
    del api.labels("worker-1")["workerselector"]
    before = len(api.writes())
    wanted = params(api, {"worker-1": WORKER, "worker-9": WORKER}, resource="huawei.com/Ascend910")
    wanted["nodes"][0]["arch"] = "aarch64"
    audit = audit_nodes(wanted)
    assert audit["drift"] == [
        {
            "name": "worker-1",
            "missing": {"workerselector": "dls-worker-node"},
            "different": {"host-arch": {"wanted": "huawei-arm", "found": "huawei-x86"}},
            "surplus": {"rack": "r1"},
        }
    ]
    assert audit["absent_nodes"] == ["worker-9"]
    assert [finding["where"] for finding in audit["contradictions"]] == ["worker-1"]
    assert audit["without_resource"] == ["worker-1"]
    assert (audit["in_sync"], len(api.writes())) == (False, before)


def test_audit_of_nodes_as_they_should_be(api: FakeApi):
    label_nodes(params(api, {"worker-1": WORKER}), check_mode=False)
    api.nodes["worker-1"]["status"]["allocatable"]["huawei.com/Ascend910"] = "8"
    audit = audit_nodes(params(api, {"worker-1": WORKER}, resource="huawei.com/Ascend910"))
    assert audit["in_sync"] is True


def test_progress_is_told_while_the_work_is_going_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(_kube_progress, "EVERY", 0.0)
    told = tmp_path / "progress"
    seen: list[tuple[int, int] | None] = []
    with FakeApi({"node-%d" % number: {} for number in range(20)}) as api:
        api.fault = lambda method, path, number: seen.append(_kube_progress.read_progress(str(told)))
        label_nodes(params(api, dict.fromkeys(api.nodes, WORKER), progress_file=str(told)), check_mode=False)
    assert _kube_progress.read_progress(str(told)) == (20, 20)
    assert any(entry is not None and 0 < entry[0] < 20 for entry in seen)


def test_progress_that_cannot_be_written_stops_nothing(api: FakeApi, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(_kube_progress, "EVERY", 0.0)
    result = label_nodes(params(api, {"worker-1": WORKER}, progress_file="/nowhere/progress"), check_mode=False)
    assert result["failed_nodes"] == []
