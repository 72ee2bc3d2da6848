# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""`module_defaults: {group/mindcluster.recovery.recovery: …}` reaches every module, and each module says so."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
import yaml

CHECKOUT = Path(__file__).resolve().parents[3]
MODULES = sorted((CHECKOUT / "plugins" / "modules").glob("*.py"))
RUNTIME = yaml.safe_load((CHECKOUT / "meta" / "runtime.yml").read_text(encoding="utf-8"))
FRAGMENTS = {"mindcluster.recovery._attributes", "mindcluster.recovery._attributes.actiongroup_recovery"}
STATED = {"check_mode", "diff_mode", "idempotent"}


def test_the_group_has_each_module_in_order() -> None:
    assert RUNTIME["action_groups"] == {"recovery": [path.stem for path in MODULES]}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_each_module_states_the_group_and_what_it_can(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    texts = {
        node.targets[0].id: ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id.isupper()
        if isinstance(node.value, ast.Constant)
    }
    documentation = yaml.safe_load(texts["DOCUMENTATION"])
    assert set(documentation["extends_documentation_fragment"]) >= FRAGMENTS
    assert set(documentation["attributes"]) >= STATED
    assert texts["EXAMPLES"].strip() and texts["RETURN"].strip()
