#!/usr/bin/python
# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: bill_of_materials
short_description: List everything that a site has to bring into a network without internet
version_added: 0.2.0
author:
  - mindcluster.recovery contributors (@mindcluster)
description:
  - Lists each wheel with path and sha256, each image with its digest, the collection with its version, and each Python
    package of the controller with version, file name and sha256.
  - Writes C(bill-of-materials.json) (CycloneDX 1.6), C(bill-of-materials.md) (a table) and C(python-packages.txt), with
    which pip fetches the Python packages and proves them by their hashes. The same site gives the same bytes - neither
    a time nor a serial number stands in them.
  - Builds and pulls nothing. Registries are asked for digests; pip says which packages the controller needs, in the
    versions that are installed where this runs.
  - Every mistake of every part is told in one run, before anything is written.
notes:
  - This runs on the controller.
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
    description: Folder for the files. A relative path counts from the working directory.
    type: str
    required: true
  plan:
    description: The plan, as M(mindcluster.recovery.recovery_plan) returns it. It says which wheels are needed.
    type: dict
    required: true
  wheels:
    description: As O(mindcluster.recovery.training_image_build#module:wheels).
    type: raw
  wheelhouse:
    description: As O(mindcluster.recovery.training_image_build#module:wheelhouse).
    type: str
  base:
    description:
      - The base image. Where it has no digest in its name, its registry is asked for it. An image ID is taken as it is.
    type: str
  repository:
    description: Where the image that is made goes. It is listed with its digest where the registry has it already.
    type: str
  tag:
    description: Its tag. The default is the plan's release in small letters.
    type: str
  jobs:
    description:
      - Jobs, each with C(image), C(manifest) or both. Images of other containers in a manifest are listed too.
    type: list
    elements: dict
    default: []
  folders:
    description: Folders in which relative paths are looked for, before the working directory.
    type: list
    elements: str
    default: []
  requirements:
    description: The controller's requirements file. The default is the one of this collection.
    type: str
  packages:
    description:
      - Folder with the files of the Python packages. Without it the package index of pip's configuration is asked.
    type: str
  platform:
    description:
      - Newest platform tag that the controller takes, such as C(manylinux_2_34_aarch64), where it is not like this
        machine. The number is the version of its C library; tags of older ones are taken as well.
    type: str
  python_version:
    description: Version of the controller's Python, such as C(3.11), where it is not like this one.
    type: str
  registry_username:
    description: User at the registry of O(repository).
    type: str
  registry_password:
    description: Password or token of that user.
    type: str
  registry_ca:
    description: Certificate of the authority that signed that registry's.
    type: str
  registry_insecure:
    description: Whether that registry speaks plain HTTP. Loopback addresses need nothing.
    type: bool
    default: false
seealso:
  - module: mindcluster.recovery.training_image_build
"""

EXAMPLES = r"""
- name: Write down what the site needs
  mindcluster.recovery.bill_of_materials:
    directory: /srv/site/bom
    plan: "{{ recovery_plan_result }}"
    base: registry.example:5000/ascend/pytorch:2.6.0
    wheels:
      mindx_elastic:
        path: /srv/mindcluster/mindx_elastic-7.2rc1-py3-none-linux_aarch64.whl
        sha256: 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
      mindio_ttp:
        path: /srv/mindcluster/mindio_ttp-1.0.0-py3-none-linux_aarch64.whl
        sha256: 123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0
"""

RETURN = r"""
paths:
  description: The files.
  type: list
  elements: str
  returned: success
  sample: [/srv/site/bom/bill-of-materials.json, /srv/site/bom/bill-of-materials.md, /srv/site/bom/python-packages.txt]
components:
  description: How many things are listed.
  type: int
  returned: success
  sample: 34
errors:
  description: Every mistake, each with code, what, where, why and remedy.
  type: list
  elements: dict
  returned: failure
"""
