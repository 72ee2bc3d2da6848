#!/usr/bin/python

# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: node_labels_info
short_description: Compare the labels of nodes with what they should be
version_added: 0.1.0
author:
  - mindcluster.recovery contributors (@mindcluster)
description:
  - Lists the metadata of all nodes once and reports how far they are from the labels asked for. Nothing is changed, and
    drift is no error.
  - It needs no other right than to list nodes.
  - Where products are named, or O(resource) is, whole Node objects are read in pages, which takes longer.
extends_documentation_fragment:
  - mindcluster.recovery._kube
  - mindcluster.recovery._attributes
  - mindcluster.recovery._attributes.actiongroup_recovery
attributes:
  check_mode:
    support: full
    details: The module changes nothing.
  diff_mode:
    support: none
    details: The module changes nothing.
  idempotent:
    support: full
options:
  nodes:
    description:
      - The nodes and what they should carry, as in M(mindcluster.recovery.node_labels).
    type: list
    elements: dict
    required: true
    suboptions:
      name:
        description: Name of the node, as C(kubectl get nodes) shows it.
        type: str
        required: true
      labels:
        description: Labels and their values.
        type: dict
        required: true
      arch:
        description: Architecture that the node should have.
        type: str
        choices:
          - aarch64
          - x86_64
      product:
        description: NPU product that the node should be, or V(auto), as in M(mindcluster.recovery.node_labels).
        type: str
        version_added: 0.2.0
  release:
    description: MindCluster release whose labels a product that was found should have.
    type: str
    default: 7.2.RC1
    version_added: 0.2.0
  resource:
    description: Name of the resource that all the nodes should offer, such as V(huawei.com/Ascend910).
    type: str
seealso:
  - module: mindcluster.recovery.node_labels
"""

EXAMPLES = r"""
- name: See whether the worker is labelled and its device plugin runs
  mindcluster.recovery.node_labels_info:
    nodes:
      - name: worker-1
        labels:
          workerselector: dls-worker-node
    resource: huawei.com/Ascend910
  register: node_audit
  delegate_to: localhost

- name: Stop where something is missing
  ansible.builtin.assert:
    that: node_audit.in_sync
"""

RETURN = r"""
in_sync:
  description:
    - Whether every node is there and has every label asked for, the architecture, its product's NPUs and the resource.
  returned: success
  type: bool
drift:
  description: The nodes whose labels differ.
  returned: success
  type: list
  elements: dict
  contains:
    name:
      description: Name of the node.
      type: str
    missing:
      description: Labels that the node does not have.
      type: dict
    different:
      description: Labels with another value, each with C(wanted) and C(found).
      type: dict
    surplus:
      description: Labels that this collection has set and that are no longer wanted.
      type: dict
absent_nodes:
  description: Nodes that the cluster does not have.
  returned: success
  type: list
  elements: str
contradictions:
  description:
    - Nodes that cannot be what the request says, by their architecture, chips or NPUs, and nodes whose product cannot
      be found, each with code, what, where, why and remedy.
  returned: success
  type: list
  elements: dict
found_products:
  description: The product that was found for each node with C(auto), by the node's name.
  returned: success
  type: dict
without_npus:
  description: Nodes with a product that offer no NPU to Pods.
  returned: success
  type: list
  elements: str
without_resource:
  description: Nodes that do not offer O(resource); empty where it is not asked for.
  returned: success
  type: list
  elements: str
counts:
  description: How many nodes were C(requested), C(drifted) and C(absent).
  returned: success
  type: dict
errors:
  description: What is wrong with the request, each with code, what, where, why and remedy.
  returned: when the request was refused
  type: list
  elements: dict
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Refused
from ansible_collections.mindcluster.recovery.plugins.module_utils._kube import KUBE_ARGSPEC
from ansible_collections.mindcluster.recovery.plugins.module_utils._kube_node_run import (
    NODES_SPEC,
    RELEASE_SPEC,
    audit_nodes,
)


def main() -> None:
    spec = {"nodes": NODES_SPEC, "release": RELEASE_SPEC, "resource": {"type": "str"}}
    spec.update(KUBE_ARGSPEC)
    module = AnsibleModule(argument_spec=spec, supports_check_mode=True)
    try:
        result = audit_nodes(module.params)
    except Refused as exc:
        module.fail_json(msg=str(exc), errors=exc.as_dicts())
    module.exit_json(changed=False, **result)


if __name__ == "__main__":
    main()
