# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The registry client against real registries: open, with a password, behind TLS, with tokens of a token server."""

from __future__ import annotations

import json
import pathlib
import socket
import typing as t

import pytest
from registry_images import INDEXES, KINDS, Blob, noise, push, read, refused, send

from ansible_collections.mindcluster.recovery.plugins.module_utils._registry_client import OCI_MANIFEST, Registry

Need = t.Callable[[str], str]
Open = t.Callable[..., Registry]
EVERY_KIND = pytest.mark.parametrize("kind", ["open", "password", "tls", "token", "identity token"])
LAYER = noise(3 << 20, "layer")


@EVERY_KIND
def test_what_was_sent_is_read(registry_of: Open, kind: str, fresh_name: str, tmp_path: pathlib.Path) -> None:
    registry, repository = registry_of(kind), f"team/{fresh_name}"
    assert not registry.has_blob(repository, LAYER.digest)
    (tmp_path / "layer").write_bytes(LAYER.data)
    registry.upload_blob(repository, tmp_path / "layer", LAYER.digest, LAYER.size)
    assert registry.has_blob(repository, LAYER.digest)
    assert read(registry, repository, LAYER) == LAYER.data
    small = Blob(b"{}")
    send(registry, repository, small)
    assert read(registry, repository, small) == b"{}"


@EVERY_KIND
def test_what_is_there_is_not_sent_again(registry_of: Open, kind: str, fresh_name: str) -> None:
    registry = registry_of(kind)
    send(registry, f"team/{fresh_name}", LAYER)
    before = registry.statistics.bytes_up
    send(registry, f"team/{fresh_name}", LAYER)
    assert registry.statistics.bytes_up == before


@EVERY_KIND
def test_layer_is_mounted_from_another_repository(registry_of: Open, kind: str, fresh_name: str) -> None:
    registry = registry_of(kind)
    send(registry, f"team/{fresh_name}", LAYER)
    before = registry.statistics.bytes_up
    assert registry.mount_blob(f"team/{fresh_name}-2", LAYER.digest, f"team/{fresh_name}")
    assert registry.has_blob(f"team/{fresh_name}-2", LAYER.digest)
    assert registry.statistics.bytes_up - before < 4096
    assert not registry.mount_blob(f"team/{fresh_name}-2", noise(1, fresh_name).digest, f"team/{fresh_name}")


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_images_of_both_kinds_and_their_indexes(registry_of: Open, kind: str, fresh_name: str) -> None:
    registry, repository = registry_of("open"), f"team/{fresh_name}"
    digest = push(registry, repository, "one", LAYER, kind)
    manifest = registry.manifest(repository, "one")
    assert (manifest.digest, manifest.media_type) == (digest, kind)
    assert registry.manifest(repository, digest) == manifest
    index_kind = next(index for index, of in INDEXES.items() if of == kind)
    entry = {"mediaType": kind, "digest": digest, "size": len(manifest.body)}
    entry["platform"] = {"architecture": "arm64", "os": "linux"}
    index = Blob(json.dumps({"schemaVersion": 2, "mediaType": index_kind, "manifests": [entry]}).encode())
    assert registry.put_manifest(repository, "all", index_kind, index.data) == index.digest
    assert registry.manifest(repository, "all") == (index.digest, index_kind, index.data)


@pytest.mark.parametrize(("source", "target"), [("open", "tls"), ("tls", "token"), ("token", "password")])
def test_layer_goes_from_registry_to_registry(registry_of: Open, source: str, target: str, fresh_name: str) -> None:
    origin, there, repository = registry_of(source), registry_of(target), f"team/{fresh_name}"
    send(origin, repository, LAYER)
    there.copy_blob(LAYER.digest, LAYER.size, origin, repository, repository)
    assert read(there, repository, LAYER) == LAYER.data


