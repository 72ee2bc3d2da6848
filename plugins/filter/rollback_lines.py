# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: rollback_lines
short_description: What a rollback goes back to, in sentences
version_added: 0.2.0
author:
  - mindcluster.recovery contributors (@mindcluster)
description:
  - Turns C(jobs) as M(mindcluster.recovery.job_rollback) returns them into lines for a human being in a hurry.
options:
  _input:
    description: The jobs.
    type: list
    elements: dict
    required: true
  ended:
    description: Whether the rollback is over, and what is to be done next belongs to it.
    type: bool
    default: false
  check:
    description: Whether nothing was changed because the play runs in check mode.
    type: bool
    default: false
"""

EXAMPLES = r"""
- name: Say what it goes back to
  ansible.builtin.debug:
    msg: "{{ back.jobs | mindcluster.recovery.rollback_lines }}"
"""

RETURN = r"""
_value:
  description: The lines.
  type: list
  elements: str
"""

import typing as t


def _described(side: t.Mapping[str, t.Any]) -> str:
    return "MindCluster %s, image %s" % (side.get("release") or "?", ", ".join(side.get("images", [])) or "?")


def rollback_lines(jobs: t.Sequence[t.Mapping[str, t.Any]], ended: bool = False, check: bool = False) -> list[str]:
    """Filter C(rollback_lines), see DOCUMENTATION."""
    lines = []
    for job in jobs:
        verb = "is back at" if job["already"] or (ended and not check) else "goes back to"
        lines.append("%s/%s %s %s" % (job["namespace"], job["name"], verb, _described(job["target"])))
        lines.append("    and leaves %s" % _described(job["left"]))
    releases = sorted({str(job["target"].get("release")) for job in jobs})
    if ended and not check:
        lines.append(
            "The variables still say what was left. Set recovery_plan_release to %s with what belongs to it, else the "
            "next run of mindcluster.recovery.site goes forward again." % " or ".join(releases)
        )
    if ended and check:
        lines.append("Check mode: nothing was changed.")
    return lines


class FilterModule:
    """Lines of rollback.yml."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"rollback_lines": rollback_lines}
