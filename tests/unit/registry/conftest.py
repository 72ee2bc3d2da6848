# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import typing as t

import pytest
from registry_fake_server import Asked, FakeServer, Reply

from ansible_collections.mindcluster.recovery.plugins.module_utils._retries import RetryPolicy

Serve = t.Callable[[t.Callable[[Asked], Reply]], FakeServer]


@pytest.fixture
def serve() -> t.Iterator[Serve]:
    """Starts servers that answer as told, and ends them."""
    servers: list[FakeServer] = []

    def start(answer: t.Callable[[Asked], Reply]) -> FakeServer:
        server = FakeServer(answer)
        servers.append(server)
        return server.__enter__()

    yield start
    for server in servers:
        server.__exit__()


@pytest.fixture(autouse=True)
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, str | None]]:
    """Attempt and header of each pause that would have been made, instead of making it."""
    made: list[tuple[int, str | None]] = []
    monkeypatch.setattr(RetryPolicy, "pause", lambda _policy, attempt, asked: made.append((attempt, asked)))
    return made


@pytest.fixture(autouse=True)
def no_docker_config(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The Docker configuration and proxies of whoever runs the tests are no part of them."""
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path_factory.mktemp("docker")))
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
