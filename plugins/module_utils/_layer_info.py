# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""Looks into an image in a registry without an engine, and says whether it is what a plan asks for."""

from __future__ import annotations

import typing as t

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Finding, Refused
from ansible_collections.mindcluster.recovery.plugins.module_utils._image_inspect import judge
from ansible_collections.mindcluster.recovery.plugins.module_utils._image_refs import parse_reference
from ansible_collections.mindcluster.recovery.plugins.module_utils._layer_cache import Cache, default_folder
from ansible_collections.mindcluster.recovery.plugins.module_utils._layer_image import engine_name
from ansible_collections.mindcluster.recovery.plugins.module_utils._layer_inspect import Facts, inspect
from ansible_collections.mindcluster.recovery.plugins.module_utils._layer_request import authority
from ansible_collections.mindcluster.recovery.plugins.module_utils._layer_store import Store, choose
from ansible_collections.mindcluster.recovery.plugins.module_utils._registry_client import Registry

Json = t.Dict[str, t.Any]


def look_into(params: t.Mapping[str, t.Any]) -> Json:
    """Everything that M(mindcluster.recovery.training_image_info) returns.

    :raises Refused: where the image cannot be had or read, and, with a plan, where something has not landed.
    """
    name = parse_reference(params["image"], "image")
    with authority(params["registry_ca_content"] or "") as ca_file:
        registry = Registry(
            name.registry,
            username=params["registry_username"],
            password=params["registry_password"],
            ca_file=ca_file,
            insecure=params["registry_insecure"],
        )
        store = Store(registry, name.path, Cache(params["cache"] or default_folder()))
        document = store.document(name.digest or name.tag or "latest")
        if document is None:
            raise Refused(_image_missing(str(name)))
        image = store.image(str(name), choose(store, name, document, _platform(params)))

        def see(expected: Json, python: str) -> Json:
            facts = Facts(store.tree(image), python, image.environment, str(name))
            return inspect(facts, expected, list(expected.get("wheels") or []))

        described = {
            "Id": image.config_digest,
            "Architecture": image.config.get("architecture", ""),
            "Config": {"Labels": image.labels},
            # What the name names, which is the index where there is one.
            "RepoDigests": ["%s@%s" % (name.repository, document.digest)],
        }
        return judge(name, described, params, see)


def _platform(params: t.Mapping[str, t.Any]) -> str:
    """The platform that is asked for, or the one of the plan's nodes."""
    return params["platform"] or engine_name((params["plan"] or {}).get("arch"))


def _image_missing(name: str) -> Finding:
    return Finding(
        "image-missing",
        "the registry has no image `%s`" % name,
        "There is nothing to look into",
        "Check its spelling; build it with the role training_image",
        "image",
    )
