# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""Kubernetes objects as data: reading them from manifests, and comparing them with what the cluster holds."""

from __future__ import annotations

import copy
import json
import typing as t

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Finding, Refused
from ansible_collections.mindcluster.recovery.plugins.module_utils._yaml_data import Unreadable, load_documents

try:
    import yaml
except ImportError:  # comes with the Python package kubernetes, whose absence is reported when connecting
    yaml = None  # type: ignore[assignment]

#: Written by the server on its own, so that they say nothing about a change.
SERVER_FIELDS = ("managedFields", "resourceVersion", "generation", "uid", "creationTimestamp", "selfLink")
#: Holds the whole object once more, the values of a Secret too, where it was made by `kubectl apply`.
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
#: Kinds without a namespace that manifests of jobs bring along, for where no cluster is asked which they are.
CLUSTER_KINDS = frozenset((
    "Namespace", "Node", "PersistentVolume", "ClusterRole", "ClusterRoleBinding", "CustomResourceDefinition",
    "StorageClass", "PriorityClass", "Queue",
))  # fmt: skip
#: ConfigMaps that MindCluster's components write into while the job of the name behind the prefix runs.
STATE_PREFIXES = ("reset-config-", "rings-config-")


class Document(t.NamedTuple):
    """One object of a manifest.

    :ivar where: its manifest and number, for messages.
    """

    data: dict[str, t.Any]
    where: str

    @property
    def api_version(self) -> str:
        return str(self.data["apiVersion"])

    @property
    def kind(self) -> str:
        return str(self.data["kind"])

    @property
    def name(self) -> str:
        return str(self.data["metadata"]["name"])

    @property
    def namespace(self) -> str | None:
        found = self.data["metadata"].get("namespace")
        return None if found is None else str(found)

    @property
    def title(self) -> str:
        return "%s `%s`" % (self.kind, self.name)

    @property
    def is_job(self) -> bool:
        return self.kind == "AscendJob"

    @property
    def is_namespace(self) -> bool:
        return self.kind == "Namespace" and self.api_version == "v1"

    @property
    def state_of(self) -> str | None:
        """Name of the job whose run-time state this object holds; None where it holds none."""
        if self.kind == "ConfigMap":
            for prefix in STATE_PREFIXES:
                if self.name.startswith(prefix):
                    return self.name[len(prefix) :]
        return None


def read_documents(manifests: t.Sequence[str]) -> list[Document]:
    """The objects of all manifests, in their order.

    :param manifests: YAML texts of one or several documents each.
    :raises Refused: with everything that is no object.
    """
    documents: list[Document] = []
    findings: list[Finding] = []
    for number, text in enumerate(manifests, 1):
        place = "manifest %d" % number if len(manifests) > 1 else "the manifest"
        try:
            loaded = load_documents(text, dates=False)
        except Unreadable as exc:
            findings.append(_not_yaml(exc, "%s, line %d" % (place, exc.line) if exc.line else place))
            continue
        for index, data in enumerate(loaded, 1):
            where = "%s, document %d" % (place, index) if len(loaded) > 1 else place
            for item in _items(data):
                findings.extend(_mistakes(item, where))
                documents.append(Document(item, where))
    if not findings and not documents:
        findings.append(Finding("manifest-empty", "there is no object in it", "Nothing would be applied",
                                "Give at least one Kubernetes object", "manifests"))  # fmt: skip
    if findings:
        raise Refused(findings)
    return documents


def _items(data: t.Any) -> list[t.Any]:
    if data is None:
        return []
    if isinstance(data, dict) and data.get("kind") == "List" and isinstance(data.get("items"), list):
        return list(data["items"])
    return [data]


def _not_yaml(exc: Unreadable, where: str) -> Finding:
    return Finding("yaml-invalid", "this is not valid YAML: %s" % exc.what, "The cluster cannot read it",
                   "Correct the manifest", where)  # fmt: skip


def _mistakes(data: t.Any, where: str) -> list[Finding]:
    metadata = data.get("metadata") if isinstance(data, dict) else None
    missing = []
    if not isinstance(data, dict):
        missing.append("it is no mapping")
    else:
        missing += [
            "it has no %s" % key
            for key in ("apiVersion", "kind")
            if not isinstance(data.get(key), str) or not data[key].strip("/ ")
        ]
        if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str) or not metadata["name"]:
            missing.append("it has no metadata.name")
        missing += _not_json(data)
    return [
        Finding("object-shape", "this is no Kubernetes object: %s" % what, "The API server refuses it",
                "Correct the manifest", where)
        for what in missing
    ]  # fmt: skip


def _not_json(data: t.Mapping[str, t.Any]) -> list[str]:
    """What YAML can say and the API cannot: binary values, sets, dates with a tag, lists that hold themselves."""
    try:
        json.dumps(data, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as exc:
        return ["a value in it has no form in JSON (%s)" % exc]
    return []


def cleaned(data: t.Mapping[str, t.Any] | None) -> dict[str, t.Any]:
    """An object without what the server writes on its own; empty where there is none."""
    if data is None:
        return {}
    bare = copy.deepcopy(dict(data))
    bare.pop("status", None)
    metadata = bare.get("metadata")
    if isinstance(metadata, dict):
        for name in SERVER_FIELDS:
            metadata.pop(name, None)
    return bare


def shown(data: t.Mapping[str, t.Any] | None) -> str:
    """An object as YAML for a diff, the values of Secrets left out; empty where there is none."""
    bare = cleaned(data)
    if not bare:
        return ""
    if bare.get("kind") == "Secret":
        for key in ("data", "stringData"):
            if isinstance(bare.get(key), dict):
                bare[key] = dict.fromkeys(bare[key], "(not shown)")
        annotations = (bare.get("metadata") or {}).get("annotations") or {}
        if LAST_APPLIED in annotations:
            annotations[LAST_APPLIED] = "(not shown)"
    return str(yaml.safe_dump(bare, allow_unicode=True, sort_keys=True, default_flow_style=False))


def dropped_fields(sent: t.Any, stored: t.Any, path: str = "") -> list[str]:
    """The paths in what was sent that the server would not store: fields that its schema does not know."""
    if isinstance(sent, dict):
        if not isinstance(stored, dict):
            return [path] if sent and path else []
        found: list[str] = []
        for name, value in sent.items():
            inner = "%s.%s" % (path, name) if path else str(name)
            if value is None:
                continue
            if name not in stored:
                # The server leaves empty maps and lists out, and write-only fields such as stringData.
                found += [inner] if value not in ({}, [], "") and inner != "stringData" else []
            else:
                found += dropped_fields(value, stored[name], inner)
        return found
    if isinstance(sent, list) and isinstance(stored, list) and len(sent) == len(stored):
        return [
            place
            for index, (one, other) in enumerate(zip(sent, stored))
            for place in dropped_fields(one, other, "%s[%d]" % (path, index))
        ]
    return []
