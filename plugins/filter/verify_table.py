# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: verify_table
short_description: The result of verify.yml as a table of text lines
version_added: 0.1.0
author:
  - mindcluster.recovery contributors (@mindcluster)
description:
  - Lays rows out in columns of equal width, so that the end of a playbook run can be read at a glance. Wide characters
    (Chinese, say) count as two columns.
options:
  _input:
    description: Rows, each a dictionary with the keys of O(columns).
    type: list
    elements: dict
    required: true
  columns:
    description: Keys of the rows, in the order of the columns.
    type: list
    elements: str
    default: [piece, state, seen]
"""

EXAMPLES = r"""
- name: Show what was seen
  ansible.builtin.debug:
    msg: "{{ [{'piece': 'image', 'state': 'ok', 'seen': 'registry.example.com/a@sha256:0123'}]
      | mindcluster.recovery.verify_table }}"
"""

RETURN = r"""
_value:
  description: One text per line of the table.
  type: list
  elements: str
"""

import typing as t
import unicodedata

COLUMNS = ("piece", "state", "seen")


def _width(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(sign) in "WF" else 1 for sign in text)


def _pad(text: str, width: int) -> str:
    return text + " " * (width - _width(text))


def verify_table(rows: t.Sequence[t.Mapping[str, t.Any]], columns: t.Sequence[str] = COLUMNS) -> list[str]:
    """Rows as aligned lines; the last column is not padded, so that long proofs do not widen the table."""
    cells = [list(columns)] + [[" ".join(str(row.get(key, "")).split()) for key in columns] for row in rows]
    widths = [max(_width(line[column]) for line in cells) for column in range(len(columns) - 1)]
    return [
        "  ".join([*(_pad(text, width) for text, width in zip(line[:-1], widths, strict=True)), line[-1]]).rstrip()
        for line in cells
    ]


class FilterModule:
    """The table at the end of verify.yml."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"verify_table": verify_table}
