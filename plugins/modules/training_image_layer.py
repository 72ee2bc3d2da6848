#!/usr/bin/python

# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: training_image_layer
short_description: Build a training image without an engine, by one layer written straight to the registry
version_added: 0.1.0
author:
  - mindcluster.recovery contributors (@mindcluster)
description:
  - Does what M(mindcluster.recovery.training_image_build) does, with no engine and without pulling the base image.
    Reads from the base image's layers which Python and which torch it has and what is installed, patches the files of
    torch, unpacks the vendor's wheels, and writes all of it as one layer on top. The base image's layers stay where
    they are when both repositories are in one registry.
  - Runs nothing of the image, so that an image for aarch64 is built on any machine, and no root rights are needed.
  - Layers are read as streams, once each. What was read is kept as a small index by digest in O(cache).
  - Looks first. Every wheel is checked against the Python, the C library and the architecture of the base image, and
    what cannot work is refused before anything is sent, all mistakes at once.
  - Never asks a package index. What the wheels need beyond the base image comes from O(wheelhouse), declared or not.
    What is not declared is found by following the import statements of the modules that the job imports.
  - Never replaces torch, torch_npu or MindSpore of the base image.
  - The same inputs give the same layer, so that the digest is known before it is pushed.
  - Does nothing when nothing has changed, for which one request for the manifest is enough. The digest of the base
    image, the wheels, the wheelhouse, the code and the plan make one hash, which the image carries as label
    C(mindcluster.recovery.inputs), and as an annotation of its manifest where its format has annotations.
attributes:
  check_mode:
    support: full
    details:
      - Layers of the base image are read, and what was read goes to O(cache). Nothing is sent to the registry.
      - RV(digest) is the one that the image would have.
  diff_mode:
    support: full
    details: Shows what goes into the image, before and after, and the paths of the new layer.
  idempotent:
    support: full
extends_documentation_fragment:
  - mindcluster.recovery._registry
  - mindcluster.recovery._image_making
  - mindcluster.recovery._attributes
  - mindcluster.recovery._attributes.actiongroup_recovery
options:
  base:
    description: Image in a registry to start from, by name or by digest.
    type: str
    required: true
  tag:
    description: Tag of the finished image. It points at the new image only when everything else is in the registry.
    type: str
    default: latest
  wheels:
    description:
      - The vendor's wheels by name (V(mindx_elastic), V(mindio_ttp), V(taskd)), each with C(path) and C(sha256).
      - A relative path is looked for on the controller as M(ansible.builtin.copy) does it, then in the working
        directory.
      - For images of several platforms a wheel may be a list, with a file for each architecture.
      - Name a wheel by path only. V(taskd) on the public package index is a stranger's package.
    type: raw
    default: {}
  python:
    description:
      - The Python inside the image that trains. Where torch is, which wheels fit and where they go follows from it.
      - A name is looked for in the E(PATH) of the image's configuration. It must be the interpreter, since a script
        that starts one (of pyenv, say) is not run.
        Name a conda or virtual environment by the full path of its interpreter.
    type: str
    default: python3
  pull:
    description:
      - When to ask the registry what the base image's name means. V(missing) asks when something is to be built, and
        takes for an image that is there the base image that it was made from; V(always) asks each time.
      - A base image that is named by digest never changes, so that it makes no difference for it.
    type: str
    choices: [missing, always]
    default: missing
  registry_username:
    description:
      - User at the registry of O(repository), and of O(base) where that is in the same registry. It stays in memory.
      - Without it, and for any other registry, the Docker configuration of the user who runs the module is used,
        credential helpers included.
    type: str
  registry_password:
    description: Password or token of O(registry_username).
    type: str
  registry_ca:
    description:
      - Path on the controller of the certificate of the authority that signed the certificate of the registry of
        O(repository).
    type: str
  platforms:
    description:
      - Platforms of the image, such as V(linux/arm64).
      - With more than one an index is pushed, with an image for each. With none the architecture of O(plan) decides,
        and where that names none, a base image that is for one platform only.
    type: list
    elements: str
    default: []
