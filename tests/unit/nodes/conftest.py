# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import typing as t

import pytest
from kube_fake_api import FakeApi

from ansible_collections.mindcluster.recovery.plugins.module_utils import _kube_http


@pytest.fixture
def api() -> t.Iterator[FakeApi]:
    """An API server with three unlabelled nodes."""
    with FakeApi({"master-1": {}, "worker-1": {}, "worker-2": {}}) as server:
        yield server


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses that would have been made, instead of making them."""
    made: list[float] = []
    monkeypatch.setattr(_kube_http.DEFAULT_POLICY, "sleep", made.append)
    return made
