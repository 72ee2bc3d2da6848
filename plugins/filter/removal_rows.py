# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: removal_rows
short_description: What a removal has done with one part of the site, as rows
version_added: 0.2.0
author:
  - mindcluster.recovery contributors (@mindcluster)
description:
  - Turns the registered result of a module into rows for P(mindcluster.recovery.verify_table#filter).
  - Each row has C(piece), C(state) (C(removed), C(pending), C(absent) or C(left)) and C(seen).
options:
  _input:
    description: The registered result.
    type: dict
    required: true
  part:
    description:
      - V(jobs) for M(mindcluster.recovery.manifest_remove), V(nodes) for M(mindcluster.recovery.node_labels),
        V(node documents) for their files, V(scripts) for M(mindcluster.recovery.start_script_file), V(image) for
        M(mindcluster.recovery.training_image_remove).
      - Any other word is the name of the piece for a result of M(mindcluster.recovery.manifest_files).
    type: str
    required: true
  check:
    description: Whether the play runs in check mode, where what would be removed is C(pending).
    type: bool
    default: false
"""

EXAMPLES = r"""
- name: Show what was taken out
  ansible.builtin.debug:
    msg: "{{ gone | mindcluster.recovery.removal_rows('jobs') | mindcluster.recovery.verify_table }}"
"""

RETURN = r"""
_value:
  description: The rows.
  type: list
  elements: dict
"""

import typing as t

from ansible_collections.mindcluster.recovery.plugins.plugin_utils import _removal_rows as rows

_PARTS: dict[str, t.Callable[[rows.Result, bool], list[rows.Row]]] = {
    "jobs": rows.object_rows,
    "nodes": rows.node_rows,
    "node documents": rows.node_document_rows,
    "scripts": rows.script_rows,
    "image": rows.image_rows,
}


def removal_rows(result: rows.Result, part: str, check: bool = False) -> list[rows.Row]:
    """Filter C(removal_rows), see DOCUMENTATION."""
    if part in _PARTS:
        return _PARTS[part](result, check)
    return rows.file_rows(result, part, check)


class FilterModule:
    """Rows of the table at the end of uninstall.yml."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"removal_rows": removal_rows}
