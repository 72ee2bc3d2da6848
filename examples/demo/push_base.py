#!/usr/bin/env python3
# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Puts a base image of the cache into a registry without an engine: `push_base.py TAR REGISTRY/REPOSITORY:TAG`.

Run it with the Python of .venv, for it uses the collection's own registry client. What is in the registry already is
not sent again.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import os
import sys
import tempfile
from pathlib import Path

from ansible_collections.mindcluster.recovery.plugins.module_utils._image_refs import parse_reference
from ansible_collections.mindcluster.recovery.plugins.module_utils._registry_client import (
    DOCKER_MANIFEST,
    OCI_MANIFEST,
    Registry,
    RegistryError,
)

CREATED = "2026-01-01T00:00:00Z"
TYPES = {
    "docker": (
        DOCKER_MANIFEST,
        "application/vnd.docker.container.image.v1+json",
        "application/vnd.docker.image.rootfs.diff.tar.gzip",
    ),
    "oci": (
        OCI_MANIFEST,
        "application/vnd.oci.image.config.v1+json",
        "application/vnd.oci.image.layer.v1.tar+gzip",
    ),
}


def packed(tar: Path) -> tuple[Path, str]:
    """The tar packed with gzip beside itself, made once, and the digest of the unpacked bytes."""
    target, note = Path(f"{tar}.gz"), Path(f"{tar}.gz.diff-id")
    if target.exists() and note.exists():
        return target, note.read_text(encoding="ascii")
    digest = hashlib.sha256()
    with (
        tempfile.NamedTemporaryFile(dir=tar.parent, delete=False) as draft,
        open(tar, "rb") as source,
        gzip.GzipFile("", "wb", 1, draft, 0) as stream,
    ):
        while piece := source.read(1 << 20):
            digest.update(piece)
            stream.write(piece)
    note.write_text(f"sha256:{digest.hexdigest()}", encoding="ascii")
    os.replace(draft.name, target)
    return target, note.read_text(encoding="ascii")


def push(tar: Path, name: str, kind: str = "docker", architecture: str = "amd64", **settings: object) -> str:
    """Push the tar as an image of one layer.

    :param settings: of the image's configuration, such as C(Env).
    :returns: the image's digest.
    """
    reference = parse_reference(name, "base")
    registry = Registry(reference.registry)
    layer, diff_id = packed(tar)
    manifest_type, config_type, layer_type = TYPES[kind]
    config = json.dumps(
        {
            "created": CREATED,
            "architecture": architecture,
            "os": "linux",
            "config": settings,
            "rootfs": {"type": "layers", "diff_ids": [diff_id]},
            "history": [{"created": CREATED, "created_by": "a file tree of Debian's packages"}],
        }
    ).encode()
    with open(layer, "rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    blobs = [("sha256:" + digest, layer.stat().st_size, str(layer), layer_type)]
    blobs.append(("sha256:" + hashlib.sha256(config).hexdigest(), len(config), config, config_type))
    for blob_digest, size, data, _type in blobs:
        registry.upload_blob(reference.path, data, blob_digest, size)
    layers, configs = [{"mediaType": kind, "digest": blob, "size": size} for blob, size, _data, kind in blobs]
    manifest = {"schemaVersion": 2, "mediaType": manifest_type, "config": configs, "layers": [layers]}
    return registry.put_manifest(reference.path, reference.tag, manifest_type, json.dumps(manifest).encode())


def main() -> int:
    parser = argparse.ArgumentParser(description="Put a base image of the cache into a registry without an engine")
    parser.add_argument("tar", type=Path)
    parser.add_argument("name", help="REGISTRY/REPOSITORY:TAG")
    parser.add_argument("--kind", choices=sorted(TYPES), default="docker")
    options = parser.parse_args()
    try:
        print(push(options.tar, options.name, options.kind))
    except RegistryError as exc:
        print(exc, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
