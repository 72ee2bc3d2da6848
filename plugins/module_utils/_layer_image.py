# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""Images in a registry as their documents have them: manifest and configuration, read and made. No file tree here."""

from __future__ import annotations

import hashlib
import json
import typing as t

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Finding, Refused
from ansible_collections.mindcluster.recovery.plugins.module_utils._image_refs import is_digest
from ansible_collections.mindcluster.recovery.plugins.module_utils._registry_client import (
    DOCKER_LIST,
    DOCKER_MANIFEST,
    INDEXES,
    OCI_INDEX,
    OCI_MANIFEST,
)

Json = t.Dict[str, t.Any]

_LAYER_OF = {
    OCI_MANIFEST: "application/vnd.oci.image.layer.v1.tar+gzip",
    DOCKER_MANIFEST: "application/vnd.docker.image.rootfs.diff.tar.gzip",
}
_CONFIG_OF = {
    OCI_MANIFEST: "application/vnd.oci.image.config.v1+json",
    DOCKER_MANIFEST: "application/vnd.docker.container.image.v1+json",
}
# Of a container that an old engine made the image from: not true of the new image.
_OF_A_CONTAINER = ("container", "container_config")


class Document(t.NamedTuple):
    """A manifest, an index or a configuration."""

    digest: str
    media_type: str
    body: bytes


class Image:
    """One image for one platform.

    :ivar labels: of its configuration.
    """

    def __init__(self, name: str, manifest: Document, config: bytes) -> None:
        self.name = name
        self.document = manifest
        self.manifest: Json = load(manifest.body, name)
        self.config_digest = str(self.manifest["config"]["digest"])
        self.config: Json = load(config, name)
        try:
            layers, diff_ids = self.layers, self.diff_ids
            list(self.config.get("history") or [])
            # Whatever else is read later must have the form that it has to have.
            str.join(
                "", [*self.environment, *self.environment.values(), *self.labels.values(), self.platform, *diff_ids]
            )
        except (TypeError, ValueError, AttributeError) as exc:
            raise Refused(broken(name, "its configuration is not as it must be: %s" % exc)) from exc
        if len(layers) != len(diff_ids):
            raise Refused(broken(name, "it has %d layers and %d digests of them" % (len(layers), len(diff_ids))))

    @property
    def digest(self) -> str:
        return self.document.digest

    @property
    def layers(self) -> list[Json]:
        """Descriptors, the oldest first."""
        return list(self.manifest["layers"])

    @property
    def diff_ids(self) -> list[str]:
        return list((self.config.get("rootfs") or {}).get("diff_ids") or [])

    @property
    def settings(self) -> Json:
        """What containers of it start with."""
        return dict(self.config.get("config") or {})

    @property
    def labels(self) -> dict[str, str]:
        return dict(self.settings.get("Labels") or {})

    @property
    def environment(self) -> dict[str, str]:
        entries = self.settings.get("Env") or []
        if not isinstance(entries, list):
            raise TypeError("Env is no list")
        return dict(entry.partition("=")[::2] for entry in entries)

    @property
    def platform(self) -> str:
        parts = [self.config.get("os") or "linux", self.config.get("architecture") or "", self.config.get("variant")]
        return "/".join(part for part in parts if part)


def load(body: bytes, name: str) -> Json:
    """A document as a dictionary.

    :raises Refused: it is none.
    """
    try:
        document = json.loads(body)
    except (ValueError, RecursionError) as exc:
        raise Refused(broken(name, str(exc))) from exc
    if not isinstance(document, dict):
        raise Refused(broken(name, "a document of it is no JSON object"))
    return document


def broken(name: str, why: str) -> Finding:
    return Finding(
        "image-broken",
        "what the registry has of `%s` is not whole: %s" % (name, why),
        "No engine could run it",
        "Push it anew",
        "training_image_base",
    )


def check_manifest(name: str, manifest: Document) -> None:
    """Refuse what is no image.

    :raises Refused: it is an artifact, or its parts are not as they must be.
    """
    document = load(manifest.body, name)
    config: t.Any = document.get("config")
    layers: t.Any = document.get("layers")
    whole = isinstance(config, dict) and isinstance(layers, list) and all(isinstance(one, dict) for one in layers)
    for one in ([config] + layers) if whole else []:
        # Both go into addresses, and by the digest what was read is kept for other images too.
        size = one.get("size")
        whole = whole and is_digest(one.get("digest")) and isinstance(size, int) and size >= 0
    if not whole:
        raise Refused(
            broken(name, "its manifest names no configuration or no layers, or one without a sha256 digest and a size")
        )
    if config.get("mediaType") not in _CONFIG_OF.values():
        raise Refused(
            Finding(
                "image-not-runnable",
                "`%s` is no image but something else (%s)" % (name, config.get("mediaType")),
                "It has no file system with a Python in it",
                "Name an image",
                "training_image_base",
            )
        )


# What engines call the architectures of plans.
_ENGINE_NAMES = {"x86_64": "amd64", "aarch64": "arm64"}


