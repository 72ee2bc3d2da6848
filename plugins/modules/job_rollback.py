#!/usr/bin/python
# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: job_rollback
short_description: Bring jobs back to what they were before the last delivery
version_added: 0.2.0
author:
  - mindcluster.recovery contributors (@mindcluster)
description:
  - Applies the manifests that the cluster remembers from the delivery before the last one, with their image.
    Neither the image builder nor the former variables are needed.
  - One step is remembered. Run again, it changes nothing; it never goes forward again by itself.
  - A job that exists and would have to change is refused without O(replace), as M(mindcluster.recovery.manifest_apply)
    does it.
notes:
  - The rights that it needs are in C(docs/rbac/jobs.yaml) of the collection.
extends_documentation_fragment:
  - mindcluster.recovery._kube
  - mindcluster.recovery._attributes
  - mindcluster.recovery._attributes.actiongroup_recovery
attributes:
  check_mode:
    support: full
    details: The server itself says what would change, by C(dryRun=All).
  diff_mode:
    support: full
  idempotent:
    support: full
options:
  jobs:
    description: The jobs, each as C(NAMESPACE/NAME).
    type: list
    elements: str
    required: true
  replace:
    description:
      - Delete a job that exists and would have to change, and create it anew. The training that it runs ends.
    type: bool
    default: false
  replace_timeout:
    description: How many seconds to wait until a deleted job and its Pods are gone.
    type: int
    default: 300
seealso:
  - module: mindcluster.recovery.job_history
  - module: mindcluster.recovery.manifest_apply
"""

EXAMPLES = r"""
- name: Go back to the image and manifest before the last delivery
  mindcluster.recovery.job_rollback:
    jobs: [default/llama2-pretrain]
    replace: true
  delegate_to: localhost
"""

RETURN = r"""
jobs:
  description: Each job, with what it is brought back to and what is left.
  type: list
  elements: dict
  returned: success
  contains:
    name:
      description: Name of the job.
      type: str
    namespace:
      description: Namespace of the job.
      type: str
    target:
      description: C(release) and C(images) that it goes back to.
      type: dict
    left:
      description: C(release) and C(images) that it leaves.
      type: dict
    already:
      description: Whether an earlier rollback has brought it back.
      type: bool
  sample:
    - name: llama2-pretrain
      namespace: default
      target: {release: 7.2.RC1, images: ["registry.example.com/llama2@sha256:0123"]}
      left: {release: 7.3.0, images: ["registry.example.com/llama2@sha256:4567"]}
      already: false
plan:
  description:
    - The plan of that delivery, by which scripts and labels were made. Null where the jobs go back to plans that want
      different scripts or labels.
  type: dict
  returned: success
objects:
  description: What was done with each object, as M(mindcluster.recovery.manifest_apply) returns it.
  type: list
  elements: dict
  returned: success
errors:
  description: Every mistake, with the keys C(code), C(what), C(where), C(why), C(remedy).
  type: list
  elements: dict
  returned: failure
"""

import typing as t

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Finding, Refused
from ansible_collections.mindcluster.recovery.plugins.module_utils._job_history import (
    Entry,
    described,
    gone_back,
    wrong_keys,
)
from ansible_collections.mindcluster.recovery.plugins.module_utils._job_history_edge import HistoryMap
from ansible_collections.mindcluster.recovery.plugins.module_utils._kube import KUBE_ARGSPEC, connect
from ansible_collections.mindcluster.recovery.plugins.module_utils._manifest_apply import Applier
from ansible_collections.mindcluster.recovery.plugins.module_utils._manifest_documents import Document, read_documents


class _Return:
    """One job on its way back."""

    def __init__(self, client: t.Any, name: str, namespace: str) -> None:
        self.name = name
        self.namespace = namespace
        self.store = HistoryMap(client, namespace, name)
        self.history = gone_back(self.store.history, "%s/%s" % (namespace, name))
        self.documents = _documents(self.history.current)

    @property
    def plan(self) -> dict[str, t.Any]:
        return dict(self.history.current.plan if self.history.current else {}, warnings=[], explain={})

    def report(self) -> dict[str, t.Any]:
        left = self.history.undone
        return {
            "name": self.name,
            "namespace": self.namespace,
            "target": described(self.history.current, self.documents),
            "left": described(left, _documents(left)),
            "already": self.store.history.previous is None,
        }


def _documents(entry: Entry | None) -> list[Document]:
    return read_documents([entry.manifest]) if entry else []


def _returns(client: t.Any, jobs: t.Sequence[str]) -> list[_Return]:
    found: list[_Return] = []
    findings: list[Finding] = []
    for job in jobs:
        namespace, _slash, name = job.partition("/")
        try:
            found.append(_Return(client, name, namespace))
        except Refused as exc:
            findings += exc.findings
    if findings:
        raise Refused(findings)
    return found


def _common_plan(returns: t.Sequence[_Return]) -> dict[str, t.Any] | None:
    plans = [each.plan for each in returns]
    same = all(plan.get(key) == plans[0].get(key) for plan in plans for key in ("script", "framework", "node_labels"))
    return plans[0] if plans and same else None


def main() -> None:
    spec: dict[str, dict[str, t.Any]] = {
        "jobs": {"type": "list", "elements": "str", "required": True},
        "replace": {"type": "bool", "default": False},
        "replace_timeout": {"type": "int", "default": 300},
    }
    spec.update(KUBE_ARGSPEC)
    module = AnsibleModule(argument_spec=spec, supports_check_mode=True)
    params = module.params
    applier = None
    try:
        mistakes = wrong_keys(params["jobs"])
        if mistakes:
            raise Refused(mistakes)
        client = connect(params)
        returns = _returns(client, params["jobs"])
        applier = Applier(client, "default", params["replace"], params["replace_timeout"])
        steps = applier.plan([document for each in returns for document in each.documents])
        if not module.check_mode:
            applier.write(steps)
        # Last, so that a run that breaks off before is simply made again.
        moved = [each.store.write(each.history, module.check_mode) for each in returns]
    except Refused as exc:
        module.fail_json(msg=str(exc), errors=exc.as_dicts(), changed=bool(applier and applier.done))
    answer: dict[str, t.Any] = {
        "changed": any(moved) or any(step.changes for step in steps),
        "jobs": [each.report() for each in returns],
        "plan": _common_plan(returns),
        "objects": [step.summary() for step in steps],
    }
    if module._diff:
        answer["diff"] = [step.diff() for step in steps if step.changes]
    module.exit_json(**answer)


if __name__ == "__main__":
    main()
