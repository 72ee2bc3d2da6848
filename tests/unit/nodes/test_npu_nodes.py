# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""From the inventory to the list of nodes."""

from __future__ import annotations

import typing as t

import pytest
import yaml
from ansible.errors import AnsibleFilterError
from ansible.utils.unsafe_proxy import wrap_var

from ansible_collections.mindcluster.recovery.plugins.filter.npu_node_manifest import npu_node_manifest
from ansible_collections.mindcluster.recovery.plugins.filter.npu_nodes import npu_nodes
from ansible_collections.mindcluster.recovery.plugins.module_utils._node_rules import master_labels, worker_labels

RELEASE = "7.2.RC1"
A2 = worker_labels(RELEASE, "atlas-800t-a2", None)


def inventory(masters: t.Sequence[str] = (), workers: t.Sequence[str] = (), **hostvars: dict[str, t.Any]) -> t.Any:
    groups = {"all": [*masters, *workers], "npu_master": list(masters), "npu_worker": list(workers)}
    return groups, {name: hostvars.get(name, {}) for name in groups["all"]}


def by_name(answer: dict[str, t.Any]) -> dict[str, dict[str, t.Any]]:
    assert answer["errors"] == []
    return {node["name"]: node for node in answer["nodes"]}


def codes(answer: dict[str, t.Any]) -> list[str]:
    assert answer["nodes"] == []
    return [error["code"] for error in answer["errors"]]


def test_masters_and_workers_get_the_labels_of_the_plan():
    nodes = by_name(npu_nodes(*inventory(["m1"], ["w1"]), release=RELEASE, product="atlas-800t-a2"))
    assert nodes["m1"] == {"name": "m1", "labels": master_labels(RELEASE)}
    assert nodes["w1"] == {"name": "w1", "labels": A2, "arch": "aarch64", "product": "atlas-800t-a2"}


def test_a_host_in_both_groups_gets_both_sets_once():
    nodes = by_name(npu_nodes(*inventory(["a"], ["a"]), product="atlas-800t-a2"))
    assert nodes["a"]["labels"] == {**A2, **master_labels(RELEASE)}


def test_variables_of_the_host_win_over_the_defaults():
    own = {
        "npu_node_name": "node-7",
        "npu_node_product": "atlas-900-a3-superpod",
        "npu_node_arch": "x86_64",
        "npu_node_extra_labels": {"nodeDEnable": "on", "accelerator": "mine"},
    }
    nodes = by_name(npu_nodes(*inventory([], ["w1"], w1=own), product="atlas-800t-a2", arch="aarch64"))
    assert nodes["node-7"]["arch"] == "x86_64"
    assert nodes["node-7"]["labels"]["host-arch"] == "huawei-x86"
    assert nodes["node-7"]["labels"]["accelerator-type"] == "module-a3-16-super-pod"
    assert nodes["node-7"]["labels"]["nodeDEnable"] == "on"
    assert nodes["node-7"]["labels"]["accelerator"] == "mine"


def test_the_newest_release_wants_no_product():
    nodes = by_name(npu_nodes(*inventory([], ["w1"]), release="26.1.0"))
    assert nodes["w1"]["labels"] == worker_labels("26.1.0", None, None)


@pytest.mark.parametrize("given", [{}, {"npu_node_product": "auto"}])
def test_a_product_that_is_not_given_is_left_to_be_found_where_there_is_a_cluster(given: dict[str, t.Any]):
    groups, hostvars = inventory(["m1"], ["w1"], w1={**given, "npu_node_extra_labels": {"rack": "r1"}})
    nodes = by_name(npu_nodes(groups, hostvars, find_product=True))
    assert nodes["w1"] == {
        "name": "w1", "labels": {**worker_labels("26.1.0", None, None), "rack": "r1"}, "product": "auto",
    }  # fmt: skip
    assert "product" not in nodes["m1"]
    assert codes(npu_nodes(groups, hostvars)) == ["product-missing"]
    assert "product" not in by_name(npu_nodes(groups, hostvars, release="26.1.0", find_product=True))["w1"]


def test_only_hosts_of_the_play_are_taken():
    nodes = by_name(npu_nodes(*inventory(["m1"], ["w1", "w2"]), product="atlas-800t-a2", play_hosts=["w2"]))
    assert set(nodes) == {"w2"}


@pytest.mark.parametrize("play_hosts", [["localhost"], ["localhost", "w2"], None])
def test_a_play_on_localhost_means_all_members(play_hosts: t.Any):
    groups, hostvars = inventory(["m1"], ["w1", "w2"])
    answer = npu_nodes(groups, hostvars, product="atlas-800t-a2", play_hosts=play_hosts, current_host="localhost")
    assert set(by_name(answer)) == {"m1", "w1", "w2"}


