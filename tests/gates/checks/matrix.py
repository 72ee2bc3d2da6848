# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The torch patches on every release and on hostile machines, and the proof that they do what they are for."""

from __future__ import annotations

from . import tests
from .step import Count, Step

TABLE = "both patches on every release of torch"
FIGURES = "torchrun with static arguments"


def steps() -> list[Step]:
    """One step, which counts for each of its tests and shows the table."""
    return [tests.step("torch matrix", "tests/matrix", lambda log: _show(log, TABLE))]


def proof_steps() -> list[Step]:
    """One step, which counts once; where torch is not at hand it says so and counts for nothing."""
    command = ["python", "tests/matrix/prove.py", "--runs", "10", "--unpatched", "3", "--only-at-hand"]
    return [Step("torch proof", command, _count_proof)]


def _count_proof(code: int, log: str) -> Count:
    if code == 0 and FIGURES not in log:
        print(log, flush=True)
        return Count(0, 0)
    _show(log, FIGURES)
    return Count(int(code == 0), int(code != 0))


def _show(log: str, title: str) -> None:
    """Prints what a log has from a title to the next empty or closing line: the reader wants the table, not the log."""
    lines = log.splitlines()
    start = next((number for number, line in enumerate(lines) if title in line), len(lines))
    for line in lines[start:]:
        if not line or (line.startswith(("[", "=====")) and title not in line):
            break
        print(line, flush=True)
