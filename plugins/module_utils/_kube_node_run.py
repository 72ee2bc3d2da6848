# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""The steps of the modules C(node_labels) and C(node_labels_info): look first, refuse, then act."""

from __future__ import annotations

import contextlib
import gc
import time
import typing as t

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Finding, Refused
from ansible_collections.mindcluster.recovery.plugins.module_utils._kube import connect
from ansible_collections.mindcluster.recovery.plugins.module_utils._kube_labels import (
    FIND_PRODUCT,
    NodeRequest,
    checked_requests,
)
from ansible_collections.mindcluster.recovery.plugins.module_utils._kube_node_apply import Patcher
from ansible_collections.mindcluster.recovery.plugins.module_utils._kube_node_check import (
    Checked,
    Offers,
    check_nodes,
    without_npus_findings,
    without_npus_warning,
)
from ansible_collections.mindcluster.recovery.plugins.module_utils._kube_node_plan import (
    NodeChange,
    NodeState,
    change_of,
    missing_nodes,
    surplus_keys,
)
from ansible_collections.mindcluster.recovery.plugins.module_utils._kube_node_read import list_nodes, list_offers
from ansible_collections.mindcluster.recovery.plugins.module_utils._kube_progress import ProgressFile
from ansible_collections.mindcluster.recovery.plugins.module_utils._node_hardware import Offer
from ansible_collections.mindcluster.recovery.plugins.module_utils._node_rules import worker_labels
from ansible_collections.mindcluster.recovery.plugins.module_utils._releases import DEFAULT_RELEASE

NODES_SPEC: dict[str, t.Any] = {
    "type": "list",
    "elements": "dict",
    "required": True,
    "options": {
        "name": {"type": "str", "required": True},
        "labels": {"type": "dict", "required": True},
        "arch": {"type": "str", "choices": ["aarch64", "x86_64"]},
        "product": {"type": "str"},
    },
}
RELEASE_SPEC: dict[str, t.Any] = {"type": "str", "default": DEFAULT_RELEASE}

Params = t.Mapping[str, t.Any]


@contextlib.contextmanager
def _no_search_for_cycles() -> t.Iterator[None]:
    """Let the interpreter not look for cycles of objects.

    Thousands of nodes make hundreds of thousands of objects, all of them trees, and it would look through these again
    and again while more are read: a quarter of the time until the first patch.
    """
    active = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if active:
            gc.enable()


@_no_search_for_cycles()
def label_nodes(
    params: Params, check_mode: bool, warn: t.Callable[[str], None] = lambda text: None
) -> dict[str, t.Any]:
    """Give the nodes the labels that the module's parameters ask for.

    :param warn: is told what is doubtful, before anything is changed.
    :returns: the module's result; C(failed_nodes) is not empty where something went wrong after the first patch.
    :raises Refused: before anything was changed.
    """
    asked = _requests(params)
    strict = bool(params.get("strict"))
    client = connect(params, params["workers"])
    started = time.monotonic()
    found = list_nodes(client, asked)
    checked = check_nodes(
        asked, found.states, params["release"], lambda names: list_offers(client, names), strict, params["prune"]
    )
    _refuse(asked, found.names, checked, strict)
    for finding in without_npus_warning(checked):
        warn(finding.line())
    changes = [change_of(request, found.states[name], params["prune"]) for name, request in checked.requests.items()]
    progress = ProgressFile(params.get("progress_file"))
    patcher = Patcher(client, params["workers"], dry_run=check_mode, progress=progress)
    outcome = patcher.run([change for change in changes if change is not None])
    return {
        **_result(len(asked), outcome),
        "found_products": _found_products(asked, checked),
        "without_npus": sorted(checked.without_npus),
        "elapsed": round(time.monotonic() - started, 3),
    }


@_no_search_for_cycles()
def audit_nodes(params: Params) -> dict[str, t.Any]:
    """How far the nodes are from what the module's parameters ask for.

    :raises Refused: the request is not legal or the list cannot be read; drift is no error.
    """
    asked = _requests(params)
    client = connect(params)
    found = list_nodes(client, asked)
    resource = params.get("resource")
    offers: dict[str, Offer] = {}

    def read(names: t.Collection[str]) -> Offers:
        offers.update(list_offers(client, set(found.states) if resource else names, resource))
        return offers

    checked = check_nodes(asked, found.states, params["release"], read, everywhere=True)
    absent = sorted(name for name in asked if name not in found.names)
    present = [request for name, request in checked.requests.items() if name in found.states]
    drift = [entry for entry in (_drift(request, found.states[request.name]) for request in present) if entry]
    without = sorted(name for name, offer in offers.items() if resource and not _offers(offer, resource))
    in_sync = not (drift or absent or checked.findings or checked.without_npus or without)
    return {
        "in_sync": in_sync,
        "drift": drift,
        "absent_nodes": absent,
        "contradictions": [finding.as_dict() for finding in checked.findings],
        "found_products": _found_products(asked, checked),
        "without_npus": sorted(checked.without_npus),
        "without_resource": without,
        "counts": {"requested": len(asked), "drifted": len(drift), "absent": len(absent)},
    }