# --- platforms --------------------------------------------------------------------------------------------------------


def platforms_of(index: Json) -> dict[str, Json]:
    """Descriptors of an index by their platforms, C(os/architecture[/variant]); without attestations."""
    found: dict[str, Json] = {}
    manifests = index.get("manifests")
    for descriptor in manifests if isinstance(manifests, list) else []:
        platform = descriptor.get("platform") if isinstance(descriptor, dict) else None
        if not isinstance(platform, dict) or not is_digest(descriptor.get("digest")):
            continue
        parts = [platform.get("os"), platform.get("architecture"), platform.get("variant")]
        if platform.get("os") not in (None, "unknown"):
            found.setdefault("/".join(str(part) for part in parts if part), descriptor)
    return found


def engine_name(arch: t.Any) -> str:
    """The platform of a plan's architecture; empty where the plan names none."""
    return "linux/" + _ENGINE_NAMES[arch] if arch in _ENGINE_NAMES else ""


def choose_platform(wanted: str, offered: t.Iterable[str]) -> str | None:
    """The offered platform that is meant: the same one, or the only one with the same system and architecture."""
    offered = list(offered)
    if wanted in offered:
        return wanted
    near = [one for one in offered if one.split("/")[:2] == wanted.split("/")[:2]]
    if len(near) > 1:
        # arm64 and arm64/v8 are one; anything newer is asked for by name.
        near = [one for one in near if one.split("/")[2:] in ([], ["v8"])]
    return near[0] if len(near) == 1 else None


# --- the new image ----------------------------------------------------------------------------------------------------


class Made(t.NamedTuple):
    """The documents of a new image."""

    manifest: Document
    config: Document
    layer_type: str


def make_image(base: Image, layer: tuple[str, int, str] | None, labels: t.Mapping[str, str], created_by: str) -> Made:
    """Manifest and configuration of the base image with one more layer.

    :param layer: digest, size and digest of the unpacked bytes; None for labels only.
    """
    kind = base.document.media_type
    config = {key: value for key, value in base.config.items() if key not in _OF_A_CONTAINER}
    settings = dict(base.settings, Labels=dict(sorted(dict(base.labels, **labels).items())))
    config["config"] = settings
    config["rootfs"] = {"type": "layers", "diff_ids": base.diff_ids + ([layer[2]] if layer else [])}
    history = _history(base, created_by, layer is None)
    if history:
        config["history"] = history
    config_body = _json(config)
    manifest = dict(base.manifest)
    manifest["mediaType"] = kind
    manifest["config"] = {"mediaType": _CONFIG_OF[kind], "digest": _digest(config_body), "size": len(config_body)}
    if layer:
        added = {"mediaType": _LAYER_OF[kind], "digest": layer[0], "size": layer[1]}
        manifest["layers"] = base.layers + [added]
    if kind == OCI_MANIFEST:
        # The other kind has no place for them; there the labels of the configuration tell the same.
        manifest["annotations"] = dict(sorted(labels.items()))
    for key in ("subject", "artifactType"):
        manifest.pop(key, None)
    body = _json(manifest)
    return Made(
        Document(_digest(body), kind, body),
        Document(_digest(config_body), _CONFIG_OF[kind], config_body),
        _LAYER_OF[kind],
    )


def make_index(kind: str, images: t.Mapping[str, tuple[Made, dict[str, str]]]) -> Document:
    """An index of new images by platform, with each one's labels where the kind has a place for them."""
    manifests = []
    for platform, (made, labels) in sorted(images.items()):
        parts = dict(zip(("os", "architecture", "variant"), platform.split("/")))
        descriptor: Json = {
            "mediaType": made.manifest.media_type,
            "digest": made.manifest.digest,
            "size": len(made.manifest.body),
            "platform": parts,
        }
        if kind == OCI_INDEX:
            descriptor["annotations"] = dict(sorted(labels.items()))
        manifests.append(descriptor)
    body = _json({"schemaVersion": 2, "mediaType": kind, "manifests": manifests})
    return Document(_digest(body), kind, body)


def index_kind(images: t.Iterable[Made]) -> str:
    """The kind of index that fits the images: Docker's only where all of them are Docker's."""
    return DOCKER_LIST if all(one.manifest.media_type == DOCKER_MANIFEST for one in images) else OCI_INDEX


def is_index(document: Document) -> bool:
    return document.media_type in INDEXES


def _history(base: Image, created_by: str, empty: bool) -> list[Json]:
    """The base's history and one step more; none where the base's does not fit its layers."""
    history = [dict(step) for step in base.config.get("history") or [] if isinstance(step, dict)]
    if len([step for step in history if not step.get("empty_layer")]) != len(base.layers):
        return history
    step: Json = {"created": base.config.get("created") or "1970-01-01T00:00:00Z", "created_by": created_by}
    return history + [dict(step, empty_layer=True) if empty else step]


def _json(value: t.Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode("ascii")


def _digest(body: bytes) -> str:
    return "sha256:" + hashlib.sha256(body).hexdigest()
