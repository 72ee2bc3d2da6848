#!/usr/bin/python
# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: unread_variables
short_description: Warn of misspelt variables of this collection's roles
version_added: 0.2.0
author:
  - mindcluster.recovery contributors (@mindcluster)
description:
  - Ansible says nothing of a variable that no role reads. A misspelt C(training_job_repalce) would simply do nothing.
  - Looks through the names of the variables that the host has, and warns of each that begins like a variable of one of
    the roles, or nearly is one, and that no role reads. The values are not looked at.
  - The names that are read are those of the roles' argument specifications, and the facts that the roles set. Those of
    the modules are passed over, since many register an answer under the name of its module.
notes:
  - This runs on the controller. It never fails and never changes anything, since the name may be the user's own.
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
options:
  hosts:
    description:
      - More hosts, as a mapping of the host's name to the list of the names of its variables, of which
        P(mindcluster.recovery.npu_nodes#filter) returns those that nothing reads.
    type: dict
    default: {}
"""

EXAMPLES = r"""
- name: Tell misspelt variables
  mindcluster.recovery.unread_variables:
"""

RETURN = r"""
names:
  description: The names that were warned of.
  returned: always
  type: list
  elements: str
  sample: [training_job_repalce]
"""
