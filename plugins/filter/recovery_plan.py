# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: recovery_plan
short_description: The plan of a request, in a template
version_added: 0.1.0
author:
  - mindcluster.recovery contributors (@mindcluster)
description:
  - The same rules as the module M(mindcluster.recovery.recovery_plan), for playbooks that plan several jobs in one
    expression.
options:
  _input:
    description: The request, with the options of M(mindcluster.recovery.recovery_plan) as keys.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Which flags does retry need?
  ansible.builtin.debug:
    msg: "{{ ({'strategies': 'retry'} | mindcluster.recovery.recovery_plan).job.args }}"
"""

RETURN = r"""
_value:
  description: The plan.
  type: dict
"""

import typing as t

from ansible.errors import AnsibleFilterError

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Refused
from ansible_collections.mindcluster.recovery.plugins.module_utils._plan import build_plan


def recovery_plan(request: t.Any) -> dict[str, t.Any]:
    """Plan a request, or fail with every mistake in it."""
    try:
        return build_plan(request)
    except Refused as refused:
        raise AnsibleFilterError(str(refused)) from None


class FilterModule:
    """Filters on plan requests."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"recovery_plan": recovery_plan}
