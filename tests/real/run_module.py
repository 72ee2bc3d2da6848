# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A module of the collection in a process of its own, as Ansible would start it, without the seconds of a play."""

from __future__ import annotations

import importlib
import json
import multiprocessing
import os
import pathlib
import tempfile
import typing as t

PACKAGE = "ansible_collections.mindcluster.recovery.plugins.modules."

# A server that has imported everything already and forks for each module: imports take most of a module's time.
_PROCESSES = multiprocessing.get_context("forkserver")
_PROCESSES.set_forkserver_preload(["ansible.module_utils.basic", "kubernetes", PACKAGE + "manifest_apply"])


class Result(dict[str, t.Any]):
    """What a module returned."""

    @property
    def failed(self) -> bool:
        return bool(self.get("failed"))

    @property
    def codes(self) -> list[str]:
        """The codes of the mistakes that it found."""
        return [error["code"] for error in self.get("errors", [])]

    @property
    def warnings(self) -> list[str]:
        """Its warnings, which are objects or strings, by Ansible's release."""
        told = self.get("warnings") or []
        return [str(one.get("event", one) if isinstance(one, dict) else one) for one in told]


def run_module(name: str, check: bool = False, diff: bool = False, **arguments: t.Any) -> Result:
    """Run a module and return its result; anything but JSON from it is an error of this test."""
    given = {**arguments, "_ansible_check_mode": check, "_ansible_diff": diff, "_ansible_no_log": False}
    with tempfile.TemporaryDirectory() as folder:
        output = pathlib.Path(folder) / "output"
        environment = dict(os.environ)
        process = _PROCESSES.Process(
            target=_main, args=(name, json.dumps({"ANSIBLE_MODULE_ARGS": given}), str(output), environment)
        )
        process.start()
        process.join(timeout=300)
        if process.is_alive():
            process.kill()
            raise AssertionError(f"{name} did not end within 300 s")
        text = output.read_text(encoding="utf-8") if output.exists() else ""
    try:
        return Result(json.loads(text))
    except ValueError:
        raise AssertionError(f"{name} gave no JSON, and ended with {process.exitcode}:\n{text}") from None


def _main(name: str, arguments: str, output: str, environment: dict[str, str]) -> None:
    """What the process of one module does."""
    os.environ.clear()
    os.environ.update(environment)
    descriptor = os.open(output, os.O_WRONLY | os.O_CREAT)
    os.dup2(descriptor, 1)
    basic = importlib.import_module("ansible.module_utils.basic")
    # Ansible hands a module its arguments as JSON; on newer releases it also names the format of the exchange.
    basic._ANSIBLE_ARGS = arguments.encode()
    basic._ANSIBLE_PROFILE = "legacy"
    importlib.import_module(PACKAGE + name).main()
