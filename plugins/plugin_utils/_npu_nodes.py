# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""From the hosts of the inventory to the labels of the nodes, in time linear in the number of hosts."""

from __future__ import annotations

import typing as t
from collections import abc

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Finding, Refused, listed, suggestion
from ansible_collections.mindcluster.recovery.plugins.module_utils._kube_labels import (
    FIND_PRODUCT,
    KUBERNETES_ARCH,
    checked_requests,
)
from ansible_collections.mindcluster.recovery.plugins.module_utils._node_rules import (
    assumed_arch,
    master_labels,
    worker_labels,
)
from ansible_collections.mindcluster.recovery.plugins.module_utils._products import product_named
from ansible_collections.mindcluster.recovery.plugins.module_utils._releases import release_named
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._native import native

MASTERS, WORKERS = "npu_master", "npu_worker"

HostVars = abc.Mapping[str, t.Any]


class Host(t.NamedTuple):
    """What the inventory says about one host, after the defaults."""

    inventory_name: str
    node: str
    product: str | None
    arch: str | None
    extra_labels: abc.Mapping[str, t.Any]


class Defaults(t.NamedTuple):
    """What holds for a host that says nothing itself."""

    product: str | None = None
    arch: str | None = None


def members(
    groups: abc.Mapping[str, abc.Sequence[str]], play_hosts: abc.Iterable[str] | None, current_host: str | None = None
) -> dict[str, list[str]]:
    """The hosts of the two groups, without those that the play leaves out.

    :param play_hosts: the hosts of the play. Where none of them is in the groups, all members are meant.
    :param current_host: the host that the role runs for. A play on a localhost that is no member means all members,
        although ansible-core counts hosts that it adds to the inventory among its play's.
    """
    found = {group: list(groups.get(group) or ()) for group in (MASTERS, WORKERS)}
    on_controller = current_host == "localhost" and not any(current_host in hosts for hosts in found.values())
    if play_hosts is None or on_controller:
        return found
    played = set(play_hosts)
    kept = {group: [host for host in hosts if host in played] for group, hosts in found.items()}
    return kept if any(kept.values()) else found


def read_host(name: str, hostvars: HostVars, defaults: Defaults, override: HostVars) -> Host:
    """One host, from its four variables alone."""

    def value(key: str, default: t.Any) -> t.Any:
        if override.get(key):
            return override[key]
        given = hostvars.get(key)
        return default if given in (None, "") else given

    return Host(
        inventory_name=name,
        node=str(value("npu_node_name", name)),
        product=value("npu_node_product", defaults.product),
        arch=value("npu_node_arch", defaults.arch),
        extra_labels=value("npu_node_extra_labels", {}),
    )


def node_requests(
    groups: dict[str, list[str]], hosts: abc.Mapping[str, Host], release: str, find_product: bool = False
) -> list[dict[str, t.Any]]:
    """The list for the option C(nodes) of the module node_labels.

    :param groups: the members of the two groups.
    :param hosts: every member by its name in the inventory.
    :param find_product: leave it to the module to find a product that is needed and not given.
    :raises Refused: every mistake of every host.
    """
    if not any(groups.values()):
        raise Refused(_no_hosts())
    rules = _Rules(release, find_product)
    masters, workers = set(groups[MASTERS]), set(groups[WORKERS])
    nodes = []
    for name, host in hosts.items():
        labels: dict[str, t.Any] = {}
        if name in workers:
            labels.update(rules.worker(host))
        if name in masters:
            labels.update(rules.master(host))
        labels.update(rules.extra(host))
        nodes.append(
            _request(host.node, labels, rules.arch(host, name in workers), rules.product(host, name in workers))
        )
    findings = rules.findings() + _shared_names(hosts.values()) + _illegal(nodes)
    if findings:
        raise Refused(findings)
    return nodes


def _request(node: str, labels: dict[str, t.Any], arch: str | None, product: str | None) -> dict[str, t.Any]:
    more = {"arch": arch, "product": product}
    return {"name": node, "labels": labels, **{key: value for key, value in more.items() if value}}


