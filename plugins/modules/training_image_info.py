#!/usr/bin/python

# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: training_image_info
short_description: Look into a training image and prove what landed
version_added: 0.1.0
author:
  - mindcluster.recovery contributors (@mindcluster)
description:
  - Runs an inspector in a container of the image that has no network and cannot write, and removes the container.
    With V(none) as O(engine) nothing is run and nothing pulled, the files are read out of the layers in the registry.
  - Says for each patch where it is, in which state, and how it was recognised, which is by the syntax tree of the
    file. Says whether the modules that the job needs can be imported, by importing them. Says which torch and which
    Python it is.
  - With O(plan) it fails where something that the plan asks for has not landed, with everything that is missing at
    once.
attributes:
  check_mode:
    support: full
    details: The module changes nothing. It may pull the image into the engine, see O(pull).
  diff_mode:
    support: none
    details: The module changes nothing.
  idempotent:
    support: full
extends_documentation_fragment:
  - mindcluster.recovery._image
  - mindcluster.recovery._registry
  - mindcluster.recovery._attributes
  - mindcluster.recovery._attributes.actiongroup_recovery
options:
  image:
    description: The image, best by digest (C(REPOSITORY@sha256:…)), since a tag may move.
    type: str
    required: true
  plan:
    description:
      - The plan that the image has to fulfil, as M(mindcluster.recovery.recovery_plan) returns it.
      - Without it the labels of an image that this collection built say what it has to show, and RV(landed) and
        RV(missing) tell whether it does. In any other image the patches of release 7.2.RC1 are looked for.
    type: dict
  engine:
    description:
      - With V(docker) the image is looked at in the engine. With V(none) it is looked at in its registry, and no engine
        is needed.
      - Without an engine imports are followed in the source instead of run, and a module's state is C(found) at best.
    type: str
    choices: [docker, none]
    default: docker
  registry_ca_content:
    description:
      - Certificate in PEM form of the authority that signed the registry's, for V(none) as O(engine). An engine has it
        in a file of its own.
    type: str
  pull:
    description:
      - When to pull the image into the engine. V(missing) pulls where the engine does not have it, V(always) asks the
        registry each time, V(never) takes what the engine has.
    type: str
    choices: [missing, always, never]
    default: missing
  python:
    description:
      - The Python inside the image that trains. Without it the one by which the collection built the image, or
        C(python3).
    type: str
  platform:
    description:
      - Platform to look at where the image exists for several, such as V(linux/arm64).
      - With V(none) as O(engine) and without it the architecture of O(plan) counts.
    type: str
seealso:
  - module: mindcluster.recovery.training_image_build
  - module: mindcluster.recovery.torch_patch_info
"""

EXAMPLES = r"""
- name: Prove that the image in the registry is as planned
  mindcluster.recovery.training_image_info:
    image: "{{ training_image_ref }}"
    plan: "{{ recovery_plan_result }}"
    pull: always
  register: proof

- name: Show where the patches are
  ansible.builtin.debug:
    msg: "{{ item.name }} is {{ item.state }} in {{ item.file }}, line {{ item.line }} ({{ item.recognised_by }})"
  loop: "{{ proof.patches }}"
  loop_control:
    label: "{{ item.name }}"
"""

RETURN = r"""
image:
  description: The image as it was asked for.
  type: str
  returned: success
digest:
  description: Its digest in the registry; empty where it was never pushed or pulled.
  type: str
  returned: success
image_id:
  description: Its ID in the engine.
  type: str
  returned: success
arch:
  description: Its architecture, C(x86_64) or C(aarch64).
  type: str
  returned: success
labels:
  description: Its labels.
  type: dict
  returned: success
inputs:
  description: What it was built from; empty where this collection did not build it.
  type: dict
  returned: success
torch_version:
  description: Version of torch; empty where there is none.
  type: str
  returned: success
torch_path:
  description: Folder of torch in the image; empty where there is none.
  type: str
  returned: success
python_version:
  description: Version of Python.
  type: str
  returned: success
python:
  description: Path of that Python in the image.
  type: str
  returned: success
patches:
  description:
    - Each patch with C(name) (C(run_py) or C(rendezvous)), C(file), C(line), C(state), C(count), C(recognised_by)
      and, for C(run_py), C(import_module).
    - The states are those of M(mindcluster.recovery.torch_patch_info).
  type: list
  elements: dict
  returned: success
imports:
  description:
    - For each module that has to be importable, C(state), C(error) and C(file).
    - The state is C(imported), C(failed), or without an engine C(found), which says that its file and everything that
      it is sure to import are there.
    - The state C(needs-library) means that a shared library is missing which comes with the driver of an NPU host.
  type: dict
  returned: success
distributions:
  description: Installed versions of the wheels that are asked for.
  type: dict
  returned: success
landed:
  description: Whether everything is there that O(plan) or the image's labels ask for.
  type: bool
  returned: success
missing:
  description: What is not, each with code, what, where, why and remedy.
  type: list
  elements: dict
  returned: success
errors:
  description: Every mistake, each with code, what, where, why and remedy.
  type: list
  elements: dict
  returned: failure
"""

from ansible.module_utils.basic import AnsibleModule, missing_required_lib

from ansible_collections.mindcluster.recovery.plugins.module_utils import _image_inspect, _layer_info
from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Finding, Refused
from ansible_collections.mindcluster.recovery.plugins.module_utils._image_engine import DOCKER_IMPORT_ERROR
from ansible_collections.mindcluster.recovery.plugins.module_utils._registry_client import REQUESTS_IMPORT_ERROR


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "image": {"type": "str", "required": True},
            "plan": {"type": "dict"},
            "pull": {"type": "str", "choices": ["missing", "always", "never"], "default": "missing"},
            "python": {"type": "str"},
            "platform": {"type": "str"},
            "registry_username": {"type": "str"},
            "registry_password": {"type": "str", "no_log": True},
            "registry_ca_content": {"type": "str"},
            "registry_insecure": {"type": "bool", "default": False},
            "cache": {"type": "path"},
            "engine": {"type": "str", "choices": ["docker", "none"], "default": "docker"},
            "docker_host": {"type": "str"},
        },
        supports_check_mode=True,
    )
    without_engine = module.params["engine"] == "none"
    library = "requests" if without_engine else "docker"
    error = REQUESTS_IMPORT_ERROR if without_engine else DOCKER_IMPORT_ERROR
    if error:
        module.fail_json(msg=missing_required_lib(library), exception=error)
    try:
        answer = _layer_info.look_into(module.params) if without_engine else _image_inspect.look_into(module.params)
    except Refused as exc:
        module.fail_json(msg=str(exc), errors=exc.as_dicts())
    for warning in answer.pop("findings"):
        module.warn(Finding(**warning).line())
    module.exit_json(changed=False, **answer)


if __name__ == "__main__":
    main()
