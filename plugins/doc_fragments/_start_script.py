# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""Options that the adaptation of start scripts takes, whether of files or of texts."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  plan:
    description:
      - The plan, as M(mindcluster.recovery.recovery_plan) returns it. Its keys C(framework) and C(script) are read.
    type: dict
    required: true
  kind:
    description:
      - What the scripts are. With V(auto) the plan's framework decides which launches count.
      - With V(msrun_launcher) only C(msrun) itself counts, and the plan has to be one for MindSpore.
    type: str
    choices: [auto, train_start, msrun_launcher]
    default: auto
  max_restarts:
    description: Value of C(--max_restarts) instead of the plan's.
    type: int
  monitor_interval:
    description: Value of C(--monitor_interval) in seconds instead of the plan's.
    type: float
  strict:
    description: Refuse a script with a value that would have to be corrected, instead of correcting it.
    type: bool
    default: false
  crlf:
    description:
      - What to do with a script with Windows line endings, which bash cannot run.
      - V(convert) gives it Unix ones and tells so, V(keep) leaves them and warns, V(refuse) fails.
    type: str
    choices: [convert, keep, refuse]
    default: convert
  remove_vendor_sed:
    description:
      - Turn a C(sed -i) that patches torch from inside the script into a comment. The image has that patch already, and
        each start would add it once more.
      - Without this it is only warned about.
    type: bool
    default: false
  state:
    description:
      - V(present) adapts the scripts.
      - V(absent) takes out all that an earlier run put in and brings back the values that it corrected. Line endings
        that were converted stay converted.
    type: str
    choices: [present, absent]
    default: present
"""
