# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""Options of the modules that make a training image, whichever way they do it."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  repository:
    description: Repository of the finished image, with the registry and without a tag.
    type: str
    required: true
  plan:
    description:
      - The plan, as M(mindcluster.recovery.recovery_plan) returns it. C(image), C(torch_version) and C(arch) are read.
    type: dict
    required: true
  wheelhouse:
    description:
      - Folder on the controller with wheels of what the vendor's wheels need beyond the base image.
      - Only what is needed is installed from it.
    type: str
  _handover:
    description: What the action plugin of this module hands over from step to step. Leave it alone.
    type: dict
"""
