# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An engine that does not answer: what was tried, who named it, and what to do, the way without an engine included."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.mindcluster.recovery.plugins.module_utils import _image_engine
from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Refused


@pytest.mark.parametrize("option", ["docker_host", "DOCKER_HOST"])
def test_an_engine_that_does_not_answer_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, option: str) -> None:
    address = "unix://%s/none.sock" % tmp_path
    monkeypatch.setenv("DOCKER_HOST", address if option == "DOCKER_HOST" else "unix:///another.sock")
    with pytest.raises(Refused) as refused:
        _image_engine.Engine(_image_engine.Credentials("", None, None), address if option == "docker_host" else "")
    said = str(refused.value)
    assert "the Docker engine at %s (%s) cannot be used: " % (address, option) in said
    assert "looks into it" in said
    assert "systemctl start docker" in said
    assert "training_image_builder: registry" in said


def test_the_usual_socket_is_named_where_nobody_names_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    finding = _image_engine._unreachable("", "Permission denied")
    assert "unix:///var/run/docker.sock (the usual one, as DOCKER_HOST is not set)" in finding.what
    assert "group docker" in finding.remedy and "registry" in finding.remedy
