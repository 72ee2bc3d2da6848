#!/usr/bin/python

# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: training_image_build
short_description: Build a training image that recovers from faults, prove it and push it
version_added: 0.1.0
author:
  - mindcluster.recovery contributors (@mindcluster)
description:
  - Builds from a base image of yours. Installs the vendor's wheels, applies the patches that the plan asks for,
    proves in the finished image that everything landed, and pushes it. What you use afterwards is pinned by digest.
  - Looks first. The base image is asked for its Python, its C library, its torch and its pip, and every wheel is
    checked against that. What cannot work is refused before anything is built, all mistakes at once.
  - Never asks a package index. What the wheels need beyond the base image comes from O(wheelhouse). What is missing
    is found by reading what the wheels declare and by trying the very imports that the job makes, and it is all
    listed at once.
  - Never replaces torch, torch_npu or MindSpore of the base image.
  - Does nothing when nothing has changed. The digest of the base image, the wheels, the wheelhouse, the code that runs
    inside the image and the plan make one hash, which the image carries as label C(mindcluster.recovery.inputs).
attributes:
  check_mode:
    support: full
    details:
      - Images may be pulled into the engine, because only a look into the base image shows whether the build would
        work.
      - Where something would be built, the build is tried in a container that is thrown away. Nothing is tagged or
        pushed.
  diff_mode:
    support: full
    details: Shows what goes into the image and the Dockerfile, before and after.
  idempotent:
    support: full
extends_documentation_fragment:
  - mindcluster.recovery._image
  - mindcluster.recovery._image_making
  - mindcluster.recovery._attributes
  - mindcluster.recovery._attributes.actiongroup_recovery
options:
  base:
    description:
      - Image to start from, by name, by digest, or by the ID that it has in the engine.
    type: str
    required: true
  tag:
    description: Tag of the finished image.
    type: str
    default: latest
  wheels:
    description:
      - The vendor's wheels by name (V(mindx_elastic), V(mindio_ttp), V(taskd)), each with C(path) and C(sha256).
      - A relative path is looked for on the controller as M(ansible.builtin.copy) does it, then in the working
        directory.
      - Name a wheel by path only. V(taskd) on the public package index is a stranger's package.
    type: raw
    default: {}
  python:
    description:
      - The Python inside the image that trains. Where torch is, which wheels fit and what pip installs is asked of it.
      - A name is looked for in the E(PATH) of the image's configuration; shell profiles and entry points are not run.
        Name a conda or virtual environment by the full path of its interpreter.
    type: str
    default: python3
  pull:
    description:
      - When to pull the base image. V(missing) pulls where the engine does not have it, V(always) asks the registry
        each time whether it has a newer one, V(never) takes what the engine has.
      - The image at O(repository) is pulled, whatever stands here, when it exists and the engine does not have it,
        because only its labels tell what it was built from.
    type: str
    choices: [missing, always, never]
    default: missing
  push:
    description:
      - Whether to push. Without it the image stays in the engine, and RV(ref) has no digest.
    type: bool
    default: true
  build_args:
    description:
      - Build arguments. The usual proxy variables leave no trace in the image; any other one can be read in its
        history.
    type: dict
    default: {}
  registry_ca:
    description:
      - Path on the controller of the certificate of the authority that signed the registry's certificate.
      - It is written to C(/etc/docker/certs.d/REGISTRY/ca.crt) on the builder, where the engine reads it without a
        restart. That needs root, and an engine on that host.
    type: str
  registry_insecure:
    description:
      - Say that the registry speaks plain HTTP. An engine takes that from loopback addresses only, unless its own
        C(daemon.json) lists the registry under C(insecure-registries); that it does is checked.
    type: bool
    default: false
  platforms:
    description:
      - Platform of the image, such as V(linux/arm64); at most one. Without it the engine's own.
    type: list
    elements: str
    default: []
seealso:
  - module: mindcluster.recovery.training_image_info
  - module: mindcluster.recovery.recovery_plan
notes:
  - Wheels are read on the controller and copied to the builder only when something is built. They stay in one layer
    of the image as files that later layers hide, because the engine's builder has no other way.
"""

EXAMPLES = r"""
- name: Plan
  mindcluster.recovery.recovery_plan:
    strategies: [retry, recover, dump]
  register: planned

- name: Build and push
  mindcluster.recovery.training_image_build:
    base: registry.example:5000/ascend/pytorch:2.6.0
    repository: registry.example:5000/team/pretrain
    tag: 7.2.rc1
    plan: "{{ planned.plan }}"
    wheels:
      mindx_elastic:
        path: /srv/mindcluster/mindx_elastic-7.2rc1-py3-none-linux_aarch64.whl
        sha256: 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
      mindio_ttp:
        path: /srv/mindcluster/mindio_ttp-7.2rc1-py3-none-linux_aarch64.whl
        sha256: 123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0
    wheelhouse: /srv/mindcluster/wheelhouse
    registry_username: ci
    registry_password: "{{ vault_registry_password }}"
  register: image

