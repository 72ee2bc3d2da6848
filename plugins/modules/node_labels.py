#!/usr/bin/python

# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: node_labels
short_description: Give the nodes of a Kubernetes cluster their labels, all in one call
version_added: 0.1.0
author:
  - mindcluster.recovery contributors (@mindcluster)
description:
  - Lists the metadata of all nodes once, compares the labels here, and patches only the nodes that differ, several at
    once over kept-alive connections. Ten thousand nodes that are as they should be cost one list.
  - Everything that can be known beforehand is refused beforehand, with all mistakes at once. A node that is in the
    request and not in the cluster, an illegal label, a label that belongs to the Ascend device plugin or the kubelet, a
    node of another architecture than the request says, a node with the chips, the NPU resource or more NPUs than the
    product has that the request names.
  - Architecture and chip stand in the metadata of the nodes. Whole nodes are read, in pages, only where a product has
    to be found, where labels of a node with a product are about to be set, and with O(strict).
  - A node that cannot be labelled does not stop the others. The task fails at the end and names each such node.
  - Requests that the API server answers with 409, 429 or 5xx, and broken connections, are repeated with growing pauses,
    at most five times.
notes:
  - The exact rights that the module needs are in C(docs/rbac/nodes.yaml) of the collection.
  - Which labels are this collection's is remembered by the API server, as C(managedFields) of the node with the manager
    C(mindcluster.recovery), and in no file.
extends_documentation_fragment:
  - mindcluster.recovery._kube
  - mindcluster.recovery._attributes
  - mindcluster.recovery._attributes.actiongroup_recovery
attributes:
  check_mode:
    support: full
    details: The patches are sent with C(dryRun=All). The server checks them, rights included, and stores nothing.
  diff_mode:
    support: full
  idempotent:
    support: full
options:
  nodes:
    description:
      - The nodes and what they shall carry. A node may be named twice; it gets both sets of labels then, which must not
        contradict each other.
    type: list
    elements: dict
    required: true
    suboptions:
      name:
        description: Name of the node, as C(kubectl get nodes) shows it.
        type: str
        required: true
      labels:
        description:
          - Labels and their values. Values are text; one that YAML would read otherwise, such as V(on), needs quotes.
          - Labels of the node that are not named stay as they are.
        type: dict
        required: true
      arch:
        description: >-
          Architecture that the node must have. Where the node's own label C(kubernetes.io/arch) says something else,
          everything is refused.
        type: str
        choices:
          - aarch64
          - x86_64
      product:
        description:
          - NPU product that the node is, by the vendor's name in kebab case, such as V(atlas-800t-a2). A node that
            cannot be that product is refused. The labels of O(nodes[].labels) are not derived from it.
          - V(auto) finds the product and adds its labels, as of O(release), to those of O(nodes[].labels), which win.
            The architecture, the labels that the device plugin writes itself and the NPUs in the node's status are the
            proof; the labels C(accelerator-type) and C(server-usage), where somebody has set them, narrow the choice.
            A node that could be several products with different labels is refused, and so is one that shows no NPU.
        type: str
        version_added: 0.2.0
  release:
    description: MindCluster release whose labels a product that was found gets.
    type: str
    default: 7.2.RC1
    version_added: 0.2.0
  strict:
    description:
      - What to do where a node with a product offers no NPU to Pods. With V(false) it is a warning with the names of
        such nodes, since a new cluster gets the labels before the device plugin, which starts only on nodes that have
        them. With V(true) it is refused, before anything is changed.
    type: bool
    default: false
    version_added: 0.2.0
  prune:
    description:
      - Also remove the labels that this collection has set on a node of O(nodes) and that are no longer wanted.
      - A label that somebody else has set, or has changed since, is never removed. Nor is one that the device plugin
        maintains from some release on, except on a node for which no label at all is asked for.
    type: bool
    default: false
  workers:
    description: How many patches are under way at once, from 1 to 128.
    type: int
    default: 16
  progress_file:
    description:
      - File into which the module writes every few seconds how many nodes are done, and of how many. Where the module
        runs on the controller, Ansible sets it by itself and shows a line for each.
    type: path
seealso:
  - module: mindcluster.recovery.node_labels_info
