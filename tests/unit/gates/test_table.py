# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One table says of each gate what it is, with which tool, and what it found; what did not run is no pass."""

from __future__ import annotations

import pathlib
import sys

import pytest
from checks import cores, lint, step
from checks.step import Step
from checks.table import table


@pytest.fixture(autouse=True)
def own_logs(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(step, "BUILD", tmp_path)


def test_a_row_for_each_step_with_the_version_of_its_tool() -> None:
    good = Step("some tests", [sys.executable, "-c", "print('fine')"], tool="pytest")
    bad = Step("other tests", [sys.executable, "-c", "raise SystemExit(1)"], tool="pytest")
    absent = Step("tests on another Python", ["false"], missing="this machine has no Python 3.99")
    total = step.run(good) + step.run(bad) + step.run(absent)
    assert (total.passed, total.failed) == (1, 1)
    version = step.venv.CONTROLLER.version_of("pytest")
    assert version
    lines = table(total.rows).splitlines()
    assert lines[0].split() == ["gate", "tool", "verdict", "passed", "findings"]
    assert [line.split("  ")[0].strip() for line in lines[2:]] == [good.name, bad.name, absent.name]
    assert lines[2].split()[-5:] == ["pytest", version, "pass", "1", "0"]
    assert lines[3].split()[-3:] == ["FAILED", "0", "1"]
    assert lines[4].endswith("not run: this machine has no Python 3.99")


def test_findings_of_a_tool_that_ends_well_count() -> None:
    (checked,) = [one for one in lint.steps() if one.name == "lint yamllint"]
    log = "./a.yml\n  3:1  warning  missing document start  (document-start)\n  9:81  error  line too long\n"
    assert checked.counting(0, log)[:2] == (0, 2)
    assert checked.counting(1, "no such tool")[:2] == (0, 1)
    assert checked.counting(0, "")[:2] == (1, 0)


def test_each_core_meets_each_python_or_says_why_not() -> None:
    steps = cores.steps()
    assert len(steps) == 2 * len(cores.CORES) * len(cores.PYTHONS)
    reasons = {one.name: one.missing for one in steps}
    assert reasons["units on core 2.16, Python 3.13"] == "ansible-core 2.16 does not support Python 3.13"


def test_a_python_that_is_not_here_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cores.pythons, "found", lambda _wanted: {})
    assert {one.missing for one in cores.one_other()} == {"this machine has no Python 3.12"}
