#!/usr/bin/python
# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: run_tags
short_description: Refuse a run of this collection's playbooks whose tags none of their tasks has
version_added: 0.2.0
author:
  - mindcluster.recovery contributors (@mindcluster)
description:
  - Ansible says nothing of a tag that no task has. With a misspelt C(--tags verfy) nothing would be verified, and the
    run would end well.
  - Where the command line names this collection's playbooks only, each tag in C(--tags) and C(--skip-tags) that none of
    their tasks has is refused.
  - In a playbook of the user's own, which imports one of them, a tag may be the user's. Nothing is refused there. Where
    the tags select nothing of this collection, one that is nearly a tag of C(site.yml) is warned of.
notes:
  - This runs on the controller and changes nothing. It belongs to the first task of a playbook, with the tag C(always).
extends_documentation_fragment:
  - mindcluster.recovery._attributes
  - mindcluster.recovery._attributes.actiongroup_recovery
attributes:
  check_mode:
    support: full
  diff_mode:
    support: N/A
  idempotent:
    support: full
options: {}
"""

EXAMPLES = r"""
- name: Refuse misspelt tags
  mindcluster.recovery.run_tags:
  tags: always
"""

RETURN = r"""
errors:
  description: Every tag that is refused, each with code, what, where, why and remedy.
  type: list
  elements: dict
  returned: failure
"""
