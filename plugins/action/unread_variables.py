# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Only the controller sees the variables of a host, so all of it happens there."""

from __future__ import annotations

import typing as t

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

from ansible_collections.mindcluster.recovery.plugins.plugin_utils._variables import message, unread

Json = dict[str, t.Any]


class ActionModule(ActionBase):
    """Warn of each variable that looks like one of the roles' and that none of them reads."""

    _requires_connection = False
    _supports_check_mode = True

    def run(self, tmp: str | None = None, task_vars: Json | None = None) -> Json:
        result: Json = super().run(tmp, task_vars)
        _validation, arguments = self.validate_argument_spec({"hosts": {"type": "dict", "default": {}}})
        told = {name: message(name) for name in unread(task_vars or {})}
        elsewhere: dict[str, list[str]] = {}
        for host, names in sorted(arguments["hosts"].items(), key=lambda item: str(item[0])):
            if not isinstance(names, list):
                raise AnsibleActionFail(
                    "hosts: %s has %r, and not the list of the names of its variables. Give what the filter npu_nodes "
                    "returns as `unread`, or leave the option out" % (host, names)
                )
            for name in unread(names):
                elsewhere.setdefault(name, []).append(str(host))
        told.update({name: message(name, hosts) for name, hosts in elsewhere.items() if name not in told})
        if told:
            result["warnings"] = [told[name] for name in sorted(told)]
        result.update(changed=False, names=sorted(told))
        return result
