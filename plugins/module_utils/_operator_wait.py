# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""Waiting until ascend-operator has taken jobs that were applied."""

from __future__ import annotations

import time
import typing as t
from urllib.parse import quote

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Finding, Refused, suggestion
from ansible_collections.mindcluster.recovery.plugins.module_utils._manifest_client import ManifestClient, Step
from ansible_collections.mindcluster.recovery.plugins.module_utils._manifest_documents import Document
from ansible_collections.mindcluster.recovery.plugins.module_utils._operator_verdict import (
    Verdict,
    group_name,
    told,
    verdict,
)
from ansible_collections.mindcluster.recovery.plugins.module_utils._releases import (
    RELEASE_NAMES,
    Release,
    release_named,
)

GROUP_VERSION = "scheduling.volcano.sh/v1beta1"
PAUSE = 1.0


class OperatorWait:
    """Waits for the operator's verdict on each job.

    :param release: MindCluster's release, which decides where the operator says it.
    :param seconds: how long to wait at most, for all jobs together.
    """

    def __init__(self, client: ManifestClient, release: str, seconds: int) -> None:
        if seconds < 0:
            raise Refused(_no_time(seconds))
        self.client = client
        self.seconds = seconds
        row = release_named(release)
        if row is None:
            raise Refused(_unknown_release(release))
        self.release: Release = row

    def prepare(self, steps: t.Sequence[Step]) -> None:
        """Try, before anything is written, whether the user may look where the verdict will stand.

        :raises Refused: the cluster has no PodGroups, or the user may not look.
        """
        findings: list[Finding] = []
        for document in (step.document for step in steps if step.document.is_job):
            if self.client.kinds_of(GROUP_VERSION) is None:
                findings.append(_no_volcano(document))
                continue
            uid = "00000000-0000-0000-0000-000000000000"
            for look in (self._has_group, self._events):
                try:
                    look(document, {"metadata": {"name": document.name, "uid": uid}})
                except Refused as exc:
                    findings.extend(exc.findings)
        if findings:
            raise Refused(list(dict.fromkeys(findings)))

    def run(self, steps: t.Sequence[Step]) -> None:
        """Wait.

        :raises Refused: with every job that was refused, or not taken in time.
        """
        waiting = [step for step in steps if step.document.is_job]
        findings: list[Finding] = []
        deadline = time.monotonic() + self.seconds
        while waiting:
            last = time.monotonic() >= deadline
            still = []
            for step in waiting:
                try:
                    if not self._is_taken(step, last):
                        still.append(step)
                except Refused as exc:
                    # The verdicts on the others are told all the same.
                    findings.extend(exc.findings)
            waiting = still
            if waiting:
                time.sleep(min(PAUSE, max(0.0, deadline - time.monotonic())))
        if findings:
            raise Refused(findings)

    def _is_taken(self, step: Step, last: bool) -> bool:
        """Whether the operator has taken a job.

        :param last: whether this is the last look.
        :raises Refused: it has refused it, or has not taken it up to the last look.
        """
        job = self._job(step)
        found = self._verdict(step.document, job)
        if found.taken is False:
            raise Refused(_refused(step.document, found))
        if found.taken is None and last:
            events = self._events(step.document, job)
            raise Refused(_not_taken(step.document, group_name(job), told(job, events), self.seconds))
        return found.taken is True

    def _verdict(self, document: Document, job: t.Mapping[str, t.Any]) -> Verdict:
        events = [] if self.release.refuses_by_condition else self._events(document, job)
        return verdict(job, self._has_group(document, job), events)

    def _job(self, step: Step) -> t.Any:
        status, job = self.client.ask("GET", step.path, "read the %s" % step.document.title, accept_statuses=(404,))
        if status == 404:
            raise Refused(_vanished(step.document))
        return job

    def _has_group(self, document: Document, job: t.Mapping[str, t.Any]) -> bool:
        path = "/apis/%s/namespaces/%s/podgroups/%s" % (GROUP_VERSION, _namespace(document), quote(group_name(job)))
        doing = "read the PodGroup of the %s" % document.title
        return self.client.ask("GET", path, doing, accept_statuses=(404,))[0] == 200

    def _events(self, document: Document, job: t.Mapping[str, t.Any]) -> list[t.Any]:
        path = "/api/v1/namespaces/%s/events" % _namespace(document)
        query = {"fieldSelector": "involvedObject.uid=%s,type=Warning" % job["metadata"]["uid"]}
        _status, answer = self.client.ask("GET", path, "list the Events of the %s" % document.title, query=query)
        return list(answer.get("items") or [])


def _namespace(document: Document) -> str:
    return quote(str(document.namespace), safe="")


def _unknown_release(name: str) -> Finding:
    return Finding(
        "release-unknown",
        "`%s` is no MindCluster release of the table" % name,
        "Where the operator says that it refuses a job differs between releases",
        suggestion(name, RELEASE_NAMES),
        "release",
    )


def _no_time(seconds: int) -> Finding:
    return Finding(
        "wait-range",
        "%d seconds cannot be waited" % seconds,
        "Nothing would be waited for, and a refusal of the operator's would stay unseen",
        "Give the number of seconds, or 0 not to wait (role: `training_job_wait`)",
        "wait",
    )


def _no_volcano(document: Document) -> Finding:
    return Finding(
        "volcano-missing",
        "the cluster knows no kind `PodGroup`, so that it cannot be seen whether the %s is taken" % document.title,
        "Volcano, which brings that kind, is not installed, and without it no AscendJob is scheduled as a whole",
        "Install MindCluster's Volcano, or do not wait (role: `training_job_wait: 0`)",
        document.where,
    )


def _refused(document: Document, found: Verdict) -> Finding:
    return Finding(
        "job-refused",
        "ascend-operator refuses the %s: %s" % (document.title, found.reason),
        "It makes no Pods for it, and does not look at it again",
        "%s; then run again with `replace` (role: `training_job_replace: true`), since correcting a refused job in "
        "place does not help" % found.remedy,
        document.where,
    )


def _not_taken(document: Document, group: str, seen: str, seconds: int) -> Finding:
    return Finding(
        "job-not-taken",
        "ascend-operator has not taken the %s within %d seconds: there is no PodGroup `%s`, and %s"
        % (document.title, seconds, group, seen),
        "Without its PodGroup no Pod of the job is ever scheduled",
        "See whether the operator runs and what it logs (`kubectl get pods -n mindx-dl`), and whether it runs with "
        "-enableGangScheduling=true; run again to go on waiting",
        document.where,
    )


def _vanished(document: Document) -> Finding:
    return Finding(
        "job-vanished",
        "the %s is not there any more" % document.title,
        "Somebody has deleted it while it was waited for",
        "Run again",
        document.where,
    )
