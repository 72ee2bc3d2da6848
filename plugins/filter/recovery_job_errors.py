# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: recovery_job_errors
short_description: What in a job manifest differs from the plan
version_added: 0.1.0
author:
  - mindcluster.recovery contributors (@mindcluster)
description:
  - Compares every AscendJob in a manifest with a plan and lists each deviation. The cluster itself validates next to
    nothing, so such a mistake shows only at the fault.
  - Among what it finds are a flag on one replica type only, a label or an annotation on the Pod template, an unquoted
    C(on), quotes inside of a value, replica types in lower case, NPUs under C(limits) only, node selectors that differ
    or that the release no longer knows, a renamed port or container, carriage returns in C(args) and flags that exclude
    each other.
  - Changes nothing, and needs no cluster.
options:
  _input:
    description:
      - The manifest. Text with one or several YAML documents, one document as data, or a list of these.
      - Text is read as YAML 1.1, as the clients of the API server do.
    type: raw
    required: true
  request:
    description:
      - The request, with the options of M(mindcluster.recovery.recovery_plan) as keys, or the plan itself.
    type: dict
    required: true
  where:
    description: What the text is, for the message where it is no valid YAML.
    type: str
    default: the manifest
seealso:
  - plugin: mindcluster.recovery.recovery_job
    plugin_type: filter
  - module: mindcluster.recovery.recovery_plan
"""

EXAMPLES = r"""
- name: Refuse a job that would not recover
  ansible.builtin.assert:
    that: mistakes | length == 0
    fail_msg: "{{ mistakes | to_nice_yaml }}"
  vars:
    manifest: "{{ lookup('ansible.builtin.file', 'job.yaml', rstrip=false) }}"
    wanted: {strategies: "retry,recover", product: atlas-800t-a2}
    mistakes: "{{ manifest | mindcluster.recovery.recovery_job_errors(wanted) | selectattr('level', 'eq', 'error') }}"
"""

RETURN = r"""
_value:
  description:
    - The deviations, empty where there is none. Each has C(code), a stable short name; C(level), V(error) where the job
      does not start or does not recover as asked, V(warning) where it does for now or where it is doubtful; C(job), the
      name of the object; C(path), where; C(found); C(wanted); C(why).
  type: list
  elements: dict
  sample:
    - code: flag-missing
      level: error
      job: llama
      path: spec.replicaSpecs.Worker.template.spec.containers[0].args[0]
      found: (missing)
      wanted: --enable-hbmfault-repair
      why: Without it the framework does not take part in the recovery on this replica type
"""

import typing as t

from ansible.errors import AnsibleFilterError

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Refused
from ansible_collections.mindcluster.recovery.plugins.module_utils._job_check import check_job
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._manifest_read import documents_of
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._plan_given import as_plan


def recovery_job_errors(manifest: t.Any, request: t.Any, where: str = "the manifest") -> list[dict[str, str]]:
    """Every deviation of a manifest, or a failure where the text is no YAML or the request itself is wrong."""
    try:
        return check_job(documents_of(manifest, where), as_plan(request))
    except Refused as refused:
        raise AnsibleFilterError(str(refused)) from None


class FilterModule:
    """The reverse check of job manifests."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"recovery_job_errors": recovery_job_errors}
