# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""Take the images that this collection built out of an engine and a registry, and leave all others.

An image is this collection's where it carries the label of its inputs. A registry deletes by digest, and with it every
tag of that digest, see U(https://github.com/opencontainers/distribution-spec/blob/main/spec.md#deleting-manifests).
"""

from __future__ import annotations

import json
import typing as t

from ansible_collections.mindcluster.recovery.plugins.module_utils import _image_inputs as inputs_of
from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Refused
from ansible_collections.mindcluster.recovery.plugins.module_utils._image_refs import Reference
from ansible_collections.mindcluster.recovery.plugins.module_utils._registry_auth import rights
from ansible_collections.mindcluster.recovery.plugins.module_utils._registry_client import Registry
from ansible_collections.mindcluster.recovery.plugins.module_utils._registry_errors import RegistryError
from ansible_collections.mindcluster.recovery.plugins.module_utils._registry_session import Session

_LONGEST_CONFIG = 4 * 1024 * 1024
# No rights to delete, or a registry in which deleting is off: 405 by the distribution specification.
_DELETED, _OFF = 202, (400, 401, 403, 405)


class Outcome(t.NamedTuple):
    """What was taken out, or would be, and what stays and why."""

    removed: list[str]
    left: list[str]


def remove_from_engine(engine: t.Any, repository: Reference, tags: t.Sequence[str], check: bool) -> Outcome:
    """Take the names of this collection's images away; what has no name left, the engine deletes."""
    outcome = Outcome([], [])
    for tag in tags:
        name = "%s:%s" % (repository, tag)
        found = engine.inspect(name)
        if found is None:
            continue
        if inputs_of.LABEL_INPUTS not in ((found.get("Config") or {}).get("Labels") or {}):
            outcome.left.append("%s in the engine: was not built by this collection" % name)
            continue
        if not check:
            engine.remove(name)
            if engine.inspect(name) is not None:
                outcome.left.append("%s in the engine: a container uses it" % name)
                continue
        outcome.removed.append("%s in the engine" % name)
    return outcome


class RegistryRemoval:
    """One repository of a registry.

    :param registry: for reading.
    :param session: to the same registry, for what the reading client does not do.
    """

    def __init__(self, registry: Registry, session: Session, repository: Reference) -> None:
        self._registry = registry
        self._session = session
        self._name = str(repository)
        self._path = repository.path

    def remove(self, tags: t.Sequence[str], check: bool) -> Outcome:
        """Delete this collection's images under these tags.

        :raises Refused: the registry cannot be asked.
        """
        outcome = Outcome([], [])
        there = self._tags()
        digests = {tag: self._registry.manifest(self._path, tag).digest for tag in there}
        for tag in tags:
            if tag not in digests:
                continue
            name = "%s:%s" % (self._name, tag)
            others = [other for other in there if digests[other] == digests[tag] and other not in tags]
            if others:
                outcome.left.append("%s: `%s` names the same image and would go with it" % (name, "`, `".join(others)))
            elif not self._is_ours(tag):
                outcome.left.append("%s: was not built by this collection" % name)
            elif check or self._delete(digests[tag]):
                outcome.removed.append("%s (%s)" % (name, digests[tag]))
            else:
                outcome.left.append("%s (%s): the registry allows no deletion" % (name, digests[tag]))
        return outcome

    def _tags(self) -> list[str]:
        answer = self._session.call(
            "GET",
            "%s/tags/list" % self._path,
            "list the tags of %s" % self._name,
            rights((self._path, "pull")),
            expect=(200, 404),
        )
        return [str(tag) for tag in json.loads(answer.content).get("tags") or []] if answer.status == 200 else []

    def _is_ours(self, tag: str) -> bool:
        manifest = json.loads(self._registry.manifest(self._path, tag).body)
        parts = [str(part.get("digest", "")) for part in manifest.get("manifests") or []]
        if parts:
            return any(self._is_ours(digest) for digest in parts if digest)
        config = manifest.get("config") or {}
        if not config.get("digest") or config.get("size", _LONGEST_CONFIG) >= _LONGEST_CONFIG:
            return False
        with self._registry.open_blob(self._path, config["digest"], config["size"]) as blob:
            image = json.loads(b"".join(iter(lambda: blob.read(65536), b"")))
        return inputs_of.LABEL_INPUTS in ((image.get("config") or {}).get("Labels") or {})

    def _delete(self, digest: str) -> bool:
        answer = self._session.call(
            "DELETE",
            "%s/manifests/%s" % (self._path, digest),
            "delete %s@%s" % (self._name, digest),
            rights((self._path, "pull,delete")),
            expect=(_DELETED, 404, *_OFF),
        )
        return answer.status in (_DELETED, 404)


def asked(name: str, work: t.Callable[[], Outcome]) -> Outcome:
    """The outcome, or that the other side could not be asked: what cannot be looked at stays, and is told."""
    try:
        return work()
    except RegistryError as exc:
        return Outcome([], ["%s in the registry: %s" % (name, exc.findings[0].what)])
    except Refused as exc:
        return Outcome([], ["%s in the engine: %s" % (name, exc.findings[0].what)])
