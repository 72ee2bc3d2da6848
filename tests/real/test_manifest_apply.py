# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a real API server accepts and refuses, and what is said about it."""

from __future__ import annotations

import contextlib
import os
import pathlib
import time
import typing as t

import pytest
import yaml
from apply_site import CONFIG_MAPS, JOBS, apply, config_map, job
from kube_site import KubeSite

from parts import session

RBAC = pathlib.Path(__file__).parents[2] / "docs" / "rbac"


def stored(kube: KubeSite, namespace: str, path: str) -> t.Any:
    """An object without what differs from write to write."""
    found = kube.get(path % namespace)
    for name in ("managedFields", "resourceVersion", "uid", "creationTimestamp", "generation"):
        found["metadata"].pop(name, None)
    return found


# --- check mode and real mode ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("before", [[], [""], ["1"]], ids=["new", "same", "other"])
def test_check_mode_says_what_the_real_run_does(kube: KubeSite, namespace: str, before: list[str]) -> None:
    def manifests(round_: str) -> list[str]:
        labels = {"round": round_} if round_ else {}
        return [config_map(namespace, **labels), job(namespace, **labels)]

    for each in before:
        apply(kube.kubeconfig, *manifests(each))
    was = [kube.get(path % namespace)["items"] for path in (JOBS, CONFIG_MAPS)]
    predicted = apply(kube.kubeconfig, *manifests(""), replace=True, check=True, diff=True)
    assert [kube.get(path % namespace)["items"] for path in (JOBS, CONFIG_MAPS)] == was
    real = apply(kube.kubeconfig, *manifests(""), replace=True, diff=True)
    assert not real.failed
    assert (predicted["changed"], predicted["objects"], predicted["diff"]) == (
        real["changed"], real["objects"], real["diff"],
    )  # fmt: skip
    for diff in real["diff"]:
        path = (JOBS + "/llama2") if "AscendJob" in diff["after_header"] else (CONFIG_MAPS + "/settings")
        assert yaml.safe_load(diff["after"]) == stored(kube, namespace, path)
    again = apply(kube.kubeconfig, *manifests(""), diff=True)
    assert (again["changed"], again["diff"]) == (False, [])


def test_a_replaced_job_is_told_as_it_will_be_without_what_others_had_put_into_the_old_one(
    kube: KubeSite, namespace: str
) -> None:
    path = JOBS % namespace + "/llama2"
    apply(kube.kubeconfig, job(namespace))
    kube.done("PATCH", path, {"metadata": {"annotations": {"somebody": "was here"}}})
    result = apply(kube.kubeconfig, job(namespace, round="2"), replace=True, check=True, diff=True)
    assert "somebody" in result["diff"][0]["before"] and "somebody" not in result["diff"][0]["after"]
    apply(kube.kubeconfig, job(namespace, round="2"), replace=True)
    assert "annotations" not in kube.get(path)["metadata"]


def test_a_manifest_is_shown_in_the_diff_alone(kube: KubeSite, namespace: str) -> None:
    result = apply(kube.kubeconfig, config_map(namespace, colour="red"))
    assert "colour" not in str(result)


# --- a job that exists -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("check", [False, True])
@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda data: data["metadata"]["labels"].update({"fault-scheduling": "grace"}), "labels.fault-scheduling"),
        (lambda data: data["metadata"].update(annotations={"recover-strategy": "retry"}), "metadata.annotations"),
        (lambda data: data["metadata"]["labels"].pop("fault-retry-times"), "labels.fault-retry-times"),
        (lambda data: data["spec"]["replicaSpecs"]["Master"].update(replicas=2), "spec.replicaSpecs.Master.replicas"),
    ],
    ids=["label", "annotation", "label that goes", "spec"],
)
def test_a_job_that_exists_is_not_changed_whatever_would_change_in_it(
    kube: KubeSite, namespace: str, change: t.Callable[[t.Any], t.Any], said: str, check: bool
) -> None:
    first = yaml.safe_load(job(namespace, **{"fault-retry-times": "10"}))
    apply(kube.kubeconfig, yaml.safe_dump(first))
    before = kube.get(JOBS % namespace + "/llama2")
    change(first)
    result = apply(kube.kubeconfig, yaml.safe_dump(first), config_map(namespace), check=check)
    assert (result.codes, result["changed"]) == (["job-exists"], False)
    assert (
        said in result["msg"] and "PodGroup is made once" in result["msg"] and "training_job_replace" in result["msg"]
    )
    assert kube.get(JOBS % namespace + "/llama2") == before
    assert kube.get(CONFIG_MAPS % namespace + "/settings") is None


