#!/usr/bin/python
# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: manifest_files
short_description: Write manifests into a GitOps working tree
version_added: 0.1.0
author:
  - mindcluster.recovery contributors (@mindcluster)
description:
  - Writes any number of manifests into one directory and keeps the list of resources in its kustomization current.
  - Everything is checked before the first file is written. The same input gives the same bytes.
  - A file that was not written by this module is never written over. What it writes begins with the line
    C(# Managed by mindcluster.recovery), except for a file that is edited in place, see O(files[].source).
  - Nothing outside O(directory) is ever written, also not through symbolic links.
  - Of several runs at once on the same directory each waits for the one before it.
extends_documentation_fragment:
  - mindcluster.recovery._attributes
  - mindcluster.recovery._attributes.actiongroup_recovery
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
  idempotent:
    support: full
options:
  directory:
    description:
      - The directory inside the working tree. It is made where only the last part of its path does not exist yet.
    type: path
    required: true
  files:
    description: The files.
    type: list
    elements: dict
    required: true
    suboptions:
      path:
        description: Path relative to O(directory).
        type: str
        required: true
      content:
        description: The text of the file, which is written as it is.
        type: str
        required: true
      source:
        description:
          - The file that O(files[].content) was made from. If it is the very file to be written, it is edited in place
            and gets no marker line.
        type: path
  kustomization:
    description:
      - Keep the list C(resources) of the directory's C(kustomization.yaml) current. Missing names are added, everything
        else stays as it is.
    type: bool
    default: false
  state:
    description:
      - V(absent) deletes those of the files that this module has written, and takes them out of the kustomization. A
        file without the marker line stays, one that is edited in place among them, and is named in RV(kept_paths).
      - A kustomization in which nothing is left but what this module writes is deleted as well.
    type: str
    choices: [present, absent]
    default: present
    version_added: 0.2.0
  notices:
    description: Sentences that are shown as warnings, for roles that have something to say about what they write.
    type: list
    elements: str
    default: []
"""

EXAMPLES = r"""
- name: Put a manifest into the working tree
  mindcluster.recovery.manifest_files:
    directory: /srv/gitops/training
    kustomization: true
    files:
      - path: llama2.yaml
        content: "{{ lookup('ansible.builtin.template', 'llama2.yaml.j2') }}"

- name: Take it out again
  mindcluster.recovery.manifest_files:
    directory: /srv/gitops/training
    kustomization: true
    state: absent
    files:
      - {path: llama2.yaml, content: ""}
"""

RETURN = r"""
paths:
  description: The files that hold the manifests, and the kustomization where it is kept.
  type: list
  elements: str
  returned: success
  sample: [/srv/gitops/training/llama2.yaml]
changed_paths:
  description: Those of them that were written, or would be in check mode.
  type: list
  elements: str
  returned: success
  sample: []
kept_paths:
  description: The files that stay because this module did not write them.
  type: list
  elements: str
  returned: success, with O(state=absent)
  sample: []
  version_added: 0.2.0
errors:
  description: Every mistake, with the keys C(code), C(what), C(where), C(why), C(remedy).
  type: list
  elements: dict
  returned: failure
"""

import os
import typing as t

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Refused, after
from ansible_collections.mindcluster.recovery.plugins.module_utils._manifest_files import (
    Change,
    Wish,
    alone,
    kustomization_path,
    plan_changes,
    write,
)
from ansible_collections.mindcluster.recovery.plugins.module_utils._manifest_files_remove import (
    Absence,
    make_absent,
    plan_absence,
)


def _diff(change: Change | Absence) -> dict[str, str]:
    return {
        "before_header": change.path if change.before is not None else "%s (new)" % change.path,
        "after_header": change.path if change.after is not None else "%s (deleted)" % change.path,
        "before": change.before or "",
        "after": change.after or "",
    }


def _planned(
    directory: str, wishes: list[Wish], kustomization: bool, state: str
) -> tuple[t.Sequence[Change | Absence], list[str] | None]:
    """What has to be done, and with C(absent) the files that stay."""
    if state == "present":
        return plan_changes(directory, wishes, kustomization), None
    return plan_absence(directory, wishes, kustomization)


def _carry_out(changes: t.Sequence[Change | Absence], done: list[str]) -> None:
    """Do it.

    :param done: gets a sentence for each file.
    """
    for change in changes:
        try:
            if isinstance(change, Absence):
                make_absent(change)
            else:
                write(change)
        except Refused as exc:
            raise after(exc, done) from exc
        done.append("%s was %s" % (change.path, "written" if change.after is not None else "deleted"))


def _paths(directory: str, wishes: t.Sequence[Wish], kustomization: bool) -> list[str]:
    kept = [kustomization_path(directory)] if kustomization else []
    return [os.path.join(directory, wish.path) for wish in wishes] + kept


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "directory": {"type": "path", "required": True},
            "files": {
                "type": "list",
                "elements": "dict",
                "required": True,
                # Ansible writes the arguments into the log of the system, and a manifest may hold passwords.
                "no_log": True,
                "options": {
                    "path": {"type": "str", "required": True},
                    "content": {"type": "str", "required": True},
                    "source": {"type": "path"},
                },
            },
            "kustomization": {"type": "bool", "default": False},
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
            "notices": {"type": "list", "elements": "str", "default": []},
        },
        supports_check_mode=True,
    )
    # Out of the result texts are kept below; Ansible's own way would take them out of the diff as well, and names too.
    module.no_log_values.clear()
    directory = os.path.abspath(module.params["directory"])
    wishes = [Wish(item["path"], item["content"], item["source"]) for item in module.params["files"]]
    # The text of a manifest may hold passwords and is long; the diff shows it to those alone who ask for one.
    shown = {"module_args": dict(module.params, files=[wish.path for wish in wishes])}
    for notice in module.params["notices"]:
        module.warn(notice)
    done: list[str] = []
    try:
        with alone(directory):
            changes, stay = _planned(directory, wishes, module.params["kustomization"], module.params["state"])
            _carry_out([] if module.check_mode else changes, done)
    except Refused as exc:
        module.fail_json(msg=str(exc), errors=exc.as_dicts(), changed=bool(done), invocation=shown)
    answer: dict[str, t.Any] = {
        "invocation": shown,
        "changed": bool(changes),
        "paths": _paths(directory, wishes, module.params["kustomization"]),
        "changed_paths": [change.path for change in changes],
    }
    if stay is not None:
        answer["kept_paths"] = stay
    if module._diff:
        answer["diff"] = [_diff(change) for change in changes]
    module.exit_json(**answer)


if __name__ == "__main__":
    main()
