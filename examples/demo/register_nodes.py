# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Register the Nodes of an inventory in the sandbox cluster, as their kubelets would.

Reads the output of C(ansible-inventory --list) from standard input. Nodes that are there already stay as they are.
"""

from __future__ import annotations

import json
import sys

from kubernetes import client, config
from kubernetes.client.exceptions import ApiException

KUBERNETES_ARCH = {"aarch64": "arm64", "x86_64": "amd64"}


def hosts_of(inventory: dict, group: str) -> list[str]:
    entry = inventory.get(group, {})
    return [
        *entry.get("hosts", []),
        *(host for child in entry.get("children", []) for host in hosts_of(inventory, child)),
    ]


def main() -> None:
    inventory = json.load(sys.stdin)
    variables = inventory["_meta"]["hostvars"]
    config.load_kube_config()
    api = client.CoreV1Api()
    made = 0
    for name in hosts_of(inventory, "npu_master") + hosts_of(inventory, "npu_worker"):
        arch = variables[name].get("npu_node_arch") or variables[name].get("recovery_plan_arch", "x86_64")
        labels = {"kubernetes.io/arch": KUBERNETES_ARCH[arch], "kubernetes.io/hostname": name}
        try:
            api.create_node(client.V1Node(metadata=client.V1ObjectMeta(name=name, labels=labels)))
            made += 1
        except ApiException as error:
            if error.status != 409:
                raise
    print("%d Nodes registered" % made)


if __name__ == "__main__":
    main()
