# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The bill itself: the same bytes for the same site, CycloneDX as its schema wants it, a table that people can read."""

from __future__ import annotations

import json

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from ansible_collections.mindcluster.recovery.plugins.module_utils._plan import build_plan
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._bom import KINDS, Item, cyclonedx, in_order, table

PLAN = build_plan({"strategies": "retry,dump"})
OWN = Item("collection", "mindcluster.recovery", "0.1.0")
DIGEST = "a" * 64
BASE = "registry.example:5000/ascend/pytorch"
ITEMS = [
    Item("python", "ruamel.yaml", "0.19.1", "", "ruamel_yaml-0.19.1-py3-none-any.whl", "b" * 64),
    OWN,
    Item("base-image", BASE, "2.6", f"{BASE}@sha256:{DIGEST}", "", DIGEST),
    Item("base-image", "(image ID)", f"sha256:{DIGEST}", f"sha256:{DIGEST}", "", DIGEST),
    Item("result-image", "registry.example:5000/team/x", "7.2.rc1", "registry.example:5000/team/x:7.2.rc1"),
    Item("wheel", "mindio_ttp", "7.2rc1+spc1", "wheels/a b.whl", "a b.whl", "c" * 64),
    Item("wheelhouse", "packaging", "24.0", "wheels/packaging.whl", "packaging.whl", "d" * 64),
]


def test_cyclonedx_is_what_its_schema_wants() -> None:
    error = JsonStrictValidator(SchemaVersion.V1_6).validate_str(cyclonedx(ITEMS, OWN, PLAN))
    assert error is None, error


def test_the_order_of_collecting_does_not_matter() -> None:
    assert cyclonedx(ITEMS, OWN, PLAN) == cyclonedx([*reversed(ITEMS), ITEMS[0]], OWN, PLAN)
    assert table(ITEMS, PLAN) == table([*reversed(ITEMS), ITEMS[0]], PLAN)


def test_every_hash_stands_in_both_files() -> None:
    for text in (cyclonedx(ITEMS, OWN, PLAN), table(ITEMS, PLAN)):
        assert all(item.sha256 in text for item in ITEMS)


def test_components_are_told_apart_by_their_references() -> None:
    components = json.loads(cyclonedx(ITEMS, OWN, PLAN))["components"]
    assert len({component["bom-ref"] for component in components}) == len(ITEMS)


def test_package_urls_name_registry_and_digest() -> None:
    urls = {component["name"]: component["purl"] for component in json.loads(cyclonedx(ITEMS, OWN, PLAN))["components"]}
    assert urls[BASE] == f"pkg:oci/pytorch@sha256%3A{DIGEST}?repository_url=registry.example%3A5000%2Fascend%2Fpytorch"
    assert urls["ruamel.yaml"] == "pkg:pypi/ruamel-yaml@0.19.1"
    assert urls["mindio_ttp"] == "pkg:generic/mindio_ttp@7.2rc1%2Bspc1"


def test_the_table_says_what_is_not_made_yet() -> None:
    row = next(line for line in table(ITEMS, PLAN).splitlines() if KINDS["result-image"] in line)
    assert row.endswith("| not made yet |")


def test_wheels_come_first_and_python_packages_last() -> None:
    kinds = [item.kind for item in in_order(ITEMS)]
    assert kinds[0] == "wheel"
    assert kinds[-1] == "python"
