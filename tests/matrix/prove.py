# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Proves by running it what the second patch does: a worker dies, and training goes on, or does not.

Real torchrun and torch 2.13.0 with gloo, two workers, the vendor's static arguments, a stand-in for mindx_elastic.
Worker 1 dies in attempt 0; recovered is a run in which both workers add their numbers in attempt 1 and torchrun ends
with 0. Three states of the same installation are compared: as it came, after the vendor's sed commands, and patched.

At the end the price of the patch is measured: two ranks whose restart counts differ.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import dataclasses
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time
import typing as t

HERE = pathlib.Path(__file__).resolve().parent
PATCHER = HERE.parents[1] / "plugins" / "module_utils" / "_torch_patcher.py"
WORKER = HERE / "proof" / "worker.py"
STUB = HERE / "proof" / "stub"
TORCH = "2.13.0"

sys.path.insert(0, str(HERE.parent / "unit" / "torch_patch"))

# The unit tests' folder is no package.
from torch_files import Index  # noqa: E402
from torch_shapes import Site, vendor_sed  # noqa: E402

Record = list[dict[str, t.Any]]


class Failed(Exception):
    """The proof cannot be made; the message is for the person who ran it."""


class NotAtHand(Failed):
    """It could be made, but torch would have to be fetched first."""


# The installation .................................................................................................


def installation(download: bool) -> pathlib.Path:
    """A virtual environment with torch, in the cache; made where it is not there yet.

    :param download: also when torch itself has to be fetched from the index.
    :raises NotAtHand: torch would be fetched; the message lists what.
    """
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    folder = pathlib.Path(base, "mindcluster-recovery", "torch-" + TORCH)
    python = folder / "bin" / "python"
    complete = folder / "complete"
    if complete.exists():
        return python
    require_at_hand(folder, download)
    print("making %s" % folder, flush=True)
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
    subprocess.run([str(python), "-m", "pip", "install", "--quiet", "torch==" + TORCH], check=True)
    complete.touch()
    return python


def require_at_hand(folder: pathlib.Path, download: bool) -> None:
    """Says what would be fetched, before anything is.

    :raises NotAtHand: pip would fetch torch, and nobody has said that it may.
    :raises Failed: there is no such torch.
    """
    index = Index()
    link = index.wheel_for_this_python(TORCH)
    if link is None:
        raise Failed("pip finds no torch %s for Python %s" % (TORCH, sys.version.split()[0]))
    if link.is_file:
        return
    needs = "\n".join("  " + need for need in index.needs(link))
    words = "torch %s is not at hand. pip would fetch into %s\n  %s, %d MB, and what it needs:\n%s" % (
        TORCH,
        folder,
        link.filename,
        index.size(link) // 1000000,
        needs,
    )
    if not download:
        raise NotAtHand(
            "%s\nRun `make prove DOWNLOAD=1` to do that, or put the wheel of the CPU build into a folder "
            "that pip looks in (find-links)." % words
        )
    print(words, flush=True)


