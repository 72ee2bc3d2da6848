# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The plan against tables that were written by hand from the vendor's pages: tests/unit/plan/golden/*.yml."""

from __future__ import annotations

import pathlib
import typing as t

import pytest
import yaml

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Refused
from ansible_collections.mindcluster.recovery.plugins.module_utils._plan import build_plan
from ansible_collections.mindcluster.recovery.plugins.module_utils._products import PRODUCT_NAMES
from ansible_collections.mindcluster.recovery.plugins.module_utils._releases import RELEASE_NAMES
from ansible_collections.mindcluster.recovery.plugins.module_utils._strategies import STRATEGY_NAMES

GOLDEN = pathlib.Path(__file__).parent / "golden"
CELLS = yaml.safe_load((GOLDEN / "releases.yml").read_text(encoding="utf-8"))
PRODUCTS = yaml.safe_load((GOLDEN / "products.yml").read_text(encoding="utf-8"))
OF_EVERY_WORKER = {"node-role.kubernetes.io/worker": "worker", "workerselector": "dls-worker-node"}


def part(plan: dict[str, t.Any], key: str) -> t.Any:
    """A part of a plan by its dotted name; `names` lists the names, and an environment is read by name."""
    value: t.Any = plan
    for step in key.split("."):
        if isinstance(value, list):
            names = [item["name"] for item in value]
            value = names if step == "names" else value[names.index(step)]["value"]
        else:
            value = value[step]
    return value


@pytest.mark.parametrize("cell", CELLS, ids=[cell["cell"] for cell in CELLS])
def test_cell(cell: dict[str, t.Any]) -> None:
    if "refused" in cell:
        with pytest.raises(Refused) as caught:
            build_plan(cell["request"])
        assert [finding.code for finding in caught.value.findings] == cell["refused"]
        return
    plan = build_plan(cell["request"])
    expected = dict(cell["plan"])
    warning = expected.pop("warning", None)
    assert {key: part(plan, key) for key in expected} == expected
    if warning:
        assert warning in [item["code"] for item in plan["warnings"]]


def test_every_release_and_framework_has_a_cell() -> None:
    cells = {(cell["request"]["release"], cell["request"].get("framework", "pytorch")) for cell in CELLS}
    assert cells == {(release, framework) for release in RELEASE_NAMES for framework in ("pytorch", "mindspore")}


def test_every_strategy_has_a_cell() -> None:
    asked = [cell["request"]["strategies"] for cell in CELLS]
    names = {name for some in asked for name in (some.split(",") if isinstance(some, str) else some)}
    assert names >= set(STRATEGY_NAMES)


@pytest.mark.parametrize("row", PRODUCTS, ids=["%(product)s-%(arch)s" % row for row in PRODUCTS])
@pytest.mark.parametrize("release", ["7.1.RC1", "7.2.RC1", "7.3.0", "26.0.0"])
def test_product_up_to_26_0(release: str, row: dict[str, t.Any]) -> None:
    plan = build_plan({"strategies": "retry", "release": release, "product": row["product"], "arch": row["arch"]})
    assert plan["node_labels"]["worker"] == {**OF_EVERY_WORKER, **row["labels"]}
    selected = {key: row["labels"][key] for key in ("host-arch", "accelerator-type") if key in row["labels"]}
    assert plan["job"]["node_selector"] == selected
    assert plan["job"]["resource"] == row["resource"]
    assert plan["job"]["template_labels"] == {"ring-controller.atlas": row["ring"]}
    assert "huawei.com/schedule_policy" not in plan["job"]["annotations"]
    assert ("HCCL_OP_RETRY_ENABLE" in plan["script"]["exports"]) is row["operator_retry"]


@pytest.mark.parametrize("row", PRODUCTS, ids=["%(product)s-%(arch)s" % row for row in PRODUCTS])
def test_product_from_26_1_on(row: dict[str, t.Any]) -> None:
    plan = build_plan({"strategies": "retry", "release": "26.1.0", "product": row["product"], "arch": row["arch"]})
    soc = {"servertype": "soc"} if row["labels"].get("servertype") == "soc" else {}
    assert plan["node_labels"]["worker"] == {**OF_EVERY_WORKER, **soc}
    assert plan["job"]["node_selector"] == {}
    assert plan["job"]["annotations"].get("huawei.com/schedule_policy") == row["policy"]


def test_every_product_has_a_row() -> None:
    assert {row["product"] for row in PRODUCTS} == set(PRODUCT_NAMES)
