# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""The requests behind applying manifests, and what a refusal of the server means for an object."""

from __future__ import annotations

import os
import re
import typing as t
from urllib.parse import quote

from ansible_collections.mindcluster.recovery.plugins.module_utils import _manifest_findings as say
from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Finding, Refused
from ansible_collections.mindcluster.recovery.plugins.module_utils._kube import ApiError, call, explain_api_error
from ansible_collections.mindcluster.recovery.plugins.module_utils._kube_explain import FORBIDDEN
from ansible_collections.mindcluster.recovery.plugins.module_utils._manifest_documents import (
    Document,
    dropped_fields,
    shown,
)
from ansible_collections.mindcluster.recovery.plugins.module_utils._manifest_findings import FIELD_MANAGER

APPLY_TYPE = "application/apply-patch+yaml"
# How the server names a field that its schema does not know, in the message of a status 500 up to 1.20.
_UNDECLARED = re.compile(r"\.(\S+): field not declared in schema")


class NamespaceMissing(Refused):
    """The namespace of an object does not exist."""


class Step:
    """What is to be done with one object.

    :ivar action: C(create), C(change), C(replace) (delete and create anew) or C(keep).
    :ivar tried: whether the cluster has accepted it as a dry run.
    :ivar stored: what the cluster answered when it was written.
    """

    def __init__(self, document: Document, path: str, current: t.Any) -> None:
        self.document = document
        self.path = path
        self.current = current
        self.predicted: t.Any = None
        self.stored: t.Any = None
        self.action = "keep"
        self.force = False
        self.tried = True

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
        names = [name for name in (self.document.namespace, self.document.name) if name]
        title = "%s %s" % (self.document.kind, "/".join(names))
        return {
            "before_header": title if self.current else "%s (new)" % title,
            "after_header": "%s (deleted and created anew)" % title if self.action == "replace" else title,
            "before": shown(self.current),
            "after": shown(self.predicted),
        }


