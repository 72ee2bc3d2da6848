# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""Attributes that every module of the collection states."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options: {}
attributes:
  check_mode:
    description: Can run in C(check_mode) and return the changed status prediction without modifying the target.
  diff_mode:
    description: Returns details on what has changed, or would change, when in diff mode.
  idempotent:
    description:
      - When run twice in a row outside check mode with the same arguments, the second invocation indicates no change.
      - This assumes that what the module controls has not changed in between.
"""

    ACTIONGROUP_RECOVERY = r"""
options: {}
attributes:
  action_group:
    description: Use C(group/mindcluster.recovery.recovery) in C(module_defaults) to set defaults for this module.
    support: full
    membership:
      - mindcluster.recovery.recovery
"""
