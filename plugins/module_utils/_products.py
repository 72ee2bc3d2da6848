# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""Table of the NPU products by the vendor's names.

Sources: the vendor's page "creating node labels" (labels, up to 26.0.0), the scheduler's handler table
(schedule policies, wanted instead of node selectors from 26.1.0 on), the pages on process-level online recovery
(which hardware repairs what) and on HCCL's environment variables (operator retry: A3 only).
"""

from __future__ import annotations

import typing as t

HOST_ARCH: dict[str, str] = {"aarch64": "huawei-arm", "x86_64": "huawei-x86"}
_BOTH = ("aarch64", "x86_64")
_ARM = ("aarch64",)
_X86 = ("x86_64",)


class Product(t.NamedTuple):
    """One NPU product.

    :ivar name: the vendor's name in kebab case.
    :ivar archs: host architectures that it is sold with, C(aarch64) or C(x86_64).
    :ivar accelerator: value of the node label C(accelerator).
    :ivar accelerator_type: value of the node label C(accelerator-type), or None where it has none.
    :ivar resource: name of the extended resource that Pods ask for.
    :ivar ring_controller: value of the job label C(ring-controller.atlas).
    :ivar npus: NPUs of a node as Kubernetes counts them, or None where the number of cards varies.
    :ivar schedule_policy: value of C(huawei.com/schedule_policy) for whole-node jobs, or None.
    :ivar repairs_memory: process-level online recovery repairs on-chip memory faults on it.
    :ivar repairs_network: HCCL retries operators on it, and network faults are repaired online (A3).
    :ivar extra: further node labels.
    """

    name: str
    archs: tuple[str, ...]
    accelerator: str
    accelerator_type: str | None
    resource: str
    ring_controller: str
    npus: int | None
    schedule_policy: str | None
    repairs_memory: bool = False
    repairs_network: bool = False
    extra: dict[str, str] = {}


_R910 = "huawei.com/Ascend910"
_INFER = {"server-usage": "infer"}


def _a2(name: str, archs: tuple[str, ...], npus: int, extra: dict[str, str] | None = None) -> Product:
    """An A2 server: module-910b-8 or -16, operators without retry."""
    return Product(
        name, archs, "huawei-Ascend910", "module-910b-%d" % npus, _R910, "ascend-910b", npus,
        "chip8-node%d" % npus, repairs_memory=npus == 8 and not extra, extra=extra or {},
    )  # fmt: skip


def _a3(
    name: str, archs: tuple[str, ...], npus: int, pod: bool = False, extra: dict[str, str] | None = None
) -> Product:
    """An A3 server: module-a3-N, alone or in a super pod, with operator retry."""
    return Product(
        name, archs, "huawei-Ascend910", "module-a3-%d%s" % (npus, "-super-pod" if pod else ""), _R910, "ascend-910b",
        npus, "chip2-node%d%s" % (npus, "-sp" if pod else ""), repairs_memory=not extra, repairs_network=not extra,
        extra=extra or {},
    )  # fmt: skip


PRODUCTS: tuple[Product, ...] = (
    Product("atlas-800", _BOTH, "huawei-Ascend910", "module", _R910, "ascend-910", 8, "chip4-node8"),
    Product("atlas-800-half", _BOTH, "huawei-Ascend910", "half", _R910, "ascend-910", 4, "chip4-node4"),
    _a2("atlas-800t-a2", _ARM, 8),
    _a2("atlas-900-a2-pod", _ARM, 8),
    _a2("atlas-200t-a2-box16", _X86, 16),
    _a2("atlas-800i-a2", _ARM, 8, _INFER),
    _a2("a200i-a2-box", _X86, 8, _INFER),
    _a3("atlas-800t-a3", _ARM, 16),
    _a3("a200t-a3-box8", _X86, 16),
    _a3("atlas-900-a3-superpod", _BOTH, 16, pod=True),
    _a3("atlas-9000-a3-superpod", _BOTH, 8, pod=True),
    _a3("atlas-800i-a3", _BOTH, 16, extra=_INFER),
    Product("atlas-300t", _BOTH, "huawei-Ascend910", "card", _R910, "ascend-910", None, "chip1-node2"),
    Product("atlas-300i", _BOTH, "huawei-Ascend310", None, "huawei.com/Ascend310", "ascend-310", None, None),
    Product("atlas-310p", _BOTH, "huawei-Ascend310P", None, "huawei.com/Ascend310P", "ascend-310P", None, None),
    Product(
        "atlas-200i-soc-a1", _BOTH, "huawei-Ascend310P", None, "huawei.com/Ascend310P", "ascend-310P", None, None,
        extra={"servertype": "soc"},
    ),  # fmt: skip
    Product("atlas-350", _BOTH, "huawei-npu", None, "huawei.com/npu", "ascend-npu", None, None),
)

PRODUCT_NAMES: tuple[str, ...] = tuple(product.name for product in PRODUCTS)
_BY_NAME = {product.name: product for product in PRODUCTS}


def product_named(name: str) -> Product | None:
    """The row of a product, or None where the vendor's label table has no such product."""
    return _BY_NAME.get(name)
