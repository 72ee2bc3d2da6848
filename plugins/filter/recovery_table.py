# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: recovery_table
short_description: What is tried at each kind of fault, as a Markdown table
version_added: 0.1.0
author:
  - mindcluster.recovery contributors (@mindcluster)
description:
  - Renders RV(mindcluster.recovery.recovery_plan#module:plan.explain) for a report, a merge request or a wiki page.
options:
  _input:
    description:
      - The plan, or a request with the options of M(mindcluster.recovery.recovery_plan) as keys.
    type: dict
    required: true
seealso:
  - module: mindcluster.recovery.recovery_plan
"""

EXAMPLES = r"""
- name: Write down what this job does at a fault
  ansible.builtin.copy:
    content: "{{ {'strategies': 'retry,recover,dump'} | mindcluster.recovery.recovery_table }}"
    dest: /tmp/recovery.md
    mode: "0644"
"""

RETURN = r"""
_value:
  description: The table, one row for each kind of fault.
  type: str
"""

import typing as t

from ansible.errors import AnsibleFilterError

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Refused
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._plan_given import as_plan

_FAULTS = {
    "chip-memory": "on-chip memory",
    "chip-network": "network between chips",
    "process": "process",
    "pod": "Pod",
    "node": "node",
    "rank0-node": "node of rank 0",
}


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def recovery_table(request: t.Any) -> str:
    """A plan's explanation as Markdown, or a failure with every mistake in the request."""
    try:
        plan = as_plan(request)
    except Refused as refused:
        raise AnsibleFilterError(str(refused)) from None
    lines = ["| Fault | Tried in this order | What it needs | Where nothing has helped |", "|---|---|---|---|"]
    for fault, explained in plan["explain"].items():
        attempts = explained["attempts"]
        order = "<br>".join("%d. `%s`" % (n, attempt["strategy"]) for n, attempt in enumerate(attempts, 1))
        needs = "<br>".join("%d. %s" % (n, "; ".join(attempt["needs"])) for n, attempt in enumerate(attempts, 1))
        cells = [_FAULTS.get(fault, fault), order or "nothing", needs or "nothing", explained["end"]]
        lines.append("| %s |" % " | ".join(_cell(cell) for cell in cells))
    return "\n".join(lines) + "\n"


class FilterModule:
    """Plans for people."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"recovery_table": recovery_table}
