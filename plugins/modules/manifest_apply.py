#!/usr/bin/python
# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: manifest_apply
short_description: Apply manifests to a cluster, all or nothing
version_added: 0.1.0
author:
  - mindcluster.recovery contributors (@mindcluster)
description:
  - Applies any number of manifests by server-side apply with the field manager C(mindcluster.recovery).
  - Every object is tried as a dry run before the first one is written. Whatever the cluster would refuse is reported in
    one message, and nothing is touched. So are fields that the server would drop in silence because its schema does not
    know them, and fields that another manager has set to another value.
  - An AscendJob that exists and would have to change is refused, because MindCluster makes its PodGroup only once. See
    O(replace).
  - The ConfigMaps C(reset-config-*) and C(rings-config-*) hold the state of a running job. They are created with the
    job and left alone afterwards, except where the job is replaced.
  - With O(wait) it waits until MindCluster's operator has taken each AscendJob. It makes a PodGroup for a job that it
    takes. A job that it refuses gets a Warning Event up to release 7.3, and a condition C(JobValidFailed) from 26.0.0
    on; the module fails with that reason and its remedy.
notes:
  - Broken connections and the answers 429, 500, 502, 503 and 504 are tried again, six times in all with growing pauses;
    what the server asks for in C(Retry-After) is kept to, up to 20 seconds. Every request may be sent twice without
    doing its work twice.
  - The exact rights that the module needs are in C(docs/rbac/jobs.yaml) of the collection.
extends_documentation_fragment:
  - mindcluster.recovery._kube
  - mindcluster.recovery._attributes
  - mindcluster.recovery._attributes.actiongroup_recovery
attributes:
  check_mode:
    support: full
    details: The server itself says what would change, by C(dryRun=All), rights and admission included.
  diff_mode:
    support: full
    details: Values of Secrets are not shown.
  idempotent:
    support: full
options:
  manifests:
    description: The manifests, each a YAML text with one or several documents.
    type: list
    elements: str
    required: true
  namespace:
    description: Namespace of the objects that name none.
    type: str
    default: default
  replace:
    description:
      - Delete an AscendJob that would have to change and create it anew. The training that it runs ends.
    type: bool
    default: false
  replace_timeout:
    description: How many seconds to wait until a deleted job and its Pods are gone.
    type: int
    default: 300
  create_namespace:
    description:
      - Create a namespace that objects are meant for and that does not exist. Without it such objects are refused, but
        for a manifest that holds the Namespace itself.
      - Before that nothing can be tried in the namespace itself. The user's rights are asked for, and the objects are
        tried in the namespace C(default), or, where the user has no rights there, right after the namespace is created
        and before anything else is written.
    type: bool
    default: false
    version_added: 0.2.0
  wait:
    description:
      - How many seconds to wait at most until MindCluster's operator has taken every AscendJob of the manifests, those
        that were there already among them. V(0) does not wait. In check mode nothing is waited for.
    type: int
    default: 0
    version_added: 0.2.0
  release:
    description: MindCluster's release in the cluster, by which O(wait) knows how a refusal is told.
    type: str
    default: 7.2.RC1
    version_added: 0.2.0
  notices:
    description: Sentences that are shown as warnings, for roles that have something to say about what they apply.
    type: list
    elements: str
    default: []
"""

EXAMPLES = r"""
- name: Apply a job
  mindcluster.recovery.manifest_apply:
    manifests:
      - "{{ lookup('ansible.builtin.file', 'job.yaml', rstrip=false) }}"
    kubeconfig: ~/.kube/config
  delegate_to: localhost

- name: Apply a job into a new namespace and wait until the operator has taken it
  mindcluster.recovery.manifest_apply:
    manifests:
      - "{{ lookup('ansible.builtin.file', 'job.yaml', rstrip=false) }}"
    namespace: training
    create_namespace: true
    wait: 60
    release: 26.0.0
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
      description: One of C(created), C(changed), C(replaced), C(unchanged).
      type: str
  sample:
    - {kind: AscendJob, name: llama2, namespace: default, action: created}
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
from ansible_collections.mindcluster.recovery.plugins.module_utils._manifest_apply import Applier, Step
from ansible_collections.mindcluster.recovery.plugins.module_utils._manifest_documents import read_documents
from ansible_collections.mindcluster.recovery.plugins.module_utils._operator_wait import OperatorWait
from ansible_collections.mindcluster.recovery.plugins.module_utils._releases import DEFAULT_RELEASE


def main() -> None:
    spec = {
        # A manifest may hold Secrets and passwords in variables; nothing of it belongs into a log.
        "manifests": {"type": "list", "elements": "str", "required": True, "no_log": True},
        "namespace": {"type": "str", "default": "default"},
        "replace": {"type": "bool", "default": False},
        "replace_timeout": {"type": "int", "default": 300},
        "create_namespace": {"type": "bool", "default": False},
        "wait": {"type": "int", "default": 0},
        "release": {"type": "str", "default": DEFAULT_RELEASE},
        "notices": {"type": "list", "elements": "str", "default": []},
    }
    spec.update(KUBE_ARGSPEC)
    module = AnsibleModule(argument_spec=spec, supports_check_mode=True)
    params = module.params
    # The option keeps manifests out of the log. Out of the result they are kept here, since Ansible's own way would
    # take them out of the diff as well.
    module.no_log_values.difference_update(params["manifests"])
    told = {"module_args": dict(params, manifests=["(not shown)"] * len(params["manifests"]))}
    for notice in params["notices"]:
        module.warn(notice)
    applier = None
    try:
        applier = Applier(
            connect(params),
            params["namespace"],
            params["replace"],
            params["replace_timeout"],
            params["create_namespace"],
        )
        steps = applier.plan(read_documents(params["manifests"]))
        operator = OperatorWait(applier, params["release"], params["wait"]) if params["wait"] else None
        if operator:
            operator.prepare(steps)
        if not module.check_mode:
            applier.write(steps)
            if operator:
                _wait(operator, applier, steps)
    except Refused as exc:
        module.fail_json(msg=str(exc), errors=exc.as_dicts(), changed=bool(applier and applier.done), invocation=told)
    answer: dict[str, t.Any] = {
        "changed": any(step.changes for step in steps),
        "objects": [step.summary() for step in steps],
        "invocation": told,
    }
    # Ansible prints what a module returns at -vvv; the text of a manifest is for those alone who ask for a diff.
    if module._diff:
        answer["diff"] = [step.diff() for step in steps if step.changes]
    module.exit_json(**answer)


def _wait(operator: OperatorWait, applier: Applier, steps: t.Sequence[Step]) -> None:
    try:
        operator.run(steps)
    except Refused as exc:
        raise applier.with_done(exc) from exc


if __name__ == "__main__":
    main()
