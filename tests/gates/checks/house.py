# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Unit tests that hold the collection to its own rules, each with a line of its own in the table."""

from __future__ import annotations

from . import tests
from .step import Step


def steps() -> list[Step]:
    """One step for each rule; the unit tests as a whole have them too."""
    return [
        tests.step("floors", "tests/unit/house/test_floors.py"),
        tests.step("action groups", "tests/unit/house/test_action_groups.py"),
        tests.step("READMEs of roles", "tests/unit/house/test_role_readmes.py"),
    ]
