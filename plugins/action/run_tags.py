# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Only the controller knows the command line, and only a task knows the tags that it has from whoever imports it."""

from __future__ import annotations

import typing as t

from ansible import constants, context
from ansible.plugins.action import ActionBase

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Refused
from ansible_collections.mindcluster.recovery.plugins.plugin_utils import _run_tags

Json = dict[str, t.Any]


class ActionModule(ActionBase):
    """Refuse tags that no task of the run has, and warn of those that may be the user's own."""

    _requires_connection = False
    _supports_check_mode = True

    def run(self, tmp: str | None = None, task_vars: Json | None = None) -> Json:
        result: Json = super().run(tmp, task_vars)
        self.validate_argument_spec({})
        given = task_vars or {}
        run, skip = given.get("ansible_run_tags") or [], given.get("ansible_skip_tags") or []
        # The configuration's tags are those of every playbook of a site, so that each has some that it does not know.
        options = {
            "--tags": set(run).difference(constants.TAGS_RUN or []),
            "--skip-tags": set(skip).difference(constants.TAGS_SKIP or []),
        }
        found = _run_tags.refusals(context.CLIARGS.get("args", ()), options)
        result["changed"] = False
        if found:
            refused = Refused(found)
            result.update(failed=True, msg=str(refused), errors=refused.as_dicts())
            return result
        near = _run_tags.warnings(run, self._task.tags)
        if near:
            result["warnings"] = [finding.line() for finding in near]
        return result
