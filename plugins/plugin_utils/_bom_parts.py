# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""The images of a site by their digests, and the collections by their versions."""

from __future__ import annotations

import json
import os
import typing as t

import yaml

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Finding, Refused
from ansible_collections.mindcluster.recovery.plugins.module_utils._image_refs import Reference, parse_reference
from ansible_collections.mindcluster.recovery.plugins.module_utils._registry_client import Registry, RegistryError
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._bom import Item

TRAINER = "ascend"
Ask = t.Callable[[Reference], str]


def asker(username: str, password: str, ca_file: str, insecure: bool, home: str) -> Ask:
    """Asks a registry for the digest of a tag.

    :param home: registry that user, password and certificate are for; others go by the user's Docker configuration.
    """

    def ask(image: Reference) -> str:
        given: dict[str, t.Any] = {}
        if image.registry == home:
            given = {
                "username": username or None,
                "password": password or None,
                "ca_file": ca_file or None,
                "insecure": insecure,
            }
        path = image.repository.removeprefix(image.registry + "/")
        return Registry(image.registry, **given).manifest(path, image.tag or "latest").digest

    return ask


def image(kind: str, name: str, where: str, ask: Ask) -> Item:
    """An image that has to be there, by its digest.

    :param where: the variable that names it.
    :raises Refused: where its digest cannot be had.
    """
    if name.startswith("sha256:"):
        # The ID of an image that was loaded into an engine: it has no name elsewhere.
        return Item(kind, "(image ID)", name, name, "", name.partition(":")[2])
    parsed = parse_reference(name, where)
    try:
        digest = parsed.digest or ask(parsed)
    except RegistryError as exc:
        raise Refused(_no_digest(name, where, exc.findings[0].what)) from exc
    return _pinned(kind, parsed, digest)


def result_image(repository: str, tag: str, ask: Ask) -> Item:
    """The image that the site makes for itself; its digest is told where its registry has it already."""
    parsed = parse_reference(f"{repository}:{tag}", "training_image_repository")
    try:
        digest = ask(parsed)
    except RegistryError:
        # It need not be carried, and the registry of the site need not be reached from where the bill is made.
        return Item("result-image", parsed.repository, parsed.tag, str(parsed))
    return _pinned("result-image", parsed, digest)


def _pinned(kind: str, parsed: Reference, digest: str) -> Item:
    return Item(kind, parsed.repository, parsed.tag, f"{parsed.repository}@{digest}", "", digest.partition(":")[2])


def manifest_images(path: str, trainer_is_given: bool) -> list[str]:
    """Images that the Pods of a manifest name.

    :param trainer_is_given: the container that trains gets another image than the one that is named there.
    :raises Refused: where the file cannot be read.
    """
    try:
        with open(path, encoding="utf-8") as stream:
            documents = list(yaml.safe_load_all(stream))
    except (OSError, ValueError, yaml.YAMLError) as exc:
        raise Refused(_unreadable(path, str(exc).splitlines()[0])) from exc
    found: list[str] = []
    _walk(documents, found, trainer_is_given)
    return sorted(set(found))


def _walk(node: t.Any, found: list[str], trainer_is_given: bool) -> None:
    if isinstance(node, list):
        for item in node:
            _walk(item, found, trainer_is_given)
    elif isinstance(node, dict):
        for key, value in node.items():
            if key in ("containers", "initContainers") and isinstance(value, list):
                found += [
                    str(container["image"])
                    for container in value
                    if isinstance(container, dict) and container.get("image")
                    if not (trainer_is_given and container.get("name") == TRAINER)
                ]
            else:
                _walk(value, found, trainer_is_given)


def collections(root: str) -> list[Item]:
    """This collection, and those that it depends on.

    :param root: its folder.
    :raises Refused: with every one that it depends on and that is not installed beside it.
    """
    own = _described(root)
    items = [Item("collection", f"{own['namespace']}.{own['name']}", str(own["version"]))]
    missing = []
    for name in sorted(own.get("dependencies") or {}):
        folder = os.path.join(os.path.dirname(os.path.dirname(root)), *name.split("."))
        if os.path.isfile(os.path.join(folder, "MANIFEST.json")):
            items.append(Item("collection", name, str(_described(folder)["version"])))
        else:
            missing.append(_no_collection(name))
    if missing:
        raise Refused(missing)
    return items


def _described(folder: str) -> dict[str, t.Any]:
    """What a collection says of itself: its manifest where it was installed, galaxy.yml in a checkout."""
    manifest = os.path.join(folder, "MANIFEST.json")
    if os.path.isfile(manifest):
        with open(manifest, encoding="utf-8") as stream:
            return t.cast("dict[str, t.Any]", json.load(stream)["collection_info"])
    with open(os.path.join(folder, "galaxy.yml"), encoding="utf-8") as stream:
        return t.cast("dict[str, t.Any]", yaml.safe_load(stream))


def _no_digest(name: str, where: str, what: str) -> Finding:
    return Finding(
        "bom-image-without-digest",
        f"the digest of `{name}` is not known: {what}",
        "A tag can name another image tomorrow, so that what is carried need not be what was tried",
        "Name it by its digest, as NAME@sha256:…, or run this where its registry can be asked",
        where,
    )


def _unreadable(path: str, what: str) -> Finding:
    return Finding(
        "bom-manifest-unreadable",
        f"`{path}` cannot be read: {what}",
        "The images that it names would be missing in the bill",
        "Correct the path or the file",
        "training_job_manifest",
    )


def _no_collection(name: str) -> Finding:
    return Finding(
        "bom-collection-missing",
        f"the collection {name} is not installed beside this one",
        "The playbooks need it, and its version is not known",
        f"Install it (`ansible-galaxy collection install {name}`)",
        "dependencies",
    )
