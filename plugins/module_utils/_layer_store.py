# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""Images of registries, with the cache between: documents and file trees, read as far as somebody asks."""

from __future__ import annotations

import typing as t

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Finding, Refused
from ansible_collections.mindcluster.recovery.plugins.module_utils._image_refs import Reference
from ansible_collections.mindcluster.recovery.plugins.module_utils._layer_cache import Cache
from ansible_collections.mindcluster.recovery.plugins.module_utils._layer_image import (
    Document,
    Image,
    check_manifest,
    choose_platform,
    is_index,
    load,
    platforms_of,
)
from ansible_collections.mindcluster.recovery.plugins.module_utils._layer_index import Index, read_files, read_index
from ansible_collections.mindcluster.recovery.plugins.module_utils._layer_stream import malformed
from ansible_collections.mindcluster.recovery.plugins.module_utils._layer_tree import Tree
from ansible_collections.mindcluster.recovery.plugins.module_utils._registry_client import (
    ALL,
    OCI_INDEX,
    OCI_MANIFEST,
    Registry,
    RegistryError,
)

Json = t.Dict[str, t.Any]

# Manifests and configurations are small; one that is not is no such thing.
_LARGEST_DOCUMENT = 8 * 1024 * 1024


class Store:
    """One repository.

    :param path: the repository as the registry names it.
    """

    def __init__(self, registry: Registry, path: str, cache: Cache) -> None:
        self.registry = registry
        self.path = path
        self.cache = cache

    def document(self, reference: str) -> Document | None:
        """The manifest or index under a tag or digest; None where there is none.

        :raises RegistryError: the registry cannot be asked.
        """
        if ":" in reference:
            kept = self.cache.document(reference)
            if kept is not None:
                return Document(reference, _media_type(kept), kept)
        try:
            found = self.registry.manifest(self.path, reference)
        except RegistryError as exc:
            if exc.kind == "missing":
                return None
            raise
        self.cache.keep_document(found.digest, found.body)
        return Document(found.digest, found.media_type, found.body)

    def image(self, name: str, document: Document) -> Image:
        """The image that a manifest is of.

        :raises Refused: it is none.
        """
        check_manifest(name, document)
        descriptor = load(document.body, name)["config"]
        return Image(name, document, self._blob(descriptor, name))

    def _blob(self, descriptor: Json, name: str) -> bytes:
        digest, size = str(descriptor["digest"]), int(descriptor["size"])
        kept = self.cache.document(digest)
        if kept is not None:
            return kept
        if size > _LARGEST_DOCUMENT:
            raise Refused(
                Finding(
                    "image-broken",
                    "the configuration of `%s` has %d bytes" % (name, size),
                    "No image's configuration is that large",
                    "Push the image anew",
                    "training_image_base",
                )
            )
        with self.registry.open_blob(self.path, digest, size) as stream:
            data = b"".join(iter(lambda: stream.read(65536), b""))
        self.cache.keep_document(digest, data)
        return data

    # --- file trees

    def tree(self, image: Image) -> Tree:
        """The file tree of an image."""
        layers, diff_ids = image.layers[::-1], image.diff_ids[::-1]

        def index(number: int) -> Index:
            return self._index(layers[number], diff_ids[number])

        def fetch(number: int, is_wanted: t.Callable[[str], bool]) -> dict[str, bytes]:
            with self._open(layers[number]) as stream:
                return read_files(stream, str(layers[number]["digest"]), is_wanted)

        return Tree(len(layers), index, fetch)

    def unread(self, image: Image) -> list[Json]:
        """Descriptors of layers of which the cache has no index."""
        return [one for one in image.layers if not self.cache.has_index(str(one["digest"]))]

    def _index(self, layer: Json, diff_id: str) -> Index:
        digest = str(layer["digest"])
        index = self.cache.index(digest)
        if index is None:
            with self._open(layer) as stream:
                index = read_index(stream, digest)
            self._check_diff_id(digest, index, diff_id)
            self.cache.keep_index(digest, index)
        self._check_diff_id(digest, index, diff_id)
        return index

    def _open(self, layer: Json) -> t.Any:
        return self.registry.open_blob(self.path, str(layer["digest"]), int(layer["size"]))

    def _check_diff_id(self, digest: str, index: Index, diff_id: str) -> None:
        if index.diff_id and index.diff_id != diff_id:
            raise malformed(digest, "unpacks to %s, and its image says %s" % (index.diff_id, diff_id))


def choose(store: Store, name: Reference, document: Document, wanted: str) -> Document:
    """The manifest for a platform.

    :param wanted: empty where there must be no choice.
    :raises Refused: there is none for it, or it must be said which one.
    """
    if not is_index(document):
        return document
    offered = platforms_of(load(document.body, str(name)))
    chosen = choose_platform(wanted, offered) if wanted else next(iter(offered)) if len(offered) == 1 else None
    if chosen is None:
        raise Refused(_no_platform(name, wanted, sorted(offered)))
    found = store.document(str(offered[chosen]["digest"]))
    if found is None:
        raise Refused(_no_platform(name, wanted, []))
    return found


def _media_type(body: bytes) -> str:
    document = load(body, "a manifest that was kept")
    named = document.get("mediaType")
    return str(named) if named in ALL else OCI_INDEX if "manifests" in document else OCI_MANIFEST


def _no_platform(name: Reference, wanted: str, offered: t.Sequence[str]) -> Finding:
    has = "it is for %s" % ", ".join(offered) if offered else "the registry lacks the part of it that its index names"
    return Finding(
        "platform-missing",
        "`%s` is not there for %s: %s" % (name, wanted, has) if wanted else "`%s` is for several platforms" % name,
        "The build starts from it" if wanted else "Which one is meant cannot be guessed: %s" % has,
        "Name a platform that it has in training_image_platforms",
        "training_image_platforms",
    )
