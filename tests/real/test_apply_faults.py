# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Manifests reach the cluster once, whatever happens to the requests, and `changed` is the truth."""

from __future__ import annotations

import pathlib
import typing as t

import pytest
from apply_site import CONFIG_MAPS, JOBS, apply, config_map, job
from kube_site import KubeSite

from parts.fault_proxy import Fault, FaultProxy
from parts.faults import Action

Faulty = tuple[FaultProxy, str]
WRITES = r"configmaps/settings\?(?!.*dryRun)"
JOB_WRITES = r"ascendjobs/llama2\?(?!.*dryRun)"


@pytest.fixture
def faulty(kube: KubeSite, tmp_path: pathlib.Path) -> t.Iterator[Faulty]:
    with kube.behind_faults(tmp_path) as found:
        yield found


def data_of(kube: KubeSite, namespace: str) -> t.Any:
    found = kube.get(CONFIG_MAPS % namespace + "/settings")
    return found and found["data"]


def test_a_server_that_asks_to_wait_is_asked_again(kube: KubeSite, faulty: Faulty, namespace: str) -> None:
    proxy, kubeconfig = faulty
    proxy.add(Fault("PATCH", WRITES, "answer", status=429, headers={"Retry-After": "1"}, times=2))
    result = apply(kubeconfig, config_map(namespace, colour="red"))
    assert (result.failed, result["changed"]) == (False, True)
    assert proxy.statuses("PATCH", WRITES) == [429, 429, 201]
    assert data_of(kube, namespace) == {"colour": "red"}


@pytest.mark.parametrize("action", ["answer", "answer_after", "drop", "drop_after"])
@pytest.mark.parametrize("path", [r"/api/v1$", "settings$", r"settings\?.*dryRun", WRITES])
def test_each_request_is_sent_again_and_its_work_done_once(
    kube: KubeSite, faulty: Faulty, namespace: str, action: Action, path: str
) -> None:
    proxy, kubeconfig = faulty
    fault = proxy.add(Fault("*", path, action, status=500))
    result = apply(kubeconfig, config_map(namespace, colour="red"))
    assert (fault.hits, result.failed, result["changed"]) == (1, False, True)
    found = kube.get(CONFIG_MAPS % namespace + "/settings")
    assert found["data"] == {"colour": "red"}
    assert len(found["metadata"]["managedFields"]) == 1
    assert not apply(kubeconfig, config_map(namespace, colour="red"))["changed"]


def test_an_answer_that_breaks_off_is_fetched_again(faulty: Faulty, namespace: str) -> None:
    proxy, kubeconfig = faulty
    proxy.add(Fault("GET", r"/api/v1$", "drop_body", after_bytes=100))
    assert apply(kubeconfig, config_map(namespace, colour="red"))["changed"]
    assert proxy.statuses("GET", r"/api/v1$") == [200, 200]


def test_a_slow_server_is_waited_for(kube: KubeSite, faulty: Faulty, namespace: str) -> None:
    proxy, kubeconfig = faulty
    proxy.add(Fault("*", "settings", "delay_after", delay=0.7, times=0))
    assert apply(kubeconfig, config_map(namespace, colour="red"))["changed"]
    assert proxy.statuses("PATCH", WRITES) == [201]


@pytest.mark.parametrize(
    ("fault", "code", "said"),
    [
        ({"status": 500, "body": '{"message": "etcdserver: no leader"}'}, "kube-server-error", "etcdserver: no leader"),
        ({"status": 429, "headers": {"Retry-After": "0"}}, "kube-throttled", "asks to wait"),
    ],
)
def test_a_fault_that_stays_ends_after_six_attempts(
    kube: KubeSite, faulty: Faulty, namespace: str, fault: dict[str, t.Any], code: str, said: str
) -> None:
    proxy, kubeconfig = faulty
    proxy.add(Fault("PATCH", WRITES, "answer", times=0, **fault))
    result = apply(kubeconfig, config_map(namespace, colour="red"))
    assert (result.codes, result["changed"]) == ([code], False)
    assert said in result["msg"] and "Nothing was written" in result["msg"]
    assert len(proxy.statuses("PATCH", WRITES)) == 6
    assert data_of(kube, namespace) is None


