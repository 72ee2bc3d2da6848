# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""The product of a node, found from what the cluster says about it: pure functions, no request.

Only what the kubelet and the device plugin say counts as a proof; labels that were set by hand narrow the choice where
they agree with it. Products with the same labels count as one.
"""

from __future__ import annotations

import typing as t

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Finding
from ansible_collections.mindcluster.recovery.plugins.module_utils._node_hardware import Hardware, fits
from ansible_collections.mindcluster.recovery.plugins.module_utils._node_rules import worker_labels
from ansible_collections.mindcluster.recovery.plugins.module_utils._products import PRODUCTS, Product

Labels = t.Mapping[str, str]

#: Chips of products that the vendor's label table does not list too, with the products; C(accelerator-type) on a node
#: of the one that is listed begins with the last word.
_UNLISTED = {"npu": ("Atlas 850 or 950", "350-")}
_REMEDY = "Set npu_node_product for the host or its group in the inventory (`product` in the module's list)"


def found_product(labels: Labels, hardware: Hardware, release: str, node: str) -> Product | Finding:
    """The one product whose labels the node has to have; a finding where it cannot be told.

    :param labels: all labels of the node.
    :param release: whose labels are compared: products that have the same ones need not be told apart.
    """
    shown = hardware.chip is not None or hardware.npus or hardware.divided
    if not shown or not hardware.kubernetes_arch:
        return _too_little(hardware, "" if shown else ", no NPU resource, no label of the device plugin", node)
    fitting = _with_that_many([product for product in PRODUCTS if fits(product, hardware)], hardware)
    fitting = [product for product in fitting if (labels.get("servertype") == "soc") == ("servertype" in product.extra)]
    if not fitting or labels.get("accelerator-type") == "card-910b-infer":
        return _none_fits(hardware, node)
    narrowed = [product for product in fitting if _labelled_so(product, labels)]
    candidates = narrowed or fitting
    different = {tuple(sorted(worker_labels(release, each.name, hardware.arch).items())) for each in candidates}
    unlisted = _unlisted(candidates, labels)
    if len(different) == 1 and not unlisted:
        return candidates[0]
    return _ambiguous(candidates, hardware, unlisted, node, "" if narrowed else labels.get("accelerator-type", ""))


def _with_that_many(products: list[Product], hardware: Hardware) -> list[Product]:
    """Those with exactly the NPUs that are there; where none has so few, those with more, of which some may be gone."""
    exact = [
        product for product in products if product.npus in (None, hardware.npus.get(product.resource, product.npus))
    ]
    if any(product.npus is not None for product in exact):
        return exact
    return [
        product for product in products if product.npus is None or product.npus > hardware.npus.get(product.resource, 0)
    ]


def _labelled_so(product: Product, labels: Labels) -> bool:
    """Whether the labels that somebody has set on the node are those of the product."""
    accelerator_type = labels.get("accelerator-type")
    if accelerator_type is None:
        return "server-usage" not in labels or _usage(labels) == product.extra.get("server-usage")
    if product.accelerator_type is not None and product.accelerator_type != accelerator_type:
        return False
    # Whoever has set the one would have set the other: without it the device plugin takes the node for training.
    return _usage(labels) == product.extra.get("server-usage")


def _usage(labels: Labels) -> str | None:
    return "infer" if labels.get("server-usage") == "infer" else None


def _unlisted(candidates: t.Sequence[Product], labels: Labels) -> str:
    for product in candidates:
        others, beginning = _UNLISTED.get(product.chip, ("", ""))
        if others and not labels.get("accelerator-type", "").startswith(beginning):
            return others
    return ""


def _too_little(hardware: Hardware, missing: str, node: str) -> Finding:
    return Finding(
        "product-not-found",
        "No product is given, and the cluster does not say which it is (%s%s)" % (hardware.seen(), missing),
        "The labels differ from product to product, and on a new cluster they come before the device plugin, which "
        "could tell",
        _REMEDY + ", such as `atlas-800t-a2`",
        node,
    )


def _none_fits(hardware: Hardware, node: str) -> Finding:
    return Finding(
        "product-not-listed",
        "No product is given, and none of the vendor's label table fits the node (%s)" % hardware.seen(),
        "Labels of another product leave Pods Pending",
        "If it is one of the table all the same: s" + _REMEDY[1:],
        node,
    )


def _ambiguous(products: t.Sequence[Product], hardware: Hardware, unlisted: str, node: str, wrong: str) -> Finding:
    names = " or ".join("`%s`" % product.name for product in products)
    what = "No product is given, and the node (%s) can be %s" % (hardware.seen(), names)
    if unlisted:
        what += ", or %s, which the label table does not list" % unlisted
    if wrong:
        what += "; its label accelerator-type=%s is that of none of them" % wrong
    return Finding(
        "product-ambiguous",
        what,
        "Their labels differ, and the wrong ones leave Pods Pending with a message that does not name them",
        "%s to the one that it is: %s" % (_REMEDY, ", ".join(product.name for product in products)),
        node,
    )
