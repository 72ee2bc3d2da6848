# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""Labels of nodes and selectors of jobs, by release and product.

Source: the vendor's page "creating node labels". From 26.1.0 on the device plugin writes what describes the
hardware, and jobs choose nodes by the annotation C(huawei.com/schedule_policy) instead of a node selector.
"""

from __future__ import annotations

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Finding, Refused, suggestion
from ansible_collections.mindcluster.recovery.plugins.module_utils._products import (
    HOST_ARCH,
    PRODUCT_NAMES,
    Product,
    product_named,
)
from ansible_collections.mindcluster.recovery.plugins.module_utils._releases import (
    RELEASE_NAMES,
    Release,
    release_named,
)

SCHEDULE_POLICY = "huawei.com/schedule_policy"
#: The scheduler reads the annotation from this release on; the vendor's pages use it from 26.1.0 on.
SCHEDULE_POLICY_SINCE = "7.3.0"


def assumed_arch(product: Product, arch: str | None) -> str:
    """The host architecture: as given, else the product's only one, else aarch64, which most sites have."""
    return arch or product.archs[0]


def _release(name: str) -> Release:
    if not isinstance(name, str):
        # Roles hand on what the user's YAML has made of it.
        raise Refused(
            Finding(
                "release-type",
                "The release of MindCluster is %r, which is no text" % (name,),
                "YAML reads an unquoted 7.10 as the number 7.1, so another release would be meant",
                'Put the value of recovery_plan_release in quotes, such as "7.2.RC1"',
                "release",
            )
        )
    row = release_named(name)
    if row is None:
        raise Refused(
            Finding(
                "release-unknown",
                "%r is no MindCluster release of the table" % name,
                "Node labels differ between releases",
                suggestion(name, RELEASE_NAMES),
                "release",
            )
        )
    return row


def _product(name: str, arch: str | None) -> Product:
    row = product_named(name)
    if row is None:
        raise Refused(
            Finding(
                "product-unknown",
                "%r is no product of the vendor's label table" % name,
                "A wrong accelerator-type leaves Pods Pending with a message that does not name it",
                suggestion(name, PRODUCT_NAMES),
                "product",
            )
        )
    if arch is not None and arch not in row.archs:
        raise Refused(
            Finding(
                "arch-product",
                "%s is not sold with %s hosts" % (name, arch),
                "The label host-arch would not fit the machine",
                "Use %s, or name another product; for nodes of their own kind set `npu_node_arch` and "
                "`npu_node_product` in their group" % " or ".join(row.archs),
                "arch",
            )
        )
    return row


def master_labels(release: str) -> dict[str, str]:
    """Labels of a management node.

    :raises Refused: for an unknown release.
    """
    _release(release)
    return {"masterselector": "dls-master-node"}


def worker_labels(release: str, product: str | None, arch: str | None) -> dict[str, str]:
    """Labels of an NPU node.

    :param product: name from the product table, or None, which gives only what every worker has.
    :param arch: C(aarch64), C(x86_64) or None for the product's own.
    :raises Refused: for an unknown release or product, or an architecture that the product is not sold with.
    """
    row = _release(release)
    labels = {"node-role.kubernetes.io/worker": "worker", "workerselector": "dls-worker-node"}
    if product is None:
        return labels
    hardware = _product(product, arch)
    if row.product_labels:
        labels["host-arch"] = HOST_ARCH[assumed_arch(hardware, arch)]
        labels["accelerator"] = hardware.accelerator
        if hardware.accelerator_type is not None:
            labels["accelerator-type"] = hardware.accelerator_type
        labels.update(hardware.extra)
    elif "servertype" in hardware.extra:
        labels["servertype"] = hardware.extra["servertype"]
    return labels


def node_selector(release: Release, product: Product, arch: str | None) -> dict[str, str]:
    """What a job selects its nodes by; empty from 26.1.0 on, where such a job would stay Pending."""
    if not release.product_labels:
        return {}
    selector = {"host-arch": HOST_ARCH[assumed_arch(product, arch)]}
    if product.accelerator_type is not None:
        selector["accelerator-type"] = product.accelerator_type
    return selector
