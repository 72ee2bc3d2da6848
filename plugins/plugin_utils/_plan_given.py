# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""A plan, whether a finished one or only the request is at hand."""

from __future__ import annotations

import typing as t

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Finding, Refused
from ansible_collections.mindcluster.recovery.plugins.module_utils._plan import build_plan
from ansible_collections.mindcluster.recovery.plugins.module_utils._releases import release_named

_PARTS = ("release", "framework", "strategies", "job", "script", "explain")


def as_plan(given: t.Any) -> dict[str, t.Any]:
    """The plan of a request, or the plan itself where one is given.

    :raises Refused: with every mistake in the request, or where the plan is not whole.
    """
    if not isinstance(given, t.Mapping) or "job" not in given:
        return build_plan(given)
    missing = [part for part in _PARTS if part not in given]
    if not isinstance(given["job"], t.Mapping) or "operator_env" not in given["job"]:
        missing.append("job.operator_env")
    if missing or release_named(str(given["release"])) is None:
        raise Refused(
            Finding(
                "plan-incomplete",
                "The plan is not whole: %s" % (", ".join(missing) or "its release is not in the table"),
                "It was made by another version of the collection, or cut",
                "Make it anew with mindcluster.recovery.recovery_plan",
                "plan",
            )
        )
    return dict(given)