- name: What to put into the job
  ansible.builtin.debug:
    var: image.ref
"""

RETURN = r"""
ref:
  description:
    - The image to use, pinned by digest. Without O(push) by tag. In check mode, where something would be built, the
      placeholder C(REPOSITORY:not-built-yet).
  type: str
  returned: success
  sample: registry.example:5000/team/pretrain@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
digest:
  description: Digest of the image in the registry, as the registry answered it; empty where nothing is there yet.
  type: str
  returned: success
image_id:
  description: ID of the image in the engine; empty where it is not built.
  type: str
  returned: success
inputs:
  description: Everything that decides what the image is. Its hash is the label C(mindcluster.recovery.inputs).
  type: dict
  returned: success
built:
  description: Whether the image was built, or would be in check mode.
  type: bool
  returned: success
pushed:
  description: Whether the image was pushed, or would be in check mode.
  type: bool
  returned: success
torch_version:
  description: Version of torch in the image; empty where it has none.
  type: str
  returned: success
python_version:
  description: Version of Python in the image.
  type: str
  returned: success
patches:
  description: The patches as they were recognised in the new image.
  type: list
  elements: dict
  returned: when an image was built
errors:
  description: Every mistake, each with code, what, where, why and remedy.
  type: list
  elements: dict
  returned: failure
"""

import typing as t
from urllib.parse import urlsplit

from ansible.module_utils.basic import AnsibleModule, missing_required_lib

from ansible_collections.mindcluster.recovery.plugins.module_utils import _image_steps as steps
from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Refused
from ansible_collections.mindcluster.recovery.plugins.module_utils._image_engine import DOCKER_IMPORT_ERROR

# The keys of the option that only the action plugin sets: the step to take, and what it found out before.
_HANDED_OVER: tuple[str, ...] = (
    "_step",  # look, pull, trial, build or push
    "_findings",  # mistakes that were found on the controller
    "_wheels",  # by key, what was read from each wheel, with its path on the builder
    "_wheelhouse",  # the same as a list
    "_ca_pem",  # the authority's certificate
    "_image",  # the image to pull
    "_pulled",  # what was pulled already
    "_look",  # what the look returned
)


def argument_spec() -> dict[str, t.Any]:
    return {
        "base": {"type": "str", "required": True},
        "repository": {"type": "str", "required": True},
        "tag": {"type": "str", "default": "latest"},
        "plan": {"type": "dict", "required": True},
        "wheels": {"type": "raw", "default": {}},
        "wheelhouse": {"type": "str"},
        "python": {"type": "str", "default": "python3"},
        "pull": {"type": "str", "choices": ["missing", "always", "never"], "default": "missing"},
        "push": {"type": "bool", "default": True},
        "build_args": {"type": "dict", "default": {}},
        "registry_username": {"type": "str"},
        "registry_password": {"type": "str", "no_log": True},
        "registry_ca": {"type": "str"},
        "registry_insecure": {"type": "bool", "default": False},
        "platforms": {"type": "list", "elements": "str", "default": []},
        "docker_host": {"type": "str"},
        "_handover": {"type": "dict"},
    }


PROXIES = ("http_proxy", "https_proxy", "ftp_proxy", "all_proxy", "no_proxy")
# Ansible replaces a hidden value wherever it finds it, so that hiding a "1" would garble everything.
SHORTEST_SECRET = 4


def hide_build_args(module: AnsibleModule) -> None:
    """C(-vvv) shows all that a module returns; a proxy's address may hold a password, another argument may be one."""
    arguments = {name: str(value) for name, value in (module.params["build_args"] or {}).items()}
    module.params["build_args"] = arguments
    for name, value in arguments.items():
        if name.lower() not in PROXIES and len(value) >= SHORTEST_SECRET:
            module.no_log_values.add(value)
        try:
            password = urlsplit(value).password
        except ValueError:
            continue
        if password:
            module.no_log_values.update([password, value])


def take_step(module: AnsibleModule) -> dict[str, t.Any]:
    handed_over = module.params["_handover"]
    params = dict(module.params, **{key: handed_over.get(key) for key in _HANDED_OVER})
    if params["_step"] == "look":
        return steps.look(params, module.check_mode)
    return {"pull": steps.pull, "trial": steps.trial, "build": steps.build, "push": steps.push}[params["_step"]](params)


def main() -> None:
    module = AnsibleModule(argument_spec=argument_spec(), supports_check_mode=True)
    hide_build_args(module)
    if DOCKER_IMPORT_ERROR:
        module.fail_json(msg=missing_required_lib("docker"), exception=DOCKER_IMPORT_ERROR)
    if not module.params["_handover"]:
        module.fail_json(msg="This module runs only through its action plugin: call it as a task, by its full name.")
    try:
        module.exit_json(changed=False, step=take_step(module))
    except Refused as exc:
        module.fail_json(msg=str(exc), errors=exc.as_dicts())


if __name__ == "__main__":
    main()
