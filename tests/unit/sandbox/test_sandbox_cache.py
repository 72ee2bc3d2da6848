# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What takes minutes is built once, and nothing half made is ever found in the cache."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
import typing as t
from pathlib import Path

import pytest

from parts import cache, commands, paths
from parts.cache import Workbench
from parts.console import SandboxError


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def test_two_at_once_build_once() -> None:
    built: list[int] = []

    def recipe(bench: Workbench) -> Path:
        built.append(1)
        time.sleep(0.3)
        (bench.folder / "result").write_text("whole")
        return bench.folder / "result"

    target = paths.cache() / "thing"
    threads = [threading.Thread(target=cache.build_once, args=("thing", target, recipe)) for _number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert built == [1]
    assert target.read_text() == "whole"


def test_a_failed_build_leaves_nothing_and_shows_the_end_of_its_log() -> None:
    def recipe(bench: Workbench) -> Path:
        (bench.folder / "half").write_text("half")
        commands.logged("thing", [sys.executable, "-c", "print('the reason'); raise SystemExit(3)"], bench.log)
        return bench.folder / "half"

    target = paths.cache() / "thing"
    with pytest.raises(SandboxError, match=r"thing failed with exit code 3(.|\n)*the reason"):
        cache.build_once("thing", target, recipe)
    assert not target.exists()
    assert not list((paths.cache() / "work").iterdir())


def test_what_a_killed_run_left_is_cleared_away() -> None:
    leftover = paths.made(paths.cache() / "work" / "thing.killed")

    def recipe(bench: Workbench) -> Path:
        (bench.folder / "result").write_text("whole")
        return bench.folder / "result"

    cache.build_once("thing", paths.cache() / "thing", recipe)
    assert not leftover.exists()


def test_the_cache_follows_the_users_setting(tmp_path: Path) -> None:
    assert paths.cache() == tmp_path / "mindcluster-recovery"


def test_a_command_that_was_ended_takes_its_children_along(tmp_path: Path) -> None:
    mark = f"sleep 31{tmp_path.stat().st_ino}"
    waiter = threading.Thread(
        target=lambda: commands.run("sleeper", ["bash", "-c", f"{mark} & wait"], tmp_path / "log")
    )
    waiter.start()
    _until(lambda: mark.split() in _running_commands(), "the command has started its child")
    commands.end_all()
    waiter.join()
    _until(lambda: mark.split() not in _running_commands(), "the child has ended")


def _until(true: t.Callable[[], bool], what: str) -> None:
    """Wait: a signal is on its way for a moment, and a busy machine starts programs late."""
    end = time.monotonic() + 60
    while not true():
        assert time.monotonic() < end, f"in vain waited until {what}"
        time.sleep(0.02)


def _running_commands() -> list[list[str]]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # it ended while we looked
            found.append(path.read_text(errors="replace").split("\0")[:-1])
    return found
