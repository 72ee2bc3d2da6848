# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The end of a run says what failed and why, for services that show no more of a log than its end."""

from __future__ import annotations

import pathlib
import sys

import pytest
from checks import step
from checks.step import Count, Step


def script(name: str, text: str) -> Step:
    return Step(name, [sys.executable, "-c", text])


@pytest.fixture(autouse=True)
def own_logs(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(step, "BUILD", tmp_path)


def test_a_step_that_fails_is_told_with_the_end_of_its_log() -> None:
    count = step.run(script("some check", "[print('line', n) for n in range(30)]; raise SystemExit(3)"))
    assert (count.passed, count.failed) == (0, 1)
    lines = count.failures[0].splitlines()
    assert lines[0] == "-- some check failed:"
    assert lines[-1] == "   line 29"
    assert len(lines) == 1 + step.REPEATED


def test_what_clean_up_has_buried_is_told_too() -> None:
    text = "print('fatal: [localhost]: FAILED! => the reason'); [print('clean-up', n) for n in range(30)]; exit(2)"
    failure = step.run(script("molecule x", text)).failures[0]
    assert "   fatal: [localhost]: FAILED! => the reason\n   …\n   clean-up 15" in failure


def test_sums_keep_every_failure_and_nothing_of_what_passed() -> None:
    good, bad, worse = (step.run(script(name, f"raise SystemExit({code})")) for code, name in enumerate("abc"))
    total = good + bad + worse
    assert total[:3] == Count(1, 2, ("-- b failed:", "-- c failed:"))[:3]
