# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Ports and records of services that stay, and the documents that are sent to the API server."""

from __future__ import annotations

import stat
import sys
from pathlib import Path

import pytest

from parts import kube_api, prepare, services
from parts.console import SandboxError
from parts.home import Home


def test_a_port_stays_the_same_for_a_state_folder(tmp_path: Path) -> None:
    ports = {name: Home.at(tmp_path / "state").port(name) for name in ("registry", "etcd")}
    assert len(set(ports.values())) == 2
    assert {name: Home.at(tmp_path / "state").port(name) for name in ports} == ports


def test_what_a_home_holds_is_for_its_owner_alone(tmp_path: Path) -> None:
    home = Home.at(tmp_path / "state")
    home.write("secrets.json", {"password": "x"})
    assert stat.S_IMODE((home.folder / "secrets.json").stat().st_mode) == 0o600
    assert stat.S_IMODE(home.folder.stat().st_mode) == 0o700


def test_a_service_is_ended_by_a_later_command(tmp_path: Path) -> None:
    home = Home.at(tmp_path / "state")
    sleeper = [sys.executable, "-c", "import time; time.sleep(600)"]
    services.start(home, "sleeper", sleeper, lambda: True)
    services.start(home, "sleeper", sleeper, lambda: services.running(home, "sleeper"))
    assert services.running(home, "sleeper")
    services.stop_all(Home.at(tmp_path / "state"))
    assert not services.running(home, "sleeper")
    assert home.read(services.RECORD) == {}


def test_a_service_that_ends_at_once_is_told_with_its_log(tmp_path: Path) -> None:
    home = Home.at(tmp_path / "state")
    broken = [sys.executable, "-c", "raise SystemExit('no such device')"]
    with pytest.raises(SandboxError, match=r"broken ended right after its start(.|\n)*no such device"):
        services.start(home, "broken", broken, lambda: False)


def test_parts_bring_what_they_stand_on() -> None:
    assert prepare.with_needs(["scheduler", "image-bare"]) == ["docker", "tar-bare", "image-bare", "kube", "scheduler"]
    assert prepare.with_needs(["images"])[0] == "docker"
    with pytest.raises(SandboxError, match="Unknown part registri"):
        prepare.with_needs(["registri"])


def test_documents_are_told_apart_and_comments_are_none() -> None:
    text = "---\n# only a comment\n---\nkind: A\nmetadata:\n  labels:\n    x: y\n  name: one\n---\nkind: B\n"
    assert len(kube_api.documents(text)) == 2
