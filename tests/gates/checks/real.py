# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The tests that need the real parts of the sandbox: a server behind a proxy that breaks things, above all."""

from __future__ import annotations

from . import tests
from .step import Step


def steps() -> list[Step]:
    """One step, which counts for each of its tests."""
    return [tests.step("real parts", "tests/real")]
