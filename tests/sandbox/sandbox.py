# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs commands against real parts: a Docker engine, registries, base images, wheels, a Kubernetes API server."""

from __future__ import annotations

import argparse
import contextlib
import os
import shlex
import signal
import subprocess
import sys
import typing as t
from pathlib import Path

from parts import commands, prepare, session, venv
from parts.console import SandboxError, say
from parts.home import Home

EVERYTHING = ",".join(prepare.ORDER)


class Ended(BaseException):
    """This run was asked to end by a signal."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def main(arguments: t.Sequence[str]) -> int:
    """Run one verb of the command line.

    :returns: the exit code; that of the command for C(run).
    """
    options = _parser().parse_args(arguments)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, _end)
    try:
        return int(options.verb(options))
    except SandboxError as exc:
        print(f"sandbox: {exc}", file=sys.stderr)
        return 1
    except Ended as exc:
        say(f"ended by {signal.Signals(exc.number).name}")
        return 128 + exc.number
    finally:
        commands.end_all()


def _end(number: int, _frame: object) -> None:
    # A second signal must not cut the clean-up short.
    for other in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(other, signal.SIG_IGN)
    raise Ended(number)


def _prepare(options: argparse.Namespace) -> int:
    prepare.prepare(prepare.with_needs(options.parts.split(",")))
    return 0


def _venv(_options: argparse.Namespace) -> int:
    venv.ensure()
    return 0


def _run(options: argparse.Namespace) -> int:
    command = options.command[1:] if options.command[:1] == ["--"] else options.command
    if not command:
        raise SandboxError("Nothing to run: name the command after `--`")
    outer = {**os.environ, **(_environment_of(options.state) if options.state else {})}
    with session.running(options.parts.split(","), outer) as environment:
        return _call(command, {**outer, **environment})


def _call(command: t.Sequence[str], environment: t.Mapping[str, str]) -> int:
    try:
        process = subprocess.Popen(command, env=environment)
    except OSError as exc:
        raise SandboxError(f"{command[0]}: {exc.strerror}") from exc
    try:
        code = process.wait()
    except Ended as exc:
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(exc.number)
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        raise
    return 128 - code if code < 0 else code


def _up(options: argparse.Namespace) -> int:
    environment = session.up(Home.at(options.state), options.parts.split(","))
    print(_exports(environment))
    return 0


def _down(options: argparse.Namespace) -> int:
    if options.state.exists():
        session.down(Home.at(options.state))
    return 0


def _env(options: argparse.Namespace) -> int:
    print(_exports(_environment_of(options.state)))
    return 0


def _environment_of(state: Path) -> dict[str, str]:
    environment = Home.at(state).read(session.RECORD) if state.exists() else {}
    if not environment:
        raise SandboxError(f"Nothing was started in {state}; start it: sandbox.py up --state {state} --with …")
    return environment


def _exports(environment: t.Mapping[str, str]) -> str:
    return "\n".join(f"export {name}={shlex.quote(value)}" for name, value in sorted(environment.items()))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="sandbox.py", description=__doc__)
    verbs = parser.add_subparsers(required=True, metavar="VERB")
    for name, verb, text in (
        ("prepare", _prepare, "install packages and build what is slow, ahead of time"),
        ("venv", _venv, "make .venv, or bring it up to date with the requirements"),
        ("run", _run, "start parts, run a command with their variables, end them"),
        ("up", _up, "start parts that stay, on ports that stay; prints their variables"),
        ("down", _down, "end the parts of a state folder; their data stays"),
        ("env", _env, "print the variables of the parts in a state folder, for eval"),
    ):
        sub = verbs.add_parser(name, help=text, description=text)
        sub.set_defaults(verb=verb)
        if name in ("prepare", "run", "up"):
            sub.add_argument("--with", dest="parts", default=EVERYTHING, help=f"comma list; default: {EVERYTHING}")
        if name in ("run", "up", "down", "env"):
            sub.add_argument("--state", type=Path, required=name != "run", help="folder of parts that stay")
        if name == "run":
            sub.add_argument("command", nargs=argparse.REMAINDER, help="-- the command and its arguments")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
