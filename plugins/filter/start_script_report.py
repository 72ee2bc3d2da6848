# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A start script made recoverable, with what is to be said about it."""

from __future__ import annotations

DOCUMENTATION = r"""
name: start_script_report
short_description: Adapt the text of a start script and report what was corrected
version_added: 0.1.0
author:
  - mindcluster.recovery contributors (@mindcluster)
description:
  - Does the same as P(mindcluster.recovery.start_script#filter), and returns the text together with the corrections and
    warnings instead of showing them.
  - Useful to look whether a script is adapted already, that is whether its text stays the same.
extends_documentation_fragment:
  - mindcluster.recovery._start_script
options:
  _input:
    description: The text of the script.
    type: str
    required: true
"""

EXAMPLES = r"""
- name: Look whether a script is adapted
  ansible.builtin.assert:
    that: not (script | mindcluster.recovery.start_script_report(recovery_plan_result)).changed
  vars:
    script: "{{ lookup('ansible.builtin.file', 'train_start.sh', rstrip=false) }}"
"""

RETURN = r"""
_value:
  description: The text and what is to be said about it.
  type: dict
  contains:
    text:
      description: The adapted text.
      type: str
    changed:
      description: Whether it differs from the input.
      type: bool
    corrections:
      description: Values of the user's that were corrected, each with C(code), C(what), C(where), C(why), C(remedy).
      type: list
      elements: dict
    warnings:
      description: What was seen and left, with the same keys.
      type: list
      elements: dict
"""

import typing as t

from ansible_collections.mindcluster.recovery.plugins.plugin_utils._start_script_filter import adapt_in_template


def start_script_report(text: t.Any, plan: t.Any, **options: t.Any) -> dict[str, t.Any]:
    """Filter C(start_script_report), see DOCUMENTATION."""
    result = adapt_in_template("start_script_report", text, plan, options)
    return {
        "text": result.text,
        "changed": result.text != text,
        "corrections": [finding.as_dict() for finding in result.corrections],
        "warnings": [finding.as_dict() for finding in result.warnings],
    }


class FilterModule:
    """Registers the filter."""

    def filters(self) -> dict[str, t.Callable[..., dict[str, t.Any]]]:
        return {"start_script_report": start_script_report}
