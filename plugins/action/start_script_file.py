# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Adapts start scripts where they lie; the syntax tree that this takes is needed on the controller only.

All scripts are read and adapted before the first one is written, so that one bad script leaves all as they were.
"""

from __future__ import annotations

import base64
import dataclasses
import os
import shutil
import tempfile
import typing as t

from ansible import constants as C
from ansible.plugins.action import ActionBase

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Finding, Refused, summary
from ansible_collections.mindcluster.recovery.plugins.plugin_utils import _start_script_messages as say
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._start_script import (
    CRLF,
    KINDS,
    LARGEST,
    STATES,
    ScriptResult,
    adapt_script,
)

ARGUMENT_SPEC: dict[str, dict[str, t.Any]] = {
    "paths": {"type": "list", "elements": "str", "required": True},
    "plan": {"type": "dict", "required": True},
    "kind": {"type": "str", "choices": list(KINDS), "default": "auto"},
    "max_restarts": {"type": "int"},
    "monitor_interval": {"type": "float"},
    "strict": {"type": "bool", "default": False},
    "crlf": {"type": "str", "choices": list(CRLF), "default": "convert"},
    "remove_vendor_sed": {"type": "bool", "default": False},
    "state": {"type": "str", "choices": list(STATES), "default": "present"},
    "backup": {"type": "bool", "default": False},
}
_PASSED_ON = ("kind", "max_restarts", "monitor_interval", "strict", "crlf", "remove_vendor_sed", "state")


@dataclasses.dataclass
class _Script:
    """One script: C(path) as named by the user, C(target) the file that a symbolic link leads to."""

    path: str
    target: str
    raw: bytes
    result: ScriptResult

    @property
    def new(self) -> bytes:
        return self.result.text.encode("utf-8", "surrogateescape")

    def report(self) -> dict[str, t.Any]:
        return {
            "path": self.path,
            "changed": self.new != self.raw,
            "corrections": [finding.as_dict() for finding in self.result.corrections],
            "warnings": [finding.as_dict() for finding in self.result.warnings],
        }

    def diff(self) -> dict[str, str]:
        return {
            "before_header": self.path,
            "after_header": self.path,
            "before": self.raw.decode("utf-8", "replace"),
            "after": self.new.decode("utf-8", "replace"),
        }


def _complaint(answer: dict[str, t.Any]) -> str:
    """Why a module failed: its message, and the first line that Python or the connection wrote beside it."""
    beside = str(answer.get("module_stderr") or answer.get("module_stdout") or "").strip().splitlines()[:1]
    return " - ".join([str(answer.get("msg", "")).strip(), *beside])


class ActionModule(ActionBase):
    """Read all, adapt all, then write what has changed."""

    TRANSFERS_FILES = True
    _supports_check_mode = True
    _supports_diff = True

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        result: dict[str, t.Any] = super().run(tmp, task_vars)
        _validation, options = self.validate_argument_spec(argument_spec=ARGUMENT_SPEC)
        self._variables = task_vars or {}
        try:
            scripts = self._adapt_all(options)
            result.update(self._write_all(scripts, options))
        except Refused as exc:
            result.update(failed=True, changed=False, msg=str(exc), errors=exc.as_dicts())
        finally:
            self._remove_tmp_path(self._connection._shell.tmpdir)
        return result

    # Reading

    def _adapt_all(self, options: dict[str, t.Any]) -> list[_Script]:
        findings: list[Finding] = []
        scripts: dict[str, _Script] = {}
        for path in options["paths"]:
            try:
                target = self._target(path)
                if target not in scripts:
                    scripts[target] = self._adapt(path, target, options)
            except Refused as exc:
                findings.extend(exc.findings)
        if findings:
            # Mistakes in the options come up with each script again.
            raise Refused(list(dict.fromkeys(findings)))
        return list(scripts.values())

    def _adapt(self, path: str, target: str, options: dict[str, t.Any]) -> _Script:
        raw = self._read(path, target)
        chosen = {name: options[name] for name in _PASSED_ON if options[name] is not None}
        text = raw.decode("utf-8", "surrogateescape")
        return _Script(path, target, raw, adapt_script(text, options["plan"], where=path, **chosen))

    def _target(self, path: str) -> str:
        """The regular file that a path leads to, writable in its folder."""
        if not path.startswith(("/", "~")):
            raise Refused(say.path_relative(path))
        seen = self._stat(path)
        if seen.get("islnk"):
            path, seen = seen["lnk_source"], self._stat(seen["lnk_source"])
        if not seen.get("exists"):
            raise Refused(say.path_missing(path))
        if not seen.get("isreg"):
            raise Refused(say.path_no_file(path))
        if not seen.get("readable"):
            raise Refused(say.path_unreadable(path))
        if seen["size"] > LARGEST:
            raise Refused(say.too_large(path, seen["size"], LARGEST))
        if not self._stat(os.path.dirname(seen["path"])).get("writeable"):
            raise Refused(say.folder_read_only(path))
        return str(seen["path"])

    def _stat(self, path: str) -> dict[str, t.Any]:
        arguments = {"path": path, "follow": False, "get_checksum": False, "get_mime": False, "get_attributes": False}
        answer = self._execute_module("ansible.legacy.stat", module_args=arguments, task_vars=self._variables)
        if answer.get("failed"):
            raise Refused(say.path_failed(path, _complaint(answer)))
        return t.cast("dict[str, t.Any]", answer["stat"])

    def _read(self, path: str, target: str) -> bytes:
        answer = self._execute_module("ansible.legacy.slurp", module_args={"src": target}, task_vars=self._variables)
        if answer.get("failed"):
            raise Refused(say.path_failed(path, _complaint(answer)))
        return base64.b64decode(answer["content"])

    # Writing

    def _write_all(self, scripts: list[_Script], options: dict[str, t.Any]) -> dict[str, t.Any]:
        reports = [script.report() for script in scripts]
        changed = [(script, report) for script, report in zip(scripts, reports, strict=True) if report["changed"]]
        answer: dict[str, t.Any] = {"changed": bool(changed), "scripts": reports}
        answer["warnings"] = [
            finding.line() for script in scripts for finding in [*script.result.corrections, *script.result.warnings]
        ]
        if self._task.diff:
            answer["diff"] = [script.diff() for script, _report in changed]
        if self._task.check_mode:
            return answer
        for number, (script, report) in enumerate(changed):
            written = self._write(script, options["backup"])
            if written.get("failed"):
                done = [script.path for script, _report in changed[:number]]
                answer.update(failed=True, changed=bool(done), msg=summary([self._not_written(script, written, done)]))
                return answer
            if written.get("backup_file"):
                report["backup_file"] = written["backup_file"]
        return answer

    def _not_written(self, script: _Script, written: dict[str, t.Any], done: list[str]) -> Finding:
        return say.not_written(script.path, _complaint(written), done)

    def _write(self, script: _Script, backup: bool) -> dict[str, t.Any]:
        """Hand the new text to the copy action, which renames it into place and keeps mode and owner."""
        folder = tempfile.mkdtemp(dir=C.DEFAULT_LOCAL_TMP)
        try:
            source = os.path.join(folder, os.path.basename(script.target))
            with open(source, "wb") as handle:
                handle.write(script.new)
            task = self._task.copy()
            task.args = {"src": source, "dest": script.target, "backup": backup, "decrypt": False}
            action = self._shared_loader_obj.action_loader.get(
                "ansible.legacy.copy",
                task=task,
                connection=self._connection,
                play_context=self._play_context,
                loader=self._loader,
                templar=self._templar,
                shared_loader_obj=self._shared_loader_obj,
            )
            return t.cast("dict[str, t.Any]", action.run(task_vars=self._variables))
        finally:
            shutil.rmtree(folder)