def test_a_run_that_breaks_off_says_what_it_has_done_and_the_next_one_does_the_rest(
    kube: KubeSite, faulty: Faulty, namespace: str
) -> None:
    proxy, kubeconfig = faulty
    manifests = [config_map(namespace, colour="red"), job(namespace)]
    proxy.add(Fault("PATCH", JOB_WRITES, "drop", times=6))
    result = apply(kubeconfig, *manifests)
    assert (result.failed, result["changed"]) == (True, True)
    assert "Before that ConfigMap `settings` was written" in result["msg"]
    assert kube.get(JOBS % namespace + "/llama2") is None
    again = apply(kubeconfig, *manifests)
    assert [each["action"] for each in again["objects"]] == ["unchanged", "created"]


def test_the_second_of_two_mistakes_does_not_hide_that_something_was_written(faulty: Faulty, namespace: str) -> None:
    proxy, kubeconfig = faulty
    proxy.add(Fault("PATCH", JOB_WRITES, "answer", status=500, times=0))
    result = apply(kubeconfig, config_map(namespace, colour="red"), job(namespace))
    assert "nothing was changed" not in result["msg"]


@pytest.mark.parametrize("action", ["answer_after", "drop_after"])
def test_a_job_is_replaced_once_although_the_answers_get_lost(
    kube: KubeSite, faulty: Faulty, namespace: str, action: Action
) -> None:
    proxy, kubeconfig = faulty
    apply(kubeconfig, job(namespace))
    before = kube.get(JOBS % namespace + "/llama2")["metadata"]["uid"]
    # The first one is a dry run.
    deleted = proxy.add(Fault("DELETE", "ascendjobs/llama2$", action, skip=1, status=503))
    written = proxy.add(Fault("PATCH", JOB_WRITES, action, status=503))
    result = apply(kubeconfig, job(namespace, round="2"), replace=True)
    assert (result.failed, result["changed"], deleted.hits, written.hits) == (False, True, 1, 1)
    assert proxy.statuses("DELETE", "ascendjobs/llama2$") == [200, 503 if action == "answer_after" else 0, 404]
    after = kube.get(JOBS % namespace + "/llama2")["metadata"]
    assert after["uid"] != before and after["labels"]["round"] == "2"
    assert after["generation"] == 1


def test_nothing_is_deleted_before_the_new_job_is_known_to_be_accepted(
    kube: KubeSite, faulty: Faulty, namespace: str
) -> None:
    proxy, kubeconfig = faulty
    apply(kubeconfig, job(namespace))
    before = kube.get(JOBS % namespace + "/llama2")
    proxy.add(Fault("PATCH", "ascendjobs/recovery-try-", "answer", status=403, body='{"message": "quota exceeded"}'))
    result = apply(kubeconfig, job(namespace, round="2"), replace=True)
    assert (result.codes, result["changed"]) == (["kube-forbidden"], False)
    assert "quota exceeded" in result["msg"]
    assert kube.get(JOBS % namespace + "/llama2") == before


def test_a_job_that_somebody_else_has_made_anew_meanwhile_is_not_deleted(
    kube: KubeSite, faulty: Faulty, namespace: str
) -> None:
    proxy, kubeconfig = faulty
    path = JOBS % namespace + "/llama2"
    apply(kubeconfig, job(namespace))

    def somebody_else() -> None:
        kube.done("DELETE", path)
        assert apply(kube.kubeconfig, job(namespace, owner="somebody"))["changed"]

    proxy.add(Fault("DELETE", "ascendjobs/llama2$", "call", skip=1, before=somebody_else))
    result = apply(kubeconfig, job(namespace, round="2"), replace=True)
    assert (result.codes, result["changed"]) == (["kube-conflict"], False)
    assert kube.get(path)["metadata"]["labels"]["owner"] == "somebody"
