#!/usr/bin/python

# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: recovery_plan
short_description: Work out what a training job needs so that it recovers from faults in place
version_added: 0.1.0
author:
  - mindcluster.recovery contributors (@mindcluster)
description:
  - Turns a request (strategies, MindCluster release, framework, versions, product) into one plan. The plan says which
    wheels and patches the training image needs, which labels, annotations, environment, flags and ports the job, which
    arguments and exports the start script and which labels the nodes.
  - Validates what the cluster does not. clusterd drops an unknown strategy without a log line, and the custom resource
    has no list of legal values, so a mistake shows only at the fault. Every mistake is reported in one run.
  - Reads nothing from the target and changes nothing.
notes:
  - Vendor facts are those of the MindCluster pages on resumable training and of the code of ascend-operator and
    clusterd
    at the tag of each release.
extends_documentation_fragment:
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
  strategies:
    description:
      - Recovery strategies, as a list or as one text with commas and no blanks. The order does not matter.
      - V(retry) is process-level online recovery, V(recover-in-place) restarts the faulty process in its Pod,
        V(recover)
        replaces the faulty Pod and keeps the other processes, V(elastic-training) goes on with fewer ranks (PyTorch
        only),
        V(dump) saves a dying checkpoint, V(exit) ends the training.
      - A blank, an upper-case letter, an unknown word or a word given twice is refused with the nearest legal value.
    type: raw
    required: true
  release:
    description:
      - MindCluster release, V(7.1.RC1), V(7.2.RC1), V(7.3.0), V(26.0.0) or V(26.1.0).
    type: raw
    default: 7.2.RC1
  framework:
    description: Training framework, V(pytorch) or V(mindspore).
    type: raw
    default: pytorch
  torch_version:
    description:
      - Version of torch in the image, in quotes. Local parts such as V(2.6.0+cpu) are fine.
      - Without it C(image.rendezvous) in RV(plan) is V(auto), and the patcher looks into torch itself.
    type: raw
  torch_npu_version:
    description:
      - Version of torch_npu in the image, in quotes. Either its own (V(2.6.0.post3)) or that of its release (V(7.2.0)).
    type: raw
  cann_version:
    description:
      - Version of CANN in the image, such as V(8.3.RC1).
      - Versions that the vendor's tables exclude together with each other are refused, such as a CANN older than the
        one
        that torch_npu was built for. Versions of which the tables say nothing are warned about. Only what is given is
        judged.
    type: raw
  python_version:
    description: Version of Python in the image, in quotes.
    type: raw
  suite:
    description:
      - Training suite, V(mindspeed-llm), V(mindformers) or V(none).
      - The default is V(mindspeed-llm) for PyTorch and V(mindformers) for MindSpore.
    type: raw
  suite_version:
    description:
      - Version of the suite. Flags that a version of MindSpeed-LLM does not parse are left out with a warning, because
        they would end the training at its start.
    type: raw
  product:
    description:
      - NPU product by the vendor's name in kebab case, such as V(atlas-800t-a2) or V(atlas-900-a3-superpod).
      - Without it jobs get no node selector.
    type: raw
  arch:
    description: Architecture of the hosts, V(aarch64) or V(x86_64). Needed only for products sold with both.
    type: raw
  fault_scheduling:
    description:
      - Value of the job label C(fault-scheduling), V(grace) or V(force).
      - The default is V(force) up to release 7.1.RC1 and V(grace) from 7.2.RC1 on, as on the vendor's pages.
    type: raw
  pod_rescheduling:
    description: Whether Pod-level rescheduling (job label C(pod-rescheduling)) is switched on as well.
    type: raw
    default: false
seealso:
  - module: mindcluster.recovery.torch_patch
  - module: mindcluster.recovery.node_labels
  - plugin: mindcluster.recovery.recovery_table
    plugin_type: filter
  - plugin: mindcluster.recovery.recovery_job_errors
    plugin_type: filter
