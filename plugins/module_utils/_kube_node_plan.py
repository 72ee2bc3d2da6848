# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""Labels as they are compared with labels as they shall be: pure functions, no request."""

from __future__ import annotations

import typing as t

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Finding
from ansible_collections.mindcluster.recovery.plugins.module_utils._kube_labels import (
    NEVER_PRUNED,
    NodeRequest,
    owner_of,
)

#: The name under which the API server remembers which labels are this collection's.
FIELD_MANAGER = "mindcluster.recovery"

_LISTED = 20


class NodeState:
    """What the cluster says about one node.

    :ivar labels: all labels of the node.
    :ivar owned: the keys that this collection has set and nobody else has changed since.
    """

    __slots__ = ("labels", "owned")

    def __init__(self, labels: dict[str, str], owned: frozenset[str] = frozenset()) -> None:
        self.labels = labels
        self.owned = owned


class NodeChange:
    """The difference for one node: for each key the value before and after, None where there is none."""

    __slots__ = ("after", "before", "name")

    def __init__(self, name: str, before: dict[str, str | None], after: dict[str, str | None]) -> None:
        self.name = name
        self.before = before
        self.after = after

    def patch(self) -> dict[str, t.Any]:
        """The merge patch that brings the change about (RFC 7386: null removes a key)."""
        return {"metadata": {"labels": self.after}}

    def as_dict(self) -> dict[str, t.Any]:
        return {"name": self.name, "before": self.before, "after": self.after}


def state_of(metadata: t.Mapping[str, t.Any]) -> NodeState:
    """The state in the C(metadata) of a node as the API returns it."""
    return NodeState(metadata.get("labels") or {}, owned_keys(metadata.get("managedFields") or ()))


def owned_keys(managed_fields: t.Iterable[t.Mapping[str, t.Any]]) -> frozenset[str]:
    """The label keys that C(managedFields) ascribe to this collection.

    See U(https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management).
    """
    owned: set[str] = set()
    for entry in managed_fields:
        if entry.get("manager") != FIELD_MANAGER:
            continue
        fields = entry.get("fieldsV1") or {}
        labels = (fields.get("f:metadata") or {}).get("f:labels") or {}
        owned.update(key[2:] for key in labels if key.startswith("f:"))
    return frozenset(owned)


def change_of(request: NodeRequest, state: NodeState, prune: bool) -> NodeChange | None:
    """What has to be changed on the node; None where nothing has to be.

    :param prune: also remove the keys that this collection owns and that are no longer wanted.
    """
    present = state.labels
    after: dict[str, str | None] = {}
    if not request.labels.items() <= present.items():
        after.update((key, value) for key, value in request.labels.items() if present.get(key) != value)
    if prune:
        after.update((key, None) for key in surplus_keys(request, state))
    if not after:
        return None
    return NodeChange(request.name, {key: present.get(key) for key in after}, after)


def surplus_keys(request: NodeRequest, state: NodeState) -> list[str]:
    """Keys that this collection owns on the node and that are no longer wanted, in the order of the alphabet.

    A request for no label at all takes back whatever this collection has set. Where labels are asked for, one that the
    device plugin maintains from some release on stays: it may be the plugin's by now, with the value that we have set.
    """
    if state.owned <= request.labels.keys():
        return []
    surplus = [key for key in state.owned if key in state.labels and key not in request.labels]
    if request.labels:
        surplus = [key for key in surplus if key not in NEVER_PRUNED and owner_of(key) is None]
    return sorted(surplus)


def missing_nodes(names: t.Sequence[str], known: t.Collection[str], size: int) -> Finding:
    """The refusal for nodes that the cluster does not have.

    :param names: the nodes that are asked for and not there.
    :param known: the names of all nodes of the cluster.
    :param size: how many nodes were asked for.
    """
    listed = ", ".join(_with_hint(name, known) for name in names[:_LISTED])
    more = " and %d more" % (len(names) - _LISTED) if len(names) > _LISTED else ""
    return Finding(
        "node-missing",
        "%d of %d nodes are not in the cluster, which has %d: %s%s" % (len(names), size, len(known), listed, more),
        "A label cannot be set on a node that is not there, and Pods that wait for it would stay Pending",
        "Correct the names (variable npu_node_name, as `kubectl get nodes` shows them), join the machines to the "
        "cluster, or take them out of the inventory; and see that the kubeconfig is that of this cluster",
        "nodes",
    )


def _with_hint(name: str, known: t.Collection[str]) -> str:
    short = name.split(".")[0].lower()
    for candidate in (name.lower(), short):
        if candidate in known:
            return "`%s` (did you mean `%s`?)" % (name, candidate)
    longer = next((other for other in known if other.startswith(short + ".")), None)
    return "`%s` (did you mean `%s`?)" % (name, longer) if longer else "`%s`" % name
