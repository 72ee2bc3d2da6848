# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: training_jobs_render
short_description: Render any number of training jobs at once
version_added: 0.1.0
author:
  - mindcluster.recovery contributors (@mindcluster)
description:
  - Turns descriptions of training jobs into manifests that recover from faults, generated or laid over the user's own
    files. One call does any number of jobs.
  - Every mistake of every job is reported in one message.
options:
  _input:
    description:
      - A list of jobs. The keys of a job are the variables of the role P(mindcluster.recovery.training_job#role)
        without their prefix C(training_job_), and C(plan), a plan request of the job's own.
    type: list
    elements: dict
    required: true
  defaults:
    description: Values for keys that a job does not name.
    type: dict
    default: {}
  request:
    description: The plan request of the run. A job's own C(plan) is laid over it.
    type: dict
    default: {}
  plan:
    description: The run's plan, for jobs without a C(plan) of their own. Without it the plan is made from O(request).
    type: dict
  folders:
    description: Folders in which relative paths of manifests are looked for.
    type: list
    elements: path
    default: []
  label:
    description: Name of the variable that holds the jobs, for messages.
    type: str
    default: training_jobs
  collect:
    description:
      - Return a dictionary with C(jobs), C(errors) and C(message) in place of the list, and do not fail. It is for
        roles that want to fail with the message alone.
    type: bool
    default: false
"""

EXAMPLES = r"""
- name: Render two jobs
  ansible.builtin.set_fact:
    rendered: "{{ jobs | mindcluster.recovery.training_jobs_render(request={'strategies': 'retry'}) }}"
  vars:
    jobs:
      - name: llama2
        image: registry.example.com/llama2:1
        workers: 2
        npus_per_node: 8
        command: bash scripts/train_start.sh /job/code /job/output pretrain_gpt.py
      - manifest: /srv/jobs/qwen3.yaml
        plan:
          strategies: retry,recover
"""

RETURN = r"""
_value:
  description:
    - For each job its C(name), C(namespace), C(filename), C(source) (path of the user's file, or empty), C(text),
      C(plan), C(corrections), C(warnings), and C(notices), which are the corrections and warnings as sentences. C(file)
      is what M(mindcluster.recovery.manifest_files) takes.
  type: list
  elements: dict
"""

import typing as t

from ansible.errors import AnsibleFilterError

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Refused
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._job_render import Renderer
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._native import native


def training_jobs_render(
    jobs: t.Any,
    defaults: t.Mapping[str, t.Any] | None = None,
    request: t.Mapping[str, t.Any] | None = None,
    plan: t.Mapping[str, t.Any] | None = None,
    folders: t.Sequence[str] = (),
    label: str = "training_jobs",
    collect: bool = False,
) -> list[dict[str, t.Any]] | dict[str, t.Any]:
    """Render jobs, or fail with every mistake in them."""
    if not isinstance(jobs, (list, tuple)):
        raise AnsibleFilterError("%s: jobs are given as a list of mappings, not as `%s`." % (label, jobs))
    renderer = Renderer(native(request), native(plan), native(folders))
    try:
        rendered = renderer.render(native(jobs), native(defaults or {}), str(label))
    except Refused as refused:
        if collect:
            return {"jobs": [], "errors": refused.as_dicts(), "message": str(refused)}
        raise AnsibleFilterError(str(refused)) from None
    return {"jobs": rendered, "errors": [], "message": ""} if collect else rendered


class FilterModule:
    """Filters on training jobs."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"training_jobs_render": training_jobs_render}