@pytest.mark.parametrize("round_", ["", "2"], ids=["same", "other"])
def test_a_job_that_is_just_being_deleted_is_created_anew_and_never_taken_for_one_that_stays(
    kube: KubeSite, namespace: str, round_: str
) -> None:
    path = JOBS % namespace + "/llama2"
    manifests = [job(namespace, **({"round": round_} if round_ else {})), config_map(namespace)]
    apply(kube.kubeconfig, job(namespace), config_map(namespace))
    for each in (path, CONFIG_MAPS % namespace + "/settings"):
        kube.done("PATCH", each, {"metadata": {"finalizers": ["example.org/waits"]}})
        kube.done("DELETE", each)
    refused = apply(kube.kubeconfig, *manifests)
    assert (refused.codes, refused["changed"]) == (["object-being-deleted"] * 2, False)
    # Nobody waits for a ConfigMap, and what is put into it would be gone in a moment.
    assert apply(kube.kubeconfig, *manifests, replace=True).codes == ["object-being-deleted"]
    kube.done("PATCH", CONFIG_MAPS % namespace + "/settings", {"metadata": {"finalizers": None}})
    stuck = apply(kube.kubeconfig, *manifests, replace=True, replace_timeout=1)
    assert stuck.codes == ["job-not-gone"]
    kube.done("PATCH", path, {"metadata": {"finalizers": None}})
    assert apply(kube.kubeconfig, *manifests, replace=True)["changed"]
    assert "deletionTimestamp" not in kube.get(path)["metadata"]


# --- one object in two manifests -------------------------------------------------------------------------------------


def test_an_object_of_two_manifests_is_one_object(kube: KubeSite, namespace: str) -> None:
    result = apply(kube.kubeconfig, config_map(namespace, a="1"), config_map(namespace, a="1"))
    assert [thing["action"] for thing in result["objects"]] == ["created"]


def test_an_object_that_two_manifests_want_otherwise_is_refused(kube: KubeSite, namespace: str) -> None:
    result = apply(kube.kubeconfig, config_map(namespace, a="1"), config_map(namespace, a="2"))
    assert (result.codes, result["changed"]) == (["object-twice"], False)
    assert "manifest 1" in result["msg"] and "manifest 2" in result["msg"]
    assert kube.get(CONFIG_MAPS % namespace + "/settings") is None


# --- other writers ---------------------------------------------------------------------------------------------------


def test_a_conflict_names_the_other_manager_and_the_field(kube: KubeSite, namespace: str) -> None:
    path = CONFIG_MAPS % namespace + "/settings"
    theirs = yaml.safe_load(config_map(namespace, colour="blue"))
    kube.apply(path, theirs, "argocd-controller")
    result = apply(kube.kubeconfig, config_map(namespace, colour="red"), job(namespace))
    assert (result.codes, result["changed"]) == (["field-conflict"], False)
    assert "argocd-controller" in result["msg"] and "data.colour" in result["msg"]
    assert kube.get(path)["data"] == {"colour": "blue"} and kube.get(JOBS % namespace + "/llama2") is None


def test_fields_of_others_stay_and_are_no_change(kube: KubeSite, namespace: str) -> None:
    path = CONFIG_MAPS % namespace + "/settings"
    apply(kube.kubeconfig, config_map(namespace, colour="red"))
    kube.apply(path, yaml.safe_load(config_map(namespace, shape="round")), "somebody")
    assert not apply(kube.kubeconfig, config_map(namespace, colour="red"))["changed"]
    assert kube.get(path)["data"] == {"colour": "red", "shape": "round"}


def test_what_a_manifest_no_longer_has_is_taken_out_and_the_diff_shows_it(kube: KubeSite, namespace: str) -> None:
    apply(kube.kubeconfig, config_map(namespace, colour="red", old="value"))
    result = apply(kube.kubeconfig, config_map(namespace, colour="red"), diff=True)
    assert result["objects"][0]["action"] == "changed"
    assert "old: value" in result["diff"][0]["before"] and "old: value" not in result["diff"][0]["after"]
    assert kube.get(CONFIG_MAPS % namespace + "/settings")["data"] == {"colour": "red"}


def test_an_unknown_field_is_refused_together_with_all_other_mistakes(kube: KubeSite, namespace: str) -> None:
    misspelt = job(namespace).replace("restartPolicy", "restartPolcy")
    nowhere = config_map("nowhere-at-all")
    result = apply(kube.kubeconfig, misspelt, nowhere, config_map(namespace))
    assert sorted(result.codes) == ["field-unknown", "namespace-missing"]
    assert kube.get(CONFIG_MAPS % namespace + "/settings") is None


# --- namespaces ------------------------------------------------------------------------------------------------------


