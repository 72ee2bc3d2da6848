# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: verify_rows
short_description: What a look at one part of the site has shown, as rows
version_added: 0.1.0
author:
  - mindcluster.recovery contributors (@mindcluster)
description:
  - Turns the registered result of a module into rows for P(mindcluster.recovery.verify_table#filter).
  - Each row has C(piece), C(state) (C(ok), C(warning), C(differs), C(failed) or C(pending)) and C(seen).
options:
  _input:
    description: The registered result; for the part V(plan) the plan, for V(deviations) the list of them.
    type: raw
    required: true
  part:
    description:
      - V(image) for M(mindcluster.recovery.training_image_info), V(scripts) for
        M(mindcluster.recovery.start_script_file), V(nodes) for M(mindcluster.recovery.node_labels_info), V(jobs) for
        M(mindcluster.recovery.manifest_apply), V(plan) for a plan's warnings, V(deviations) for those of rendered jobs.
      - Any other word is the name of the piece for a result of M(mindcluster.recovery.manifest_files).
    type: str
    required: true
  check:
    description: Whether the play runs in check mode, where what is not there yet is C(pending) and no fault.
    type: bool
    default: false
"""

EXAMPLES = r"""
- name: Show what was seen
  ansible.builtin.debug:
    msg: "{{ looked | mindcluster.recovery.verify_rows('image') | mindcluster.recovery.verify_table }}"
"""

RETURN = r"""
_value:
  description: The rows.
  type: list
  elements: dict
"""

import typing as t

from ansible_collections.mindcluster.recovery.plugins.plugin_utils import _verify_rows as rows

_PARTS: dict[str, t.Callable[..., list[rows.Row]]] = {
    "image": rows.image_rows,
    "scripts": rows.script_rows,
    "nodes": rows.node_rows,
    "jobs": rows.job_rows,
}


def verify_rows(result: t.Any, part: str, check: bool = False) -> list[rows.Row]:
    """Rows for one registered result."""
    if part == "deviations":
        return rows.deviation_rows(result)
    if part == "plan":
        return rows.warning_rows(result)
    if part in _PARTS:
        return _PARTS[part](result, check=check)
    return rows.file_rows(result, part, check=check)


class FilterModule:
    """Rows of the table at the end of verify.yml."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"verify_rows": verify_rows}