class ManifestClient:
    """Asks one cluster about objects."""

    def __init__(self, client: t.Any) -> None:
        self.client = client
        self._resources: dict[str, dict[str, dict[str, t.Any]] | None] = {}

    def _patch(self, step: Step, dry_run: bool, named: Document | None = None) -> t.Any:
        """Apply an object.

        :param named: the object that messages speak of, where that is not the one that is sent.
        """
        query = {"fieldManager": FIELD_MANAGER, "force": "true" if step.force else "false"}
        if dry_run:
            query["dryRun"] = "All"
        document = step.document
        try:
            _status, answer = call(
                self.client, "PATCH", step.path, query=query, body=document.data, headers={"Content-Type": APPLY_TYPE}
            )
        except ApiError as exc:
            missing = exc.status == 404 and exc.details.get("kind") == "namespaces"
            refused = NamespaceMissing if missing else Refused
            raise refused(self._explain(exc, named or document)) from exc
        return answer

    def _explain(self, exc: ApiError, document: Document) -> list[Finding]:
        causes = exc.details.get("causes") or []
        reasons = [cause.get("reason") for cause in causes]
        conflicts = [cause for cause in causes if cause.get("reason") == "FieldManagerConflict"]
        if exc.status == 409 and conflicts:
            return [say.conflict(document, conflicts)]
        undeclared = _UNDECLARED.findall(exc.message)
        if undeclared:
            return [say.pruned(document, field) for field in undeclared]
        if exc.status == 404 and exc.details.get("kind") == "namespaces":
            return [say.no_namespace(document)]
        if "NamespaceTerminating" in reasons:
            return [say.namespace_ends(document)]
        # A server may leave out of its message which right is missing for creating by a patch.
        lacking = self.lacking(document) if exc.status == 403 and not FORBIDDEN.search(exc.message) else []
        if lacking:
            return lacking
        finding = explain_api_error(exc, "apply the %s" % document.title)
        return [Finding(finding.code, finding.what, finding.why, finding.remedy, document.where)]

    def _refuse_pruned(self, document: Document, predicted: t.Any) -> None:
        pruned = dropped_fields(document.data, predicted)
        # A trial has another name.
        pruned = [field for field in pruned if field not in ("metadata.name", "metadata.namespace")]
        if pruned:
            raise Refused([say.pruned(document, field) for field in pruned])

    def ask(self, method: str, path: str, doing: str, **options: t.Any) -> tuple[int, t.Any]:
        """One request; a refusal is explained with what was being done."""
        return self._call(method, path, doing, **options)

    def _call(self, method: str, path: str, doing: str, **options: t.Any) -> tuple[int, t.Any]:
        try:
            return call(self.client, method, path, **options)
        except ApiError as exc:
            raise Refused(explain_api_error(exc, doing)) from exc

    def _resource(self, document: Document) -> dict[str, t.Any]:
        """The API resource of a kind, from the server's own list."""
        resource = (self.kinds_of(document.api_version) or {}).get(document.kind)
        if resource is None:
            raise Refused(say.unknown_kind(document))
        return resource

    def kinds_of(self, version: str) -> dict[str, dict[str, t.Any]] | None:
        """The resources of an API version by their kind; None where the cluster has no such version."""
        if version not in self._resources:
            path = ("/apis/%s" if "/" in version else "/api/%s") % quote(version)
            status, answer = self._call("GET", path, "list the kinds of `%s`" % version, accept_statuses=(404,))
            self._resources[version] = (
                {item["kind"]: item for item in answer.get("resources") or () if "/" not in item["name"]}
                if status == 200
                else None
            )
        return self._resources[version]

    def _full_name(self, document: Document) -> str:
        group = document.api_version.rpartition("/")[0]
        name = self._resource(document)["name"]
        return "%s.%s" % (name, group) if group else str(name)

    def _path(self, document: Document, resource: t.Mapping[str, t.Any]) -> str:
        version = document.api_version
        parts = ["apis" if "/" in version else "api", version]
        if resource["namespaced"]:
            parts += ["namespaces", quote(str(document.namespace), safe="")]
        return "/" + "/".join(parts + [resource["name"], quote(document.name, safe="")])

    def _as_new(self, document: Document, namespace: str) -> t.Any:
        """What the cluster would store, were there no such object yet."""
        name = "recovery-try-%s" % os.urandom(4).hex()
        data = dict(document.data, metadata=dict(document.data["metadata"], name=name, namespace=namespace))
        trial = Document(data, document.where)
        predicted = self._patch(
            Step(trial, self._path(trial, self._resource(trial)), None), dry_run=True, named=document
        )
        self._refuse_pruned(document, predicted)
        predicted["metadata"].update(name=document.name, namespace=document.namespace)
        return predicted

    def lacking(self, document: Document) -> list[Finding]:
        """The rights for creating an object that the user does not have."""
        verbs = [verb for verb in ("patch", "create") if not self._may(verb, document)]
        return [say.lacks_verb(document, verb, self._full_name(document)) for verb in verbs]

    def _may(self, verb: str, document: Document) -> bool:
        group, _slash, _version = document.api_version.rpartition("/")
        attributes = {
            "namespace": document.namespace or "",
            "verb": verb,
            "group": group,
            "resource": self._resource(document)["name"],
        }
        path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
        body = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": attributes},
        }
        _status, answer = self._call("POST", path, "ask for the rights on the %s" % document.title, body=body)
        return bool(answer["status"].get("allowed"))

    def _pods_of(self, document: Document, limit: int | None = None) -> list[t.Any]:
        """The Pods of a job; with a limit no more of them than that."""
        path = "/api/v1/namespaces/%s/pods" % quote(str(document.namespace), safe="")
        query: dict[str, t.Any] = {"labelSelector": "job-name=%s" % document.name}
        if limit is not None:
            query["limit"] = limit
        _status, pods = self._call("GET", path, "list the Pods of the %s" % document.title, query=query)
        return list(pods.get("items") or [])
