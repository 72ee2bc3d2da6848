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
import hashlib
import json
import platform
import sys
from pathlib import Path

from ansible_collections.mindcluster.recovery.plugins.module_utils._image_refs import parse_reference
from ansible_collections.mindcluster.recovery.plugins.module_utils._registry_client import (
    DOCKER_MANIFEST,
    OCI_MANIFEST,
    Registry,
    RegistryError,
)

CREATED = "2026-01-01T00:00:00Z"
MEDIA_TYPES = {
    "docker": (
        DOCKER_MANIFEST,
        "application/vnd.docker.container.image.v1+json",
        "application/vnd.docker.image.rootfs.diff.tar",
    ),
    "oci": (OCI_MANIFEST, "application/vnd.oci.image.config.v1+json", "application/vnd.oci.image.layer.v1.tar"),
}


def push(tar: Path, name: str, kind: str, architecture: str, settings: dict[str, object]) -> str:
    """Push the tar as it is, as an image of one layer.

    :param settings: of the image's configuration, such as C(Env).
    :returns: the image's digest.
    """
    reference = parse_reference(name, "NAME")
    registry = Registry(reference.registry)
    with open(tar, "rb") as stream:
        layer = "sha256:" + hashlib.file_digest(stream, "sha256").hexdigest()
    config = json.dumps(
        {
            "created": CREATED,
            "architecture": architecture,
            "os": "linux",
            "config": settings,
            "rootfs": {"type": "layers", "diff_ids": [layer]},
            "history": [{"created": CREATED, "created_by": "a file tree of Debian's packages"}],
        }
    ).encode()
    config_digest = "sha256:" + hashlib.sha256(config).hexdigest()
    registry.upload_blob(reference.path, tar, layer, tar.stat().st_size)
    registry.upload_blob(reference.path, config, config_digest, len(config))
    manifest_type, config_type, layer_type = MEDIA_TYPES[kind]
    manifest = {
        "schemaVersion": 2,
        "mediaType": manifest_type,
        "config": {"mediaType": config_type, "digest": config_digest, "size": len(config)},
        "layers": [{"mediaType": layer_type, "digest": layer, "size": tar.stat().st_size}],
    }
    return registry.put_manifest(reference.path, reference.tag, manifest_type, json.dumps(manifest).encode())


def main() -> int:
    parser = argparse.ArgumentParser(description="Put a base image of the cache into a registry without an engine")
    parser.add_argument("tar", type=Path)
    parser.add_argument("name", help="REGISTRY/REPOSITORY:TAG")
    parser.add_argument("--kind", choices=sorted(MEDIA_TYPES), default="docker")
    parser.add_argument("--architecture", default={"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine()))
    parser.add_argument("--settings", type=json.loads, default={}, help="of its configuration, as JSON")
    options = parser.parse_args()
    try:
        print(push(options.tar, options.name, options.kind, options.architecture, options.settings))
    except RegistryError as exc:
        print(exc, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
