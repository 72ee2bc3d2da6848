# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is taken out of a real cluster, and what stays: others' objects, others' fields, and what may hold data."""

from __future__ import annotations

import pathlib
import time
import typing as t

import pytest
import yaml
from apply_site import CONFIG_MAPS, JOBS, Operator, apply, config_map, job
from kube_site import KubeSite
from run_module import Result, run_module

from ansible_collections.mindcluster.recovery.plugins.module_utils._plan import build_plan
from parts.fault_proxy import Fault

CLAIMS = "/api/v1/namespaces/%s/persistentvolumeclaims"
PODS = "/api/v1/namespaces/%s/pods"


def remove(kube: KubeSite, *manifests: str, consent: bool = True, **options: t.Any) -> Result:
    return run_module(
        "manifest_remove", manifests=list(manifests), consent=consent, kubeconfig=str(kube.kubeconfig), **options
    )


def actions(result: Result) -> dict[str, str]:
    assert not result.failed, result
    return {thing["name"]: thing["action"] for thing in result["objects"]}


def remember(kube: KubeSite, namespace: str, text: str, release: str = "7.2.RC1") -> Result:
    plan = build_plan({"strategies": "retry", "release": release})
    jobs = [f"{namespace}/llama2"]
    return run_module("job_history", jobs=jobs, manifests=[text], plans=[plan], kubeconfig=str(kube.kubeconfig))


def roll_back(kube: KubeSite, namespace: str, **options: t.Any) -> Result:
    jobs = [f"{namespace}/llama2"]
    return run_module("job_rollback", jobs=jobs, kubeconfig=str(kube.kubeconfig), **options)