def namespace_document(name: str) -> str:
    return yaml.safe_dump({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})


@pytest.mark.parametrize("own", [False, True], ids=["asked for", "in the manifest"])
def test_a_namespace_is_created_with_all_that_goes_into_it(
    kube: KubeSite, limited_kube: KubeSite, fresh_name: str, own: bool
) -> None:
    # The Namespace stands last in the file: the order of documents is no concern of the user's.
    text = (
        job(fresh_name) + "---\n" + config_map(fresh_name) + ("---\n" + namespace_document(fresh_name) if own else "")
    )
    options = {} if own else {"create_namespace": True}
    predicted = apply(limited_kube.kubeconfig, text, check=True, **options)
    assert kube.get(f"/api/v1/namespaces/{fresh_name}") is None
    real = apply(limited_kube.kubeconfig, text, **options)
    assert (real.failed, real["changed"]) == (False, True)
    assert predicted["objects"] == real["objects"]
    assert sorted(each["kind"] for each in real["objects"]) == ["AscendJob", "ConfigMap", "Namespace"]
    assert kube.get(JOBS % fresh_name + "/llama2") is not None
    again = apply(limited_kube.kubeconfig, text, **options)
    assert (again.failed, again["changed"]) == (False, False)


def test_no_namespace_is_created_for_a_manifest_that_is_wrong(kube: KubeSite, fresh_name: str) -> None:
    misspelt = job(fresh_name).replace("restartPolicy", "restartPolcy")
    result = apply(kube.kubeconfig, misspelt, create_namespace=True)
    assert (result.codes, result["changed"]) == (["field-unknown"], False)
    assert "restartPolcy" in result["msg"] and "`llama2`" in result["msg"]
    assert kube.get(f"/api/v1/namespaces/{fresh_name}") is None


def test_no_namespace_is_created_unasked(kube: KubeSite, fresh_name: str) -> None:
    result = apply(kube.kubeconfig, job(fresh_name))
    assert (result.codes, result["changed"]) == (["namespace-missing"], False)
    assert f"kubectl create namespace {fresh_name}" in result["msg"]
    assert "training_job_create_namespace" in result["msg"]


def test_a_namespace_that_is_being_deleted_is_told(kube: KubeSite, namespace: str) -> None:
    kube.done("DELETE", f"/api/v1/namespaces/{namespace}")
    assert apply(kube.kubeconfig, config_map(namespace), create_namespace=True).codes == ["namespace-being-deleted"]


# --- rights ----------------------------------------------------------------------------------------------------------

Account = t.Callable[[list[dict[str, t.Any]]], str]


@pytest.fixture
def account(kube: KubeSite, need: t.Callable[[str], str], fresh_name: str, tmp_path: pathlib.Path) -> Account:
    """A user with the given rules alone, in all namespaces; returns the path of its kubeconfig."""

    def make(rules: list[dict[str, t.Any]]) -> str:
        base = f"/api/v1/namespaces/default/serviceaccounts/{fresh_name}"
        rbac = "/apis/rbac.authorization.k8s.io/v1"
        kube.done("POST", base.rpartition("/")[0], {"metadata": {"name": fresh_name}})
        kube.done("POST", f"{rbac}/clusterroles", {"metadata": {"name": fresh_name}, "rules": rules})
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": fresh_name}
        subject = {"kind": "ServiceAccount", "name": fresh_name, "namespace": "default"}
        binding = {"metadata": {"name": fresh_name}, "roleRef": role, "subjects": [subject]}
        kube.done("POST", f"{rbac}/clusterrolebindings", binding)
        token = kube.done("POST", f"{base}/token", {"spec": {"expirationSeconds": 3600}})["status"]["token"]
        config = yaml.safe_load(pathlib.Path(need("KUBECONFIG")).read_text())
        config["users"][0]["user"] = {"token": token}
        path = tmp_path / "kubeconfig"
        path.write_text(yaml.safe_dump(config))
        return str(path)

    return make


def rules_of(name: str) -> list[dict[str, t.Any]]:
    return list(next(yaml.safe_load_all((RBAC / name).read_text()))["rules"])


def without(rules: list[dict[str, t.Any]], resource: str, verb: str) -> list[dict[str, t.Any]]:
    """The rules with one verb on one resource taken out of them."""
    found = []
    for rule in rules:
        rest = [name for name in rule["resources"] if name != resource]
        if rest:
            found.append({**rule, "resources": rest})
        if resource in rule["resources"]:
            found.append({**rule, "resources": [resource], "verbs": [name for name in rule["verbs"] if name != verb]})
    return [rule for rule in found if rule["verbs"]]


