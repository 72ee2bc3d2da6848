# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""What the inventory says about the nodes, compared with what the cluster says, before anything is changed.

The list of metadata tells architecture and chip of every node. Whole nodes are read only where that is not enough: for
a product that has to be found, and before labels are set for a product.
"""

from __future__ import annotations

import typing as t

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Finding
from ansible_collections.mindcluster.recovery.plugins.module_utils._kube_labels import (
    FIND_PRODUCT,
    KUBERNETES_ARCH,
    NodeRequest,
)
from ansible_collections.mindcluster.recovery.plugins.module_utils._kube_node_plan import NodeState, change_of
from ansible_collections.mindcluster.recovery.plugins.module_utils._node_hardware import (
    SHOWN_BY,
    Hardware,
    Offer,
    arch_contradiction,
    contradictions_with,
    hardware_of,
    lacks_npus,
    without_npus,
)
from ansible_collections.mindcluster.recovery.plugins.module_utils._node_product import found_product
from ansible_collections.mindcluster.recovery.plugins.module_utils._node_rules import worker_labels
from ansible_collections.mindcluster.recovery.plugins.module_utils._products import Product, product_named

Requests = t.Mapping[str, NodeRequest]
States = t.Mapping[str, NodeState]
Offers = t.Mapping[str, Offer]


class Checked(t.NamedTuple):
    """The outcome.

    :ivar requests: the requests, with products and their labels where they were found.
    :ivar findings: contradictions, and products that could not be found, per node.
    :ivar without_npus: the names of nodes that shall have NPUs and offer none, among those that were looked at.
    """

    requests: Requests
    findings: list[Finding]
    without_npus: list[str]


def check_nodes(
    requests: Requests,
    states: States,
    release: str,
    read_offers: t.Callable[[t.Collection[str]], Offers],
    everywhere: bool = False,
    prune: bool = False,
) -> Checked:
    """Find the products that are asked for, and compare every node that is there with its request.

    :param release: MindCluster release whose labels a product that was found gets.
    :param read_offers: reads the offers of the nodes with these names.
    :param everywhere: look at what every node of a product offers, also where no label has to be set.
    :param prune: as for C(change_of).
    """
    requests, _unknown = _with_products(requests, states, {}, release)
    names = [
        name
        for name, request in requests.items()
        if name in states and request.product and (everywhere or _to_be_read(request, states[name], prune))
    ]
    offers = read_offers(names)
    requests, findings = _with_products(requests, states, offers, release)
    without = []
    # Thousands of nodes are alike: where only labels are compared, each kind of node is looked at once.
    harmless: set[t.Any] = set()
    for name, request in requests.items():
        if name not in states or not (request.product or request.arch):
            continue
        kind = None if name in offers else _kind(request, states[name])
        if kind in harmless:
            continue
        hardware = _hardware(request, states[name], offers.get(name))
        contradictions = _contradictions(request, hardware)
        findings += contradictions
        if kind is not None and not contradictions:
            harmless.add(kind)
        elif kind is None and not contradictions and _without_npus(request, hardware):
            without.append(name)
    return Checked(requests, findings, without)


def _kind(request: NodeRequest, state: NodeState) -> t.Any:
    return (request.product, request.arch, *map(state.labels.get, SHOWN_BY))


def without_npus_findings(checked: Checked) -> list[Finding]:
    """The same finding for each of the nodes, for those who want a refusal."""
    return [
        Finding(told.code, told.what, told.why, told.remedy, name)
        for told in without_npus_warning(checked)
        for name in checked.without_npus
    ]


def without_npus_warning(checked: Checked) -> list[Finding]:
    """One finding for all such nodes, or none."""
    if not checked.without_npus:
        return []
    products = [_product_of(checked.requests[name]) for name in checked.without_npus]
    resources = {product.resource for product in products if product}
    size = sum(1 for request in checked.requests.values() if request.product)
    return [without_npus(checked.without_npus, resources, size)]


def _to_be_read(request: NodeRequest, state: NodeState, prune: bool) -> bool:
    return request.product == FIND_PRODUCT or change_of(request, state, prune) is not None


def _with_products(requests: Requests, states: States, offers: Offers, release: str) -> tuple[Requests, list[Finding]]:
    """The requests with the products that can be found, and a finding for each that cannot."""
    completed, findings = {}, []
    for name, request in requests.items():
        completed[name] = request
        if request.product != FIND_PRODUCT or name not in states:
            continue
        hardware = _hardware(request, states[name], offers.get(name))
        found = found_product(states[name].labels, hardware, release, name)
        if isinstance(found, Finding):
            findings.append(found)
        else:
            labels = {**worker_labels(release, found.name, hardware.arch), **request.labels}
            completed[name] = NodeRequest(name, labels, request.arch, found.name)
    return completed, findings


def _hardware(request: NodeRequest, state: NodeState, offer: Offer | None) -> Hardware:
    hardware = hardware_of(state.labels, offer)
    if not hardware.kubernetes_arch and request.arch:
        return hardware._replace(kubernetes_arch=KUBERNETES_ARCH[request.arch])
    return hardware


def _product_of(request: NodeRequest) -> Product | None:
    return product_named(request.product) if request.product else None


def _contradictions(request: NodeRequest, hardware: Hardware) -> list[Finding]:
    product = _product_of(request)
    findings = [_other_arch(request, hardware)]
    if product is not None:
        if request.arch is None:
            findings.append(arch_contradiction(product, hardware, request.name))
        findings += contradictions_with(product, hardware, request.name)
    return [finding for finding in findings if finding]


def _other_arch(request: NodeRequest, hardware: Hardware) -> Finding | None:
    wanted = KUBERNETES_ARCH.get(request.arch or "")
    if not wanted or not hardware.kubernetes_arch or hardware.kubernetes_arch == wanted:
        return None
    return Finding(
        "node-arch-contradiction",
        "The node is %s (kubernetes.io/arch), the request says %s (%s)"
        % (hardware.kubernetes_arch, request.arch, wanted),
        "With the wrong `host-arch` the jobs for this architecture never find the node, and others fail on it",
        "Correct the architecture or product of the host in the inventory, or the node's name",
        request.name,
    )


def _without_npus(request: NodeRequest, hardware: Hardware) -> bool:
    product = _product_of(request)
    return product is not None and lacks_npus(product, hardware)
