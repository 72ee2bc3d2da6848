# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What each step of a run found, as one table."""

from __future__ import annotations

import typing as t

HEAD = ("gate", "tool", "verdict", "passed", "findings")


def table(rows: t.Sequence[t.Sequence[str]]) -> str:
    """The rows of L(Count, step.Count) below their heading, in columns."""
    lines = [HEAD, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEAD))]
    # A reason for not running is long, and has no numbers beside it.
    widths[2] = max(len(line[2]) for line in lines if not line[2].startswith("not run"))
    printed = [_line(line, widths) for line in lines]
    return "\n".join([printed[0], "-" * max(map(len, printed)), *printed[1:]])


def _line(cells: t.Sequence[str], widths: t.Sequence[int]) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()
