# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Starting a service, waiting until it answers, ending it; a record of it lets a later command end it too."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
import typing as t
from pathlib import Path

from . import commands
from .console import SandboxError, say
from .home import Home

RECORD = "services.json"


def start(
    home: Home, name: str, command: t.Sequence[str | os.PathLike[str]], ready: t.Callable[[], bool], timeout: float = 60
) -> None:
    """Start a service of this home unless it runs, and wait until it is ready.

    :param ready: true as soon as the service answers.
    :raises SandboxError: when it ends early or stays silent; the message ends with the tail of its log.
    """
    if running(home, name) and ready():
        return
    stop(home, name)
    log = home.log(name)
    say(f"{name}: starting")
    with open(log, "ab") as output:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        )
    _remember(home, name, process.pid)
    wait(name, ready, lambda: process.poll() is None, log, timeout)


def wait(name: str, ready: t.Callable[[], bool], alive: t.Callable[[], bool], log: Path, timeout: float) -> None:
    """Wait until a service is ready.

    :raises SandboxError: when it ends first or the time is over.
    """
    deadline = time.monotonic() + timeout
    while not ready():
        if not alive():
            raise SandboxError(f"{name} ended right after its start; the end of {log}:\n{commands.tail(log)}")
        if time.monotonic() > deadline:
            raise SandboxError(f"{name} does not answer after {timeout:.0f} s; the end of {log}:\n{commands.tail(log)}")
        time.sleep(0.1)


def running(home: Home, name: str) -> bool:
    """Whether the very process that was recorded still runs, and not a later one with its number."""
    record = home.read(RECORD).get(name)
    return record is not None and born(record["pid"]) == record["born"]


def stop(home: Home, name: str, patience: float = 15) -> None:
    """End a service of this home if it runs, and forget it."""
    records = home.read(RECORD)
    record = records.pop(name, None)
    if record is None:
        return
    if born(record["pid"]) == record["born"]:
        end(record["pid"], patience)
    home.write(RECORD, records)


def stop_all(home: Home) -> None:
    """End every service of this home, the latest first."""
    records = home.read(RECORD)
    for name in sorted(records, key=lambda item: int(records[item]["number"]), reverse=True):
        stop(home, name)


def end(pid: int, patience: float) -> None:
    """Ask a process to end and wait; after the patience is over it is killed."""
    birth = born(pid)
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)
        deadline = time.monotonic() + patience
        while birth and born(pid) == birth:
            _reap(pid)
            if time.monotonic() > deadline:
                os.kill(pid, signal.SIGKILL)
                deadline += patience
            time.sleep(0.05)


def _reap(pid: int) -> None:
    """Collect the process when it is a child of this one, or its entry would stay as if it ran."""
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)


def born(pid: int) -> str:
    """The start time of a process in the kernel's count; empty where no such process runs."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return ""
    return "" if fields[0] == "Z" else fields[19]


def _remember(home: Home, name: str, pid: int) -> None:
    records = home.read(RECORD)
    records[name] = {"pid": pid, "born": born(pid), "number": len(records)}
    home.write(RECORD, records)
