# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""Take out of a cluster what this collection has put in, and nothing else.

Whose an object is, the API server knows: its C(managedFields) name each writer, see
U(https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management).
"""

from __future__ import annotations

import typing as t

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Finding, Refused
from ansible_collections.mindcluster.recovery.plugins.module_utils._job_history import PREFIX
from ansible_collections.mindcluster.recovery.plugins.module_utils._kube import ApiError, call
from ansible_collections.mindcluster.recovery.plugins.module_utils._manifest_apply import (
    APPLY_TYPE,
    FIELD_MANAGER,
    Applier,
    Step,
)
from ansible_collections.mindcluster.recovery.plugins.module_utils._manifest_documents import Document, cleaned, shown

#: Deleting one of these deletes what somebody may still need.
HOLDS_DATA = frozenset(("Namespace", "PersistentVolume", "PersistentVolumeClaim"))
_ENDED = frozenset(("Succeeded", "Failed"))


class Removal:
    """What is to be done with one object.

    :ivar action: C(deleted), C(released) (its fields of ours are taken out, the object stays), C(absent), C(foreign),
        C(data) (stays, since it may hold data) or C(left) (nobody has consented).
    """

    def __init__(self, step: Step, action: str) -> None:
        self.step = step
        self.action = action
        self.after: t.Any = None

    @property
    def changes(self) -> bool:
        return self.action in ("deleted", "released")

    def summary(self) -> dict[str, t.Any]:
        document = self.step.document
        return {
            "kind": document.kind,
            "name": document.name,
            "namespace": document.namespace,
            "action": self.action,
        }

    def diff(self) -> dict[str, str]:
        title = "%s %s/%s" % (self.step.document.kind, self.step.document.namespace or "", self.step.document.name)
        return {
            "before_header": title,
            "after_header": "%s (%s)" % (title, self.action),
            "before": shown(self.step.current),
            "after": shown(self.after),
        }


class Remover(Applier):
    """Removes objects from one cluster.

    :param consent: whether the jobs may be deleted.
    :param running: whether that, or what else the caller takes out, may be done while one of them runs.
    """

    def __init__(self, client: t.Any, namespace: str, consent: bool, running: bool, timeout: int) -> None:
        super().__init__(client, namespace, False, timeout)
        self.consent = consent
        self.running = running
        # Jobs of this collection, whose run-time state goes with them, whoever has written into it last.
        self._jobs: set[tuple[str | None, str]] = set()

    def removals(self, documents: t.Sequence[Document]) -> list[Removal]:
        """What removing would do, by dry runs; jobs come first, what they use after them.

        :raises Refused: a job runs, or the cluster would refuse.
        """
        findings: list[Finding] = []
        found: list[Removal] = []
        for document in sorted([*documents, *_histories(documents)], key=lambda each: not each.is_job):
            try:
                found.append(self._removal(document))
            except Refused as exc:
                findings.extend(exc.findings)
        if findings:
            raise Refused(list(dict.fromkeys(findings)))
        return found

    def _removal(self, document: Document) -> Removal:
        try:
            step = self._look(document)
        except Refused as exc:
            # Where the kind is gone, so are its objects.
            if all(finding.code in ("operator-missing", "kind-unknown") for finding in exc.findings):
                return Removal(Step(document, "", None), "absent")
            raise
        removal = Removal(step, self._action(step))
        if document.is_job and step.current is not None and not self.running:
            self._refuse_running(step)
        if removal.action == "deleted":
            self._try_delete(step)
        elif removal.action == "released":
            removal.after = self._release(step, dry_run=True)
            if cleaned(removal.after) == cleaned(step.current):
                removal.action = "foreign"
        return removal

    def _action(self, step: Step) -> str:
        document = step.document
        if step.current is None:
            return "absent"
        ours, others = _writers(step.current)
        if not ours and (document.namespace, document.state_of) not in self._jobs:
            return "foreign"
        if document.is_job:
            self._jobs.add((document.namespace, document.name))
        if document.kind in HOLDS_DATA:
            return "data"
        if document.name.startswith(PREFIX):
            return "deleted"
        if not self.consent:
            return "left"
        # The components write into a job and its state; in anything else another writer's part is that writer's.
        return "deleted" if document.is_job or document.state_of or not others else "released"

    def _refuse_running(self, step: Step) -> None:
        state = job_state(step.current)
        if state in _ENDED:
            return
        phases = [(pod.get("status") or {}).get("phase") for pod in self._pods_of(step.document)]
        pods = sum(1 for phase in phases if phase not in _ENDED)
        if state or pods:
            raise Refused(_runs(step.document, state, pods))

    def _try_delete(self, step: Step) -> None:
        doing = "delete the %s" % step.document.title
        self._call("DELETE", step.path, doing, query={"dryRun": "All"}, accept_statuses=(404,))

    def _release(self, step: Step, dry_run: bool) -> t.Any:
        """Apply nothing: fields that are ours alone go, those that another writer has as well stay."""
        document = step.document
        metadata = {key: value for key, value in document.data["metadata"].items() if key in ("name", "namespace")}
        body = {"apiVersion": document.api_version, "kind": document.kind, "metadata": metadata}
        query = dict({"fieldManager": FIELD_MANAGER}, **({"dryRun": "All"} if dry_run else {}))
        try:
            return call(self.client, "PATCH", step.path, query=query, body=body, headers={"Content-Type": APPLY_TYPE})[
                1
            ]
        except ApiError as exc:
            raise Refused(self._explain(exc, document)) from exc

    def remove(self, removals: t.Sequence[Removal]) -> None:
        """Remove what is to be removed.

        :raises Refused: where the cluster refuses after all; the message says what was done before.
        """
        try:
            for removal in removals:
                if removal.action == "deleted":
                    self._delete(removal.step)
                elif removal.action == "released":
                    self._release(removal.step, dry_run=False)
                    self.done.append("this collection's fields were taken out of the %s" % removal.step.document.title)
        except Refused as exc:
            raise self.with_done(exc) from exc


def job_state(job: t.Mapping[str, t.Any]) -> str:
    """The last state that the operator has written into an AscendJob; empty where it has written none."""
    conditions = (job.get("status") or {}).get("conditions") or []
    true = [str(each.get("type")) for each in conditions if each.get("status") == "True"]
    ended = [state for state in true if state in _ENDED]
    return (ended or true or [""])[-1]


def _writers(current: t.Mapping[str, t.Any]) -> tuple[bool, bool]:
    """Whether this collection has written an object, and whether others have, its status aside."""
    managers = {
        entry.get("manager")
        for entry in current["metadata"].get("managedFields") or []
        if entry.get("subresource") != "status"
    }
    return FIELD_MANAGER in managers, bool(managers - {FIELD_MANAGER})


def _histories(documents: t.Sequence[Document]) -> list[Document]:
    return [
        Document(
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": dict(
                    {"name": PREFIX + document.name},
                    **({"namespace": document.namespace} if document.namespace else {}),
                ),
            },
            document.where,
        )
        for document in documents
        if document.is_job
    ]


def _runs(document: Document, state: str, pods: int) -> Finding:
    seen = ["its state is `%s`" % state] if state else []
    seen += ["%d of its Pods have not ended" % pods] if pods else []
    return Finding(
        "job-runs",
        "the %s in the namespace `%s` runs: %s" % (document.title, document.namespace, " and ".join(seen)),
        "Without labels, script and image it would not recover from the next fault, and its Pods could stay Pending",
        "Wait for its end or delete it; or accept that with `training_job_remove_running: true`",
        document.where,
    )