RIGHTS = [
    (resource, verb)
    for rule in rules_of("jobs.yaml") + rules_of("namespaces.yaml")
    for resource in rule["resources"]
    for verb in rule["verbs"]
]


@pytest.mark.parametrize(("resource", "verb"), RIGHTS)
def test_each_right_of_the_manifests_is_needed_and_named_where_it_is_missing(
    kube: KubeSite, account: Account, fresh_name: str, resource: str, verb: str
) -> None:
    """One run that uses every right: a new namespace, a job to be replaced, a wait."""
    old = f"{fresh_name}-old"
    kube.create_namespace(old)
    apply(kube.kubeconfig, job(old))
    everything = [config_map(old, "other"), job(old, round="2"), job(fresh_name), namespace_document(fresh_name)]
    rules = rules_of("jobs.yaml") + rules_of("namespaces.yaml")
    kubeconfig = account(without(rules, resource, verb))
    result = apply(kubeconfig, *everything, replace=True, wait=1)
    assert (set(result.codes), result["changed"]) == ({"kube-forbidden"}, False)
    assert f"the verb `{verb}` on `{resource}" in result["msg"] and "docs/rbac/" in result["msg"]
    assert kube.get(f"/api/v1/namespaces/{fresh_name}") is None
    assert "round" not in kube.get(JOBS % old + "/llama2")["metadata"]["labels"]


def test_the_rights_of_the_manifests_are_enough(kube: KubeSite, account: Account, fresh_name: str) -> None:
    old = f"{fresh_name}-old"
    kube.create_namespace(old)
    apply(kube.kubeconfig, job(old))
    everything = [config_map(old, "other"), job(old, round="2"), job(fresh_name), namespace_document(fresh_name)]
    kubeconfig = account(rules_of("jobs.yaml") + rules_of("namespaces.yaml"))
    result = apply(kubeconfig, *everything, replace=True, wait=1)
    # There is no operator, and all the rest is done.
    assert (set(result.codes), result["changed"]) == ({"job-not-taken"}, True)
    assert kube.get(JOBS % fresh_name + "/llama2") is not None
    assert kube.get(JOBS % old + "/llama2")["metadata"]["labels"]["round"] == "2"


def test_rights_in_the_new_namespace_alone_are_enough_too(kube: KubeSite, account: Account, fresh_name: str) -> None:
    """The namespace `default`, where objects are tried else, is closed to this user."""
    kubeconfig = account(rules_of("namespaces.yaml"))
    right = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "create", "patch"]}
    rbac = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{fresh_name}"
    kube.create_namespace(fresh_name)
    kube.done("POST", f"{rbac}/roles", {"metadata": {"name": "r"}, "rules": [right]})
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"}
    subject = {"kind": "ServiceAccount", "name": fresh_name, "namespace": "default"}
    kube.done("POST", f"{rbac}/rolebindings", {"metadata": {"name": "r"}, "roleRef": role, "subjects": [subject]})
    text = config_map(fresh_name) + "---\n" + namespace_document(fresh_name)
    assert apply(kubeconfig, text)["changed"]


# --- a cluster that lacks something ----------------------------------------------------------------------------------


@contextlib.contextmanager
def own_cluster() -> t.Iterator[KubeSite]:
    """A cluster beside the others', from which definitions may be taken away."""
    outer = {name: value for name, value in os.environ.items() if not name.startswith(("SANDBOX_", "KUBECONFIG"))}
    with session.running(["kube"], outer) as environment:
        yield KubeSite(pathlib.Path(environment["KUBECONFIG"]))


def take_away(bare: KubeSite, plural: str, group: str, version: str) -> None:
    """Remove a definition, and wait until the server does not serve it any more."""
    bare.done("DELETE", f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{plural}.{group}")
    deadline = time.monotonic() + 60
    while bare.call("GET", f"/apis/{group}/{version}")[0] != 404:
        assert time.monotonic() < deadline, f"{plural} is still served"
        time.sleep(0.2)


def test_a_cluster_without_the_operator_or_without_volcano_is_told() -> None:
    with own_cluster() as bare:
        take_away(bare, "podgroups", "scheduling.volcano.sh", "v1beta1")
        waiting = apply(bare.kubeconfig, job("default"), wait=5)
        assert (waiting.codes, waiting["changed"]) == (["volcano-missing"], False)
        assert apply(bare.kubeconfig, job("default"))["changed"]
        take_away(bare, "ascendjobs", "mindxdl.gitee.com", "v1")
        result = apply(bare.kubeconfig, config_map("default"), job("default"), job("default", "two"))
        assert (set(result.codes), result["changed"]) == ({"operator-missing"}, False)
        assert "is not installed" in result["msg"]
        assert bare.get(CONFIG_MAPS % "default" + "/settings") is None
