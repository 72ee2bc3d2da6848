# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""What a node shows of its NPUs, compared with what it is said to be: pure functions, no request.

Sources: the device plugin's C(pkg/server/manager.go) writes the chip and its number of AI cores into the label
C(servertype) (C(Ascend910B-20)) and the chip's model into C(node.kubernetes.io/npu.chip.name), whose values are on the
page "Kubernetes原生对象说明"; C(ascend-common/api) has the patterns of the models and the names of the resources.
A virtual NPU's resource is the chip's with more behind a hyphen, C(huawei.com/Ascend910-6c.1cpu.16g).
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Finding, listed
from ansible_collections.mindcluster.recovery.plugins.module_utils._kube_labels import KUBERNETES_ARCH
from ansible_collections.mindcluster.recovery.plugins.module_utils._products import PRODUCTS, Product

CHIP_NAME = "node.kubernetes.io/npu.chip.name"
#: The labels that show the hardware; nodes with the same ones are alike as far as labels tell.
SHOWN_BY = ("kubernetes.io/arch", "servertype", CHIP_NAME)
#: Parts of NPUs of any chip, where they are divided on demand.
_CORES = "huawei.com/npu-core"
_RESOURCES = frozenset(product.resource for product in PRODUCTS)
_CHIPS = frozenset(product.chip for product in PRODUCTS)
# The newest chips are not told apart by their model, and A3's is not known.
_MODELS = (
    (re.compile(r"(910B|A2G)\d"), "Ascend910B"),
    (re.compile(r"910(A|ProA|ProB|PremiumA)$"), "Ascend910"),
    (re.compile(r"(310P|I2)\d?$"), "Ascend310P"),
    (re.compile(r"310$"), "Ascend310"),
)
_ARCHS = {other: arch for arch, other in KUBERNETES_ARCH.items()}


class Offer(t.NamedTuple):
    """The extended resources of a node's status, by name.

    :ivar capacity: all there are, faulty ones included.
    :ivar allocatable: those that Pods can have.
    """

    capacity: dict[str, str]
    allocatable: dict[str, str]


class Hardware(t.NamedTuple):
    """What a node shows of itself.

    :ivar kubernetes_arch: as the kubelet says it, such as C(arm64); empty where it says nothing.
    :ivar chip: as the device plugin has found it; None where it has not run.
    :ivar npus: the resources of the table that are there, whole NPUs, with their number.
    :ivar divided: the resources of the table of which there are virtual NPUs.
    :ivar offered: the names that Pods can ask for, virtual NPUs by the name of their chip's resource.
    """

    kubernetes_arch: str
    chip: str | None
    npus: dict[str, int]
    divided: frozenset[str]
    offered: frozenset[str]

    @property
    def arch(self) -> str | None:
        """By the name that the inventory has for it; None where MindCluster has no such hosts."""
        return _ARCHS.get(self.kubernetes_arch)

    def seen(self) -> str:
        """All of it as text."""
        parts = [self.kubernetes_arch or "no kubernetes.io/arch"]
        if self.chip:
            parts.append("chip %s" % self.chip)
        parts += ["%d %s" % (number, name) for name, number in sorted(self.npus.items())]
        parts += ["parts of %s" % name for name in sorted(self.divided - set(self.npus))]
        return ", ".join(parts)


def hardware_of(labels: t.Mapping[str, str], offer: Offer | None = None) -> Hardware:
    """What the labels of a node show, and its status where that was read."""
    npus: dict[str, int] = {}
    divided = set()
    offered = set()
    if offer is not None:
        for name, quantity in {**offer.allocatable, **offer.capacity}.items():
            number = _number(quantity)
            if number and name in _RESOURCES:
                npus[name] = number
            elif number and _whole(name) in _RESOURCES:
                divided.add(_whole(name))
        offered = {_whole(name) for name, quantity in offer.allocatable.items() if _number(quantity)}
    return Hardware(labels.get("kubernetes.io/arch", ""), chip_of(labels), npus, frozenset(divided), frozenset(offered))


