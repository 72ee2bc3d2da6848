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
    description: The jobs, each as C(NAMESPACE/NAME).
    type: list
    elements: str
    required: true
  manifests:
    description: The manifests that were applied, one for each of O(jobs), in the same order.
    type: list
    elements: str
    required: true
  plans:
    description: The plans by which jobs, scripts and labels were made; one for each of O(jobs), or one for all of them.
    type: list
    elements: dict
    required: true
seealso:
  - module: mindcluster.recovery.job_rollback
"""

EXAMPLES = r"""
- name: Remember what was delivered
  mindcluster.recovery.job_history:
    jobs: [default/llama2]
    manifests:
      - "{{ lookup('ansible.builtin.file', 'llama2.yaml', rstrip=false) }}"
    plans:
      - "{{ recovery_plan_result }}"
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
    PREFIX,
    Entry,
    delivered,
    entry_of,
    too_large,
    wrong_keys,
)
from ansible_collections.mindcluster.recovery.plugins.module_utils._job_history_edge import HistoryMap
from ansible_collections.mindcluster.recovery.plugins.module_utils._kube import KUBE_ARGSPEC, connect
from ansible_collections.mindcluster.recovery.plugins.module_utils._manifest_documents import read_documents

Params = t.Mapping[str, t.Any]


def _mistakes(params: Params) -> list[Finding]:
    jobs, manifests, plans = params["jobs"], params["manifests"], params["plans"]
    findings = []
    if len(manifests) != len(jobs) or len(plans) not in (1, len(jobs)):
        findings.append(
            Finding(
                "lists-differ",
                "%d jobs, %d manifests and %d plans are given" % (len(jobs), len(manifests), len(plans)),
                "Which manifest is whose would be guessed",
                "Give one manifest for each job, in the same order, and one plan for each or one for all",
                "jobs",
            )
        )
    return findings + wrong_keys(jobs)


def _looked(client: t.Any, key: str, text: str, plan: dict[str, t.Any]) -> tuple[HistoryMap, Entry]:
    namespace, _slash, name = key.partition("/")
    entry = entry_of(read_documents([text]), plan, namespace)
    return HistoryMap(client, namespace, name), entry


def _looked_at_all(
    client: t.Any, jobs: t.Iterable[tuple[str, str, dict[str, t.Any]]]
) -> list[tuple[HistoryMap, Entry]]:
    """The memory of each job, before any is written.

    :raises Refused: with all that cannot be read.
    """
    found: list[tuple[HistoryMap, Entry]] = []
    findings: list[Finding] = []
    for job in jobs:
        try:
            found.append(_looked(client, *job))
        except Refused as exc:
            findings += exc.findings
    if findings:
        raise Refused(findings)
    return found


def _remember(module: AnsibleModule, store: HistoryMap, entry: Entry) -> bool:
    if len(entry.manifest.encode()) > LARGEST:
        module.warn(too_large(store.where, len(entry.manifest.encode())).line())
        return False
    return store.write(delivered(store.history, entry), module.check_mode)


def main() -> None:
    spec: dict[str, dict[str, t.Any]] = {
        "jobs": {"type": "list", "elements": "str", "required": True},
        # A manifest may hold passwords in variables; nothing of it belongs into a log.
        "manifests": {"type": "list", "elements": "str", "required": True, "no_log": True},
        "plans": {"type": "list", "elements": "dict", "required": True},
    }
    spec.update(KUBE_ARGSPEC)
    module = AnsibleModule(argument_spec=spec, supports_check_mode=True)
    params = module.params
    stored: list[bool] = []
    try:
        mistakes = _mistakes(params)
        if mistakes:
            raise Refused(mistakes)
        client = connect(params)
        plans = params["plans"] * len(params["jobs"]) if len(params["plans"]) == 1 else params["plans"]
        for store, entry in _looked_at_all(client, zip(params["jobs"], params["manifests"], plans)):
            stored.append(_remember(module, store, entry))
    except Refused as exc:
        module.fail_json(msg=str(exc), errors=exc.as_dicts(), changed=any(stored) and not module.check_mode)
    maps = ["%s/%s%s" % (key.partition("/")[0], PREFIX, key.partition("/")[2]) for key in params["jobs"]]
    module.exit_json(changed=any(stored), maps=maps)


if __name__ == "__main__":
    main()
