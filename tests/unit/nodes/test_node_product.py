# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which product a node is, as far as the cluster says it, and what contradicts the one that is given."""

from __future__ import annotations

import typing as t

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Finding
from ansible_collections.mindcluster.recovery.plugins.module_utils._kube_labels import NodeRequest
from ansible_collections.mindcluster.recovery.plugins.module_utils._kube_node_check import Checked, check_nodes
from ansible_collections.mindcluster.recovery.plugins.module_utils._kube_node_plan import NodeState
from ansible_collections.mindcluster.recovery.plugins.module_utils._node_hardware import Offer, chip_of, hardware_of
from ansible_collections.mindcluster.recovery.plugins.module_utils._node_product import found_product
from ansible_collections.mindcluster.recovery.plugins.module_utils._node_rules import worker_labels
from ansible_collections.mindcluster.recovery.plugins.module_utils._products import PRODUCTS
from ansible_collections.mindcluster.recovery.plugins.module_utils._releases import RELEASE_NAMES

RELEASE = "7.2.RC1"
NPU = "huawei.com/Ascend910"


def offer(**npus: int) -> Offer:
    """A node's status; underlines stand for hyphens."""
    resources = {"huawei.com/" + name.replace("_", "-"): str(number) for name, number in npus.items()}
    return Offer(dict(resources), dict(resources))


def found(labels: dict[str, str], status: Offer | None = None, arch: str = "arm64", release: str = RELEASE) -> str:
    """The product's name, or the code of what was said instead."""
    labels = {"kubernetes.io/arch": arch, **labels}
    answer = found_product(labels, hardware_of(labels, status), release, "n1")
    return answer.code if isinstance(answer, Finding) else answer.name


@pytest.mark.parametrize(
    ("labels", "chip"),
    [
        ({"servertype": "Ascend910-32", "node.kubernetes.io/npu.chip.name": "910ProB"}, "Ascend910"),
        ({"servertype": "Ascend910B-20"}, "Ascend910B"),
        ({"servertype": "Ascend910A3-24", "node.kubernetes.io/npu.chip.name": "Ascend910"}, "Ascend910A3"),
        ({"servertype": "Ascend310P-8"}, "Ascend310P"),
        ({"servertype": "npu-36", "node.kubernetes.io/npu.chip.name": "Ascend950PR"}, "npu"),
        ({"servertype": "soc", "node.kubernetes.io/npu.chip.name": "310P1"}, "Ascend310P"),
        ({"node.kubernetes.io/npu.chip.name": "910B3"}, "Ascend910B"),
        ({"node.kubernetes.io/npu.chip.name": "910A"}, "Ascend910"),
        ({"node.kubernetes.io/npu.chip.name": "310"}, "Ascend310"),
        ({"node.kubernetes.io/npu.chip.name": "910X"}, None),
        ({"servertype": "soc"}, None),
        ({"accelerator-type": "module-910b-8"}, None),
    ],
)
def test_only_what_the_device_plugin_writes_tells_the_chip(labels: dict[str, str], chip: str | None):
    assert chip_of(labels) == chip


@pytest.mark.parametrize(
    ("labels", "status", "arch", "product"),
    [
        # The hardware alone is enough where only one product has it.
        ({"servertype": "Ascend910B-20"}, offer(Ascend910=16), "amd64", "atlas-200t-a2-box16"),
        ({"servertype": "Ascend910B-20"}, offer(Ascend910=8), "amd64", "a200i-a2-box"),
        ({}, offer(Ascend310=4), "amd64", "atlas-300i"),
        ({}, offer(Ascend310P=4), "arm64", "atlas-310p"),
        ({}, offer(Ascend310P_V=2), "arm64", "atlas-310p"),
        ({"servertype": "soc"}, offer(Ascend310P=1), "arm64", "atlas-200i-soc-a1"),
        ({"servertype": "Ascend910A3-24"}, offer(Ascend910=8), "amd64", "atlas-9000-a3-superpod"),
        # Two names with the same labels are one.
        ({"accelerator-type": "module-910b-8", "servertype": "Ascend910B-20"}, None, "arm64", "atlas-800t-a2"),
        # What somebody has set by hand narrows the choice.
        ({"accelerator-type": "module-a3-16"}, offer(Ascend910=16), "arm64", "atlas-800t-a3"),
        ({"accelerator-type": "module-a3-16-super-pod"}, offer(Ascend910=16), "amd64", "atlas-900-a3-superpod"),
        (
            {"accelerator-type": "module-a3-16", "server-usage": "infer"},
            offer(Ascend910=16), "arm64", "atlas-800i-a3",
        ),
        ({"server-usage": "infer", "servertype": "Ascend910B-20"}, offer(Ascend910=8), "arm64", "atlas-800i-a2"),
        ({"accelerator-type": "half"}, offer(Ascend910=4), "amd64", "atlas-800-half"),
        ({"accelerator-type": "350-Atlas-8"}, offer(npu=8), "amd64", "atlas-350"),
        # A server whose last NPUs are gone is still what it is labelled as.
        ({"accelerator-type": "module-910b-8"}, offer(Ascend910=7), "arm64", "atlas-800t-a2"),
    ],
)  # fmt: skip
def test_a_product_that_is_unambiguous_is_found(labels, status, arch, product):
    assert found(labels, status, arch) == product


