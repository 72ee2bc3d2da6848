# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The operator's verdict on a job becomes the module's, as each release's operator writes it."""

from __future__ import annotations

import concurrent.futures
import typing as t

import pytest
from apply_site import JOBS, Operator, apply, config_map, job
from kube_site import KubeSite

from ansible_collections.mindcluster.recovery.plugins.module_utils._operator_verdict import TROUBLES

BY_EVENT = "7.3.0"
BY_CONDITION = "26.0.0"


@pytest.fixture
def operator(kube: KubeSite, namespace: str) -> Operator:
    return Operator(kube, namespace)


def once_there(operator: Operator, act: t.Callable[[], object]) -> t.Callable[[], object]:
    """Act as soon as the job exists, as an operator that watches."""

    def wait_and_act() -> object:
        operator.when_new("llama2", "")
        return act()

    return wait_and_act


@pytest.mark.parametrize("release", ["7.1.RC1", "7.2.RC1", BY_EVENT, BY_CONDITION, "26.1.0"])
def test_a_job_is_taken_when_its_pod_group_is_there(
    limited_kube: KubeSite, operator: Operator, namespace: str, release: str
) -> None:
    with concurrent.futures.ThreadPoolExecutor() as pool:
        acted = pool.submit(once_there(operator, lambda: operator.takes("llama2")))
        result = apply(limited_kube.kubeconfig, job(namespace), wait=60, release=release)
        acted.result()
    assert (result.failed, result["changed"]) == (False, True)
    again = apply(limited_kube.kubeconfig, job(namespace), wait=60, release=release)
    assert (again.failed, again["changed"]) == (False, False)


@pytest.mark.parametrize("trouble", TROUBLES, ids=lambda trouble: trouble.condition)
def test_a_refusal_is_told_with_its_reason_and_remedy_on_every_release(
    kube: KubeSite, operator: Operator, namespace: str, trouble: t.Any
) -> None:
    words = "the label of the job is wrong"
    apply(kube.kubeconfig, job(namespace))
    operator.sends_event("llama2", trouble.event, words)
    old = apply(kube.kubeconfig, job(namespace), wait=60, release=BY_EVENT)
    operator.sets_condition("llama2", "Failed", "JobValidFailed", f"{trouble.condition}: {words}")
    new = apply(kube.kubeconfig, job(namespace), wait=60, release=BY_CONDITION)
    for result, said in ((old, f"{trouble.event}: {words}"), (new, f"{trouble.condition}: {words}")):
        assert (result.codes, result["changed"]) == (["job-refused"], False)
        assert said in result["msg"] and trouble.remedy in result["msg"] and "training_job_replace" in result["msg"]


def test_a_refusal_of_a_job_that_was_just_written_says_that_it_was(
    kube: KubeSite, operator: Operator, namespace: str
) -> None:
    with concurrent.futures.ThreadPoolExecutor() as pool:
        message = "InvalidContainer: no container is named ascend"
        acted = pool.submit(
            once_there(operator, lambda: operator.sets_condition("llama2", "Failed", "JobValidFailed", message))
        )
        result = apply(kube.kubeconfig, job(namespace), wait=60, release=BY_CONDITION)
        acted.result()
    assert (result.codes, result["changed"]) == (["job-refused"], True)
    assert "Before that AscendJob `llama2` was written" in result["msg"]


def test_an_operator_that_says_nothing_is_waited_for_and_then_told(
    kube: KubeSite, operator: Operator, namespace: str
) -> None:
    apply(kube.kubeconfig, job(namespace))
    operator.sets_condition("llama2", "Created", "JobCreated", "AscendJob llama2 is created.")
    operator.sends_event("llama2", "SomethingElse", "a warning that is no refusal")
    result = apply(kube.kubeconfig, job(namespace), wait=1, release=BY_EVENT)
    assert result.codes == ["job-not-taken"]
    uid = operator.job("llama2")["metadata"]["uid"]
    for said in (f"llama2-{uid}", "1 seconds", "condition Created", "SomethingElse", "-enableGangScheduling"):
        assert said in result["msg"]


def test_a_job_that_runs_or_has_ended_was_taken(kube: KubeSite, operator: Operator, namespace: str) -> None:
    apply(kube.kubeconfig, job(namespace))
    for kind, reason in (("Running", "JobRunning"), ("Succeeded", "JobSucceeded"), ("Failed", "JobFailed")):
        operator.sets_condition("llama2", kind, reason, "as the operator saw it")
        assert not apply(kube.kubeconfig, job(namespace), wait=1, release=BY_EVENT).failed


def test_the_events_of_an_older_job_of_the_same_name_do_not_count(
    kube: KubeSite, operator: Operator, namespace: str
) -> None:
    apply(kube.kubeconfig, job(namespace))
    operator.sends_event("llama2", "ContainerError", "no container is named ascend")
    replaced = apply(kube.kubeconfig, job(namespace, round="2"), replace=True)
    assert replaced["objects"][0]["action"] == "replaced"
    operator.takes("llama2")
    assert not apply(kube.kubeconfig, job(namespace, round="2"), wait=60, release=BY_EVENT).failed


def test_each_job_of_a_run_has_its_verdict(kube: KubeSite, operator: Operator, namespace: str) -> None:
    manifests = [
        config_map(namespace),
        job(namespace, "one") + "---\n" + job(namespace, "two"),
        job(namespace, "three"),
    ]
    apply(kube.kubeconfig, *manifests)
    operator.takes("one")
    operator.sends_event("two", "QueueGetFailed", "queue not found")
    operator.sends_event("three", "FrameworkLabelError", "no framework")
    result = apply(kube.kubeconfig, *manifests, wait=60, release=BY_EVENT)
    assert result.codes == ["job-refused", "job-refused"]
    assert "`two`" in result["msg"] and "`three`" in result["msg"] and "`one`" not in result["msg"]


def test_nothing_is_waited_for_in_check_mode(kube: KubeSite, namespace: str) -> None:
    result = apply(kube.kubeconfig, job(namespace), wait=600, release=BY_EVENT, check=True)
    assert (result.failed, result["changed"]) == (False, True)


def test_an_unknown_release_is_refused_before_anything_is_written(kube: KubeSite, namespace: str) -> None:
    result = apply(kube.kubeconfig, job(namespace), wait=60, release="7.2")
    assert (result.codes, result["changed"]) == (["release-unknown"], False)
    assert kube.get(JOBS % namespace + "/llama2") is None
