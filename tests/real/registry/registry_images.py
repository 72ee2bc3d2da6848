# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Blobs and an image of nothing, to be sent to real registries."""

from __future__ import annotations

import hashlib
import json
import typing as t

from ansible_collections.mindcluster.recovery.plugins.module_utils._registry_client import (
    DOCKER_LIST,
    DOCKER_MANIFEST,
    OCI_INDEX,
    OCI_MANIFEST,
    Registry,
    RegistryError,
)

KINDS = {
    OCI_MANIFEST: ("application/vnd.oci.image.config.v1+json", "application/vnd.oci.image.layer.v1.tar+gzip"),
    DOCKER_MANIFEST: (
        "application/vnd.docker.container.image.v1+json",
        "application/vnd.docker.image.rootfs.diff.tar.gzip",
    ),
}
INDEXES = {OCI_INDEX: OCI_MANIFEST, DOCKER_LIST: DOCKER_MANIFEST}


class Blob:
    """Bytes with their digest."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.size = len(data)
        self.digest = "sha256:" + hashlib.sha256(data).hexdigest()


def noise(size: int, seed: str) -> Blob:
    """Bytes that no compression shrinks, the same for a seed."""
    return Blob(hashlib.shake_256(seed.encode()).digest(size))


def send(registry: Registry, repository: str, blob: Blob) -> None:
    registry.upload_blob(repository, blob.data, blob.digest, blob.size)


def read(registry: Registry, repository: str, blob: Blob) -> bytes:
    with registry.open_blob(repository, blob.digest, blob.size) as stream:
        return stream.read()


def refused(call: t.Callable[..., t.Any], *arguments: t.Any) -> RegistryError:
    """The error that a call ends with."""
    try:
        call(*arguments)
    except RegistryError as exc:
        return exc
    raise AssertionError("nothing was refused")


def manifest_of(layer: Blob, config: Blob, kind: str = OCI_MANIFEST) -> Blob:
    types = KINDS[kind]
    described = [
        {"mediaType": name, "digest": blob.digest, "size": blob.size}
        for name, blob in zip(types, (config, layer), strict=True)
    ]
    document = {"schemaVersion": 2, "mediaType": kind, "config": described[0], "layers": [described[1]]}
    return Blob(json.dumps(document).encode())


def push(registry: Registry, repository: str, tag: str, layer: Blob, kind: str = OCI_MANIFEST) -> str:
    """Push an image of one layer, the manifest last.

    :returns: its digest.
    """
    config = Blob(json.dumps({"architecture": "arm64", "os": "linux", "comment": layer.digest}).encode())
    send(registry, repository, layer)
    send(registry, repository, config)
    manifest = manifest_of(layer, config, kind)
    return registry.put_manifest(repository, tag, kind, manifest.data)
