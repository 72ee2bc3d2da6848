#!/usr/bin/python
# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: manifest_remove
short_description: Take out of a cluster what the collection has applied
version_added: 0.2.0
author:
  - mindcluster.recovery contributors (@mindcluster)
description:
  - Deletes the objects of manifests that M(mindcluster.recovery.manifest_apply) has applied. Whose an object is, its
    C(managedFields) tell; one that the field manager C(mindcluster.recovery) has not written stays as it is.
  - Where another writer has a part in an object, only this collection's fields are taken out of it. A job and the
    ConfigMaps with its run-time state are deleted all the same, since MindCluster's components write into them.
  - Namespaces, PersistentVolumes and PersistentVolumeClaims are never deleted, since they may hold data.
  - The ConfigMap in which M(mindcluster.recovery.job_history) remembers a job is deleted with or without O(consent).
  - Refuses while one of the jobs runs, before anything is touched. See O(running).
notes:
  - The rights that it needs beside those in C(docs/rbac/jobs.yaml) are in its C(docs/rbac/uninstall.yaml).
extends_documentation_fragment:
  - mindcluster.recovery._kube
  - mindcluster.recovery._attributes
  - mindcluster.recovery._attributes.actiongroup_recovery
attributes:
  check_mode:
    support: full
    details: The server itself says whether it would delete, by C(dryRun=All).
  diff_mode:
    support: full
    details: Values of Secrets are not shown.
  idempotent:
    support: full
options:
  manifests:
    description: The manifests, each a YAML text with one or several documents. Only kinds and names are read.
    type: list
    elements: str
    required: true
  namespace:
    description: Namespace of the objects that name none.
    type: str
    default: default
  consent:
    description: Whether the jobs, and what was applied with them, may be deleted.
    type: bool
    default: false
  running:
    description:
      - Do not refuse while one of the jobs runs. With O(consent) its training ends; without, it goes on without what
        else is taken out.
    type: bool
    default: false
  timeout:
    description: How many seconds to wait until a deleted job and its Pods are gone.
    type: int
    default: 300
seealso:
  - module: mindcluster.recovery.manifest_apply
"""

EXAMPLES = r"""
- name: Delete a job that the collection has applied
  mindcluster.recovery.manifest_remove:
    manifests:
      - "{{ lookup('ansible.builtin.file', 'job.yaml', rstrip=false) }}"
    consent: true
  delegate_to: localhost
"""

RETURN = r"""
objects:
  description: What was done with each object, or would be in check mode.
  returned: success
  type: list
  elements: dict
  contains:
    kind:
      description: Kind of the object.
      type: str
    name:
      description: Name of the object.
      type: str
    namespace:
      description: Namespace of the object; null for kinds without one.
      type: str
    action:
      description:
        - C(deleted), C(released) (only this collection's fields were taken out), C(absent), C(foreign) (not this
          collection's), C(data) (may hold data) or C(left) (no O(consent)).
      type: str
  sample:
    - {kind: AscendJob, name: llama2, namespace: default, action: deleted}
errors:
  description: Every mistake, with the keys C(code), C(what), C(where), C(why), C(remedy).
  returned: failure
  type: list
  elements: dict
"""

import typing as t

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Refused
from ansible_collections.mindcluster.recovery.plugins.module_utils._kube import KUBE_ARGSPEC, connect
from ansible_collections.mindcluster.recovery.plugins.module_utils._manifest_documents import read_documents
from ansible_collections.mindcluster.recovery.plugins.module_utils._manifest_remove import Remover


def main() -> None:
    spec = {
        # A manifest may hold Secrets and passwords in variables; nothing of it belongs into a log.
        "manifests": {"type": "list", "elements": "str", "required": True, "no_log": True},
        "namespace": {"type": "str", "default": "default"},
        "consent": {"type": "bool", "default": False},
        "running": {"type": "bool", "default": False},
        "timeout": {"type": "int", "default": 300},
    }
    spec.update(KUBE_ARGSPEC)
    module = AnsibleModule(argument_spec=spec, supports_check_mode=True)
    params = module.params
    remover = None
    try:
        remover = Remover(
            connect(params), params["namespace"], params["consent"], params["running"], params["timeout"]
        )  # fmt: skip
        removals = remover.removals(read_documents(params["manifests"]))
        if not module.check_mode:
            remover.remove(removals)
    except Refused as exc:
        module.fail_json(msg=str(exc), errors=exc.as_dicts(), changed=bool(remover and remover.done))
    answer: dict[str, t.Any] = {
        "changed": any(removal.changes for removal in removals),
        "objects": [removal.summary() for removal in removals],
    }
    if module._diff:
        answer["diff"] = [removal.diff() for removal in removals if removal.changes]
    module.exit_json(**answer)


if __name__ == "__main__":
    main()
