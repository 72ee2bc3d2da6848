# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""Start scripts in templates: what the filters share."""

from __future__ import annotations

import collections.abc
import dataclasses
import typing as t

from ansible.errors import AnsibleFilterError

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Refused, suggestion
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._start_script import (
    Options,
    ScriptResult,
    adapt_script,
)


def adapt_in_template(name: str, text: t.Any, plan: t.Any, options: dict[str, t.Any]) -> ScriptResult:
    """Adapt a script for a filter; options that are none count as not given.

    :param name: the filter's name, for messages.
    :raises AnsibleFilterError: with everything that was refused.
    """
    if not isinstance(text, str):
        raise AnsibleFilterError("%s: The input is a %s, not the text of a script" % (name, type(text).__name__))
    if not isinstance(plan, collections.abc.Mapping):
        raise AnsibleFilterError("%s: The plan is a %s; give what recovery_plan returns" % (name, type(plan).__name__))
    legal = [field.name for field in dataclasses.fields(Options)]
    for option in options:
        if option not in legal:
            raise AnsibleFilterError("%s: Unknown option `%s`. %s" % (name, option, suggestion(option, legal)))
    chosen = {option: value for option, value in options.items() if value is not None}
    try:
        return adapt_script(text, plan, **chosen)
    except Refused as exc:
        raise AnsibleFilterError("%s: %s" % (name, exc)) from exc
