# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""Server-side apply of manifests: everything is tried as a dry run before the first object is written.

Kubernetes' own documentation of what is used: U(https://kubernetes.io/docs/reference/using-api/server-side-apply/)
and U(https://kubernetes.io/docs/reference/using-api/api-concepts/#dry-run).
"""

from __future__ import annotations

import re
import time
import typing as t
from urllib.parse import quote

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Finding, Refused
from ansible_collections.mindcluster.recovery.plugins.module_utils._kube import ApiError, call, explain_api_error
from ansible_collections.mindcluster.recovery.plugins.module_utils._manifest_documents import (
    Document,
    cleaned,
    dropped_fields,
    shown,
)

FIELD_MANAGER = "mindcluster.recovery"
APPLY_TYPE = "application/apply-patch+yaml"
_JOB_GROUP = "mindxdl.gitee.com"
# How the server names a field that its schema does not know, in the message of a status 500 up to 1.20.
_UNDECLARED = re.compile(r"\.(\S+): field not declared in schema")


class Step:
    """What is to be done with one object.

    :ivar action: C(create), C(change), C(replace) (delete and create anew) or C(keep).
    """

    def __init__(self, document: Document, path: str, current: t.Any) -> None:
        self.document = document
        self.path = path
        self.current = current
        self.predicted: t.Any = None
        self.action = "keep"
        self.force = False

    @property
    def changes(self) -> bool:
        return self.action != "keep"

    def summary(self) -> dict[str, t.Any]:
        return {
            "kind": self.document.kind,
            "name": self.document.name,
            "namespace": self.document.namespace,
            "action": {"create": "created", "change": "changed", "replace": "replaced", "keep": "unchanged"}[
                self.action
            ],
        }

    def diff(self) -> dict[str, str]:
        title = "%s %s/%s" % (self.document.kind, self.document.namespace or "", self.document.name)
        return {
            "before_header": title if self.current else "%s (new)" % title,
            "after_header": "%s (deleted and created anew)" % title if self.action == "replace" else title,
            "before": shown(self.current),
            "after": shown(self.predicted),
        }


class Applier:
    """Applies objects to one cluster.

    :param replace: delete and create anew an AscendJob that would have to change.
    :param timeout: seconds to wait until a deleted job and its Pods are gone.
    """

    def __init__(self, client: t.Any, namespace: str, replace: bool, timeout: int) -> None:
        self.client = client
        self.namespace = namespace
        self.replace = replace
        self.timeout = timeout
        self._resources: dict[str, dict[str, dict[str, t.Any]] | None] = {}

    # --- looking -------------------------------------------------------------------------------------------------

    def plan(self, documents: t.Sequence[Document]) -> list[Step]:
        """What applying would do, by dry runs.

        :raises Refused: with everything that the cluster would refuse, or that this module refuses.
        """
        findings: list[Finding] = []
        steps: list[Step] = []
        for document in documents:
            try:
                steps.append(self._look(document))
            except Refused as exc:
                findings.extend(exc.findings)
        for step in steps:
            try:
                self._try(step)
            except Refused as exc:
                findings.extend(exc.findings)
        if findings:
            raise Refused(_unique(findings))
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

    def _try(self, step: Step) -> None:
        document = step.document
        if step.current is not None and document.state_of is not None:
            # MindCluster's components have written into it since; its job's start state must not come back.
            step.predicted = step.current
            return
        if step.current is not None and step.current["metadata"].get("deletionTimestamp") and not self.replace:
            raise Refused(_being_deleted(document))
        # A job that differs is replaced or refused as a whole, so whose field it is does not matter for it.
        step.force = document.is_job
        step.predicted = self._patch(step, dry_run=True)
        pruned = dropped_fields(document.data, step.predicted)
        if pruned:
            raise Refused([_pruned(document, field) for field in pruned])
        if step.current is None:
            step.action = "create"
        elif cleaned(step.current) != cleaned(step.predicted):
            step.action = "replace" if document.is_job else "change"
        if step.action == "replace" and not self.replace:
            raise Refused(_job_exists(document, step.current, step.predicted))

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
        done: list[str] = []
        try:
            for step in steps:
                if step.action == "replace":
                    self._delete(step)
                    done.append("%s was deleted" % step.document.title)
            for step in steps:
                if step.changes:
                    self._patch(step, dry_run=False)
                    done.append("%s was written" % step.document.title)
        except Refused as exc:
            raise Refused([_with_done(finding, done) for finding in exc.findings]) from exc

    def _delete(self, step: Step) -> None:
        doing = "delete the %s" % step.document.title
        body = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"}
        self._call("DELETE", step.path, doing, body=body, accept_statuses=(404,))
        deadline = time.monotonic() + self.timeout
        while not self._gone(step):
            if time.monotonic() > deadline:
                raise Refused(_not_gone(step.document, self.timeout))
            time.sleep(1)

    def _gone(self, step: Step) -> bool:
        """Whether the job and its Pods are gone; a new job's Pods have the same names."""
        document = step.document
        status, _answer = self._call("GET", step.path, "read the %s" % document.title, accept_statuses=(404,))
        if status != 404:
            return False
        path = "/api/v1/namespaces/%s/pods" % quote(str(document.namespace))
        query = {"labelSelector": "job-name=%s" % document.name, "limit": "1"}
        _status, pods = self._call("GET", path, "list the Pods of the %s" % document.title, query=query)
        return not pods.get("items")

    # --- asking --------------------------------------------------------------------------------------------------

    def _patch(self, step: Step, dry_run: bool) -> t.Any:
        query = {"fieldManager": FIELD_MANAGER, "force": "true" if step.force else "false"}
        if dry_run:
            query["dryRun"] = "All"
        document = step.document
        try:
            _status, answer = call(
                self.client, "PATCH", step.path, query=query, body=document.data, headers={"Content-Type": APPLY_TYPE}
            )
        except ApiError as exc:
            raise Refused(self._explain(exc, document)) from exc
        return answer

    def _explain(self, exc: ApiError, document: Document) -> list[Finding]:
        causes = exc.details.get("causes") or []
        conflicts = [cause for cause in causes if cause.get("reason") == "FieldManagerConflict"]
        if exc.status == 409 and conflicts:
            return [_conflict(document, conflicts)]
        undeclared = _UNDECLARED.findall(exc.message)
        if undeclared:
            return [_pruned(document, field) for field in undeclared]
        if exc.status == 404 and exc.details.get("kind") == "namespaces":
            return [_no_namespace(document)]
        return [_located(explain_api_error(exc, "apply the %s" % document.title), document)]

    def _call(self, method: str, path: str, doing: str, **options: t.Any) -> tuple[int, t.Any]:
        try:
            return call(self.client, method, path, **options)
        except ApiError as exc:
            raise Refused(explain_api_error(exc, doing)) from exc

    def _resource(self, document: Document) -> dict[str, t.Any]:
        """The API resource of a kind, from the server's own list."""
        version = document.api_version
        if version not in self._resources:
            path = "/apis/%s" % version if "/" in version else "/api/%s" % version
            status, answer = self._call("GET", path, "list the kinds of `%s`" % version, accept_statuses=(404,))
            self._resources[version] = (
                {item["kind"]: item for item in answer["resources"] if "/" not in item["name"]}
                if status == 200
                else None
            )
        resource = (self._resources[version] or {}).get(document.kind)
        if resource is None:
            raise Refused(_unknown_kind(document))
        return resource

    def _path(self, document: Document, resource: t.Mapping[str, t.Any]) -> str:
        version = document.api_version
        parts = ["apis" if "/" in version else "api", version]
        if resource["namespaced"]:
            parts += ["namespaces", quote(str(document.namespace), safe="")]
        return "/" + "/".join(parts + [resource["name"], quote(document.name, safe="")])


def _unique(findings: t.Sequence[Finding]) -> list[Finding]:
    return list(dict.fromkeys(findings))


def _located(finding: Finding, document: Document) -> Finding:
    return Finding(finding.code, finding.what, finding.why, finding.remedy, document.where)


def _with_done(finding: Finding, done: t.Sequence[str]) -> Finding:
    before = "Before that %s" % ", ".join(done) if done else "Nothing was written"
    return Finding(finding.code, "%s. %s" % (finding.what, before), finding.why, finding.remedy, finding.where)


def _unknown_kind(document: Document) -> Finding:
    what = "the cluster knows no kind `%s` in `%s`" % (document.kind, document.api_version)
    if document.api_version.split("/")[0] == _JOB_GROUP:
        return Finding(
            "operator-missing",
            what,
            "MindCluster's ascend-operator, which brings that kind, is not installed",
            "Install ascend-operator, or choose the cluster that has it with kubeconfig and context",
            document.where,
        )
    return Finding(
        "kind-unknown",
        what,
        "Its definition is not installed, or the apiVersion is of another Kubernetes release",
        "Check apiVersion and kind (`kubectl api-resources`)",
        document.where,
    )


def _no_namespace(document: Document) -> Finding:
    return Finding(
        "namespace-missing",
        "the namespace `%s` of the %s does not exist" % (document.namespace, document.title),
        "Namespaces carry rights and quotas, so none is created on the side",
        "Create it (`kubectl create namespace %s`), or name another one" % document.namespace,
        document.where,
    )


def _conflict(document: Document, causes: t.Sequence[t.Mapping[str, str]]) -> Finding:
    fields = ["`%s` (%s)" % (cause.get("field", "?").lstrip("."), cause.get("message", "")) for cause in causes]
    return Finding(
        "field-conflict",
        "another manager has set fields of the %s to other values: %s" % (document.title, ", ".join(fields)),
        "Two writers with different wishes would overwrite each other for ever",
        "Remove the fields from the other writer's manifest, or take them over with "
        "`kubectl apply --server-side --force-conflicts --field-manager=%s`" % FIELD_MANAGER,
        document.where,
    )


def _pruned(document: Document, field: str) -> Finding:
    return Finding(
        "field-unknown",
        "the cluster does not know the field `%s` of the %s" % (field, document.title),
        "It is refused or dropped in silence; most likely it is misspelt or stands in the wrong place",
        "Correct or remove the field (`kubectl explain %s`)" % document.kind.lower(),
        document.where,
    )


def _being_deleted(document: Document) -> Finding:
    return Finding(
        "object-being-deleted",
        "the %s is just being deleted" % document.title,
        "What is applied now would be gone in a moment",
        "Wait until it is gone and run again",
        document.where,
    )


def _not_gone(document: Document, timeout: int) -> Finding:
    return Finding(
        "job-not-gone",
        "the %s or its Pods are still there %d seconds after it was deleted" % (document.title, timeout),
        "A new job of the same name would meet the Pods of the old one",
        "See what holds them (`kubectl get pods -l job-name=%s`), then run again" % document.name,
        document.where,
    )


def _job_exists(document: Document, current: t.Mapping[str, t.Any], predicted: t.Mapping[str, t.Any]) -> Finding:
    parts = [
        name
        for name, one, other in (
            ("labels", current["metadata"].get("labels"), predicted["metadata"].get("labels")),
            ("annotations", current["metadata"].get("annotations"), predicted["metadata"].get("annotations")),
            ("spec", current.get("spec"), predicted.get("spec")),
        )
        if one != other
    ]
    return Finding(
        "job-exists",
        "the %s exists in the namespace `%s` with other %s"
        % (document.title, document.namespace, " and ".join(parts) or "content"),
        "Its PodGroup is made once from the job, so a change has no effect on recovery, or ends the training",
        "Delete the job, or let it be deleted and created anew with `replace` (role: `training_job_replace: true`)",
        document.where,
    )