"""

EXAMPLES = r"""
- name: Label one master and one worker
  mindcluster.recovery.node_labels:
    kubeconfig: ~/.kube/config
    nodes:
      - name: master-1
        labels:
          masterselector: dls-master-node
      - name: worker-1
        arch: aarch64
        labels:
          node-role.kubernetes.io/worker: worker
          workerselector: dls-worker-node
          host-arch: huawei-arm
          accelerator: huawei-Ascend910
          accelerator-type: module-910b-8
  delegate_to: localhost

- name: Label a node of an old cluster, where the device plugin runs already, as what it is
  mindcluster.recovery.node_labels:
    nodes:
      - name: worker-2
        labels: {}
        product: auto
    release: 7.2.RC1
    strict: true
  delegate_to: localhost

- name: Take back every label that the collection has set on a node
  mindcluster.recovery.node_labels:
    nodes:
      - name: worker-1
        labels: {}
    prune: true
  delegate_to: localhost
"""

RETURN = r"""
changed_nodes:
  description: The nodes that were changed, each with its changed keys alone.
  returned: success, or when some nodes failed
  type: list
  elements: dict
  contains:
    name:
      description: Name of the node.
      type: str
    before:
      description: The keys with their values before; null where there was none.
      type: dict
    after:
      description: The keys with their values now; null where the label was removed.
      type: dict
  sample:
    - name: worker-1
      before: {accelerator-type: module}
      after: {accelerator-type: module-910b-8}
failed_nodes:
  description: The nodes that could not be labelled, each with what went wrong and what to do.
  returned: success (empty), or when some nodes failed
  type: list
  elements: dict
  contains:
    name:
      description: Name of the node.
      type: str
    code:
      description: Short stable name of the failure, such as V(node-gone).
      type: str
    what:
      description: What went wrong.
      type: str
    why:
      description: Why.
      type: str
    remedy:
      description: What to do.
      type: str
counts:
  description: How many nodes were C(requested), C(changed), C(unchanged) and C(failed).
  returned: success, or when some nodes failed
  type: dict
  sample: {requested: 18, changed: 2, unchanged: 16, failed: 0}
found_products:
  description: The product that was found for each node with C(auto), by the node's name.
  returned: success, or when some nodes failed
  type: dict
  sample: {worker-2: atlas-800t-a2}
without_npus:
  description: >-
    Nodes with a product that offer no NPU to Pods, among those whose labels had to be set or whose product was looked
    for; with O(strict) among all.
  returned: success, or when some nodes failed
  type: list
  elements: str
elapsed:
  description: Seconds from the first request to the result.
  returned: success, or when some nodes failed
  type: float
errors:
  description: What is wrong with the request, each with code, what, where, why and remedy. Nothing was changed.
  returned: when the request was refused
  type: list
  elements: dict
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Finding, Refused
from ansible_collections.mindcluster.recovery.plugins.module_utils._kube import KUBE_ARGSPEC
from ansible_collections.mindcluster.recovery.plugins.module_utils._kube_node_run import (
    NODES_SPEC,
    RELEASE_SPEC,
    failure_message,
    label_nodes,
)


def _refuse_workers(workers: int) -> None:
    if 1 <= workers <= 128:
        return
    raise Refused(
        Finding(
            "workers-range",
            "%d workers are not possible" % workers,
            "Without a worker nothing is done, and too many are only throttled by the API server",
            "Use 1 to 128; 16 suits most clusters",
            "workers",
        )
    )


def main() -> None:
    spec = {
        "nodes": NODES_SPEC,
        "release": RELEASE_SPEC,
        "strict": {"type": "bool", "default": False},
        "prune": {"type": "bool", "default": False},
        "workers": {"type": "int", "default": 16},
        "progress_file": {"type": "path"},
    }
    spec.update(KUBE_ARGSPEC)
    module = AnsibleModule(argument_spec=spec, supports_check_mode=True)
    try:
        _refuse_workers(module.params["workers"])
        result = label_nodes(module.params, module.check_mode, module.warn)
    except Refused as exc:
        module.fail_json(msg=str(exc), errors=exc.as_dicts())
    if result["failed_nodes"]:
        module.fail_json(msg=failure_message(result), **result)
    module.exit_json(**result)


if __name__ == "__main__":
    main()