def test_a_value_set_in_the_play_wins_over_the_inventory_for_every_host():
    groups, hostvars = inventory([], ["w1", "w2"], w1={"npu_node_product": "atlas-800t-a3"})
    answer = npu_nodes(
        groups, hostvars, play_vars={"npu_node_product": "atlas-800t-a2"}, play_hosts=["w1", "w2"], current_host="w1"
    )
    assert [node["labels"]["accelerator-type"] for node in answer["nodes"]] == ["module-910b-8"] * 2


def test_the_first_hosts_own_value_is_not_taken_for_the_others():
    groups, hostvars = inventory([], ["w1", "w2"], w1={"npu_node_product": "atlas-800t-a3"})
    answer = npu_nodes(
        groups, hostvars, play_vars={"npu_node_product": "atlas-800t-a3"}, play_hosts=["w1", "w2"], current_host="w1"
    )
    assert codes(answer) == ["product-missing"]
    assert answer["errors"][0]["where"] == "w2"


def test_empty_groups_are_refused_with_the_remedy():
    answer = npu_nodes({}, {})
    assert codes(answer) == ["nodes-empty"]
    assert "npu_worker" in answer["message"]


def test_every_mistake_of_every_host_is_told_once_with_its_hosts():
    groups, hostvars = inventory(
        ["m1"],
        ["w1", "w2", "w3", "w4", "w5", "w6"],
        w1={"npu_node_product": "atlas-800t-a9"},
        w2={"npu_node_product": "atlas-800t-a9"},
        w4={"npu_node_product": "atlas-800t-a2", "npu_node_arch": "x86_64"},
        w5={"npu_node_product": "atlas-800t-a2", "npu_node_arch": "arm64"},
        w6={"npu_node_product": "atlas-800t-a2", "npu_node_extra_labels": ["x"]},
    )
    answer = npu_nodes(groups, hostvars)
    found = {error["code"]: error["where"] for error in answer["errors"]}
    assert found == {
        "product-unknown": "w1, w2",
        "product-missing": "w3",
        "arch-product": "w4",
        "arch-unknown": "w5",
        "extra-labels-no-mapping": "w6",
    }


@pytest.mark.parametrize(
    ("variable", "value", "code"),
    [
        ("npu_node_product", 800, "product-type"),
        ("npu_node_product", ["atlas-800t-a2"], "product-type"),
        ("npu_node_product", {"a": "b"}, "product-type"),
        ("npu_node_arch", 64, "arch-unknown"),
        ("npu_node_arch", ["aarch64"], "arch-unknown"),
    ],
)
def test_a_value_of_another_kind_is_no_traceback(variable: str, value: t.Any, code: str):
    own = {"npu_node_product": "atlas-800t-a2", variable: value}
    assert codes(npu_nodes(*inventory([], ["w1"], w1=own))) == [code]


def test_hosts_with_the_same_node_name_are_refused():
    same = {"npu_node_name": "node-1", "npu_node_product": "atlas-800t-a2"}
    answer = npu_nodes(*inventory([], ["w1", "w2"], w1=same, w2=same))
    assert "node-name-shared" in codes(answer)


def test_illegal_labels_are_refused_without_a_cluster():
    bad = {"npu_node_extra_labels": {"a b": "1", "nodeDEnable": True}}
    answer = npu_nodes(*inventory(["m1"], m1=bad))
    assert codes(answer) == ["label-key-illegal", "label-value-not-text"]


def test_an_unknown_release_is_told_once():
    answer = npu_nodes(*inventory(["m1", "m2"], ["w1"]), product="atlas-800t-a2", release="7.2.RC7")
    assert codes(answer) == ["release-unknown"]


def test_only_the_four_variables_of_a_host_are_read():
    class Watched(dict):
        read: t.ClassVar[set[str]] = set()

        def get(self, key: str, default: t.Any = None) -> t.Any:
            self.read.add(key)
            return default

        def items(self) -> t.Any:
            raise AssertionError("all variables of a host were read")

    groups, _hostvars = inventory(["m1"], ["w1"])
    npu_nodes(groups, {"m1": Watched(), "w1": Watched()}, product="atlas-800t-a2")
    assert Watched.read == {"npu_node_name", "npu_node_product", "npu_node_arch", "npu_node_extra_labels"}


def test_wrong_input_is_no_traceback():
    with pytest.raises(AnsibleFilterError, match="groups"):
        npu_nodes(["m1"], {})


