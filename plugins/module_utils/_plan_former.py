# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""What a job still carries from another MindCluster release, and this release neither wants nor reads.

It is found by making the same request for every other release of the table. What has an effect on this release is not
among it, whoever wrote it: it may be meant. The rest is dead:
an environment variable that the operator appends itself is overruled by the operator's own entry (from 7.2.RC1 on);
C(ELASTIC_PROCESS_RECOVER_ENABLE) is read by Elastic Agent alone, which TaskD has replaced in 7.3.0;
TaskD's port is of use to TaskD's manager alone, which there is from 7.3.0 on;
C(huawei.com/schedule_policy) is read by the scheduler from 7.3.0 on.
A node selector is not without effect: it selects labels that no node carries from 26.1.0 on, and the Pods stay Pending.
"""

from __future__ import annotations

import typing as t

from ansible_collections.mindcluster.recovery.plugins.module_utils._node_rules import (
    SCHEDULE_POLICY,
    SCHEDULE_POLICY_SINCE,
)
from ansible_collections.mindcluster.recovery.plugins.module_utils._releases import RELEASES, is_before
from ansible_collections.mindcluster.recovery.plugins.module_utils._request import Request

Parts = t.Callable[[Request], "dict[str, dict[str, t.Any]]"]


def former(request: Request, owned: Parts) -> list[dict[str, t.Any]]:
    """One entry for each value, with its C(kind), C(name), C(value) and the C(releases) that it is of.

    :param owned: what a request's plan owns in a job, by kind (C(annotations), C(env), C(exports),
        C(ports), C(node_selector)) and name.
    """
    wanted = owned(request)
    found: dict[tuple[str, str, t.Any], list[str]] = {}
    for release in RELEASES:
        if release is request.release:
            continue
        for kind, values in owned(request._replace(release=release)).items():
            for name, value in values.items():
                if name not in wanted[kind] and not _read(request, name):
                    found.setdefault((kind, name, value), []).append(release.name)
    return [
        {"kind": kind, "name": name, "value": value, "releases": releases}
        for (kind, name, value), releases in found.items()
    ]


def _read(request: Request, name: str) -> bool:
    """Whether this release reads it although the plan does not want it."""
    if name == SCHEDULE_POLICY:
        return not is_before(request.release.name, SCHEDULE_POLICY_SINCE)
    return False
