# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""The base image as the engine has it: its name, its identity, and what is to be said where it does not fit."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Finding
from ansible_collections.mindcluster.recovery.plugins.module_utils._image_refs import (
    DEFAULT_REGISTRY,
    Reference,
    parse_reference,
)

Json = t.Dict[str, t.Any]

_IMAGE_ID = re.compile(r"\Asha256:[0-9a-f]{64}\Z")


def parse_base(text: str) -> Reference | str:
    """A base image is named as in a registry, or by the ID that it has in the engine."""
    return text if _IMAGE_ID.match(text) else parse_reference(text, "training_image_base")


def local_identity(base: Json, name: Reference | str) -> str:
    if isinstance(name, Reference):
        if name.digest:
            return name.digest
        own = sorted(_digests_of(base, name))
        if own:
            return own[0]
    return str(base["Id"])


def _digests_of(base: Json, name: Reference) -> list[str]:
    entries = [entry.partition("@") for entry in base.get("RepoDigests") or []]
    return [digest for repository, dummy, digest in entries if _plain(repository) == _plain(name.repository)]


def has_identity(base: Json, identity: str) -> bool:
    digests = [entry.partition("@")[2] for entry in base.get("RepoDigests") or []]
    return identity == base["Id"] or identity in digests


def _plain(repository: str) -> str:
    """A repository's name without the parts that engines leave out."""
    for prefix in (DEFAULT_REGISTRY + "/", "library/"):
        if repository.startswith(prefix):
            repository = repository[len(prefix) :]
    return repository


def is_platform(image: Json, wanted: str) -> bool:
    parts = wanted.split("/")
    return image.get("Os") == parts[0] and (len(parts) < 2 or image.get("Architecture") == parts[1])


def labels_of(image: Json) -> dict[str, str]:
    return dict((image.get("Config") or {}).get("Labels") or {})


def trigger_warnings(base: Json) -> list[Finding]:
    triggers = (base.get("Config") or {}).get("OnBuild") or []
    if not triggers:
        return []
    return [
        Finding(
            "base-has-triggers",
            "the base image runs %d ONBUILD instructions of its own in this build" % len(triggers),
            "What they do is not looked at",
            "Take a base image without ONBUILD",
            "training_image_base",
        )
    ]


def base_missing(name: str, policy: str) -> Finding:
    asked = "neither the engine nor its registry has it" if policy != "never" else "the engine does not have it"
    remedy = "Check its spelling, or load it into the engine (docker load, docker pull)"
    if policy == "never":
        remedy += ", or set training_image_pull to missing"
    return Finding(
        "base-missing",
        "there is no image `%s`: %s" % (name, asked),
        "The build starts from it",
        remedy,
        "training_image_base",
    )


def other_platform(name: str, base: Json, wanted: str) -> Finding:
    return Finding(
        "platform-missing",
        "`%s` is an image for %s/%s, and %s is asked for" % (name, base.get("Os"), base.get("Architecture"), wanted),
        "The build starts from it",
        "Name a base image for this platform, or leave training_image_platforms out",
        "training_image_platforms",
    )


def base_changed(name: str, identity: str) -> Finding:
    return Finding(
        "base-changed",
        "`%s` was pulled and is not %s any more" % (name, identity),
        "Somebody pushed it anew in between, so what was looked at is not what would be built on",
        "Run again, or name the base image by its digest",
        "training_image_base",
    )
