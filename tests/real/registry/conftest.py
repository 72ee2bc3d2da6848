# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json
import pathlib
import sys
import typing as t

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from ansible_collections.mindcluster.recovery.plugins.module_utils._registry_client import Registry
from parts.fault_proxy import FaultProxy

Need = t.Callable[[str], str]
Open = t.Callable[..., Registry]


@pytest.fixture(autouse=True)
def no_docker_config(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The Docker configuration of whoever runs the tests is no part of them."""
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path_factory.mktemp("docker")))


@pytest.fixture
def login(need: Need) -> dict[str, str]:
    return {"username": need("SANDBOX_REGISTRY_USERNAME"), "password": need("SANDBOX_REGISTRY_PASSWORD")}


@pytest.fixture
def registry_of(need: Need, login: dict[str, str], tmp_path: pathlib.Path) -> Open:
    """Gives a registry of the sandbox by its kind, ready to be written to."""

    def make(kind: str) -> Registry:
        if kind == "open":
            return Registry(need("SANDBOX_REGISTRY"))
        if kind == "password":
            return Registry(need("SANDBOX_REGISTRY_AUTH"), **login)
        if kind == "tls":
            return Registry(need("SANDBOX_REGISTRY_TLS"), ca_file=need("SANDBOX_REGISTRY_CA"))
        if kind == "token":
            return Registry(need("SANDBOX_REGISTRY_TOKEN"), **login)
        host = need("SANDBOX_REGISTRY_TOKEN")
        auths = {"auths": {host: {"identitytoken": need("SANDBOX_REGISTRY_IDENTITY_TOKEN")}}}
        (tmp_path / "config.json").write_text(json.dumps(auths), encoding="utf-8")
        return Registry(host, docker_config=str(tmp_path))

    return make


@pytest.fixture
def proxy(need: Need) -> t.Iterator[FaultProxy]:
    """A proxy in front of the open registry that breaks what it is told to."""
    with FaultProxy("http://" + need("SANDBOX_REGISTRY")) as started:
        yield started


@pytest.fixture
def open_registry(registry_of: Open) -> Registry:
    """The open registry itself, to see what is really there."""
    return registry_of("open")


@pytest.fixture
def faulty(proxy: FaultProxy) -> Registry:
    """The open registry behind the proxy."""
    registry = Registry(proxy.address, insecure=True)
    # The pauses are the product's own, only shorter, since the proxy needs no rest.
    registry._session.policy.first = 0.01
    return registry
