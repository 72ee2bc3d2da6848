# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A registry of a dictionary, for images that no real registry would be given."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import typing as t

from ansible_collections.mindcluster.recovery.plugins.module_utils._layer_image import Document
from ansible_collections.mindcluster.recovery.plugins.module_utils._registry_client import (
    DOCKER_MANIFEST,
    OCI_MANIFEST,
)

KINDS = {
    OCI_MANIFEST: ("application/vnd.oci.image.config.v1+json", "application/vnd.oci.image.layer.v1.tar+gzip"),
    DOCKER_MANIFEST: (
        "application/vnd.docker.container.image.v1+json",
        "application/vnd.docker.image.rootfs.diff.tar.gzip",
    ),
}


class FakeRegistry:
    """Blobs by digest. What is read is counted."""

    def __init__(self) -> None:
        self.blobs: dict[str, bytes] = {}
        self.opened: list[str] = []

    def add(self, data: bytes) -> str:
        digest = "sha256:" + hashlib.sha256(data).hexdigest()
        self.blobs[digest] = data
        return digest

    def open_blob(self, _path: str, digest: str, _size: int) -> t.Any:
        self.opened.append(digest)
        return contextlib.nullcontext(io.BytesIO(self.blobs[digest]))

    def image(self, *layers: bytes, diff_ids: t.Sequence[str], kind: str = OCI_MANIFEST, **config: t.Any) -> Document:
        """An image of packed layers, the oldest first."""
        config_type, layer_type = KINDS[kind]
        body = {
            "architecture": "amd64",
            "os": "linux",
            "created": "2024-05-06T07:08:09.123Z",
            "config": {"Env": ["PATH=/usr/bin"], "Labels": {"vendor": "x"}},
            "rootfs": {"type": "layers", "diff_ids": list(diff_ids)},
            "history": [{"created_by": "base"} for _layer in layers],
            **config,
        }
        data = json.dumps(body).encode()
        manifest = {
            "schemaVersion": 2,
            "mediaType": kind,
            "config": {"mediaType": config_type, "digest": self.add(data), "size": len(data)},
            "layers": [{"mediaType": layer_type, "digest": self.add(one), "size": len(one)} for one in layers],
        }
        text = json.dumps(manifest).encode()
        return Document(self.add(text), kind, text)
