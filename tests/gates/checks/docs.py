# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The documentation site: built without a warning, then looked at in a browser."""

from __future__ import annotations

import re

from .step import Count, Step


def steps() -> list[Step]:
    """One step that builds, and one that looks, which counts for each page."""
    return [
        Step("docs build", ["python", "docs/site/build.py"], tool="sphinx"),
        Step("docs look", ["python", "tests/docs/check.py"], _count, tool="playwright"),
    ]


def _count(code: int, log: str) -> Count:
    said = re.search(r"^docs: (\d+) pages, .* (\d+) findings$", log, re.MULTILINE)
    return Count(int(said[1]), int(said[2])) if said else Count(0, int(code != 0))
