# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A new row of a table is told to users where they look for what they may ask for."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.mindcluster.recovery.plugins.module_utils._releases import RELEASE_NAMES
from ansible_collections.mindcluster.recovery.plugins.module_utils._strategies import STRATEGY_NAMES

CHECKOUT = Path(__file__).resolve().parents[3]
OF_THE_PLAN = (
    "plugins/modules/recovery_plan.py",
    "roles/recovery_plan/README.md",
    "roles/recovery_plan/meta/argument_specs.yml",
)


def missing(names: tuple[str, ...], page: str) -> list[str]:
    text = (CHECKOUT / page).read_text(encoding="utf-8")
    return [name for name in names if not any(f"{start}{name}{end}" in text for start, end in ("()", "``"))]


@pytest.mark.parametrize("page", OF_THE_PLAN)
def test_every_release_is_named(page: str) -> None:
    assert missing(RELEASE_NAMES, page) == []


@pytest.mark.parametrize("page", [*OF_THE_PLAN, "README.md", "README.zh-CN.md"])
def test_every_strategy_is_named(page: str) -> None:
    assert missing(STRATEGY_NAMES, page) == []
