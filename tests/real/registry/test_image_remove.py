# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which images go from a real registry, and which stay."""

from __future__ import annotations

import json
import typing as t

import pytest
from conftest import Need, Open
from registry_images import Blob, manifest_of, noise, push, send
from run_module import Result, run_module

from ansible_collections.mindcluster.recovery.plugins.module_utils._image_inputs import LABEL_INPUTS
from ansible_collections.mindcluster.recovery.plugins.module_utils._registry_client import (
    OCI_MANIFEST,
    Registry,
    RegistryError,
)


def build(registry: Registry, repository: str, *tags: str) -> None:
    """Push an image as this collection labels it."""
    layer = noise(64, "-".join(tags))
    labels = {LABEL_INPUTS: "0123"}
    config = Blob(json.dumps({"os": "linux", "config": {"Labels": labels}, "comment": layer.digest}).encode())
    send(registry, repository, layer)
    send(registry, repository, config)
    for tag in tags:
        registry.put_manifest(repository, tag, OCI_MANIFEST, manifest_of(layer, config).data)


def there(registry: Registry, repository: str, *tags: str) -> list[str]:
    found = []
    for tag in tags:
        try:
            registry.manifest(repository, tag)
        except RegistryError as exc:
            assert exc.kind == "missing", exc
        else:
            found.append(tag)
    return found


@pytest.fixture(params=["open", "password", "tls", "token"])
def place(request: pytest.FixtureRequest, registry_of: Open, fresh_name: str) -> tuple[Registry, str]:
    return registry_of(request.param), f"team/{fresh_name}"


def remove(place: tuple[Registry, str], need: Need, login: dict[str, str], **options: t.Any) -> Result:
    registry, repository = place
    if registry.host == need("SANDBOX_REGISTRY_TLS"):
        with open(need("SANDBOX_REGISTRY_CA"), encoding="utf-8") as stream:
            options["registry_ca"] = stream.read()
    if registry.host in (need("SANDBOX_REGISTRY_AUTH"), need("SANDBOX_REGISTRY_TOKEN")):
        options.update(registry_username=login["username"], registry_password=login["password"])
    return run_module("training_image_remove", repository=f"{registry.host}/{repository}", engine=False, **options)


def test_our_tags_go_and_others_stay(place: tuple[Registry, str], need: Need, login: dict[str, str]) -> None:
    registry, repository = place
    build(registry, repository, "7.2.rc1")
    build(registry, repository, "7.3.0", "production")
    build(registry, repository, "mine")
    push(registry, repository, "26.0.0", noise(64, "foreign"))
    tags = ("7.2.rc1", "7.3.0", "production", "mine", "26.0.0")
    checked = remove(place, need, login, check=True)
    assert not checked.failed, checked
    assert there(registry, repository, *tags) == list(tags)
    result = remove(place, need, login)
    assert (result["changed"], result["removed"], result["left"]) == (True, checked["removed"], checked["left"])
    assert there(registry, repository, *tags) == ["7.3.0", "production", "mine", "26.0.0"]
    assert [each.partition("/")[2].partition(" ")[0] for each in result["removed"]] == [f"{repository}:7.2.rc1"]
    assert any("7.3.0" in each and "`production`" in each for each in result["left"])
    assert any("26.0.0" in each and "not built by this collection" in each for each in result["left"])
    assert not remove(place, need, login)["changed"]


def test_a_named_tag_alone_goes(place: tuple[Registry, str], need: Need, login: dict[str, str]) -> None:
    registry, repository = place
    build(registry, repository, "7.2.rc1")
    build(registry, repository, "mine")
    assert remove(place, need, login, tag="mine")["changed"]
    assert there(registry, repository, "7.2.rc1", "mine") == ["7.2.rc1"]


def test_a_registry_that_does_not_answer_is_told(fresh_name: str) -> None:
    result = run_module("training_image_remove", repository=f"127.0.0.1:1/{fresh_name}", engine=False)
    assert not result.failed and not result["changed"]
    assert "in the registry" in result["left"][0]


def test_an_engine_that_does_not_answer_is_told(fresh_name: str) -> None:
    result = run_module(
        "training_image_remove",
        repository=f"127.0.0.1:1/{fresh_name}",
        pushed=False,
        docker_host="unix:///nonexistent.sock",
    )
    assert not result.failed and "in the engine" in result["left"][0]
