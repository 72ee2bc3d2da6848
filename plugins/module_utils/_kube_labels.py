# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""What may be asked of a node's labels: Kubernetes' syntax, and the keys that belong to somebody else.

Syntax: U(https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/). Keys of the Ascend device plugin:
its C(pkg/common/constants.go), the pages "创建节点标签" and "Kubernetes原生对象说明" of the MindCluster documentation,
and C(ascend-common/api/label) on the main branch after 26.1.0 for those below C(huawei.com/npu.).
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Finding, Refused, suggestion
from ansible_collections.mindcluster.recovery.plugins.module_utils._products import PRODUCT_NAMES

_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")
_SUBDOMAIN = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*")

DEVICE_PLUGIN = "the Ascend device plugin"
KUBELET = "the kubelet"

#: Keys that are never set by hand, with who writes them.
FOREIGN_KEYS = {
    "node.kubernetes.io/npu.chip.name": DEVICE_PLUGIN,
    "huawei.com/driver.version": DEVICE_PLUGIN,
    "mind-cluster/npu-chip-memory": DEVICE_PLUGIN,
    "infer-card-type": DEVICE_PLUGIN,
    "servertype": DEVICE_PLUGIN,
    "huawei.com/Ascend910-Recover": DEVICE_PLUGIN,
    "huawei.com/Ascend910-NetworkRecover": DEVICE_PLUGIN,
    "huawei.com/npu-Recover": DEVICE_PLUGIN,
    "huawei.com/npu-NetworkRecover": DEVICE_PLUGIN,
    "huawei.com/scheduler.chip1softsharedev.enable": DEVICE_PLUGIN,
    "kubernetes.io/arch": KUBELET,
    "kubernetes.io/hostname": KUBELET,
    "kubernetes.io/os": KUBELET,
}
#: Values of such keys that the vendor's page asks to set by hand all the same (Atlas 200I SoC A1).
ALLOWED_VALUES = {"servertype": "soc"}
#: Values that only the device plugin may choose for a key that is otherwise set by hand (Atlas 300I A2).
FOREIGN_VALUES = {"accelerator-type": "card-910b-infer"}
#: Set by hand up to release 26.0.0, by the device plugin from 26.1.0 on: never removed, nor is a key of somebody else.
NEVER_PRUNED = frozenset(("accelerator", *FOREIGN_KEYS))

#: What C(kubernetes.io/arch) says on a node, by the architecture's name in the inventory.
KUBERNETES_ARCH = {"aarch64": "arm64", "x86_64": "amd64"}
#: In the place of a product's name: find the product from what the cluster says about the node.
FIND_PRODUCT = "auto"


class NodeRequest:
    """The labels that one node shall carry.

    :ivar arch: C(aarch64) or C(x86_64) where the node's own architecture shall be compared; else None.
    :ivar product: the NPU product that the node shall be, or C(FIND_PRODUCT); None for a node without NPUs.
    """

    __slots__ = ("arch", "labels", "name", "product")

    def __init__(self, name: str, labels: dict[str, str], arch: str | None = None, product: str | None = None) -> None:
        self.name = name
        self.labels = labels
        self.arch = arch
        self.product = product


def checked_requests(nodes: t.Sequence[t.Mapping[str, t.Any]]) -> dict[str, NodeRequest]:
    """The requests by node name.

    A node that is named twice gets both sets of labels, as long as they do not contradict each other.

    :param nodes: items with C(name), C(labels) and perhaps C(arch) and C(product).
    :raises Refused: an illegal node name, key or value, a key that belongs to somebody else, a contradiction: all at
        once.
    """
    findings: list[Finding] = []
    requests: dict[str, NodeRequest] = {}
    legal: set[tuple[str, t.Any]] = set()
    known = {None, FIND_PRODUCT, *PRODUCT_NAMES}
    for item in nodes:
        name, labels, arch = item["name"], item.get("labels") or {}, item.get("arch")
        product = item.get("product")
        findings += _bad_name(name)
        # The products too are a few, each of them known or not.
        if product not in known:
            findings += _bad_product(product, name)
        for key, value in labels.items():
            # Thousands of nodes carry the same few labels: each pair is looked at once.
            if isinstance(value, str) and (key, value) in legal:
                continue
            bad = bad_label(key, value, name)
            findings += bad
            if not bad:
                legal.add((key, value))
        if name in requests:
            findings += _merge(requests[name], NodeRequest(name, dict(labels), arch, product))
        else:
            requests[name] = NodeRequest(name, dict(labels), arch, product)
    if findings:
        raise Refused(findings)
    return requests


