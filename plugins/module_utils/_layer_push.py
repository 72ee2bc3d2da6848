# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""Sends a new image to its registry: what is there stays, what is elsewhere in it is mounted, the rest is sent."""

from __future__ import annotations

import concurrent.futures
import functools
import typing as t

from ansible_collections.mindcluster.recovery.plugins.module_utils._layer_image import Document, Image, Made
from ansible_collections.mindcluster.recovery.plugins.module_utils._layer_store import Store
from ansible_collections.mindcluster.recovery.plugins.module_utils._layer_write import Layer

# Most of it is waiting for the registry's answers.
_AT_ONCE = 4


class Push:
    """The way from the base image's repository to the finished image's."""

    def __init__(self, source: Store, target: Store) -> None:
        self._source = source
        self._target = target
        self._there: set[str] = set()

    def image(self, base: Image, made: Made, layer: Layer | None, path: str) -> None:
        """Let the repository have everything that a manifest names, some of it at a time."""
        target, config = self._target, made.config
        jobs = [
            functools.partial(self._bring, str(descriptor["digest"]), int(descriptor["size"]))
            for descriptor in base.layers
            # Layers that may not be passed on are fetched by engines from where their owner has them.
            if not descriptor.get("urls")
        ]
        send = target.registry.upload_blob
        if layer is not None:
            jobs.append(functools.partial(send, target.path, path, layer.digest, layer.size))
        jobs.append(functools.partial(send, target.path, config.body, config.digest, len(config.body)))
        with concurrent.futures.ThreadPoolExecutor(max_workers=_AT_ONCE) as pool:
            running = [pool.submit(job) for job in jobs]
            try:
                for one in running:
                    one.result()
            except BaseException:
                for one in running:
                    one.cancel()
                raise

    def manifest(self, document: Document, reference: str) -> str:
        """Store a manifest under a tag or its digest; the digest that the registry answers is its own."""
        return self._target.registry.put_manifest(self._target.path, reference, document.media_type, document.body)

    def _bring(self, digest: str, size: int) -> None:
        source, target = self._source, self._target
        if digest in self._there:
            return
        self._there.add(digest)
        same_registry = source.registry is target.registry
        if same_registry and source.path == target.path:
            return
        if same_registry and target.registry.mount_blob(target.path, digest, source.path):
            return
        target.registry.copy_blob(digest, size, source.registry, source.path, target.path)


__all__: t.Sequence[str] = ("Push",)