class _Rules:
    """The rules of the plan, asked once for each combination, with the hosts that each mistake is about."""

    def __init__(self, release: str, find_product: bool) -> None:
        self._release = release
        self._find_product = find_product
        self._cache: dict[t.Any, dict[str, str] | Refused] = {}
        self._hosts: dict[Finding, list[str]] = {}

    def worker(self, host: Host) -> dict[str, str]:
        product = None if host.product == FIND_PRODUCT else host.product
        if product is None and self._needs_product() and not self._find_product:
            self._remember(_no_product(self._release, host.product), host)
            return {}
        if product is not None and not isinstance(product, str):
            self._remember(_product_no_text(product), host)
            return {}
        if not _known_arch(host.arch):
            return {}
        return self._ask(host, (product, host.arch), lambda: worker_labels(self._release, product, host.arch))

    def master(self, host: Host) -> dict[str, str]:
        return self._ask(host, "master", lambda: master_labels(self._release))

    def extra(self, host: Host) -> dict[str, t.Any]:
        if isinstance(host.extra_labels, abc.Mapping):
            return dict(host.extra_labels)
        self._remember(_extra_no_mapping(host.extra_labels), host)
        return {}

    def arch(self, host: Host, is_worker: bool) -> str | None:
        """The architecture that the node has to have; for a worker what its label host-arch is made of."""
        if not _known_arch(host.arch):
            self._remember(_arch_unknown(host.arch), host)
            return None
        row = product_named(host.product) if is_worker and isinstance(host.product, str) else None
        return assumed_arch(row, host.arch) if row else host.arch

    def product(self, host: Host, is_worker: bool) -> str | None:
        """The product that the node is compared with, or the word for finding it."""
        if not is_worker:
            return None
        if host.product in (None, FIND_PRODUCT):
            return FIND_PRODUCT if self._find_product and self._needs_product() else None
        return host.product if isinstance(host.product, str) and product_named(host.product) else None

    def findings(self) -> list[Finding]:
        return [
            Finding(finding.code, finding.what, finding.why, finding.remedy, listed(hosts))
            for finding, hosts in self._hosts.items()
        ]

    def _needs_product(self) -> bool:
        row = release_named(self._release)
        return row is not None and row.product_labels

    def _ask(self, host: Host, key: t.Any, rule: t.Callable[[], dict[str, str]]) -> dict[str, str]:
        if key not in self._cache:
            try:
                self._cache[key] = rule()
            except Refused as exc:
                self._cache[key] = exc
        answer = self._cache[key]
        if isinstance(answer, Refused):
            for finding in answer.findings:
                self._remember(finding, host)
            return {}
        return answer

    def _remember(self, finding: Finding, host: Host) -> None:
        hosts = self._hosts.setdefault(finding, [])
        if not hosts or hosts[-1] != host.inventory_name:
            hosts.append(host.inventory_name)


def _known_arch(arch: t.Any) -> bool:
    return arch is None or (isinstance(arch, str) and arch in KUBERNETES_ARCH)


def _illegal(nodes: list[dict[str, t.Any]]) -> list[Finding]:
    try:
        checked_requests(nodes)
    except Refused as exc:
        return exc.findings
    return []


def _shared_names(hosts: abc.Iterable[Host]) -> list[Finding]:
    by_node: dict[str, list[str]] = {}
    for host in hosts:
        by_node.setdefault(host.node, []).append(host.inventory_name)
    return [
        Finding(
            "node-name-shared",
            "%d hosts name the same node `%s`" % (len(names), node),
            "Each machine is one node: the labels of the others would be set nowhere",
            "Set npu_node_name for each host in the inventory, not for the whole play",
            listed(names),
        )
        for node, names in by_node.items()
        if len(names) > 1
    ]


def _no_hosts() -> Finding:
    return Finding(
        "nodes-empty",
        "The groups npu_master and npu_worker have no hosts",
        "No node would be labelled, and the Pods that wait for the labels would stay Pending",
        "Put the management nodes into the group npu_master and the NPU nodes into npu_worker (see the README of the "
        "role npu_node), and check --limit",
        "inventory",
    )


def _no_product(release: str, given: str | None) -> Finding:
    return Finding(
        "product-missing",
        "No NPU product is known for these hosts"
        + (", and `%s` needs a cluster to look at" % FIND_PRODUCT if given == FIND_PRODUCT else ""),
        "MindCluster %s chooses nodes by labels that differ from product to product" % release,
        "Set npu_node_product for the hosts or their group, or recovery_plan_product for all, such as `atlas-800t-a2`",
    )


def _product_no_text(value: t.Any) -> Finding:
    return Finding(
        "product-type",
        "npu_node_product is %r, which is no text" % (native(value),),
        "The labels of a node are looked up by the name of its product",
        "Give the one name of the product of these hosts, such as `atlas-800t-a2`",
    )


def _extra_no_mapping(value: t.Any) -> Finding:
    return Finding(
        "extra-labels-no-mapping",
        "npu_node_extra_labels is %r, which is no mapping" % (native(value),),
        "A label has a key and a value",
        'Write it as a mapping, such as {rack: "r12"}',
    )


def _arch_unknown(value: t.Any) -> Finding:
    by_kubernetes_name = {other: arch for arch, other in KUBERNETES_ARCH.items()}
    meant = by_kubernetes_name.get(str(value))
    return Finding(
        "arch-unknown",
        "npu_node_arch is `%s`" % (native(value),),
        "The label host-arch is made of it, and an unknown one fits no job",
        "Write `%s`" % meant if meant else suggestion(str(value), KUBERNETES_ARCH),
    )
