# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs the checks of this collection and counts what they found: `gates.py lint unit` and the like."""

from __future__ import annotations

import collections
import concurrent.futures
import json
import os
import signal
import subprocess
import sys
import threading
import time
import typing as t

from checks import artifact, cores, docs, ends, house, lint, matrix, real, sanity, scenarios, unit
from checks.step import BUILD, CHECKOUT, REPEATED, VENV, Count, Step, failure, run
from checks.table import table

from parts import commands
from parts.console import elapsed

CHECKS: dict[str, t.Callable[[], list[Step]]] = {
    "lint": lint.steps,
    "sanity": sanity.steps,
    "unit": unit.steps,
    "cores": cores.steps,
    "oldest-core": cores.one_other,
    "house": house.steps,
    "docs": docs.steps,
    "artifact": artifact.steps,
    "ends": ends.steps,
    "matrix": matrix.steps,
    "proof": matrix.proof_steps,
    "real": real.steps,
    "molecule": scenarios.steps,
}
IN_SANDBOX = ("real", "molecule")
SUMMARY = BUILD / "summary.json"
FAILURES = BUILD / "failures.txt"
INNER = "GATES_INNER"  # set for a run whose numbers another run adds up
_ENDING = threading.Event()  # no further step may begin
_SANDBOXES: list[subprocess.Popen[str]] = []
NEEDED = "docker,registry,wheels,images,tars,kube,scheduler"


def main(names: t.Sequence[str]) -> int:
    """Run the checks, all of them also where one fails, and end with the count.

    Those that need services wait for them much of the time, so they run beside the others.
    """
    shown, names = names[:1] == ["--table"], [name for name in names if name != "--table"]
    unknown = [name for name in names if name.partition(":")[0] not in CHECKS]
    if unknown or not names:
        known = ", ".join([*CHECKS, "molecule:SCENARIO"])
        print(f"usage: gates.py [--table] CHECK…, with CHECK out of {known}", file=sys.stderr)
        return 2
    lanes = [
        (_checks, [name for name in names if not _wants_sandbox(name)]),
        (_check_in_sandbox, [name for name in names if _wants_sandbox(name)]),
    ]
    total = _beside_each_other([(work, some) for work, some in lanes if some])
    _write(total)
    if INNER not in os.environ:
        _tell(total, shown)
    return int(total.failed > 0)


def _beside_each_other(lanes: t.Sequence[tuple[t.Callable[[list[str]], Count], list[str]]]) -> Count:
    with concurrent.futures.ThreadPoolExecutor(max_workers=len(lanes)) as pool:
        try:
            return sum((lane.result() for lane in [pool.submit(work, names) for work, names in lanes]), Count(0, 0))
        except BaseException:
            _ENDING.set()
            for process in _SANDBOXES:
                process.terminate()
            commands.end_all()
            raise


def _checks(names: list[str]) -> Count:
    return sum(map(_check, names), Count(0, 0))


def _tell(total: Count, with_table: bool) -> None:
    """What failed, on demand the table, what did not run, and the sum as the last line."""
    idle = [f"{row[0]}: {row[2]}" for row in total.rows if row[2].startswith("not run")]
    lines = [*total.failures, *(["", table(total.rows), ""] if with_table else idle)]
    print("\n".join([*lines, f"{total.passed} passed, {total.failed} failed"]), flush=True)


def _wants_sandbox(name: str) -> bool:
    """Whether the check needs services that do not run yet."""
    return name.partition(":")[0] in IN_SANDBOX and "SANDBOX_PARTS" not in os.environ


def _check(name: str) -> Count:
    started = time.monotonic()
    check, _colon, only = name.partition(":")
    steps = [step for step in CHECKS[check]() if not only or step.name == f"{check} {only}"]
    count = sum((run(step) for step in steps if not _ENDING.is_set()), Count(0, 0))
    if not steps:
        print(f"{name}: nothing to check was found, which counts as a failure")
        count = Count(0, 1, (failure(name, "nothing to check was found"),))
    print(
        f"== {name}: {count.passed} passed, {count.failed} failed, took {elapsed(time.monotonic() - started)}\n",
        flush=True,
    )
    return count


def _check_in_sandbox(names: list[str]) -> Count:
    """Have this very program run checks with the services running; what cannot start counts as one failure."""
    SUMMARY.unlink(missing_ok=True)
    sandbox = str(CHECKOUT / "tests" / "sandbox" / "sandbox.py")
    command = [sys.executable, sandbox, "run", "--with", NEEDED, "--", sys.executable, __file__, *names]
    process = subprocess.Popen(command, env={**os.environ, INNER: "1"}, stderr=subprocess.PIPE, text=True)
    told: collections.deque[str] = collections.deque(maxlen=REPEATED)
    listener = threading.Thread(target=_listen, args=(process.stderr, told), daemon=True)
    listener.start()
    _SANDBOXES.append(process)
    process.wait()
    listener.join(timeout=5)
    title = ", ".join(names)
    if not SUMMARY.exists():
        print(f"== {title}: could not run, see above", flush=True)
        return Count(0, 1, (failure(title, "".join(told)),))
    count = Count(**json.loads(SUMMARY.read_text(encoding="utf-8")))
    count = count._replace(failures=tuple(count.failures), rows=tuple(count.rows))
    if process.returncode and not count.failed:
        # The checks were content, and the services behind them could not be ended.
        count += Count(0, 1, (failure(f"{title} (ending the services)", "".join(told)),))
    return count


def _listen(stream: t.Iterable[str], told: collections.deque[str]) -> None:
    """Shows what the sandbox says and keeps the end of it."""
    for line in stream:
        print(line, end="", file=sys.stderr, flush=True)
        told.append(line)


def _write(total: Count) -> None:
    """Leaves the numbers and the failures for whoever adds them up."""
    SUMMARY.parent.mkdir(exist_ok=True)
    SUMMARY.write_text(json.dumps(total._asdict()) + "\n", encoding="utf-8")
    FAILURES.write_text("".join(f"{text}\n" for text in total.failures), encoding="utf-8")


if __name__ == "__main__":
    if not (VENV / "bin" / "ansible").exists():
        sys.exit("gates.py: .venv is missing; make it: make env")
    signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
    finally:
        commands.end_all()