def claim(namespace: str) -> str:
    spec = {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Gi"}}}
    metadata = {"name": "checkpoints", "namespace": namespace}
    return yaml.safe_dump({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec})


def until_forbidden(user: KubeSite, method: str, path: str) -> None:
    """The server learns of changed rules a moment later."""
    deadline = time.monotonic() + 60
    while user.call(method, path)[0] != 403:
        assert time.monotonic() < deadline, f"{method} {path} is still allowed"
        time.sleep(0.1)


@pytest.fixture
def site(limited_kube: KubeSite, namespace: str) -> tuple[KubeSite, str]:
    """A namespace as a user sees it who has the rights of docs/rbac alone."""
    return limited_kube, namespace


def test_what_was_put_in_goes_and_a_second_time_nothing_does(kube: KubeSite, site: tuple[KubeSite, str]) -> None:
    limited, namespace = site
    state = config_map(namespace, "reset-config-llama2", status="initializing")
    manifests = [state, job(namespace)]
    apply(limited.kubeconfig, *manifests)
    remember(limited, namespace, job(namespace))
    # A component writes into the job's state; it is the job's all the same.
    kube.done("PATCH", CONFIG_MAPS % namespace + "/reset-config-llama2", {"data": {"status": "recovered"}})
    expected = dict.fromkeys(("llama2", "reset-config-llama2", "recovery-history-llama2"), "deleted")
    assert actions(remove(limited, *manifests, check=True)) == expected
    assert kube.get(JOBS % namespace + "/llama2") is not None
    result = remove(limited, *manifests, diff=True)
    assert actions(result) == expected and result["changed"] and len(result["diff"]) == 3
    for path in (JOBS + "/llama2", CONFIG_MAPS + "/reset-config-llama2", CONFIG_MAPS + "/recovery-history-llama2"):
        assert kube.get(path % namespace) is None
    again = remove(limited, *manifests)
    assert set(actions(again).values()) == {"absent"} and not again["changed"]


def test_pods_of_a_job_keep_nothing_but_the_job(kube: KubeSite, namespace: str) -> None:
    kube.done("POST", f"/api/v1/namespaces/{namespace}/serviceaccounts", {"metadata": {"name": "default"}})
    pod = {
        "metadata": {"name": "settings-master-0", "labels": {"job-name": "settings"}},
        "spec": {"automountServiceAccountToken": False, "containers": [{"name": "ascend", "image": "x"}]},
    }
    kube.done("POST", PODS % namespace, pod)
    apply(kube.kubeconfig, config_map(namespace, a="1"))
    assert actions(remove(kube, config_map(namespace, a="1"), timeout=1)) == {"settings": "deleted"}


def test_without_consent_only_the_memory_goes(site: tuple[KubeSite, str]) -> None:
    limited, namespace = site
    apply(limited.kubeconfig, job(namespace))
    remember(limited, namespace, job(namespace))
    result = remove(limited, job(namespace), consent=False)
    assert actions(result) == {"llama2": "left", "recovery-history-llama2": "deleted"}
    assert limited.get(JOBS % namespace + "/llama2") is not None


def test_what_others_have_is_theirs(kube: KubeSite, namespace: str) -> None:
    kube.apply(CONFIG_MAPS % namespace + "/foreign", yaml.safe_load(config_map(namespace, "foreign", a="1")), "helm")
    kube.apply(CONFIG_MAPS % namespace + "/shared", yaml.safe_load(config_map(namespace, "shared", theirs="1")), "helm")
    ours = [config_map(namespace, "shared", ours="2"), claim(namespace)]
    apply(kube.kubeconfig, *ours)
    result = remove(kube, config_map(namespace, "foreign"), *ours, diff=True)
    assert actions(result) == {"foreign": "foreign", "shared": "released", "checkpoints": "data"}
    assert kube.get(CONFIG_MAPS % namespace + "/shared")["data"] == {"theirs": "1"}
    assert kube.get(CLAIMS % namespace + "/checkpoints") is not None
    assert not remove(kube, config_map(namespace, "foreign"), *ours)["changed"]


def test_a_job_that_nobody_applied_here_stays(kube: KubeSite, namespace: str) -> None:
    kube.done("POST", JOBS % namespace, yaml.safe_load(job(namespace)))
    assert actions(remove(kube, job(namespace)))["llama2"] == "foreign"
    assert kube.get(JOBS % namespace + "/llama2") is not None


def test_a_job_that_runs_is_refused_until_it_has_ended(kube: KubeSite, namespace: str) -> None:
    apply(kube.kubeconfig, job(namespace))
    operator = Operator(kube, namespace)
    operator.sets_condition("llama2", "Running", "JobRunning", "it runs")
    for consent in (True, False):
        refused = remove(kube, job(namespace), consent=consent)
        assert refused.codes == ["job-runs"] and "`Running`" in refused["msg"]
    assert kube.get(JOBS % namespace + "/llama2") is not None
    operator.sets_condition("llama2", "Failed", "JobFailed", "it failed")
    assert actions(remove(kube, job(namespace), check=True))["llama2"] == "deleted"
    operator.sets_condition("llama2", "Running", "JobRunning", "it runs")
    assert actions(remove(kube, job(namespace), running=True))["llama2"] == "deleted"


def test_pods_alone_say_that_a_job_runs(kube: KubeSite, namespace: str) -> None:
    apply(kube.kubeconfig, job(namespace))
    kube.done("POST", f"/api/v1/namespaces/{namespace}/serviceaccounts", {"metadata": {"name": "default"}})
    pod = {
        "metadata": {"name": "llama2-master-0", "labels": {"job-name": "llama2"}},
        "spec": {"automountServiceAccountToken": False, "containers": [{"name": "ascend", "image": "x"}]},
    }
    kube.done("POST", PODS % namespace, pod)
    assert "1 of its Pods" in remove(kube, job(namespace))["msg"]


def test_one_step_back_and_no_step_forward(kube: KubeSite, site: tuple[KubeSite, str]) -> None:
    limited, namespace = site
    older, newer = job(namespace), job(namespace).replace("r/x:1", "r/x:2")
    apply(limited.kubeconfig, older)
    assert remember(limited, namespace, older)["changed"]
    assert not remember(limited, namespace, older)["changed"]
    assert roll_back(limited, namespace).codes == ["history-missing"]
    apply(limited.kubeconfig, newer, replace=True)
    remember(limited, namespace, newer, "7.3.0")
    before = kube.get(JOBS % namespace + "/llama2")
    assert roll_back(limited, namespace).codes == ["job-exists"]
    predicted = roll_back(limited, namespace, replace=True, check=True, diff=True)
    assert kube.get(JOBS % namespace + "/llama2") == before
    real = roll_back(limited, namespace, replace=True, diff=True)
    assert (real["jobs"], real["objects"], real["diff"]) == (
        predicted["jobs"], predicted["objects"], predicted["diff"],
    )  # fmt: skip
    assert real["jobs"][0]["target"] == {"release": "7.2.RC1", "images": ["r/x:1"]}
    assert real["jobs"][0]["left"] == {"release": "7.3.0", "images": ["r/x:2"]}
    assert real["plan"]["release"] == "7.2.RC1"
    containers = kube.get(JOBS % namespace + "/llama2")["spec"]["replicaSpecs"]["Master"]["template"]["spec"]
    assert containers["containers"][0]["image"] == "r/x:1"
    again = roll_back(limited, namespace, replace=True)
    assert not again["changed"] and again["jobs"][0]["already"]


def test_memories_that_cannot_be_read_are_told_at_once_and_before_any_is_written(
    kube: KubeSite, namespace: str
) -> None:
    for name in ("two", "three"):
        broken = config_map(namespace, "recovery-history-" + name, **{"current.yaml": "x", "current.plan.json": "no"})
        kube.done("POST", CONFIG_MAPS % namespace, yaml.safe_load(broken))
    names = ("one", "two", "three")
    plan = build_plan({"strategies": "retry"})
    options = {"jobs": ["%s/%s" % (namespace, name) for name in names], "plans": [plan]}
    manifests = [job(namespace, name) for name in names]
    refused = run_module("job_history", manifests=manifests, kubeconfig=str(kube.kubeconfig), **options)
    assert (refused.codes, refused["changed"]) == (["history-unreadable"] * 2, False)
    assert kube.get(CONFIG_MAPS % namespace + "/recovery-history-one") is None


def test_a_job_that_was_deleted_by_hand_is_remembered(kube: KubeSite, namespace: str) -> None:
    for tag in ("1", "2"):
        text = job(namespace).replace("r/x:1", "r/x:" + tag)
        apply(kube.kubeconfig, text, replace=True)
        remember(kube, namespace, text)
    kube.done("DELETE", JOBS % namespace + "/llama2")
    assert roll_back(kube, namespace)["objects"][0]["action"] == "created"


def test_a_user_without_the_right_to_delete_is_told_before_anything_goes(
    kube: KubeSite, limited_kube: KubeSite, namespace: str
) -> None:
    role = "/apis/rbac.authorization.k8s.io/v1/clusterroles/mindcluster-recovery-uninstall"
    rules = kube.get(role)["rules"]
    manifests = [config_map(namespace, a="1"), job(namespace)]
    apply(kube.kubeconfig, *manifests)
    kube.done("PATCH", role, {"rules": []})
    try:
        until_forbidden(limited_kube, "DELETE", CONFIG_MAPS % namespace + "/none")
        refused = remove(limited_kube, *manifests)
    finally:
        kube.done("PATCH", role, {"rules": rules})
    assert refused.failed and "`delete`" in refused["msg"] and "configmaps" in refused["msg"]
    assert kube.get(JOBS % namespace + "/llama2") is not None


def test_what_breaks_in_the_middle_is_told_and_made_good_by_the_next_run(
    kube: KubeSite, namespace: str, tmp_path: pathlib.Path
) -> None:
    manifests = [config_map(namespace, a="1"), job(namespace)]
    apply(kube.kubeconfig, *manifests)
    with kube.behind_faults(tmp_path) as (proxy, kubeconfig):
        proxy.add(Fault("DELETE", r"configmaps/settings(?!.*dryRun)", "answer", status=403))
        broken = run_module("manifest_remove", manifests=manifests, consent=True, kubeconfig=kubeconfig)
    assert broken.failed and broken["changed"]
    assert "Before that AscendJob `llama2` was deleted" in broken["msg"]
    assert actions(remove(kube, *manifests)) == {
        "llama2": "absent",
        "settings": "deleted",
        "recovery-history-llama2": "absent",
    }


def test_an_answer_that_is_lost_does_no_work_twice(kube: KubeSite, namespace: str, tmp_path: pathlib.Path) -> None:
    apply(kube.kubeconfig, job(namespace))
    with kube.behind_faults(tmp_path) as (proxy, kubeconfig):
        lost = proxy.add(Fault("DELETE", r"ascendjobs/llama2(?!.*dryRun)", "drop_after"))
        result = run_module("manifest_remove", manifests=[job(namespace)], consent=True, kubeconfig=kubeconfig)
    assert (lost.hits, result.failed, result["changed"]) == (1, False, True)
    assert kube.get(JOBS % namespace + "/llama2") is None
