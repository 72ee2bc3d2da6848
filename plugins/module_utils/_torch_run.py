# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""Runs the patcher with the interpreter that trains, on behalf of a module."""

from __future__ import annotations

import json
import pkgutil
import sys
import typing as t

# The import makes Ansible ship the file whose text is fed to the other interpreter.
from ansible_collections.mindcluster.recovery.plugins.module_utils import _torch_patcher
from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Finding, Refused

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

OLDEST_PYTHON = (3, 7)
#: What a module hands on from the patcher's result.
RETURNED = (
    "torch_path",
    "torch_version",
    "python_version",
    "run_py",
    "rendezvous",
    "import",
    "byte_code_removed",
)


def argument_spec() -> dict[str, t.Any]:
    """The options of the doc fragment C(_torch)."""
    return {
        "python": {"type": "path"},
        "torch_path": {"type": "path"},
        "import_module": {"type": "str", "default": _torch_patcher.DEFAULT_MODULE},
        "rendezvous": {"type": "str", "choices": ["auto", "never"], "default": "auto"},
    }


class TorchModule:
    """One module's run of the patcher.

    :ivar result: what the patcher said; empty before it ran and where it could not.
    """

    def __init__(self, module: AnsibleModule) -> None:
        self.module = module
        self.result: dict[str, t.Any] = {}

    def run(self, verb: str, extra: t.Sequence[str] = ()) -> dict[str, t.Any]:
        """Runs one verb, hands its warnings on, and returns its result.

        :param extra: further arguments of the patcher's command line.
        :raises Refused: the interpreter cannot run it, or the patcher refused.
        """
        params = self.module.params
        python = params["python"] or sys.executable
        _check_python(self.module, python)
        command = [python, "-", verb, "--json", "--import-module=%s" % params["import_module"]]
        command.append("--rendezvous=%s" % params["rendezvous"])
        if params["torch_path"]:
            command.append("--torch-path=%s" % params["torch_path"])
        source = pkgutil.get_data(_torch_patcher.__name__.rpartition(".")[0], "_torch_patcher.py")
        _code, output, errors = self.module.run_command(command + list(extra), data=source, binary_data=True)
        try:
            self.result = json.loads(output)
        except ValueError:
            raise Refused(_no_answer(python, (errors or output).strip())) from None
        for warning in self.result["warnings"]:
            self.module.warn(Finding(**warning).line())
        if self.result["errors"]:
            raise Refused([Finding(**reason) for reason in self.result["errors"]])
        return self.result

    def returned(self) -> dict[str, t.Any]:
        """The part of the result that a module returns."""
        answer = {key: self.result[key] for key in RETURNED if self.result.get(key) is not None}
        if answer.get("import", {}).get("ok") is None:
            answer.pop("import", None)
        return answer


def _check_python(module: AnsibleModule, python: str) -> None:
    probe = [python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
    try:
        code, output, errors = module.run_command(probe, handle_exceptions=False)
    except OSError as exc:
        raise Refused(
            Finding(
                "python-missing",
                "the interpreter `%s` cannot be started" % python,
                "It was to say where PyTorch is: %s" % (exc.strerror or exc),
                "Give the path of the interpreter that trains",
                "python",
            )
        ) from exc
    words = output.strip().split(".")
    if code != 0 or len(words) != 2 or not all(word.isdigit() for word in words):
        raise Refused(_no_answer(python, (errors or output).strip()))
    if (int(words[0]), int(words[1])) < OLDEST_PYTHON:
        raise Refused(
            Finding(
                "python-too-old",
                "`%s` is Python %s" % (python, output.strip()),
                "The patcher needs Python 3.7, as every PyTorch from 1.11 on does",
                "Give the interpreter that trains",
                "python",
            )
        )


def _no_answer(python: str, words: str) -> Finding:
    last = words.splitlines()[-1] if words else "it said nothing"
    return Finding(
        "python-broken",
        "`%s` does not work as a Python interpreter" % python,
        last,
        "Give the path of the interpreter that trains, and try it by hand",
        "python",
    )