def _merge(request: NodeRequest, other: NodeRequest) -> list[Finding]:
    findings = []
    pairs: list[tuple[str, str | None, str | None]]
    pairs = [(key, request.labels[key], value) for key, value in other.labels.items() if key in request.labels]
    pairs += [("arch", request.arch, other.arch), ("product", request.product, other.product)]
    for key, first, second in pairs:
        if first == second or first is None or second is None:
            continue
        findings.append(
            Finding(
                "node-contradiction",
                "The node is named twice, with `%s` = `%s` and `%s` = `%s`" % (key, first, key, second),
                "A node has one value for each label",
                "Name the node once, or give it the same value in both places",
                request.name,
            )
        )
    request.labels.update(other.labels)
    request.arch = request.arch or other.arch
    request.product = request.product or other.product
    return findings


def _bad_product(product: t.Any, node: str) -> list[Finding]:
    return [
        Finding(
            "product-unknown",
            "%r is no product of the vendor's label table" % (product,),
            "What the node has to be cannot be compared with what it is",
            suggestion(str(product), (FIND_PRODUCT, *PRODUCT_NAMES)),
            node,
        )
    ]


def _bad_name(name: str) -> list[Finding]:
    if len(name) <= 253 and _SUBDOMAIN.fullmatch(name):
        return []
    return [
        Finding(
            "node-name-illegal",
            # Without the name in it, so that thousands of them are one mistake.
            "this is no legal name of a node" if name else "a node has an empty name",
            "Kubernetes' node names are lower-case DNS names of at most 253 characters",
            "Use the name that `kubectl get nodes` shows",
            (name if name.isprintable() else repr(name)) or "nodes",
        )
    ]


def owner_of(key: t.Any) -> str | None:
    """Who writes the label, where nobody else may: None for a key that is free."""
    if str(key).startswith("huawei.com/npu.") or "topotree" in str(key):
        return DEVICE_PLUGIN
    return FOREIGN_KEYS.get(key)


def bad_label(key: t.Any, value: t.Any, node: str) -> list[Finding]:
    """What is wrong with one label of a node; empty where nothing is."""
    foreign = _foreign(key, value, node)
    return bad_syntax(key, value, node) + ([foreign] if foreign else [])


def bad_syntax(key: t.Any, value: t.Any, where: str) -> list[Finding]:
    """What Kubernetes does not take as a label on any object."""
    return [finding for finding in (bad_key(key, where), _bad_value(key, value, where)) if finding]


def bad_key(key: t.Any, node: str) -> Finding | None:
    """What is wrong with the key of a label or an annotation."""
    prefix, slash, name = str(key).rpartition("/")
    name_legal = isinstance(key, str) and len(name) <= 63 and _NAME.fullmatch(name)
    prefix_legal = not slash or (len(prefix) <= 253 and _SUBDOMAIN.fullmatch(prefix))
    if name_legal and prefix_legal:
        return None
    return Finding(
        "label-key-illegal",
        "`%s` is no legal label key" % (key,),
        "A key is an optional DNS name and a slash, then at most 63 letters, digits, `-`, `_` or `.`, with a letter or "
        "digit at both ends",
        "Correct the key",
        node,
    )


def _bad_value(key: t.Any, value: t.Any, node: str) -> Finding | None:
    if not isinstance(value, str):
        return Finding(
            "label-value-not-text",
            "The value of `%s` is %r, which is no text" % (key, value),
            "YAML reads unquoted on, yes, true, 1 and the like as something else than text, and labels are text",
            'Put quotes around the value, for example `%s: "on"`' % (key,),
            node,
        )
    if value == "" or (len(value) <= 63 and _NAME.fullmatch(value)):
        return None
    return Finding(
        "label-value-illegal",
        "`%s` is no legal value for the label `%s`" % (value, key),
        "A value has at most 63 letters, digits, `-`, `_` or `.`, with a letter or digit at both ends",
        "Correct the value",
        node,
    )


def _foreign(key: t.Any, value: t.Any, node: str) -> Finding | None:
    owner = owner_of(key)
    if owner is None and key in FOREIGN_VALUES and FOREIGN_VALUES[key] == value:
        owner = DEVICE_PLUGIN
    if owner is None or (key in ALLOWED_VALUES and ALLOWED_VALUES[key] == value):
        return None
    return Finding(
        "label-foreign",
        "The label `%s` = `%s` is written by %s" % (key, value, owner),
        "A value set by hand would be overwritten, or would mislead the scheduler until then",
        "Take it out of the request",
        node,
    )
