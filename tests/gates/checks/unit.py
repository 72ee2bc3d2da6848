# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The unit tests."""

from __future__ import annotations

from . import tests
from .step import Step


def steps() -> list[Step]:
    """One step, which counts for each of its tests."""
    return [tests.step("unit tests", "tests/unit")]