def chip_of(labels: t.Mapping[str, str]) -> str | None:
    """The device plugin's word for the chips of the node, from the labels that it writes itself."""
    chip = labels.get("servertype", "").rpartition("-")[0]
    if chip in _CHIPS:
        return chip
    model = labels.get(CHIP_NAME, "")
    return next((chip for pattern, chip in _MODELS if pattern.match(model)), None)


def _whole(name: str) -> str:
    """The resource of which a virtual NPU is a part."""
    return name if name == _CORES else name.partition("-")[0]


def _number(quantity: str) -> int:
    # Kubernetes writes a thousand as 1k; more than any node has NPUs.
    return int(quantity) if quantity.isdigit() else 1000


def fits(product: Product, hardware: Hardware) -> bool:
    """Whether a node with this hardware can be that product, as far as it shows; the number of NPUs is not compared."""
    if hardware.kubernetes_arch and hardware.arch not in product.archs:
        return False
    if hardware.chip is not None and hardware.chip != product.chip:
        return False
    there = set(hardware.npus) | hardware.divided
    return not there or product.resource in there


def lacks_npus(product: Product, hardware: Hardware) -> bool:
    """Whether Pods can have none of the product's NPUs on the node."""
    return product.resource not in hardware.offered and _CORES not in hardware.offered


def contradictions_with(product: Product, hardware: Hardware, node: str) -> list[Finding]:
    """What on the node cannot be where it is that product; a node without any NPU is none of it."""
    there = sorted(set(hardware.npus) | hardware.divided)
    findings = []
    if hardware.chip is not None and hardware.chip != product.chip:
        findings.append(
            _contradiction(
                "node-chip-contradiction",
                "The device plugin has found %s chips, and %s has %s" % (hardware.chip, product.name, product.chip),
                node,
            )
        )
    elif there and product.resource not in there:
        findings.append(
            _contradiction(
                "node-resource-contradiction",
                "The node offers %s, and %s is served as %s" % (", ".join(there), product.name, product.resource),
                node,
            )
        )
    elif product.npus is not None and hardware.npus.get(product.resource, 0) > product.npus:
        findings.append(
            _contradiction(
                "node-npus-contradiction",
                "The node has %d %s, and %s has %d"
                % (hardware.npus[product.resource], product.resource, product.name, product.npus),
                node,
            )
        )
    return findings


def arch_contradiction(product: Product, hardware: Hardware, node: str) -> Finding | None:
    """The finding for a node of an architecture that the product is not sold with."""
    if not hardware.kubernetes_arch or hardware.arch in product.archs:
        return None
    return _contradiction(
        "node-arch-contradiction",
        "The node is %s (kubernetes.io/arch), and %s is sold with %s hosts"
        % (hardware.kubernetes_arch, product.name, " or ".join(product.archs)),
        node,
    )


def _contradiction(code: str, what: str, node: str) -> Finding:
    return Finding(
        code,
        what,
        "With the labels of another product the jobs for this hardware never find the node, and others fail on it",
        "Correct the product of the host in the inventory (npu_node_product), or the node's name (npu_node_name)",
        node,
    )


def without_npus(nodes: t.Sequence[str], resources: t.Collection[str], size: int) -> Finding:
    """What is said of nodes of which Pods can have no NPU."""
    return Finding(
        "node-without-npus",
        "%d of %d NPU nodes offer no %s" % (len(nodes), size, " and no ".join(sorted(resources))),
        "On a new cluster that is right, since the device plugin starts on a node only once it has these labels; later "
        "it means that the device plugin does not run there, or that the machine has no NPU",
        "Once MindCluster's device plugin is installed, run mindcluster.recovery.verify; if it still says so, see the "
        "plugin's Pods in kube-system, or take the hosts out of npu_worker",
        listed(nodes),
    )
