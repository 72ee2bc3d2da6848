#!/usr/bin/python
# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: start_script_file
short_description: Adapt the shell scripts that start training
version_added: 0.1.0
author:
  - mindcluster.recovery contributors (@mindcluster)
description:
  - Puts what the plan says about start scripts into C(train_start.sh), C(msrun_launcher.sh) or scripts like them, so
    that the launcher really gets it.
  - Options of the launcher, such as C(--max_restarts), go into the variable that holds its options, in each of its
    assignments, or right behind the launcher where there is no such variable. Exports go into one marked block before
    the launch.
  - The script is understood by its syntax tree. A launch is C(torchrun), C(python -m torch.distributed.run),
    C(python -m torch.distributed.launch), any of them through a variable such as C(${DLS_PROGRAM_EXECUTOR}), or
    C(msrun); one in a comment, a string, a heredoc or a function that nothing calls is none.
  - For a plan that needs them the block also has C(TTP_ADDR) and C(TTP_PORT) where the script does not set them itself,
    takes away C(PYTORCH_NO_NPU_MEMORY_CACHING), and from MindCluster 7.3.0 on puts C(libtaskd.so) into C(LD_PRELOAD)
    and starts TaskD's manager in one Pod. A manager that the script starts itself stays the only one.
  - A value of the user's that differs from the plan is corrected where it stands, and told as a warning with its line.
    What is set under a condition that cannot be decided is refused with its line. An identical line stays.
  - Every script is read, checked by C(bash -n) on the controller, adapted and checked again before the first one is
    written. Each is replaced in one step and keeps its mode, owner, encoding, comments and all other lines.
  - The marked block records what was changed outside of it, so that O(state=absent) gives the user's own script back.
notes:
  - This runs on the controller, with the scripts read and written through the connection to the host. The controller
    needs the Python packages tree-sitter and tree-sitter-bash; the host needs Python only.
extends_documentation_fragment:
  - mindcluster.recovery._attributes
  - mindcluster.recovery._attributes.actiongroup_recovery
  - mindcluster.recovery._start_script
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
  idempotent:
    support: full
options:
  paths:
    description:
      - Absolute paths of the scripts on the host. A symbolic link stays, and the file that it leads to is adapted.
    type: list
    elements: str
    required: true
  backup:
    description: Keep a copy of each changed script beside it, with the time in its name.
    type: bool
    default: false
"""

EXAMPLES = r"""
- name: Adapt a start script on the shared file system
  mindcluster.recovery.start_script_file:
    paths:
      - /data/job/code/scripts/train_start.sh
    plan: "{{ recovery_plan_result }}"

- name: Refuse a script that sets one of the plan's variables to something else
  mindcluster.recovery.start_script_file:
    paths:
      - /data/job/code/scripts/msrun_launcher.sh
    plan: "{{ recovery_plan_result }}"
    kind: msrun_launcher
    strict: true

- name: Give the user's own script back
  mindcluster.recovery.start_script_file:
    paths:
      - /data/job/code/scripts/train_start.sh
    plan: "{{ recovery_plan_result }}"
    state: absent
"""

RETURN = r"""
scripts:
  description: What was found in each script, in the order of O(paths).
  returned: success
  type: list
  elements: dict
  contains:
    path:
      description: The script as named in O(paths).
      type: str
      sample: /data/job/code/scripts/train_start.sh
    changed:
      description: Whether it was changed, or would be in check mode.
      type: bool
    corrections:
      description: Values of the user's that were corrected, each with C(code), C(what), C(where), C(why), C(remedy).
      type: list
      elements: dict
    warnings:
      description: What was seen and left, with the same keys.
      type: list
      elements: dict
    backup_file:
      description: The copy that was kept.
      returned: with O(backup=true), where the script was changed
      type: str
errors:
  description: Every reason why nothing was changed, with the same keys as the corrections.
  returned: failure
  type: list
  elements: dict
"""