"""

EXAMPLES = r"""
- name: Plan for online recovery on Atlas 800T A2
  mindcluster.recovery.recovery_plan:
    strategies: [retry, recover, dump]
    torch_version: "2.6.0"
    product: atlas-800t-a2
  register: planned

- name: Show what the job needs
  ansible.builtin.debug:
    var: planned.plan.job
"""

RETURN = r"""
plan:
  description:
    - What everything else in the collection reads.
    - C(strategies) stand in clusterd's order of preference. C(image) has C(wheels), C(imports), C(run_py_import) and
      C(rendezvous) (C(patch), C(native), C(runtime), C(auto) or C(none)). C(job) has C(labels), C(annotations), C(env),
      C(exports), C(args), C(ports), C(node_selector), C(resource). C(script) has C(torchrun_args), C(exports),
      C(unset) (names that the launcher must not get), C(ttp_port) (port of MindIO's controller; none where the script
      need not name it) and C(taskd_manager) (whether the script has to start TaskD's manager). C(node_labels) has the
      labels of C(master) and C(worker). C(warnings) each have a code, what, where, why and remedy.
    - C(image.wheel_patterns) has glob patterns of the vendor's file names for each wheel. C(job.operator_env) has the
      variables that the operator of the release injects by itself, C(job.operator_env_note) what a different value of
      the
      user's does there. C(job.adjustable) names what the user may choose the value of, C(job.surplus) the switches of
      strategies that are not asked for. C(job.former) has what the same request would want on other releases (C(kind),
      C(name), C(value), C(releases)), and what is without effect on this one.
  type: dict
  returned: success
  contains:
    explain:
      description:
        - What is tried at a fault. For each of C(chip-memory), C(chip-network), C(process), C(pod), C(node) and
          C(rank0-node)
          a list C(attempts) in their order, and C(end), what happens where none has helped. An attempt has C(strategy),
          C(needs) (a list of texts) and C(otherwise), where it goes on if it fails.
        - P(mindcluster.recovery.recovery_table#filter) renders it as a Markdown table.
      type: dict
      returned: success
  sample:
    strategies: [retry]
    image:
      wheels: [mindx_elastic, mindio_ttp]
      run_py_import: mindx_elastic.api
      rendezvous: patch
errors:
  description: Every mistake in the request, each with code, what, where, why and remedy.
  type: list
  elements: dict
  returned: failure
  sample:
    - code: strategy-unknown
      where: strategies
      what: "'Retry' is no recovery strategy"
      why: clusterd drops what it does not know without a log line, and the job does not recover at the fault
      remedy: Did you mean `retry`?
"""

import typing as t

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Finding, Refused
from ansible_collections.mindcluster.recovery.plugins.module_utils._plan import KEYS, build_plan

DEFAULTS: dict[str, t.Any] = {"release": "7.2.RC1", "framework": "pytorch", "pod_rescheduling": False}


def _variables(options: t.Sequence[str]) -> str:
    """Most people set the options through the roles, where they have longer names."""
    return "\nIn inventories: %s" % ", ".join("recovery_plan_" + name for name in options) if options else ""


def main() -> None:
    spec: dict[str, dict[str, t.Any]] = {key: {"type": "raw"} for key in KEYS}
    for key, default in DEFAULTS.items():
        spec[key]["default"] = default
    spec["strategies"]["required"] = True
    module = AnsibleModule(argument_spec=spec, supports_check_mode=True)
    try:
        plan = build_plan(module.params)
    except Refused as refused:
        named = sorted({finding.where for finding in refused.findings} & set(KEYS))
        module.fail_json(msg=str(refused) + _variables(named), errors=refused.as_dicts())
    for warning in plan["warnings"]:
        module.warn(Finding(**warning).line())
    module.exit_json(changed=False, plan=plan)


if __name__ == "__main__":
    main()
