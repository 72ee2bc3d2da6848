# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Running other programs: output into a log, a sign of life while it lasts, the log's tail when it fails."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
import typing as t
from pathlib import Path

from .console import SandboxError, elapsed, say

Command = t.Sequence[str | os.PathLike[str]]
HEARTBEAT = 20.0
_RUNNING: set[subprocess.Popen[bytes]] = set()
_GUARD = threading.Lock()


def tail(log: Path, lines: int = 30) -> str:
    """The end of a log, indented, for an error message."""
    try:
        text = log.read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return "    (no output)"
    return "\n".join("    " + line for line in text[-lines:])


def logged(label: str, command: Command, log: Path, **options: t.Any) -> None:
    """Run a command, append its output to a log, and fail loudly.

    :raises SandboxError: when it exits with anything but 0; the message ends with the tail of the log.
    """
    code = run(label, command, log, **options)
    if code:
        raise SandboxError(f"{label} failed with exit code {code}; the end of {log}:\n{tail(log)}")


def run(label: str, command: Command, log: Path, **options: t.Any) -> int:
    """Run a command, append its output to a log, and say from time to time that it is still at work.

    :param label: what it is for, in progress lines.
    :param options: C(env), C(cwd) as for C(subprocess.Popen).
    :returns: its exit code.
    """
    with open(log, "ab") as output:
        # A session of its own, so that the whole family can be ended.
        options.update(stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
        process = subprocess.Popen(command, **options)
    with _GUARD:
        _RUNNING.add(process)
    try:
        _watch(label, process, log)
    finally:
        with _GUARD:
            _RUNNING.discard(process)
        end_family(process)
    return process.returncode


def _watch(label: str, process: subprocess.Popen[bytes], log: Path) -> None:
    started = beat = time.monotonic()
    while process.poll() is None:
        time.sleep(0.1)
        if time.monotonic() - beat > HEARTBEAT:
            beat = time.monotonic()
            say(f"{label}: {elapsed(beat - started)} … {last_line(log)}")


def last_line(log: Path) -> str:
    """The newest line of a log, shortened to fit beside the time."""
    with open(log, "rb") as handle:
        handle.seek(max(0, log.stat().st_size - 2000))
        lines = handle.read().decode("utf-8", "replace").split("\n")
    return next((line.strip()[:90] for line in reversed(lines) if line.strip()), "")


def end_family(process: subprocess.Popen[bytes]) -> None:
    """End a process that leads a session, and what it started, if it still runs."""
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def end_all() -> None:
    """End every build command that still runs; used when the run itself is being ended."""
    with _GUARD:
        running = list(_RUNNING)
    for process in running:
        end_family(process)


def output_of(command: t.Sequence[str], **options: t.Any) -> str:
    """What a short command prints.

    :raises SandboxError: when it fails, with what it wrote to stderr.
    """
    result = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    if result.returncode:
        raise SandboxError(f"`{' '.join(command)}` failed with exit code {result.returncode}: {result.stderr.strip()}")
    return str(result.stdout)