@pytest.mark.parametrize(
    ("labels", "status", "arch", "code"),
    [
        ({}, None, "arm64", "product-not-found"),
        ({}, Offer({"nvidia.com/gpu": "8"}, {"nvidia.com/gpu": "8"}), "arm64", "product-not-found"),
        ({"accelerator-type": "module-910b-8", "accelerator": "huawei-Ascend910"}, None, "arm64", "product-not-found"),
        ({}, offer(Ascend910=0), "arm64", "product-not-found"),
        ({}, offer(Ascend910=8), "", "product-not-found"),
        ({}, offer(Ascend910=8), "arm64", "product-ambiguous"),
        ({"servertype": "Ascend910B-20"}, offer(Ascend910=8), "arm64", "product-ambiguous"),
        ({"servertype": "Ascend910-32"}, offer(Ascend910=8), "arm64", "product-ambiguous"),
        ({"servertype": "Ascend910A3-24"}, offer(Ascend910=16), "arm64", "product-ambiguous"),
        ({"servertype": "npu-36"}, offer(npu=8), "amd64", "product-ambiguous"),
        ({}, offer(Ascend910=8), "riscv64", "product-not-listed"),
        ({"servertype": "Ascend910B-20", "accelerator-type": "card-910b-infer"}, None, "arm64", "product-not-listed"),
        ({"servertype": "Ascend910B-20"}, offer(Ascend910=32), "arm64", "product-not-listed"),
        ({"servertype": "Ascend910B-20"}, offer(Ascend310P=8), "arm64", "product-not-listed"),
    ],
)
def test_what_is_not_unambiguous_is_not_guessed(labels, status, arch, code):
    assert found(labels, status, arch) == code


def test_the_newest_release_needs_no_product_told_apart():
    assert found({"servertype": "Ascend910B-20"}, offer(Ascend910=8), release="26.1.0") == "atlas-800t-a2"


def test_the_refusal_names_the_node_the_candidates_and_the_variable():
    labels = {"kubernetes.io/arch": "arm64", "servertype": "Ascend910B-20", "accelerator-type": "module"}
    finding = found_product(labels, hardware_of(labels, offer(Ascend910=8)), RELEASE, "n1")
    assert isinstance(finding, Finding)
    assert finding.where == "n1"
    assert "`atlas-800t-a2` or `atlas-900-a2-pod` or `atlas-800i-a2`" in finding.what
    assert "arm64, chip Ascend910B, 8 huawei.com/Ascend910" in finding.what
    assert "accelerator-type=module is that of none of them" in finding.what
    assert "npu_node_product" in finding.remedy


@given(
    product=st.sampled_from(PRODUCTS),
    release=st.sampled_from(RELEASE_NAMES),
    number=st.integers(1, 8),
    labelled=st.booleans(),
    data=st.data(),
)
def test_what_is_found_has_the_labels_of_what_the_node_is(product, release, number, labelled, data):
    """Whatever a node of a product shows, another product's labels are never taken."""
    arch = data.draw(st.sampled_from(product.archs))
    labels = worker_labels("7.2.RC1", product.name, arch) if labelled else {}
    if "servertype" in product.extra:
        labels["servertype"] = "soc"
    elif data.draw(st.booleans()):
        labels["servertype"] = product.chip + "-20"
    labels["kubernetes.io/arch"] = "arm64" if arch == "aarch64" else "amd64"
    count = str(product.npus or number)
    status = data.draw(st.sampled_from([None, Offer({product.resource: count}, {product.resource: count})]))
    answer = found_product(labels, hardware_of(labels, status), release, "n1")
    if not isinstance(answer, Finding):
        assert worker_labels(release, answer.name, arch) == worker_labels(release, product.name, arch)
        assert answer.resource == product.resource


def check(
    product: str | None, labels: dict[str, str], status: Offer | None = None, arch: str | None = None, **more: t.Any
) -> Checked:
    asked = {"n1": NodeRequest("n1", {"workerselector": "dls-worker-node"}, arch, product)}
    offers = {"n1": status or Offer({}, {})}
    return check_nodes(asked, {"n1": NodeState(labels)}, RELEASE, lambda names: {n: offers[n] for n in names}, **more)


