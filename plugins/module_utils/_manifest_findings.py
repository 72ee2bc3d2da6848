# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""What is said about objects that cannot be applied."""

from __future__ import annotations

import typing as t

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Finding, listed
from ansible_collections.mindcluster.recovery.plugins.module_utils._manifest_documents import Document, cleaned

FIELD_MANAGER = "mindcluster.recovery"
_JOB_GROUP = "mindxdl.gitee.com"
_MOST_SHOWN = 8


def unknown_kind(document: Document) -> Finding:
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


def no_namespace(document: Document) -> Finding:
    return Finding(
        "namespace-missing",
        "the namespace `%s` of the %s does not exist" % (document.namespace, document.title),
        "Namespaces carry rights and quotas, so none is created on the side",
        "Create it (`kubectl create namespace %s`), name another one, or have it created with `create_namespace` "
        "(role: `training_job_create_namespace: true`)" % document.namespace,
        document.where,
    )


def namespace_ends(document: Document) -> Finding:
    return Finding(
        "namespace-being-deleted",
        "the namespace `%s` of the %s is just being deleted" % (document.namespace, document.title),
        "Nothing new can be put into it",
        "Wait until it is gone (`kubectl get namespace %s`), then run again" % document.namespace,
        document.where,
    )


def lacks_verb(document: Document, verb: str, resource: str) -> Finding:
    scope = "in the namespace `%s`" % document.namespace if document.namespace else "cluster-wide"
    manifest = "namespaces" if document.is_namespace else "jobs"
    return Finding(
        "kube-forbidden",
        "Cannot apply the %s: the user lacks the verb `%s` on `%s` %s" % (document.title, verb, resource, scope),
        "The rights that this needs are not bound to the user",
        "Let an administrator apply docs/rbac/%s.yaml of this collection and bind it to the user; "
        "`kubectl auth can-i %s %s` must then say yes" % (manifest, verb, resource),
        document.where,
    )


def conflict(document: Document, causes: t.Sequence[t.Mapping[str, str]]) -> Finding:
    fields = ["`%s` (%s)" % (cause.get("field", "?").lstrip("."), cause.get("message", "")) for cause in causes]
    return Finding(
        "field-conflict",
        "another manager has set fields of the %s to other values: %s" % (document.title, ", ".join(fields)),
        "Two writers with different wishes would overwrite each other for ever",
        "Remove the fields from the other writer's manifest, or take them over with "
        "`kubectl apply --server-side --force-conflicts --field-manager=%s`" % FIELD_MANAGER,
        document.where,
    )


def pruned(document: Document, field: str) -> Finding:
    return Finding(
        "field-unknown",
        "the cluster does not know the field `%s` of the %s" % (field, document.title),
        "It is refused or dropped in silence; most likely it is misspelt or stands in the wrong place",
        "Correct or remove the field (`kubectl explain %s`)" % document.kind.lower(),
        document.where,
    )


def being_deleted(document: Document) -> Finding:
    return Finding(
        "object-being-deleted",
        "the %s is just being deleted" % document.title,
        "What is applied now would be gone in a moment",
        "Wait until it is gone and run again",
        document.where,
    )


def no_patience(timeout: int) -> Finding:
    return Finding(
        "timeout-range",
        "%d seconds are too short a time to wait until a deleted job and its Pods are gone" % timeout,
        "The job would be deleted, and the run would break off before anything is done in its place",
        "Give 1 at least; Pods may take as long as their terminationGracePeriodSeconds says",
        "timeout",
    )


def twice(document: Document, first: str) -> Finding:
    return Finding(
        "object-twice",
        "the %s is already in %s, with other content" % (document.title, first),
        "The second one would undo the first, in every run anew",
        "Keep one of them, or give them different names",
        document.where,
    )


def not_gone(document: Document, timeout: int) -> Finding:
    return Finding(
        "job-not-gone",
        "the %s or its Pods are still there %d seconds after it was deleted" % (document.title, timeout),
        "A new job of the same name would meet the Pods of the old one",
        "See what holds them (`kubectl get pods -l job-name=%s`), then run again" % document.name,
        document.where,
    )


def job_exists(document: Document, current: t.Mapping[str, t.Any], wanted: t.Mapping[str, t.Any]) -> Finding:
    paths = _differences(cleaned(current), cleaned(wanted), "")
    parts = [
        name
        for name, prefixes in (
            ("labels", ("metadata.labels",)),
            ("annotations", ("metadata.annotations",)),
            ("spec", ("spec",)),
        )
        if any(path.startswith(prefixes) for path in paths)
    ]
    return Finding(
        "job-exists",
        "the %s exists in the namespace `%s` with other %s (%s)"
        % (document.title, document.namespace, " and ".join(parts) or "content", listed(paths, _MOST_SHOWN)),
        "Its PodGroup is made once from the job, so a change has no effect on recovery, or ends the training",
        "Delete the job, or let it be deleted and created anew with `replace` (role: `training_job_replace: true`)",
        document.where,
    )


def _differences(one: t.Any, other: t.Any, path: str) -> list[str]:
    """The paths at which two objects differ, without their values, among which may be passwords."""
    if isinstance(one, dict) and isinstance(other, dict):
        names = [*one, *(name for name in other if name not in one)]
        inner = [(name, "%s.%s" % (path, name) if path else str(name)) for name in names]
        return [found for name, place in inner for found in _differences(one.get(name), other.get(name), place)]
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        pairs = enumerate(zip(one, other))
        return [found for index, (a, b) in pairs for found in _differences(a, b, "%s[%d]" % (path, index))]
    return [] if one == other else [path]