def test_image_of_missing_layers_is_refused(registry_of: Open, fresh_name: str) -> None:
    registry, repository = registry_of("open"), f"team/{fresh_name}"
    send(registry, repository, Blob(b"{}"))
    missing = noise(100, fresh_name)
    document = {
        "schemaVersion": 2,
        "mediaType": OCI_MANIFEST,
        "config": {"mediaType": KINDS[OCI_MANIFEST][0], "digest": Blob(b"{}").digest, "size": 2},
        "layers": [{"mediaType": KINDS[OCI_MANIFEST][1], "digest": missing.digest, "size": missing.size}],
    }
    error = refused(registry.put_manifest, repository, "x", OCI_MANIFEST, json.dumps(document).encode())
    assert error.kind == "missing"
    assert refused(registry.manifest, repository, "x").kind == "missing"


# --- logins


def test_no_login_and_a_wrong_one(need: Need, fresh_name: str) -> None:
    for variable in ("SANDBOX_REGISTRY_AUTH", "SANDBOX_REGISTRY_TOKEN"):
        nobody = refused(Registry(need(variable)).manifest, f"team/{fresh_name}", "x")
        assert (nobody.kind, nobody.status) == ("auth", 401)
        assert "not logged in" in str(nobody)
        wrong = Registry(need(variable), username="sandbox", password="wr0ng-s3cr3t")
        stranger = refused(wrong.manifest, f"team/{fresh_name}", "x")
        assert (stranger.kind, stranger.status) == ("auth", 401)
        assert "as `sandbox` of the options" in str(stranger)
        assert "wr0ng-s3cr3t" not in str(stranger)


def test_everybody_may_pull_what_is_public_and_push_nothing(registry_of: Open, need: Need, fresh_name: str) -> None:
    owner, repository = registry_of("token"), f"public/{fresh_name}"
    digest = push(owner, repository, "x", LAYER)
    nobody = Registry(need("SANDBOX_REGISTRY_TOKEN"))
    assert nobody.manifest(repository, "x").digest == digest
    assert read(nobody, repository, LAYER) == LAYER.data
    error = refused(push, nobody, repository, "y", noise(100, "other"))
    assert (error.kind, error.status) == ("auth", 401)


def test_layer_that_may_not_be_read_is_not_mounted(registry_of: Open, need: Need, fresh_name: str) -> None:
    push(registry_of("token"), f"team/{fresh_name}", "x", LAYER)
    nobody = Registry(need("SANDBOX_REGISTRY_TOKEN"))
    assert not nobody.mount_blob(f"public/{fresh_name}", LAYER.digest, f"team/{fresh_name}")


def test_one_request_once_the_login_is_known(registry_of: Open, fresh_name: str) -> None:
    for kind in ("open", "password", "token"):
        registry = registry_of(kind)
        push(registry, f"team/{fresh_name}", "x", LAYER)
        before = registry.statistics.requests
        registry.manifest(f"team/{fresh_name}", "x")
        assert registry.statistics.requests == before + 1


# --- trust


def test_certificate_of_an_unknown_authority(need: Need) -> None:
    error = refused(Registry(need("SANDBOX_REGISTRY_TLS")).manifest, "team/base", "x")
    assert (error.kind, error.findings[0].code) == ("trust", "registry-untrusted")
    assert "training_image_registry_ca" in str(error)


def test_certificate_for_another_name(need: Need, monkeypatch: pytest.MonkeyPatch) -> None:
    _host, _colon, port = need("SANDBOX_REGISTRY_TLS").partition(":")
    ask = socket.getaddrinfo
    monkeypatch.setattr(socket, "getaddrinfo", lambda _name, *rest, **options: ask("127.0.0.1", *rest, **options))
    other = Registry(f"registry.example:{port}", ca_file=need("SANDBOX_REGISTRY_CA"))
    error = refused(other.manifest, "team/base", "x")
    assert (error.kind, error.findings[0].code) == ("trust", "registry-untrusted")
    assert "registry.example" in str(error)


def test_tls_and_plain_http_mixed_up(need: Need) -> None:
    plain = refused(Registry(need("SANDBOX_REGISTRY"), ca_file=need("SANDBOX_REGISTRY_CA")).manifest, "team/base", "x")
    assert (plain.kind, plain.findings[0].code) == ("trust", "registry-plain-http")
    tls = refused(Registry(need("SANDBOX_REGISTRY_TLS"), insecure=True).manifest, "team/base", "x")
    assert tls.kind == "trust"
    assert "it speaks TLS" in str(tls)
