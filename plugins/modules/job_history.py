#!/usr/bin/python
# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: job_history
short_description: Let the cluster remember what was delivered, for a rollback
version_added: 0.2.0
author:
  - mindcluster.recovery contributors (@mindcluster)
description:
  - Stores manifest and plan of each job in the ConfigMap C(recovery-history-JOB) beside the job, and keeps those of the
    delivery before. That is what M(mindcluster.recovery.job_rollback) goes back to. The controller keeps no file.
  - Call it after the jobs have been applied. What is already remembered as delivered is left as it is.
  - Secrets of a manifest are not stored. A manifest of more than 300 KiB is not remembered, which a warning says.
notes:
  - The rights that it needs (C(get), C(create), C(patch) on ConfigMaps) are in the collection's C(docs/rbac/jobs.yaml).
extends_documentation_fragment:
  - mindcluster.recovery._kube
  - mindcluster.recovery._attributes
  - mindcluster.recovery._attributes.actiongroup_recovery
attributes:
  check_mode:
    support: full
    details: The server itself says whether it would take it, by C(dryRun=All).
  diff_mode:
    support: none
    details: What is stored is what M(mindcluster.recovery.manifest_apply) has shown.
  idempotent:
    support: full
options:
  jobs:
    description:
      - The jobs, each with C(name), C(namespace), C(text) (the manifest) and C(plan). Other keys are not looked at, so
        that C(training_job_result.jobs) can be given as it is.
    type: list
    elements: dict
    required: true
  plan:
    description:
      - The plan of the whole run, by which scripts and labels were made. Without it each job's own plan is stored.
    type: dict
seealso:
  - module: mindcluster.recovery.job_rollback
"""

EXAMPLES = r"""
- name: Remember what was delivered
  mindcluster.recovery.job_history:
    jobs: "{{ training_job_result.jobs }}"
    plan: "{{ recovery_plan_result }}"
  delegate_to: localhost
"""

RETURN = r"""
maps:
  description: The ConfigMaps, as C(NAMESPACE/NAME).
  type: list
  elements: str
  returned: success
  sample: [default/recovery-history-llama2]
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
    LARGEST,
    delivered,
    entry_of,
    too_large,
)
from ansible_collections.mindcluster.recovery.plugins.module_utils._job_history_edge import HistoryMap
from ansible_collections.mindcluster.recovery.plugins.module_utils._kube import KUBE_ARGSPEC, connect
from ansible_collections.mindcluster.recovery.plugins.module_utils._manifest_documents import read_documents

_KEYS = {"name": str, "namespace": str, "text": str, "plan": dict}


def _mistakes(jobs: t.Sequence[t.Mapping[str, t.Any]]) -> list[Finding]:
    return [
        Finding(
            "job-incomplete",
            "the key `%s` is missing or of the wrong type" % key,
            "The job could not be brought back later",
            "Give the entries of `training_job_result.jobs`",
            "jobs[%d]" % number,
        )
        for number, job in enumerate(jobs)
        for key, kind in _KEYS.items()
        if not isinstance(job.get(key), kind)
    ]


def main() -> None:
    spec: dict[str, dict[str, t.Any]] = {
        "jobs": {"type": "list", "elements": "dict", "required": True},
        "plan": {"type": "dict"},
    }
    spec.update(KUBE_ARGSPEC)
    module = AnsibleModule(argument_spec=spec, supports_check_mode=True)
    jobs = module.params["jobs"]
    # The text of a manifest may hold passwords and is long.
    shown = {"module_args": dict(module.params, jobs=[job.get("name") for job in jobs], plan="(not shown)")}
    changed, maps = False, []
    try:
        mistakes = _mistakes(jobs)
        if mistakes:
            raise Refused(mistakes)
        client = connect(module.params)
        for job in jobs:
            entry = entry_of(read_documents([job["text"]]), module.params["plan"] or job["plan"], job["namespace"])
            store = HistoryMap(client, job["namespace"], job["name"])
            maps.append("%s/%s" % (job["namespace"], store.name))
            if len(entry.manifest.encode()) > LARGEST:
                module.warn(too_large(store.where, len(entry.manifest.encode())).line())
                continue
            changed = store.write(delivered(store.history, entry), module.check_mode) or changed
    except Refused as exc:
        module.fail_json(msg=str(exc), errors=exc.as_dicts(), invocation=shown)
    module.exit_json(changed=changed, maps=maps, invocation=shown)


if __name__ == "__main__":
    main()
