# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: recovery_job
short_description: Make a job manifest recoverable
version_added: 0.1.0
author:
  - mindcluster.recovery contributors (@mindcluster)
description:
  - Adds and corrects in an AscendJob exactly what the plan asks for and leaves every other byte as it is, comments,
    quotes, order and line breaks among them.
  - Applied twice it gives the same as applied once.
  - Read the file byte for byte. P(ansible.builtin.file#lookup) strips the end of the file unless C(rstrip=false) is
    given.
options:
  _input:
    description: The manifest, one or several YAML documents.
    type: str
    required: true
  plan:
    description: The result of P(mindcluster.recovery.recovery_plan#filter).
    type: dict
    required: true
  job_name:
    description: Which AscendJob is meant, where the file holds several.
    type: str
  namespace:
    description: Written into the documents that name none. Without it they stay without one.
    type: str
  image:
    description: Image for the container that trains.
    type: str
  strict:
    description: Refuse where a value that the plan owns is another one, instead of correcting it.
    type: bool
    default: false
  extra_env:
    description: Variables that win over the plan.
    type: dict
    default: {}
  extra_labels:
    description: Labels of the job that win over the plan.
    type: dict
    default: {}
  extra_annotations:
    description: Annotations of the job that win over the plan.
    type: dict
    default: {}
  extra_args:
    description: More words for the start command.
    type: list
    elements: str
    default: []
  where:
    description: What the text is, for messages.
    type: str
    default: the manifest
"""

EXAMPLES = r"""
- name: Write a recoverable copy of a manifest
  ansible.builtin.copy:
    content: "{{ lookup('ansible.builtin.file', 'job.yaml', rstrip=false) | mindcluster.recovery.recovery_job(plan) }}"
    dest: /tmp/job.yaml
    mode: "0644"
  vars:
    plan: "{{ {'strategies': 'retry'} | mindcluster.recovery.recovery_plan }}"
"""

RETURN = r"""
_value:
  description: The manifest.
  type: str
"""

import typing as t

from ansible.errors import AnsibleFilterError

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Refused, suggestion
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._job_adapt import adapt_job
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._job_spec import read_spec
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._native import native
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._plan_given import as_plan

_OPTIONS = ("namespace", "image", "strict", "extra_env", "extra_labels", "extra_annotations", "extra_args")


def recovery_job(text: t.Any, plan: t.Mapping[str, t.Any], **options: t.Any) -> str:
    """Adapt a manifest, or fail with every reason why it cannot be done."""
    if not isinstance(text, str):
        raise AnsibleFilterError("recovery_job takes the text of a manifest, not a %s." % type(text).__name__)
    try:
        return adapt_job(native(text), as_plan(native(plan)), **_checked(native(options))).text
    except Refused as refused:
        raise AnsibleFilterError(str(refused)) from None


def _checked(options: dict[str, t.Any]) -> dict[str, t.Any]:
    """The options with every mistake in them told; they are those of one of the role's jobs."""
    where = str(options.pop("where", "the manifest"))
    options = {name: value for name, value in options.items() if value is not None}
    known = {**{name: name for name in _OPTIONS}, "job_name": "name"}
    unknown = [name for name in options if name not in known]
    if unknown:
        raise AnsibleFilterError(
            "recovery_job has no option `%s`. A mistyped one would be left out in silence. %s."
            % ("`, `".join(unknown), suggestion(unknown[0], known))
        )
    spec = read_spec({known[name]: value for name, value in options.items()}, where)
    return {"where": where, **{name: getattr(spec, known[name]) for name in options}}


class FilterModule:
    """Filters on job manifests."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"recovery_job": recovery_job}
