# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The table at the end of verify.yml."""

from __future__ import annotations

from ansible_collections.mindcluster.recovery.plugins.filter.verify_table import verify_table


def test_columns_line_up() -> None:
    rows = [
        {"piece": "image", "state": "ok", "seen": "r/a@sha256:1"},
        {"piece": "start script 训练.sh", "state": "differs", "seen": "line 3"},
    ]
    assert verify_table(rows) == [
        "piece                 state    seen",
        "image                 ok       r/a@sha256:1",
        "start script 训练.sh  differs  line 3",
    ]


def test_no_rows_leave_the_heading() -> None:
    assert verify_table([]) == ["piece  state  seen"]


def test_a_proof_of_several_lines_stays_on_one() -> None:
    assert verify_table([{"piece": "a", "state": "ok", "seen": "one\n two"}])[1].endswith("one two")
