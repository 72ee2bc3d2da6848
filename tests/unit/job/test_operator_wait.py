# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Waiting for the operator: what cannot be waited, and a job that somebody deletes meanwhile.

No real server can be made to lose a job at just that moment.
"""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Refused
from ansible_collections.mindcluster.recovery.plugins.module_utils._manifest_apply import Applier
from ansible_collections.mindcluster.recovery.plugins.module_utils._manifest_client import Step
from ansible_collections.mindcluster.recovery.plugins.module_utils._manifest_documents import Document
from ansible_collections.mindcluster.recovery.plugins.module_utils._operator_wait import OperatorWait


class Cluster:
    """Knows two jobs that the operator refuses, and no other."""

    def ask(self, _method: str, path: str, _doing: str, **_options: t.Any) -> tuple[int, t.Any]:
        if path in ("/jobs/second", "/jobs/third"):
            return 200, {"metadata": {"name": path[6:], "uid": path[6:]}}
        if path.endswith("/events"):
            return 200, {"items": [{"reason": "ContainerError", "message": "no container is named ascend"}]}
        return 404, {}


def test_a_time_that_cannot_be_waited_is_refused() -> None:
    for refused in (
        lambda: OperatorWait(t.cast(t.Any, Cluster()), "7.2.RC1", -1),
        lambda: Applier(None, "default", replace=True, timeout=0),
    ):
        with pytest.raises(Refused, match="seconds"):
            refused()


def test_the_verdicts_on_the_other_jobs_are_told_all_the_same() -> None:
    names = ("first", "second", "third")
    jobs = [{"apiVersion": "mindxdl.gitee.com/v1", "kind": "AscendJob", "metadata": {"name": name}} for name in names]
    steps = [Step(Document(data, "the manifest"), "/jobs/%s" % data["metadata"]["name"], None) for data in jobs]
    with pytest.raises(Refused) as caught:
        OperatorWait(t.cast(t.Any, Cluster()), "7.2.RC1", 60).run(steps)
    assert [finding.code for finding in caught.value.findings] == ["job-vanished", "job-refused", "job-refused"]
