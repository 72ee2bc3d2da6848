# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""Table of the NPU products by the vendor's names.

Labels are those of the page "creating node labels" (up to 26.0.0), C(source) names its row. What all rows share:
schedule policies (wanted instead of node selectors from 26.1.0 on) are those of the page on a job's YAML and of the
scheduler's handler table; the page on process-level online recovery says which hardware repairs what; HCCL's page on
C(HCCL_OP_RETRY_ENABLE) says that only A3 retries operators; resources and
chips have the device plugin's names.
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
    :ivar chip: the device plugin's word for its chips, which it writes into the node label C(servertype).
    :ivar ring_controller: value of the job label C(ring-controller.atlas).
    :ivar npus: NPUs of a node as Kubernetes counts them, or None where the number of cards varies.
    :ivar schedule_policy: value of C(huawei.com/schedule_policy) for whole-node jobs, or None.
    :ivar extra: further node labels.
    :ivar source: row of the vendor's table of node labels.
    :ivar repairs_memory: process-level online recovery repairs on-chip memory faults on it.
    :ivar repairs_network: HCCL retries operators on it, and network faults are repaired online (A3).
    """

    name: str
    archs: tuple[str, ...]
    accelerator: str
    accelerator_type: str | None
    resource: str
    chip: str
    ring_controller: str
    npus: int | None
    schedule_policy: str | None
    extra: dict[str, str]
    source: str
    repairs_memory: bool = False
    repairs_network: bool = False


_R910 = "huawei.com/Ascend910"
_INFER = {"server-usage": "infer"}


def _a1(name: str, accelerator_type: str, npus: int | None, policy: str, source: str) -> Product:
    """A first-generation training server or card."""
    return Product(
        name, _BOTH, "huawei-Ascend910", accelerator_type, _R910, "Ascend910", "ascend-910", npus, policy, {}, source
    )  # fmt: skip


def _a2(name: str, archs: tuple[str, ...], npus: int, source: str, extra: dict[str, str] | None = None) -> Product:
    """An A2 server: module-910b-8 or -16, operators without retry."""
    return Product(
        name, archs, "huawei-Ascend910", "module-910b-%d" % npus, _R910, "Ascend910B", "ascend-910b", npus,
        "chip8-node%d" % npus, extra or {}, source, repairs_memory=npus == 8 and not extra,
    )  # fmt: skip


def _a3(
    name: str,
    archs: tuple[str, ...],
    npus: int,
    source: str,
    pod: bool = False,
    extra: dict[str, str] | None = None,
) -> Product:
    """An A3 server: module-a3-N, alone or in a super pod, with operator retry."""
    return Product(
        name, archs, "huawei-Ascend910", "module-a3-%d%s" % (npus, "-super-pod" if pod else ""), _R910, "Ascend910A3",
        "ascend-910b", npus, "chip2-node%d%s" % (npus, "-sp" if pod else ""), extra or {}, source,
        repairs_memory=not extra, repairs_network=not extra,
    )  # fmt: skip


def _inference(name: str, chip: str, ring_controller: str, source: str, extra: dict[str, str] | None = None) -> Product:
    """A card or module for inference: no accelerator-type, no fixed number of chips in a node."""
    return Product(
        name, _BOTH, "huawei-" + chip, None, "huawei.com/" + chip, chip, ring_controller, None, None, extra or {},
        source,
    )  # fmt: skip


PRODUCTS: tuple[Product, ...] = (
    _a1("atlas-800", "module", 8, "chip4-node8", "Atlas 800 training server, full"),
    _a1("atlas-800-half", "half", 4, "chip4-node4", "Atlas 800 training server, half"),
    _a2("atlas-800t-a2", _ARM, 8, "Atlas 800T A2"),
    _a2("atlas-900-a2-pod", _ARM, 8, "Atlas 900 A2 PoD"),
    _a2("atlas-200t-a2-box16", _X86, 16, "Atlas 200T/200I A2 Box16"),
    _a2("atlas-800i-a2", _ARM, 8, "Atlas 800I A2", _INFER),
    _a2("a200i-a2-box", _X86, 8, "A200I A2 Box", _INFER),
    _a3("atlas-800t-a3", _ARM, 16, "A200T A3 Box8, Atlas 800T A3: arm"),
    _a3("a200t-a3-box8", _X86, 16, "A200T A3 Box8, Atlas 800T A3: x86"),
    _a3("atlas-900-a3-superpod", _BOTH, 16, "Atlas 900 A3 SuperPoD", pod=True),
    _a3("atlas-9000-a3-superpod", _BOTH, 8, "Atlas 9000 A3 SuperPoD", pod=True),
    _a3("atlas-800i-a3", _BOTH, 16, "Atlas 800I A3", extra=_INFER),
    _a1("atlas-300t", "card", None, "chip1-node2", "server with Atlas 300T"),
    _inference("atlas-300i", "Ascend310", "ascend-310", "server with Atlas 300I"),
    _inference("atlas-310p", "Ascend310P", "ascend-310P", "Atlas inference products (310P)"),
    _inference("atlas-200i-soc-a1", "Ascend310P", "ascend-310P", "Atlas 200I SoC A1", {"servertype": "soc"}),
    _inference("atlas-350", "npu", "ascend-npu", "Atlas 350"),
)

PRODUCT_NAMES: tuple[str, ...] = tuple(product.name for product in PRODUCTS)
_BY_NAME = {product.name: product for product in PRODUCTS}


def product_named(name: str) -> Product | None:
    """The row of a product, or None where the vendor's label table has no such product."""
    return _BY_NAME.get(name)
