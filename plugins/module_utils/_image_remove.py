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
import re
import typing as t
from urllib.parse import urlsplit

from ansible_collections.mindcluster.recovery.plugins.module_utils import _image_inputs as inputs_of
from ansible_collections.mindcluster.recovery.plugins.module_utils import _registry_errors as errors
from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Refused
from ansible_collections.mindcluster.recovery.plugins.module_utils._image_refs import Reference, is_digest
from ansible_collections.mindcluster.recovery.plugins.module_utils._registry_auth import rights
from ansible_collections.mindcluster.recovery.plugins.module_utils._registry_client import Registry
from ansible_collections.mindcluster.recovery.plugins.module_utils._registry_errors import RegistryError
from ansible_collections.mindcluster.recovery.plugins.module_utils._registry_session import Session

_LONGEST_CONFIG = 4 * 1024 * 1024
# No rights to delete, or a registry in which deleting is off: 405 by the distribution specification.
_DELETED, _OFF = 202, (400, 401, 403, 405)
_NEXT_PAGE = re.compile(r"<([^<>]*)>\s*;[^,]*\brel=\"?next\b")
_MOST_PAGES = 1000


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
            try:
                engine.remove(name)
                stays = engine.inspect(name) is not None
            except Refused as exc:
                # What is gone already is told too.
                outcome.left.append("%s in the engine: %s" % (name, exc.findings[0].what))
                continue
            if stays:
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
        # By digest, for one that is deleted cannot be asked any more when another tag of it comes.
        self._ours: dict[str, bool] = {}

    def remove(self, tags: t.Sequence[str], check: bool) -> Outcome:
        """Delete this collection's images under these tags.

        :raises Refused: the registry cannot be asked what there is.
        """
        outcome = Outcome([], [])
        there = self._tags()
        wanted = [tag for tag in tags if tag in there]
        digests = {tag: self._digest(tag) for tag in there} if wanted else {}
        for tag in wanted:
            others = [other for other in there if digests[other] == digests[tag] and other not in tags]
            try:
                self._take(tag, digests[tag], others, check, outcome)
            except RegistryError as exc:
                # What is gone already is told too.
                outcome.left.append("%s:%s: %s" % (self._name, tag, exc.findings[0].what))
        return outcome

    def _take(self, tag: str, digest: str | None, others: t.Sequence[str], check: bool, outcome: Outcome) -> None:
        name = "%s:%s" % (self._name, tag)
        if digest is None:
            return
        if digest and others:
            outcome.left.append("%s: `%s` names the same image and would go with it" % (name, "`, `".join(others)))
        elif not digest or not self._is_ours(digest):
            outcome.left.append("%s: was not built by this collection" % name)
        elif check or self._delete(digest):
            outcome.removed.append("%s (%s)" % (name, digest))
        else:
            outcome.left.append("%s (%s): the registry allows no deletion" % (name, digest))

    def _tags(self) -> list[str]:
        """Every tag; registries may give them a page at a time."""
        tags: list[str] = []
        query = ""
        for _page in range(_MOST_PAGES):
            answer = self._session.call(
                "GET",
                "%s/tags/list%s" % (self._path, "?" + query if query else ""),
                "list the tags of %s" % self._name,
                rights((self._path, "pull")),
                expect=(200, 404),
            )
            if answer.status != 200:
                return tags
            listed = self._loaded(answer.content).get("tags") or []
            tags += [str(tag) for tag in listed] if isinstance(listed, list) else []
            # Of the address only what it asks for counts: the login goes to no other place.
            following = _NEXT_PAGE.search(answer.headers.get("Link", ""))
            query = urlsplit(following.group(1)).query if following else ""
            if not query:
                return tags
        raise errors.error("server", "the list of tags of %s has no end" % self._name, self._session.host)

    def _digest(self, tag: str) -> str | None:
        """Digest of what a tag names; None where it names nothing any more, empty where it is no image of today."""
        try:
            return self._registry.manifest(self._path, tag).digest
        except RegistryError as exc:
            if exc.kind == "missing":
                return None
            if exc.findings[0].code == "manifest-unsupported":
                return ""
            raise

    def _is_ours(self, digest: str) -> bool:
        if digest not in self._ours:
            self._ours[digest] = self._has_label(digest)
        return self._ours[digest]

    def _has_label(self, digest: str) -> bool:
        manifest = self._loaded(self._registry.manifest(self._path, digest).body)
        listed = manifest.get("manifests")
        parts = (
            [str(part.get("digest")) for part in listed if isinstance(part, dict)] if isinstance(listed, list) else []
        )
        if parts:
            return any(self._is_ours(part) for part in parts if is_digest(part))
        config = manifest.get("config")
        size = config.get("size") if isinstance(config, dict) else None
        if not isinstance(config, dict) or not is_digest(config.get("digest")) or not isinstance(size, int):
            return False
        if not 0 < size < _LONGEST_CONFIG:
            return False
        with self._registry.open_blob(self._path, config["digest"], size) as blob:
            settings = self._loaded(b"".join(iter(lambda: blob.read(65536), b""))).get("config")
        labels = settings.get("Labels") if isinstance(settings, dict) else None
        return isinstance(labels, dict) and inputs_of.LABEL_INPUTS in labels

    def _loaded(self, body: bytes) -> dict[str, t.Any]:
        """A document of the registry's.

        :raises RegistryError: it is none.
        """
        try:
            document = json.loads(body)
        except (ValueError, RecursionError):
            document = None
        if not isinstance(document, dict):
            raise errors.error("server", "what it has of %s is no JSON object" % self._name, self._session.host)
        return document

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
