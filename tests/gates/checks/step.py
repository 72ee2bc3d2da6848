# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One check: a command, its log, and how many results it counts for."""

from __future__ import annotations

import os
import re
import sys
import time
import typing as t
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[3]
BUILD = CHECKOUT / "build"
sys.path.insert(0, str(CHECKOUT / "tests" / "sandbox"))

from parts import commands, venv  # noqa: E402 the sandbox runs commands in the same way
from parts.console import elapsed  # noqa: E402

VENV = venv.CONTROLLER.folder
SHOWN = 400
# What is repeated at the very end, where a service may show no more of a log than that.
REPEATED = 15
# Lines that say what went wrong; clean-up after it may have written much since.
TELLING = re.compile(r"^(fatal: |E   |FAILED |ERROR |\[ERROR\]|failed: )")


class Count(t.NamedTuple):
    """How many results were good and how many were not.

    :ivar failures: what is said at the end about each step that failed.
    :ivar rows: what a table says about each step: its name, its tool, the verdict, passed and failed results.
    """

    passed: int
    failed: int
    failures: tuple[str, ...] = ()
    rows: tuple[t.Sequence[str], ...] = ()

    def __add__(self, other: object) -> Count:
        if not isinstance(other, Count):
            return NotImplemented
        return Count(*(mine + its for mine, its in zip(self, other, strict=True)))  # type: ignore[operator]


def as_one(code: int, _log: str) -> Count:
    """A command that counts as one result."""
    return Count(int(code == 0), int(code != 0))


class Step(t.NamedTuple):
    """A command that belongs to a check.

    :ivar name: what the line in the report says.
    :ivar command: the program, looked for in C(.venv) first, and its arguments.
    :ivar counting: makes results out of the exit code and the log.
    :ivar environment: variables on top of those of this process.
    :ivar folder: where it runs.
    :ivar before: what has to be made ready first.
    :ivar python: the Python environment whose programs come first; it is made where it is missing.
    :ivar tool: the package that does the check.
    :ivar versions_of: the environment that has this package, where it is another one.
    :ivar missing: why it cannot run on this machine; then it counts for nothing, and is reported as not run.
    """

    name: str
    command: t.Sequence[str]
    counting: t.Callable[[int, str], Count] = as_one
    environment: t.Mapping[str, str] = {}
    folder: Path = CHECKOUT
    before: t.Callable[[], None] | None = None
    python: venv.Environment = venv.CONTROLLER
    tool: str = ""
    missing: str = ""
    versions_of: venv.Environment | None = None


def run(step: Step) -> Count:
    """Run a step, say how it went and how long it took; the log is shown where it went wrong."""
    started = time.monotonic()
    if step.missing:
        print(f"{step.name:<28} not run: {step.missing}", flush=True)
        return Count(0, 0, rows=((step.name, step.tool, f"not run: {step.missing}", "", ""),))
    log = BUILD / "logs" / f"{re.sub(r'[ /,]+', '-', step.name)}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_bytes(b"")
    code = _execute(step, log)
    text = log.read_text(encoding="utf-8", errors="replace")
    count = step.counting(code, text)
    if code and not count.failed:
        count += Count(0, 1)
    if count.failed:
        print("\n".join(text.splitlines()[-SHOWN:]), flush=True)
        count = count._replace(failures=(failure(step.name, text),))
    verdict = "FAILED" if count.failed else "ok"
    tool = f"{step.tool} {(step.versions_of or step.python).version_of(step.tool)}" if step.tool else step.command[0]
    row = (step.name, tool, "FAILED" if count.failed else "pass", str(count.passed), str(count.failed))
    detail = f"{count.passed} passed, {count.failed} failed, " if count.passed + count.failed > 1 else ""
    print(f"{step.name:<28} {verdict:<7} {detail}{elapsed(time.monotonic() - started)}", flush=True)
    return count._replace(rows=(row,))


def failure(name: str, log: str) -> str:
    """A step that failed and the end of its log, with the lines before that end which tell most."""
    lines = log.rstrip().splitlines()
    telling = [line[:300] for line in lines[:-REPEATED] if TELLING.match(line)][:REPEATED]
    shown = [*telling, "…"] if telling else []
    return "\n".join([f"-- {name} failed:", *(f"   {line}" for line in [*shown, *lines[-REPEATED:]])])


def _execute(step: Step, log: Path) -> int:
    environment = {
        **os.environ,
        "PATH": os.pathsep.join([str(step.python.programs), str(VENV / "bin"), os.environ["PATH"]]),
        # Logs are read by people and by the counting below.
        "NO_COLOR": "1",
        "ANSIBLE_NOCOLOR": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        **step.environment,
    }
    environment.pop("ANSIBLE_FORCE_COLOR", None)
    try:
        if step.python is not venv.CONTROLLER:
            venv.ensure(step.python)
        if step.before:
            step.before()
        return commands.run(step.name, step.command, log, env=environment, cwd=step.folder)
    except Exception as exc:
        log.write_text(f"{step.name} could not run: {exc}\n", encoding="utf-8")
        return 1