def test_manifest_has_one_document_for_each_node_in_order():
    nodes = npu_nodes(*inventory(["m1"], ["w2", "w1"]), product="atlas-800t-a2")["nodes"]
    text = npu_node_manifest(nodes)
    documents = list(yaml.safe_load_all(text))
    assert [document["metadata"]["name"] for document in documents] == ["m1", "w1", "w2"]
    assert documents[1]["metadata"]["labels"] == A2
    assert documents[1]["metadata"]["annotations"] == {
        "argocd.argoproj.io/sync-options": "ServerSideApply=true,Prune=false,Delete=false",
        "kustomize.toolkit.fluxcd.io/prune": "disabled",
        "kustomize.toolkit.fluxcd.io/ssa": "Merge",
    }
    assert set(documents[1]) == {"apiVersion", "kind", "metadata"}
    assert "&" not in text


def test_manifest_of_nodes_that_a_plan_of_a_module_was_used_for() -> None:
    """ansible-core up to 2.18 keeps the text of an answer in a type of its own, whose C(str) is itself."""
    text = npu_node_manifest([{"name": wrap_var("a"), "labels": {wrap_var("rack"): wrap_var("r1")}}])
    assert text == npu_node_manifest([{"name": "a", "labels": {"rack": "r1"}}])


def test_manifest_does_not_depend_on_the_order_of_the_inventory():
    first = npu_nodes(*inventory([], ["w2", "w1"]), product="atlas-800t-a2")["nodes"]
    second = npu_nodes(*inventory([], ["w1", "w2"]), product="atlas-800t-a2")["nodes"]
    assert npu_node_manifest(first) == npu_node_manifest(second)


def test_values_that_yaml_would_read_otherwise_are_quoted():
    text = npu_node_manifest([{"name": "a", "labels": {"nodeDEnable": "on", "n": "1"}}])
    assert next(yaml.safe_load_all(text))["metadata"]["labels"] == {"nodeDEnable": "on", "n": "1"}


@pytest.mark.parametrize("node", [{}, {"name": 1, "labels": {}}, {"name": "a"}, {"name": "a", "labels": ["x"]}, "a"])
def test_documents_are_made_of_nodes_alone(node: t.Any):
    with pytest.raises(AnsibleFilterError, match="item 1 is no mapping with a name and labels"):
        npu_node_manifest([{"name": "a", "labels": {}}, node])


@pytest.mark.parametrize("release", [7.2, None, ["7.2.RC1"]])
def test_a_release_that_yaml_made_a_number_of(release: t.Any) -> None:
    answer = npu_nodes(*inventory(["m1"], ["w1"]), release=release, product="atlas-800t-a2")
    assert set(codes(answer)) == {"release-type"}
    assert "Put the value of recovery_plan_release in quotes" in answer["message"]


def test_thousands_of_illegal_names_are_one_mistake() -> None:
    workers = ["w_%d" % number for number in range(3000)]
    answer = npu_nodes(*inventory([], workers), release=RELEASE, product="atlas-800t-a2")
    assert len(answer["errors"]) == 3000
    assert "w_0, w_1, " in answer["message"]
    assert "and 2980 more: this is no legal name of a node" in answer["message"]
    assert len(answer["message"].splitlines()) == 1


def test_a_line_break_in_a_name_breaks_no_line_of_the_message() -> None:
    answer = npu_nodes(*inventory([], ["w1"], w1={"npu_node_name": "a\nb"}), release=RELEASE, product="atlas-800t-a2")
    assert codes(answer) == ["node-name-illegal"]
    assert len(answer["message"].splitlines()) == 1


def test_each_host_is_asked_for_its_variables_once_and_none_of_the_others_is_read() -> None:
    """Ansible merges the variables of a host at each question, and makes a value of a template when it is read."""
    asked: list[str] = []

    class Own(dict[str, t.Any]):
        def get(self, key: str, default: t.Any = None) -> t.Any:
            assert key in ("npu_node_name", "npu_node_product", "npu_node_arch", "npu_node_extra_labels")
            return super().get(key, default)

        def values(self) -> t.Any:
            raise AssertionError("the values are not to be read")

        items = values

    class HostVars(dict[str, t.Any]):
        def __getitem__(self, key: str) -> t.Any:
            asked.append(key)
            return super().__getitem__(key)

    groups, hostvars = inventory(["m1"], ["w1", "w2"], w2=Own(npu_node_prodcut="x"))
    answer = npu_nodes(groups, HostVars(hostvars), product="atlas-800t-a2")
    assert (asked, answer["unread"]) == (["m1", "w1", "w2"], {"w2": ["npu_node_prodcut"]})
