# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Node documents for a GitOps repository."""

from __future__ import annotations

DOCUMENTATION = r"""
name: npu_node_manifest
short_description: Node documents for a GitOps repository
version_added: 0.1.0
author:
  - mindcluster.recovery contributors (@mindcluster)
description:
  - Turns the list that O(mindcluster.recovery.node_labels#module:nodes) takes into YAML documents of kind Node, in the
    order of their names, with labels alone.
  - Each carries the annotations that keep Argo CD and Flux from ever pruning or deleting a Node, and make them apply
    only the fields that are in the document.
options:
  _input:
    description: The nodes, as the filter P(mindcluster.recovery.npu_nodes#filter) makes them.
    type: list
    elements: dict
    required: true
"""

EXAMPLES = r"""
- name: Write the documents into the repository
  mindcluster.recovery.manifest_files:
    directory: /srv/gitops/npu-nodes
    files:
      - path: nodes.yaml
        content: "{{ nodes | mindcluster.recovery.npu_node_manifest }}"
"""

RETURN = r"""
_value:
  description: The YAML text.
  type: str
"""

import typing as t
from collections import abc

import yaml
from ansible.errors import AnsibleFilterError

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Refused
from ansible_collections.mindcluster.recovery.plugins.module_utils._kube_labels import checked_requests
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._native import native

# Argo CD: https://argo-cd.readthedocs.io/en/stable/user-guide/sync-options/
# Flux: https://fluxcd.io/flux/components/kustomize/kustomizations/
KEPT_BY_GITOPS = {
    "argocd.argoproj.io/sync-options": "ServerSideApply=true,Prune=false,Delete=false",
    "kustomize.toolkit.fluxcd.io/prune": "disabled",
    "kustomize.toolkit.fluxcd.io/ssa": "Merge",
}


class _Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
    """Writes every annotation in full: no anchors for the mapping that all documents share."""

    def ignore_aliases(self, data: t.Any) -> bool:
        return True


def npu_node_manifest(nodes: t.Any) -> str:
    """Filter C(npu_node_manifest), see DOCUMENTATION."""
    if not isinstance(nodes, abc.Sequence) or isinstance(nodes, str):
        raise AnsibleFilterError("npu_node_manifest expects a list of nodes, got %s" % type(nodes).__name__)
    for number, node in enumerate(nodes):
        if not _is_node(node):
            raise AnsibleFilterError("npu_node_manifest: item %d is no mapping with a name and labels" % number)
    try:
        requests = checked_requests(native(nodes))
    except Refused as exc:
        raise AnsibleFilterError(str(exc)) from exc
    documents = [_document(name, requests[name].labels) for name in sorted(requests)]
    return yaml.dump_all(documents, Dumper=_Dumper, sort_keys=False, explicit_start=True, allow_unicode=True, width=120)


def _is_node(node: t.Any) -> bool:
    return (
        isinstance(node, abc.Mapping)
        and isinstance(node.get("name"), str)
        and isinstance(node.get("labels"), abc.Mapping)
    )


def _document(name: str, labels: abc.Mapping[str, str]) -> dict[str, t.Any]:
    ordered = {key: labels[key] for key in sorted(labels)}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": ordered, "annotations": KEPT_BY_GITOPS},
    }


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"npu_node_manifest": npu_node_manifest}
