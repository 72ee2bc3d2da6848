# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A start script made recoverable, as text."""

from __future__ import annotations

DOCUMENTATION = r"""
name: start_script
short_description: Adapt the text of a shell script that starts training
version_added: 0.1.0
author:
  - mindcluster.recovery contributors (@mindcluster)
description:
  - Does to a text what M(mindcluster.recovery.start_script_file) does to files, and returns the adapted text.
  - A second run over the result returns the same text.
  - What is corrected or doubtful is shown as a warning; P(mindcluster.recovery.start_script_report#filter) returns it.
notes:
  - Read the text byte for byte, with C(lookup('ansible.builtin.file', path, rstrip=false)).
extends_documentation_fragment:
  - mindcluster.recovery._start_script
options:
  _input:
    description: The text of the script.
    type: str
    required: true
"""

EXAMPLES = r"""
- name: Show the adapted script
  ansible.builtin.debug:
    msg: >-
      {{ lookup('ansible.builtin.file', 'train_start.sh', rstrip=false)
         | mindcluster.recovery.start_script(recovery_plan_result, strict=true) }}
"""

RETURN = r"""
_value:
  description: The adapted text.
  type: str
"""

import typing as t

from ansible.utils.display import Display

from ansible_collections.mindcluster.recovery.plugins.plugin_utils._start_script_filter import adapt_in_template

display = Display()


def start_script(text: t.Any, plan: t.Any, **options: t.Any) -> str:
    """Filter C(start_script), see DOCUMENTATION."""
    result = adapt_in_template("start_script", text, plan, options)
    for finding in [*result.corrections, *result.warnings]:
        display.warning(finding.line())
    return result.text


class FilterModule:
    """Registers the filter."""

    def filters(self) -> dict[str, t.Callable[..., str]]:
        return {"start_script": start_script}