requirements:
  - "Python libraries C(requests) and C(docker) (for the Docker configuration), C(installer) 0.7 or newer, C(packaging)"
  - "Python library C(zstandard) for layers that are packed with zstd"
  - "Python library C(isal), which is not needed, unpacks layers twice as fast"
seealso:
  - module: mindcluster.recovery.training_image_build
  - module: mindcluster.recovery.training_image_info
  - module: mindcluster.recovery.recovery_plan
notes:
  - Wheels are read on the controller and copied to the host where the module runs only when something is built.
  - Imports are followed, not run. What only running shows (a library of the wrong version, say) is shown by the builder
    docker or by the first start of the job.
"""

EXAMPLES = r"""
- name: Plan
  mindcluster.recovery.recovery_plan:
    strategies: [retry, recover, dump]
    product: atlas-800t-a2
  register: planned

- name: Build for the nodes' aarch64 on any machine
  mindcluster.recovery.training_image_layer:
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
  description: The image to use, pinned by digest. In check mode with the digest that it would have.
  type: str
  returned: success
  sample: registry.example:5000/team/pretrain@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
digest:
  description: Digest of the image, or of the index where there are several platforms.
  type: str
  returned: success
image_id:
  description: ID that the image has in engines; empty where there are several platforms.
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
  description: The same as RV(built), for nothing is built that is not pushed.
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
images:
  description:
    - For each platform C(platform), C(digest), C(base_digest), C(layer) (C(digest), C(diff_id), C(size)) and C(paths),
      which are the files of the layer, with a minus sign before what it takes away.
  type: list
  elements: dict
  returned: success
statistics:
  description: Number of C(requests) to registries, C(bytes_down) and C(bytes_up).
  type: dict
  returned: success
errors:
  description: Every mistake, each with code, what, where, why and remedy.
  type: list
  elements: dict
  returned: failure
"""

import sys
import typing as t

from ansible.module_utils.basic import AnsibleModule, missing_required_lib

from ansible_collections.mindcluster.recovery.plugins.module_utils import _layer_steps as steps
from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Refused
from ansible_collections.mindcluster.recovery.plugins.module_utils._layer_wheels import INSTALLER_IMPORT_ERROR
from ansible_collections.mindcluster.recovery.plugins.module_utils._registry_client import REQUESTS_IMPORT_ERROR

# The keys of the option that only the action plugin sets: the step to take, and what it found out before.
_HANDED_OVER: tuple[str, ...] = (
    "_step",  # look or build
    "_findings",  # mistakes that were found on the controller
    "_wheels",  # by key, what was read from each wheel, with its path on the host of the module
    "_variants",  # by key, a list of the same where there is a file for each architecture
    "_wheelhouse",  # the same as a list
    "_ca_pem",  # the authority's certificate
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
        "pull": {"type": "str", "choices": ["missing", "always"], "default": "missing"},
        "registry_username": {"type": "str"},
        "registry_password": {"type": "str", "no_log": True},
        "registry_ca": {"type": "str"},
        "registry_insecure": {"type": "bool", "default": False},
        "platforms": {"type": "list", "elements": "str", "default": []},
        "cache": {"type": "path"},
        "_handover": {"type": "dict"},
    }


def take_step(module: AnsibleModule) -> dict[str, t.Any]:
    # Threads receive, unpack and hash; none of them is to wait milliseconds for its turn, which is the usual.
    sys.setswitchinterval(0.0002)
    handed_over = module.params["_handover"]
    params = dict(module.params, **{key: handed_over.get(key) for key in _HANDED_OVER})
    return steps.build(params, module.check_mode) if params["_step"] == "build" else steps.look(params)


def main() -> None:
    module = AnsibleModule(argument_spec=argument_spec(), supports_check_mode=True)
    for library, error in (("requests", REQUESTS_IMPORT_ERROR), ("installer", INSTALLER_IMPORT_ERROR)):
        if error:
            module.fail_json(msg=missing_required_lib(library), exception=error)
    if not module.params["_handover"]:
        module.fail_json(msg="This module runs only through its action plugin: call it as a task, by its full name.")
    try:
        module.exit_json(changed=False, step=take_step(module))
    except Refused as exc:
        module.fail_json(msg=str(exc), errors=exc.as_dicts())


if __name__ == "__main__":
    main()
