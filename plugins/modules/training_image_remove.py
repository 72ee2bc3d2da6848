#!/usr/bin/python
# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: training_image_remove
short_description: Take the images that the collection built out of engine and registry
version_added: 0.2.0
author:
  - mindcluster.recovery contributors (@mindcluster)
description:
  - Removes the images that M(mindcluster.recovery.training_image_build) has built from the engine on this host and from
    their registry. They are known by the label C(mindcluster.recovery.inputs); any other image stays.
  - A registry deletes by digest, and with it every tag of that digest. An image that another tag names too stays.
  - What cannot be removed is no failure but named in RV(left), such as images in a registry that allows no deletion, or
    in an engine that does not answer.
  - An authority that was installed for the engine stays, since other images may need it.
extends_documentation_fragment:
  - mindcluster.recovery._image
  - mindcluster.recovery._attributes
  - mindcluster.recovery._attributes.actiongroup_recovery
attributes:
  check_mode:
    support: full
    details: Whether the registry allows deletion shows only when it is asked to.
  diff_mode:
    support: none
    details: RV(removed) says it all.
  idempotent:
    support: full
options:
  repository:
    description: Repository of the images, with the registry and without a tag.
    type: str
    required: true
  tag:
    description: Tag of the image. Without it the tags that the role gives by default are meant, one for each release.
    type: str
  engine:
    description: Whether the images may be in the engine of this host. V(false) where they were built without one.
    type: bool
    default: true
  pushed:
    description: Whether the images were pushed, so that the registry is to be asked.
    type: bool
    default: true
  registry_ca:
    description: Text of the certificate authority that signed the registry's certificate.
    type: str
  registry_insecure:
    description: Whether the registry speaks plain HTTP.
    type: bool
    default: false
seealso:
  - module: mindcluster.recovery.training_image_build
"""

EXAMPLES = r"""
- name: Take the image out again
  mindcluster.recovery.training_image_remove:
    repository: registry.example.com/training/llama2
    tag: 7.2.rc1
    registry_username: ci
    registry_password: "{{ vault_registry_password }}"
"""

RETURN = r"""
removed:
  description: What was removed, or would be in check mode.
  type: list
  elements: str
  returned: success
  sample: ["registry.example.com/training/llama2:7.2.rc1 in the engine"]
left:
  description: What stays, each with the reason.
  type: list
  elements: str
  returned: success
  sample: []
errors:
  description: Every mistake, each with code, what, where, why and remedy.
  type: list
  elements: dict
  returned: failure
"""

import os
import tempfile
import typing as t

from ansible.module_utils.basic import AnsibleModule, missing_required_lib

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Refused
from ansible_collections.mindcluster.recovery.plugins.module_utils._image_engine import (
    DOCKER_IMPORT_ERROR,
    Credentials,
    Engine,
)
from ansible_collections.mindcluster.recovery.plugins.module_utils._image_refs import (
    Reference,
    check_tag,
    parse_repository,
)
from ansible_collections.mindcluster.recovery.plugins.module_utils._image_remove import (
    Outcome,
    RegistryRemoval,
    asked,
    remove_from_engine,
)
from ansible_collections.mindcluster.recovery.plugins.module_utils._registry_client import Registry
from ansible_collections.mindcluster.recovery.plugins.module_utils._registry_session import Session
from ansible_collections.mindcluster.recovery.plugins.module_utils._releases import RELEASE_NAMES

_RETRIES = 2


def _from_engine(params: t.Mapping[str, t.Any], repository: Reference, tags: list[str], check: bool) -> Outcome:
    credentials = Credentials(repository.registry, params["registry_username"], params["registry_password"])
    return remove_from_engine(Engine(credentials, params["docker_host"] or ""), repository, tags, check)


def _from_registry(params: t.Mapping[str, t.Any], repository: Reference, tags: list[str], check: bool) -> Outcome:
    user, password, insecure = params["registry_username"], params["registry_password"], params["registry_insecure"]
    host, authority = repository.registry, _authority(params["registry_ca"])
    try:
        registry = Registry(
            host, username=user, password=password, ca_file=authority, insecure=insecure, retries=_RETRIES
        )
        session = Session(host, user, password, authority, insecure, None, _RETRIES)
        return RegistryRemoval(registry, session, repository).remove(tags, check)
    finally:
        if authority:
            os.unlink(authority)


def _authority(text: str | None) -> str | None:
    if not text:
        return None
    with tempfile.NamedTemporaryFile("w", prefix="registry-ca.", suffix=".pem", delete=False) as stream:
        stream.write(text)
    return stream.name


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "repository": {"type": "str", "required": True},
            "tag": {"type": "str"},
            "engine": {"type": "bool", "default": True},
            "pushed": {"type": "bool", "default": True},
            "registry_ca": {"type": "str"},
            "registry_insecure": {"type": "bool", "default": False},
            "docker_host": {"type": "str"},
            "registry_username": {"type": "str"},
            "registry_password": {"type": "str", "no_log": True},
        },
        supports_check_mode=True,
    )
    if DOCKER_IMPORT_ERROR and module.params["engine"]:
        module.fail_json(msg=missing_required_lib("docker"), exception=DOCKER_IMPORT_ERROR)
    params = module.params
    tags = [params["tag"]] if params["tag"] else [name.lower() for name in RELEASE_NAMES]
    try:
        repository = parse_repository(params["repository"])
        mistakes = [finding for tag in tags for finding in check_tag(tag)]
        if mistakes:
            raise Refused(mistakes)
    except Refused as exc:
        module.fail_json(msg=str(exc), errors=exc.as_dicts())
    name = str(repository)
    outcomes = []
    if params["engine"]:
        outcomes.append(asked(name, lambda: _from_engine(params, repository, tags, module.check_mode)))
    if params["pushed"]:
        outcomes.append(asked(name, lambda: _from_registry(params, repository, tags, module.check_mode)))
    removed = [each for outcome in outcomes for each in outcome.removed]
    module.exit_json(
        changed=bool(removed), removed=removed, left=[each for outcome in outcomes for each in outcome.left]
    )


if __name__ == "__main__":
    main()
