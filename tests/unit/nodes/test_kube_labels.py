# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which labels may be asked for, and what is different from what is there."""

from __future__ import annotations

import typing as t

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Refused
from ansible_collections.mindcluster.recovery.plugins.module_utils._kube_labels import (
    FOREIGN_KEYS,
    NodeRequest,
    bad_label,
    checked_requests,
)
from ansible_collections.mindcluster.recovery.plugins.module_utils._kube_node_plan import (
    FIELD_MANAGER,
    NEVER_PRUNED,
    NodeState,
    change_of,
    missing_nodes,
    owned_keys,
)

KEYS = st.sampled_from(["a", "b", "c", "huawei.com/d", "accelerator", "accelerator-type", "host-arch"])
VALUES = st.sampled_from(["", "1", "two", "module-910b-8"])
LABELS = st.dictionaries(KEYS, VALUES)
OWNED = st.frozensets(KEYS)


def after(labels: dict[str, str], changes: t.Mapping[str, str | None]) -> dict[str, str]:
    """The labels once a merge patch was applied."""
    merged = {**labels, **changes}
    return {key: value for key, value in merged.items() if value is not None}


@given(wanted=LABELS, present=LABELS, owned=OWNED, prune=st.booleans())
def test_after_the_patch_every_label_is_as_wanted_and_nothing_is_left_to_do(wanted, present, owned, prune):
    request, state = NodeRequest("n", wanted), NodeState(present, owned)
    change = change_of(request, state, prune)
    labels = after(present, change.after if change else {})
    assert wanted.items() <= labels.items()
    assert change_of(request, NodeState(labels, owned), prune) is None


@given(wanted=LABELS, present=LABELS, owned=OWNED, prune=st.booleans())
def test_only_owned_and_unwanted_labels_disappear_and_only_with_prune(wanted, present, owned, prune):
    change = change_of(NodeRequest("n", wanted), NodeState(present, owned), prune)
    labels = after(present, change.after if change else {})
    gone = set(present) - set(labels)
    # Where no label at all is asked for, everything of the collection's is taken back.
    kept = NEVER_PRUNED if wanted else set()
    expected = (owned & set(present)) - set(wanted) - kept if prune else set()
    assert gone == expected


@given(wanted=LABELS, present=LABELS, owned=OWNED, prune=st.booleans())
def test_the_patch_names_only_what_differs_and_tells_the_old_values(wanted, present, owned, prune):
    change = change_of(NodeRequest("n", wanted), NodeState(present, owned), prune)
    if change is None:
        return
    assert change.before == {key: present.get(key) for key in change.after}
    assert all(change.before[key] != change.after[key] for key in change.after)


def test_ownership_is_read_from_the_collections_manager_alone():
    fields = [
        {"manager": "kubectl", "fieldsV1": {"f:metadata": {"f:labels": {"f:theirs": {}}}}},
        {"manager": FIELD_MANAGER, "fieldsV1": {"f:metadata": {"f:labels": {".": {}, "f:huawei.com/ours": {}}}}},
        {"manager": FIELD_MANAGER, "fieldsV1": {"f:metadata": {"f:annotations": {"f:note": {}}}}},
        {"manager": FIELD_MANAGER},
    ]
    assert owned_keys(fields) == {"huawei.com/ours"}


@pytest.mark.parametrize("key", ["a", "A-1_b.c", "node-role.kubernetes.io/worker", "x" * 63, "a.b/" + "x" * 63])
def test_legal_keys(key: str):
    assert bad_label(key, "v", "n") == []


@pytest.mark.parametrize(
    "key",
    ["", "-a", "a-", "a b", "x" * 64, "/a", "a/", "A.b/c", "a/b/c", "a_b/c", "é", "a\n", "." + "a", "x" * 254 + "/a"],
)
def test_illegal_keys_are_named(key: str):
    (finding,) = bad_label(key, "v", "worker-1")
    assert (finding.code, finding.where) == ("label-key-illegal", "worker-1")
    assert key in finding.what


@pytest.mark.parametrize("value", ["", "a", "1", "module-910b-8", "a_b.c", "x" * 63])
def test_legal_values(value: str):
    assert bad_label("k", value, "n") == []


@pytest.mark.parametrize("value", [" ", "a b", "-a", "a-", "a/b", "a:b", "x" * 64, "一", "a\n"])
def test_illegal_values_are_named(value: str):
    (finding,) = bad_label("k", value, "n")
    assert finding.code == "label-value-illegal"
    assert value in finding.what


@pytest.mark.parametrize("value", [True, False, 1, 1.5, None, ["a"], {"a": "b"}])
def test_values_that_are_no_text_are_told_to_be_quoted(value: t.Any):
    (finding,) = bad_label("nodeDEnable", value, "n")
    assert finding.code == "label-value-not-text"
    assert "quotes" in finding.remedy


@pytest.mark.parametrize("key", [*FOREIGN_KEYS, "topotree", "huawei.com/topotree.rackid", "huawei.com/npu.chip.name"])
def test_labels_of_others_are_refused(key: str):
    (finding,) = bad_label(key, "x", "n")
    assert finding.code == "label-foreign"


def test_values_that_the_device_plugin_chooses_are_refused_and_the_vendors_own_exception_is_not():
    assert [finding.code for finding in bad_label("accelerator-type", "card-910b-infer", "n")] == ["label-foreign"]
    assert bad_label("servertype", "soc", "n") == []


def test_all_mistakes_are_told_at_once():
    nodes = [
        {"name": "Node_1", "labels": {}},
        {"name": "b", "labels": {"a b": "1", "c": True}},
        {"name": "c", "labels": {"x": "1"}},
        {"name": "c", "labels": {"x": "2"}},
    ]
    with pytest.raises(Refused) as caught:
        checked_requests(nodes)
    codes = [finding.code for finding in caught.value.findings]
    assert codes == ["node-name-illegal", "label-key-illegal", "label-value-not-text", "node-contradiction"]


def test_a_node_named_twice_gets_both_sets():
    nodes = [{"name": "a", "labels": {"x": "1", "y": "2"}}, {"name": "a", "labels": {"y": "2", "z": "3"}}]
    assert checked_requests(nodes)["a"].labels == {"x": "1", "y": "2", "z": "3"}


def test_missing_nodes_are_hinted_at_by_their_long_or_short_name():
    finding = missing_nodes(["w1", "W2", "w3.example.com", "zz"], {"w1.example.com", "w2", "w3"}, 10)
    assert "`w1` (did you mean `w1.example.com`?)" in finding.what
    assert "`W2` (did you mean `w2`?)" in finding.what
    assert "`w3.example.com` (did you mean `w3`?)" in finding.what
    assert finding.what.startswith("4 of 10 nodes are not in the cluster, which has 3")


def test_a_long_list_of_missing_nodes_is_cut():
    finding = missing_nodes(["n%d" % number for number in range(500)], set(), 500)
    assert "and 480 more" in finding.what
