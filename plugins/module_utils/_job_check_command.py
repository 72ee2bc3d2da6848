# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""The start command of a replica type: flags on it, exports before it, characters that break it.

Sources: the page on process-level online recovery (flags and exports on both replica types), MindSpeed-LLM's argument
parser and the assertions of its high-availability and elastic-training features.
"""

from __future__ import annotations

import typing as t

from ansible_collections.mindcluster.recovery.plugins.module_utils._job_check_env import check_value, fits
from ansible_collections.mindcluster.recovery.plugins.module_utils._job_check_report import (
    ERROR,
    MISSING,
    WARNING,
    Path,
    Replica,
    Report,
    sequence,
    shown,
)
from ansible_collections.mindcluster.recovery.plugins.module_utils._job_check_shell import Word, line_of
from ansible_collections.mindcluster.recovery.plugins.module_utils._job_check_start import (
    Command,
    Start,
    find_command,
    read_text,
)
from ansible_collections.mindcluster.recovery.plugins.module_utils._suites import (
    ELASTIC_FORBIDDEN,
    ELASTIC_ONE,
    RECOVERY_FLAGS,
    MindSpeedLlm,
    mindspeed_llm,
)

HIGH_AVAILABILITY = "--enable-high-availability"
ELASTIC = "--enable-elastic-training"
_LOOKALIKES = {
    "\u2013": "an en dash",
    "\u2014": "an em dash",
    "\u00a0": "a no-break space",
    "\u3000": "a full-width blank",
    "\uff0d": "a full-width hyphen",
}
_START = "torchrun, python -m torch.distributed.run, msrun, or a script such as bash train_start.sh"


class CommandCheck:
    """Checks the start commands of one job; a text that both replica types share is read once."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self._texts: dict[str, tuple[list[Start], list[Word]]] = {}
        plan = report.plan
        suite = plan["suite"] == "mindspeed-llm"
        self.suite: MindSpeedLlm | None = mindspeed_llm(plan["suite_version"]) if suite else None

    def _read(self, text: str) -> tuple[list[Start], list[Word]]:
        if text not in self._texts:
            self._texts[text] = read_text(text)
        return self._texts[text]

    def run(self, replica: Replica, env: t.Mapping[str, t.Any]) -> None:
        """Check one replica type.

        :param env: variables of its container, name to value.
        """
        container = replica.container
        for key in ("command", "args"):
            if container.get(key) is not None and not isinstance(container[key], list):
                self._shape(replica.container_path + (key,), container[key], "a list")
            for index, word in enumerate(sequence(container.get(key))):
                if not isinstance(word, str):
                    self._shape(replica.container_path + (key, index), word, "text, in quotes")
        command = find_command(container, self._read)
        path = replica.container_path + command.path
        self._characters(path, command.text)
        if not command.starts:
            self._no_start(path, command)
            return
        for start in command.starts:
            self._flags(path, start, command)
            self._suite_rules(path, start.words)
            self._exports(path, start, env)

    def _shape(self, path: Path, value: t.Any, wanted: str) -> None:
        self.report.add("shape", path, shown(value), wanted, "The API server refuses it")

    def _no_start(self, path: Path, command: Command) -> None:
        job = self.report.plan["job"]
        if not (job["args"] or job["exports"]):
            return
        last = command.text.strip().splitlines()[-1].strip() if command.text.strip() else MISSING
        self.report.add(
            "start-command-missing", path, shown(last), _START,
            "The recovery flags belong onto the command that starts training, and none is found here",
        )  # fmt: skip

    def _characters(self, path: Path, text: str) -> None:
        if "\r" in text:
            line = line_of(text, text.index("\r"))
            self.report.add(
                "args-crlf", path, "a carriage return in line %d" % line, "line feeds only",
                "The shell takes it for part of a word ($'\\r': command not found) and a line continuation ends there",
            )  # fmt: skip
        if text.isascii():
            return
        lines = [line.split("#", 1)[0] for line in text.split("\n")]
        for char, name in _LOOKALIKES.items():
            number = next((n for n, line in enumerate(lines, 1) if char in line), None)
            if number is not None:
                self.report.add(
                    "args-lookalike", path, "%s in line %d" % (name, number), "plain hyphens and blanks",
                    "It looks right, but the shell and the argument parser take it for another word", WARNING,
                )  # fmt: skip

    # --- flags ---------------------------------------------------------------------------------------------------

    def _flags(self, path: Path, start: Start, command: Command) -> None:
        plan = self.report.plan
        words = set(start.words)
        present = [flag for flag in RECOVERY_FLAGS if flag in words]
        dependent = [flag for flag in present if flag != HIGH_AVAILABILITY]
        alone = bool(dependent) and HIGH_AVAILABILITY not in words
        if alone and plan["framework"] == "pytorch":
            self.report.add(
                "flag-needs-high-availability", path, " ".join(dependent), HIGH_AVAILABILITY,
                "MindSpeed-LLM refuses %s without it, or leaves it out in silence" % " and ".join(dependent),
            )  # fmt: skip
        for flag in plan["job"]["args"]:
            if flag not in words and not (alone and flag == HIGH_AVAILABILITY):
                self._missing(path, flag, command)
        for flag in plan["job"]["surplus"]["args"]:
            if flag in words:
                self._surplus(path, flag)

    def _missing(self, path: Path, flag: str, command: Command) -> None:
        offset = next((offset for word, offset in command.loose if word == flag), None)
        if offset is not None:
            self.report.add(
                "flag-lost", path, "line %d begins with %s" % (line_of(command.text, offset), flag),
                "%s on the start command" % flag,
                "The line before ends the command: a backslash with a blank behind it, a comment, or none at all",
            )  # fmt: skip
            return
        why, level = "Without it the framework does not take part in the recovery on this replica type", ERROR
        injected = "HIGH_AVAILABILITY" in self.report.plan["job"]["operator_env"]
        if self.suite is not None and self.suite.reads_environment and injected and self._version_given():
            why = (
                "This version of MindSpeed-LLM sets it from HIGH_AVAILABILITY; the vendor's page wants it all the same"
            )
            level = WARNING
        self.report.add("flag-missing", path, MISSING, flag, why, level)

    def _version_given(self) -> bool:
        return self.report.plan["suite_version"] is not None

    def _surplus(self, path: Path, flag: str) -> None:
        if self.suite is not None and self._version_given() and flag not in self.suite.flags:
            self.report.add(
                "flag-unknown", path, flag, "%s is not there" % flag,
                "MindSpeed-LLM %s does not know it and ends at its start" % self.report.plan["suite_version"],
            )  # fmt: skip
            return
        self.report.add(
            "flag-surplus", path, flag, "%s is not there" % flag,
            "It switches on a recovery whose strategy the plan does not have", WARNING,
        )  # fmt: skip

    def _suite_rules(self, path: Path, words: list[str]) -> None:
        """What MindSpeed-LLM asserts about flags together."""
        if self.suite is None:
            return
        present = set(words)
        if HIGH_AVAILABILITY in present:
            for flag in self.suite.forbidden:
                if flag in present:
                    self._conflict(path, flag, HIGH_AVAILABILITY)
        if ELASTIC not in present and "elastic-training" not in self.report.plan["strategies"]:
            return
        for flag in ELASTIC_FORBIDDEN:
            if flag in present:
                self._conflict(path, flag, ELASTIC)
        for option in ELASTIC_ONE:
            value = _option(words, option)
            if value is not None and value != "1":
                self.report.add(
                    "elastic-parallel", path, "%s %s" % (option, value), "%s 1" % option,
                    "Elastic training refuses expert and context parallelism above 1",
                )  # fmt: skip

    def _conflict(self, path: Path, flag: str, other: str) -> None:
        self.report.add(
            "flag-conflict", path, flag, "%s without %s" % (other, flag),
            "MindSpeed-LLM refuses the two together and ends at its start",
        )  # fmt: skip

    # --- exports -------------------------------------------------------------------------------------------------

    def _exports(self, path: Path, start: Start, env: t.Mapping[str, t.Any]) -> None:
        plan = self.report.plan
        injected = plan["job"]["operator_env"]
        for name, wanted in plan["job"]["exports"].items():
            value = start.exports.get(name, env.get(name))
            if value is None:
                found = "%s is assigned, not exported" % name if name in start.assigned else MISSING
                level = WARNING if injected.get(name) == wanted else ERROR
                why = "Elastic Agent does not take part in the recovery without it"
                if level == WARNING:
                    why = "This release's operator sets it in the environment; the vendor's page wants it all the same"
                self.report.add("export-missing", path, found, "export %s=%s" % (name, wanted), why, level)
            elif str(value) != wanted and name in start.exports:
                self.report.add(
                    "export-value", path, "%s=%s" % (name, value), "%s=%s" % (name, wanted),
                    "An export runs after the container's environment and wins over it",
                )  # fmt: skip
        for entry in plan["job"]["env"]:
            given = start.exports.get(entry["name"])
            if given is not None and entry["name"] in injected and not fits(entry, given):
                self.report.add(
                    "export-overrules", path, "%s=%s" % (entry["name"], given), entry["value"],
                    "An export runs after the container's environment and wins over it",
                )  # fmt: skip
        for name, value in start.exports.items():
            check_value(self.report, path, name, value, exported=True)


def _option(words: list[str], option: str) -> str | None:
    """The value of an option, as C(--x 2) or C(--x=2); the last one counts."""
    found = None
    for index, word in enumerate(words):
        if word == option and index + 1 < len(words):
            found = words[index + 1]
        elif word.startswith(option + "="):
            found = word[len(option) + 1 :]
    return found
