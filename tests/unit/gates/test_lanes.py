# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Checks with services run beside those without: both count, and none goes on behind one that was broken off."""

from __future__ import annotations

import pathlib
import sys
import threading

import gates
import pytest
from checks import step
from checks.step import Count, Step


@pytest.fixture(autouse=True)
def own_build(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(step, "BUILD", tmp_path)
    monkeypatch.setattr(gates, "SUMMARY", tmp_path / "summary.json")
    monkeypatch.setattr(gates, "FAILURES", tmp_path / "failures.txt")
    monkeypatch.setattr(gates, "_ENDING", threading.Event())
    monkeypatch.delenv("SANDBOX_PARTS", raising=False)
    monkeypatch.delenv(gates.INNER, raising=False)


def script(name: str, text: str) -> Step:
    return Step(name, [sys.executable, "-c", text])


def test_both_lanes_run_at_once_and_are_added_up(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    met = threading.Barrier(2, timeout=60)

    def steps() -> list[Step]:
        met.wait()
        return [script("good", "0"), script("bad", "raise SystemExit(1)")]

    def services(names: list[str]) -> Count:
        met.wait()
        assert names == ["real", "molecule:x"]
        return Count(5, 0)

    monkeypatch.setitem(gates.CHECKS, "lint", steps)
    monkeypatch.setattr(gates, "_check_in_sandbox", services)
    assert gates.main(["real", "lint", "molecule:x"]) == 1
    assert capsys.readouterr().out.splitlines()[-1] == "6 passed, 1 failed"


def test_nothing_begins_behind_a_run_that_was_broken_off(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    class Sandbox:
        ended = threading.Event()

        def terminate(self) -> None:
            self.ended.set()

    sandbox = Sandbox()

    def services(names: list[str]) -> Count:
        assert sandbox.ended.wait(60)
        return Count(0, 0)

    def steps() -> list[Step]:
        raise KeyboardInterrupt

    monkeypatch.setattr(gates, "_SANDBOXES", [sandbox])
    monkeypatch.setattr(gates, "_check_in_sandbox", services)
    monkeypatch.setitem(gates.CHECKS, "lint", steps)
    monkeypatch.setitem(gates.CHECKS, "unit", lambda: [script("late", f"open({str(tmp_path / 'late')!r}, 'w')")])
    with pytest.raises(KeyboardInterrupt):
        gates.main(["lint", "unit", "real"])
    assert not (tmp_path / "late").exists()
