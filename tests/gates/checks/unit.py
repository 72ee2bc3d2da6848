# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The unit tests."""

from __future__ import annotations

from xml.etree import ElementTree

from .step import BUILD, Count, Step

NUMBERS = ("tests", "failures", "errors", "skipped")
REPORT = BUILD / "logs" / "unit.xml"


def steps() -> list[Step]:
    """One step, which counts for each of its tests."""
    command = ["python", "-m", "pytest", "-q", "-n", "2", "--dist", "loadfile", f"--junitxml={REPORT}"]
    return [Step("unit tests", command, _count, before=_forget)]


def _forget() -> None:
    REPORT.unlink(missing_ok=True)


def _count(code: int, _log: str) -> Count:
    """What pytest reports; a skipped test counts as failed, since a test that does not run proves nothing."""
    if not REPORT.exists():
        return Count(0, 1)
    suites = list(ElementTree.parse(REPORT).getroot().iter("testsuite"))
    total, *bad = (sum(int(suite.get(name, "0")) for suite in suites) for name in NUMBERS)
    return Count(total - sum(bad), sum(bad))
