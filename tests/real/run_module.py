# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A module of the collection in a process of its own, as Ansible would start it, without the seconds of a play."""

from __future__ import annotations

import json
import subprocess
import sys
import typing as t

# Ansible hands a module its arguments as JSON; on newer releases it also names the format of the exchange.
PROGRAM = """
import importlib, sys
from ansible.module_utils import basic
basic._ANSIBLE_ARGS = sys.stdin.buffer.read()
basic._ANSIBLE_PROFILE = "legacy"
importlib.import_module("ansible_collections.mindcluster.recovery.plugins.modules." + sys.argv[1]).main()
"""


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
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, name],
        input=json.dumps({"ANSIBLE_MODULE_ARGS": given}), capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    try:
        return Result(json.loads(done.stdout))
    except ValueError:
        raise AssertionError(f"{name} gave no JSON:\n{done.stdout}\n{done.stderr}") from None
