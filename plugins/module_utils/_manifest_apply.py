# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""Server-side apply of manifests: everything is tried as a dry run before the first object is written.

Kubernetes' own documentation of what is used: U(https://kubernetes.io/docs/reference/using-api/server-side-apply/)
and U(https://kubernetes.io/docs/reference/using-api/api-concepts/#dry-run).
"""

from __future__ import annotations

import time
import typing as t

from ansible_collections.mindcluster.recovery.plugins.module_utils import _manifest_findings as say
from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Finding, Refused, after
from ansible_collections.mindcluster.recovery.plugins.module_utils._manifest_client import (
    APPLY_TYPE,
    ManifestClient,
    NamespaceMissing,
    Step,
)
from ansible_collections.mindcluster.recovery.plugins.module_utils._manifest_documents import Document, cleaned
from ansible_collections.mindcluster.recovery.plugins.module_utils._manifest_findings import FIELD_MANAGER

__all__ = ["APPLY_TYPE", "FIELD_MANAGER", "Applier", "Step"]

# Where objects of a namespace that is still to be created are tried; every cluster has it.
_TRIED_IN = "default"


class Applier(ManifestClient):
    """Applies objects to one cluster.

    :param replace: delete and create anew an AscendJob that would have to change.
    :param timeout: seconds to wait until a deleted job and its Pods are gone.
    :param create_namespace: create a namespace that does not exist.
    :raises Refused: for a timeout in which nothing can be gone.
    :ivar done: what was written so far, as sentences.
    """

    def __init__(
        self, client: t.Any, namespace: str, replace: bool, timeout: int, create_namespace: bool = False
    ) -> None:
        super().__init__(client)
        if timeout < 1:
            raise Refused(say.no_patience(timeout))
        self.namespace = namespace
        self.replace = replace
        self.timeout = timeout
        self.create_namespace = create_namespace
        self.done: list[str] = []
        self._announced: set[str] = set()
        self._coming: set[str] = set()

    # --- looking -------------------------------------------------------------------------------------------------

    def plan(self, documents: t.Sequence[Document]) -> list[Step]:
        """What applying would do, by dry runs; namespaces come first.

        :raises Refused: with everything that the cluster would refuse, or that this module refuses.
        """
        findings: list[Finding] = []
        steps: list[Step] = []
        for document in documents:
            try:
                steps.append(self._look(document))
            except Refused as exc:
                findings.extend(exc.findings)
        steps, twice = _once(steps)
        findings.extend(twice)
        # One that is refused is told itself, and not once more by each object that goes into it.
        self._announced = {document.name for document in documents if document.is_namespace}
        steps.sort(key=lambda step: not step.document.is_namespace)
        for step in list(steps):
            try:
                self._try_somewhere(step, steps)
            except Refused as exc:
                findings.extend(exc.findings)
        if findings:
            raise Refused(list(dict.fromkeys(findings)))
        self._renew_state(steps)
        return steps

    def _look(self, document: Document) -> Step:
        resource = self._resource(document)
        metadata = document.data["metadata"]
        if resource["namespaced"] and not metadata.get("namespace"):
            metadata["namespace"] = self.namespace
        path = self._path(document, resource)
        doing = "read the %s" % document.title
        status, current = self._call("GET", path, doing, accept_statuses=(404,))
        return Step(document, path, current if status == 200 else None)

    def _try_somewhere(self, step: Step, steps: list[Step]) -> None:
        """Try an object in its namespace, or, where that does not exist yet, in another one."""
        namespace = step.document.namespace
        if namespace not in self._coming:
            try:
                self._try(step)
            except NamespaceMissing:
                if namespace not in self._announced:
                    if not self.create_namespace:
                        raise
                    self._create_first(str(namespace), step.document.where, steps)
                self._coming.add(str(namespace))
        if namespace in self._coming:
            self._try_elsewhere(step)

    def _create_first(self, namespace: str, where: str, steps: list[Step]) -> None:
        data = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
        step = self._look(Document(data, where))
        self._try(step)
        steps.insert(0, step)

    def _try(self, step: Step) -> None:
        document = step.document
        going = step.current is not None and "deletionTimestamp" in step.current["metadata"]
        # Only a job is waited for until it is gone.
        if going and not (self.replace and document.is_job):
            raise Refused(say.being_deleted(document))
        if step.current is not None and document.state_of is not None:
            # MindCluster's components have written into it since; its job's start state must not come back.
            step.predicted = step.current
            return
        # A job that differs is replaced or refused as a whole, so whose field it is does not matter for it.
        step.force = document.is_job
        step.predicted = self._patch(step, dry_run=True)
        self._refuse_pruned(document, step.predicted)
        if step.current is None:
            step.action = "create"
        elif going or cleaned(step.current) != cleaned(step.predicted):
            step.action = "replace" if document.is_job else "change"
        if step.action == "replace":
            if not self.replace:
                raise Refused(say.job_exists(document, step.current, step.predicted))
            self._try_replacing(step)

    def _try_replacing(self, step: Step) -> None:
        """Everything that replacing needs is tried before the old job is gone."""
        doing = "delete the %s" % step.document.title
        # Not in the query: where there is a body, servers up to 1.20 at least read nothing but that, and delete.
        self._call("DELETE", step.path, doing, body=dict(_delete_options(step), dryRun=["All"]))
        self._pods_of(step.document, limit=1)
        # What other writers have put into the old job goes with it, so the new one is not what a patch would give.
        step.predicted = self._as_new(step.document, str(step.document.namespace))

    def _try_elsewhere(self, step: Step) -> None:
        """An object whose namespace comes first: its rights are asked for, its content is tried elsewhere."""
        document = step.document
        step.action = "create"
        step.force = document.is_job
        step.predicted = document.data
        lacking = self.lacking(document)
        if lacking:
            raise Refused(lacking)
        try:
            step.predicted = self._as_new(document, _TRIED_IN)
        except Refused as exc:
            if {finding.code for finding in exc.findings} != {"kube-forbidden"}:
                raise
            # Rights in that namespace are not needed; it is tried as soon as its own is there.
            step.tried = False

    def _renew_state(self, steps: t.Sequence[Step]) -> None:
        """A job that is created anew starts with fresh state."""
        replaced = {(step.document.namespace, step.document.name) for step in steps if step.action == "replace"}
        for step in steps:
            if step.current is None or (step.document.namespace, step.document.state_of) not in replaced:
                continue
            step.force = True
            step.predicted = self._patch(step, dry_run=True)
            if cleaned(step.current) != cleaned(step.predicted):
                step.action = "change"

    # --- writing -------------------------------------------------------------------------------------------------

    def write(self, steps: t.Sequence[Step]) -> None:
        """Write what differs.

        :raises Refused: where the cluster refuses after all; the message says what was done before.
        """
        try:
            for step in steps:
                if step.action == "replace":
                    self._delete(step)
            for step in steps:
                if step.changes and step.document.is_namespace:
                    self._write(step)
            self._try_late([step for step in steps if not step.tried])
            for step in steps:
                if step.changes and not step.document.is_namespace:
                    self._write(step)
        except Refused as exc:
            raise self.with_done(exc) from exc

    def with_done(self, refused: Refused) -> Refused:
        """A refusal that also says what has been written already."""
        return after(refused, self.done)

    def _write(self, step: Step) -> None:
        step.stored = self._patch(step, dry_run=False)
        self.done.append("%s was written" % step.document.title)

    def _try_late(self, steps: t.Sequence[Step]) -> None:
        findings: list[Finding] = []
        for step in steps:
            try:
                self._refuse_pruned(step.document, self._patch(step, dry_run=True))
            except Refused as exc:
                findings.extend(exc.findings)
        if findings:
            raise Refused(findings)

    def _delete(self, step: Step) -> None:
        doing = "delete the %s" % step.document.title
        self._call("DELETE", step.path, doing, body=_delete_options(step), accept_statuses=(404,))
        self.done.append("%s was deleted" % step.document.title)
        deadline = time.monotonic() + self.timeout
        while not self._gone(step):
            if time.monotonic() > deadline:
                raise Refused(say.not_gone(step.document, self.timeout))
            time.sleep(1)

    def _gone(self, step: Step) -> bool:
        """Whether the object is gone, and a job's Pods too: a new job's Pods have the same names."""
        document = step.document
        status, _answer = self._call("GET", step.path, "read the %s" % document.title, accept_statuses=(404,))
        return status == 404 and not (document.is_job and self._pods_of(document, limit=1))


def _once(steps: t.Iterable[Step]) -> tuple[list[Step], list[Finding]]:
    """Each object once; where two of the manifests want it otherwise, each of them would undo the other."""
    found: dict[str, Step] = {}
    findings: list[Finding] = []
    for step in steps:
        first = found.setdefault(step.path, step)
        if first.document.data != step.document.data:
            findings.append(say.twice(step.document, first.document.where))
    return list(found.values()), findings


def _delete_options(step: Step) -> dict[str, t.Any]:
    """Deletes the very job that was looked at, not one that has come in its place since."""
    return {
        "kind": "DeleteOptions",
        "apiVersion": "v1",
        "propagationPolicy": "Background",
        "preconditions": {"uid": step.current["metadata"]["uid"]},
    }