def _found_products(asked: t.Mapping[str, NodeRequest], checked: Checked) -> dict[str, str]:
    return {
        name: str(request.product)
        for name, request in checked.requests.items()
        if asked[name].product == FIND_PRODUCT and request.product != FIND_PRODUCT
    }


def _offers(offer: Offer, resource: str) -> bool:
    return offer.allocatable.get(resource, "0") != "0"


def failure_message(result: t.Mapping[str, t.Any], listed: int = 20) -> str:
    """One text for the nodes that could not be labelled; the whole list is in the result."""
    failed, counts = result["failed_nodes"], result["counts"]
    lines = [
        "%d of %d nodes could not be labelled, %d were changed, %d were as they should be:"
        % (counts["failed"], counts["requested"], counts["changed"], counts["unchanged"])
    ]
    groups: dict[tuple[str, str, str], list[str]] = {}
    for each in failed:
        groups.setdefault((each["what"], each["why"], each["remedy"]), []).append(each["name"])
    lines += ["%s: %s. %s. %s." % (_names(names, listed), *reason) for reason, names in groups.items()]
    return "\n".join(lines)


def _names(names: t.Sequence[str], listed: int) -> str:
    more = " and %d more (see failed_nodes)" % (len(names) - listed) if len(names) > listed else ""
    return ", ".join(names[:listed]) + more


def _requests(params: Params) -> dict[str, NodeRequest]:
    if not params["nodes"]:
        raise Refused(
            Finding(
                "nodes-empty",
                "The list of nodes is empty",
                "Nothing would be labelled, and the Pods that wait for the labels would stay Pending",
                "Give at least one node; with the role npu_node, put hosts into the groups npu_master and npu_worker",
                "nodes",
            )
        )
    requests = checked_requests(params["nodes"])
    if any(request.product == FIND_PRODUCT for request in requests.values()):
        worker_labels(params["release"], None, None)
    return requests


def _refuse(asked: t.Mapping[str, NodeRequest], known: t.Collection[str], checked: Checked, strict: bool) -> None:
    missing = [name for name in asked if name not in known]
    findings = [missing_nodes(missing, known, len(asked))] if missing else []
    findings += checked.findings
    if strict:
        findings += without_npus_findings(checked)
    if findings:
        raise Refused(findings)


def _result(requested: int, outcome: t.Sequence[tuple[NodeChange, Finding | None]]) -> dict[str, t.Any]:
    changed = [change for change, finding in outcome if finding is None]
    failed = [(change, finding) for change, finding in outcome if finding is not None]
    return {
        "changed": bool(changed),
        "changed_nodes": [change.as_dict() for change in changed],
        "failed_nodes": [
            {
                "name": change.name,
                "code": finding.code,
                "what": finding.what,
                "why": finding.why,
                "remedy": finding.remedy,
            }
            for change, finding in failed
        ],
        "counts": {
            "requested": requested,
            "changed": len(changed),
            "unchanged": requested - len(outcome),
            "failed": len(failed),
        },
        "diff": _diff(changed),
    }


def _diff(changed: t.Sequence[NodeChange]) -> dict[str, str]:
    header = "labels of %d nodes" % len(changed)
    return {
        "before_header": header,
        "after_header": header,
        "before": "".join(_lines(change.name, change.before) for change in changed),
        "after": "".join(_lines(change.name, change.after) for change in changed),
    }


def _lines(name: str, labels: t.Mapping[str, str | None]) -> str:
    return "".join("%s: %s=%s\n" % (name, key, value) for key, value in sorted(labels.items()) if value is not None)


def _drift(request: NodeRequest, state: NodeState) -> dict[str, t.Any] | None:
    missing = {key: value for key, value in request.labels.items() if key not in state.labels}
    different = {
        key: {"wanted": value, "found": state.labels[key]}
        for key, value in request.labels.items()
        if state.labels.get(key, value) != value
    }
    surplus = {key: state.labels[key] for key in surplus_keys(request, state)}
    if not (missing or different or surplus):
        return None
    return {"name": request.name, "missing": missing, "different": different, "surplus": surplus}