def patcher(python: pathlib.Path, verb: str) -> dict[str, t.Any]:
    """Runs the patcher with the interpreter that trains.

    :raises Failed: it refused.
    """
    environment = {**os.environ, "PYTHONPATH": str(STUB)}
    command = [str(python), str(PATCHER), verb, "--json"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    result: dict[str, t.Any] = json.loads(done.stdout or '{"errors": [{"what": "no answer"}]}')
    if result["errors"]:
        raise Failed("the patcher refused: %s\n%s" % (result["errors"], done.stderr))
    return result


def bring(python: pathlib.Path, state: str) -> None:
    """Brings the installation into one of the three states, each starting from the original bytes."""
    torch = pathlib.Path(patcher(python, "absent")["torch_path"])
    if state == "sed":
        vendor_sed(Site(torch.parent))
    if state == "patched":
        patcher(python, "present")
        found = patcher(python, "inspect")
        if not found["satisfied"]:
            raise Failed("the patches did not land: %s, %s" % (found["run_py"], found["rendezvous"]))


# One run ..........................................................................................................


@dataclasses.dataclass
class Outcome:
    """What one run of torchrun showed."""

    recovered: bool
    old_key_visible: bool
    imports: int
    imported_first: bool
    seconds: float
    last_words: str


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def environment_of(record: pathlib.Path, timeout: float) -> dict[str, str]:
    values = {key: value for key, value in os.environ.items() if not key.startswith(("TORCH", "MASTER_", "RANK"))}
    values.update(PYTHONPATH=str(STUB), PROOF_RECORD=str(record), PROOF_TIMEOUT=str(timeout), OMP_NUM_THREADS="1")
    return values


def read_record(record: pathlib.Path) -> Record:
    return [json.loads(line) for line in record.read_text().splitlines()] if record.exists() else []


def run_once(python: pathlib.Path, folder: pathlib.Path, timeout: float) -> Outcome:
    """One job: torchrun with the vendor's static arguments, one restart allowed."""
    record = folder / "record"
    record.unlink(missing_ok=True)
    arguments = ["--nproc_per_node", "2", "--nnodes", "1", "--node_rank", "0"]
    arguments += ["--master_addr", "127.0.0.1", "--master_port", str(free_port())]
    arguments += ["--max_restarts", "1", "--monitor_interval", "1"]
    command = [str(python), "-m", "torch.distributed.run", *arguments, str(WORKER), "--die"]
    start = time.monotonic()
    with (folder / "output").open("w+") as output:
        process = subprocess.Popen(
            command,
            env=environment_of(record, timeout),
            cwd=folder,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
        code = wait(process, 6 * timeout + 120)
        output.seek(0)
        words = [line for line in output.read().splitlines() if "Error" in line]
    notes = read_record(record)
    finished = {note["rank"] for note in notes if note.get("event") == "group works" and note["attempt"] == 1}
    imports = [note for note in notes if note["who"] == "mindx_elastic"]
    return Outcome(
        recovered=code == 0 and finished == {0, 1},
        old_key_visible=any(note.get("old_key_visible") for note in notes),
        imports=len(imports),
        imported_first=bool(imports) and not imports[0]["agent_loaded"] and not imports[0]["worker"],
        seconds=time.monotonic() - start,
        last_words=words[0][-160:] if words else "",
    )


def wait(process: subprocess.Popen[t.Any], seconds: float) -> int | None:
    """Its exit code, or nothing where it had to be ended; nothing that it started outlives it."""
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        return None
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, 9)
        process.wait()


# The price ........................................................................................................

SERVER = """
import sys, time
from torch.distributed import TCPStore
store = TCPStore("127.0.0.1", int(sys.argv[1]), is_master=True, wait_for_workers=False)
print("ready", flush=True)
time.sleep(3600)
"""


def price(python: pathlib.Path, folder: pathlib.Path, timeout: float) -> str:
    """Two ranks on one agent's store, of which one has been restarted alone: do they find each other?"""
    record, port = folder / "record", free_port()
    record.unlink(missing_ok=True)
    common = {**environment_of(record, timeout), "TORCHELASTIC_USE_AGENT_STORE": "True", "WORLD_SIZE": "2"}
    common.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    server = subprocess.Popen(
        [str(python), "-c", SERVER, str(port)], env=common, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        assert server.stdout is not None
        server.stdout.readline()
        workers = []
        for rank, count in ((0, 1), (1, 0)):
            values = {**common, "RANK": str(rank), "TORCHELASTIC_RESTART_COUNT": str(count)}
            workers.append(
                subprocess.Popen(
                    [str(python), str(WORKER)],
                    env=values,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,
                )
            )
        codes = [wait(worker, 3 * timeout + 120) for worker in workers]
    finally:
        server.kill()
        server.wait()
    joined = sum(note.get("event") == "joined" for note in read_record(record))
    if joined != 2:
        raise Failed("the two ranks did not even reach the store: exit codes %s" % codes)
    return "find each other" if codes == [0, 0] else "time out"


# All of it ........................................................................................................


def row(state: str, outcomes: list[Outcome]) -> str:
    """One state's figures."""
    count = collections.Counter(outcome.old_key_visible for outcome in outcomes)
    return "%-10s recovered %2d of %2d   old key visible %2d of %2d   agent's import %s   %5.1f s a run" % (
        state,
        sum(outcome.recovered for outcome in outcomes),
        len(outcomes),
        count[True],
        len(outcomes),
        "once, first"
        if all(outcome.imports == 1 and outcome.imported_first for outcome in outcomes)
        else "none"
        if not any(outcome.imports for outcome in outcomes)
        else "WRONG",
        sum(outcome.seconds for outcome in outcomes) / len(outcomes),
    )


def verdict(figures: dict[str, list[Outcome]], prices: dict[str, str]) -> list[str]:
    """What does not hold; empty where the proof stands."""
    wrong = []
    for state in ("sed", "patched"):
        for number, outcome in enumerate(figures[state], 1):
            if not outcome.recovered:
                wrong.append("%s, run %d did not recover: %s" % (state, number, outcome.last_words))
            if outcome.old_key_visible:
                wrong.append("%s, run %d: a key of attempt 0 is visible in attempt 1" % (state, number))
            if outcome.imports != 1 or not outcome.imported_first:
                wrong.append("%s, run %d: the module was imported %d times" % (state, number, outcome.imports))
    for number, outcome in enumerate(figures["unpatched"], 1):
        if not outcome.old_key_visible:
            wrong.append("unpatched, run %d: no key of attempt 0 is visible, so the patch would be needless" % number)
    if prices != {"unpatched": "find each other", "patched": "time out"}:
        wrong.append("the price of the patch is not as documented: %s" % prices)
    return wrong


def prove(python: pathlib.Path, runs: int, unpatched: int, timeout: float) -> list[str]:
    """All runs; prints the figures and returns what does not hold."""
    figures: dict[str, list[Outcome]] = {}
    prices: dict[str, str] = {}
    try:
        with tempfile.TemporaryDirectory(prefix="mindcluster-prove-") as name:
            for state, count in (("unpatched", unpatched), ("sed", runs), ("patched", runs)):
                bring(python, state)
                figures[state] = []
                for number in range(1, count + 1):
                    outcome = run_once(python, pathlib.Path(name), timeout)
                    figures[state].append(outcome)
                    end = "recovered" if outcome.recovered else "did not recover: %s" % outcome.last_words
                    print("%-10s %2d/%d  %5.1f s  %s" % (state, number, count, outcome.seconds, end), flush=True)
                if state != "sed":
                    prices[state] = price(python, pathlib.Path(name), min(timeout, 20.0))
    finally:
        patcher(python, "absent")
    print("\ntorch %s, gloo, 2 workers, torchrun with static arguments, worker 1 dies in attempt 0:" % TORCH)
    for state, outcomes in figures.items():
        print(row(state, outcomes))
    for state, words in prices.items():
        print("%-10s ranks with restart counts 1 and 0 %s" % (state, words))
    return verdict(figures, prices)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10, help="runs after sed, and patched")
    parser.add_argument("--unpatched", type=int, default=None, help="runs of the original files (default: as --runs)")
    parser.add_argument("--timeout", type=float, default=30.0, help="seconds that a worker waits for the others")
    parser.add_argument("--download", action="store_true", help="fetch torch where it is not at hand")
    parser.add_argument("--only-at-hand", action="store_true", help="end well, saying so, where torch is not at hand")
    options = parser.parse_args()
    try:
        python = installation(options.download)
        wrong = prove(
            python, options.runs, options.runs if options.unpatched is None else options.unpatched, options.timeout
        )
    except NotAtHand as exc:
        print("prove: not run. %s" % exc)
        return 0 if options.only_at_hand else 2
    except Failed as exc:
        print("prove: %s" % exc, file=sys.stderr)
        return 2
    for line in wrong:
        print("prove: %s" % line, file=sys.stderr)
    print("the proof stands" if not wrong else "the proof does NOT stand")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