@pytest.mark.parametrize(
    ("product", "labels", "status", "code"),
    [
        ("atlas-200t-a2-box16", {"kubernetes.io/arch": "arm64"}, None, "node-arch-contradiction"),
        ("atlas-800t-a2", {"servertype": "Ascend910A3-24"}, None, "node-chip-contradiction"),
        ("atlas-800t-a2", {"node.kubernetes.io/npu.chip.name": "910A"}, None, "node-chip-contradiction"),
        ("atlas-800t-a2", {}, offer(Ascend310P=8), "node-resource-contradiction"),
        ("atlas-310p", {}, offer(Ascend910=8), "node-resource-contradiction"),
        ("atlas-310p", {}, Offer({NPU + "-6c.1cpu.16g": "2"}, {}), "node-resource-contradiction"),
        ("atlas-800t-a2", {}, offer(Ascend910=16), "node-npus-contradiction"),
    ],
)
def test_a_node_that_cannot_be_the_product_is_a_contradiction(product, labels, status, code):
    (finding,) = check(product, labels, status).findings
    assert (finding.code, finding.where) == (code, "n1")
    assert "npu_node_product" in finding.remedy


@pytest.mark.parametrize(
    ("product", "labels", "status"),
    [
        ("atlas-800t-a2", {"kubernetes.io/arch": "arm64"}, None),
        ("atlas-800t-a2", {"servertype": "Ascend910B-20"}, offer(Ascend910=8)),
        ("atlas-800t-a2", {}, offer(Ascend910=7)),
        ("atlas-800t-a2", {}, Offer({NPU: "8", NPU + "-6c.1cpu.16g": "2"}, {NPU: "8"})),
        ("atlas-310p", {}, offer(Ascend310P=40)),
        ("atlas-200i-soc-a1", {"servertype": "soc"}, offer(Ascend310P=1)),
        (None, {}, offer(Ascend910=8)),
    ],
)
def test_a_node_that_can_be_the_product_is_none(product, labels, status):
    assert check(product, labels, status).findings == []


@pytest.mark.parametrize("arch", ["aarch64", "x86_64"])
def test_only_another_architecture_contradicts(arch: str):
    codes = [finding.code for finding in check(None, {"kubernetes.io/arch": "arm64"}, arch=arch).findings]
    assert codes == ([] if arch == "aarch64" else ["node-arch-contradiction"])
    assert check(None, {}, arch=arch).findings == []
    assert len(check("atlas-800t-a2", {"kubernetes.io/arch": "amd64"}, arch="aarch64").findings) == 1


@pytest.mark.parametrize(
    ("status", "without"),
    [
        (Offer({}, {}), ["n1"]),
        (Offer({NPU: "8"}, {NPU: "0"}), ["n1"]),
        (offer(Ascend910=1), []),
        (offer(**{"Ascend910_6c.1cpu.16g": 2}), []),
        (offer(npu_core=160), []),
    ],
)
def test_a_node_whose_npus_pods_cannot_have_is_told_and_no_contradiction(status: Offer, without: list[str]):
    checked = check("atlas-800t-a2", {}, status)
    assert (checked.findings, checked.without_npus) == ([], without)


def test_whole_nodes_are_read_only_where_labels_are_set_for_a_product():
    def read(names: t.Any) -> dict[str, Offer]:
        asked_for.extend(names)
        return {name: offer(Ascend910=8) for name in names}

    states = {
        "labelled": NodeState({"workerselector": "dls-worker-node"}),
        "new": NodeState({}),
        "master": NodeState({}),
        "found": NodeState({"servertype": "Ascend310-4", "kubernetes.io/arch": "amd64"}),
    }
    products = {"labelled": "atlas-800t-a2", "new": "atlas-800t-a2", "master": None, "found": "auto"}
    wanted = {"workerselector": "dls-worker-node"}
    requests = {name: NodeRequest(name, wanted, None, products[name]) for name in states}
    states["found"].labels.update(worker_labels(RELEASE, "atlas-300i", "x86_64"))
    asked_for: list[str] = []
    check_nodes(requests, states, RELEASE, read)
    assert asked_for == ["new"]
    asked_for.clear()
    check_nodes(requests, states, RELEASE, read, everywhere=True)
    assert asked_for == ["labelled", "new", "found"]


def test_labels_of_a_product_that_was_found_are_added_and_those_asked_for_win():
    asked = {"n1": NodeRequest("n1", {"accelerator": "mine", "rack": "r1"}, None, "auto")}
    states = {"n1": NodeState({"kubernetes.io/arch": "amd64", "servertype": "Ascend310-4"})}
    checked = check_nodes(asked, states, RELEASE, lambda names: {name: offer(Ascend310=4) for name in names})
    assert checked.requests["n1"].product == "atlas-300i"
    expected = worker_labels(RELEASE, "atlas-300i", "x86_64")
    assert checked.requests["n1"].labels == {**expected, "accelerator": "mine", "rack": "r1"}
    assert asked["n1"].product == "auto"
