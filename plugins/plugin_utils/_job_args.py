# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""The start command of a container: flags on it, exports before it.

The command is either shell text behind C(bash -c), edited by its syntax tree, or a list of words that is run
without a shell. There nothing can be exported, so the variables go into the container's environment.
"""

from __future__ import annotations

import functools
import os
import re
import shlex
import typing as t

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Finding, Refused
from ansible_collections.mindcluster.recovery.plugins.plugin_utils import _shell as shell
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._job_former import Former
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._job_owner import Findings
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._job_start_text import StartText, start_text
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._shell_edit import (
    append_words,
    insert_exports,
    quote_export,
)
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._shell_syntax import check_syntax
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._yaml_edit import Draft, Path

_SHELLS = frozenset(("bash", "sh", "dash", "zsh", "ksh"))
_LOOKED_FOR = (
    "Looked for: `torchrun`, `python -m torch.distributed.run` or `.launch`, `msrun`, and a shell script such as "
    "`bash scripts/train_start.sh`"
)

_LAUNCHER = re.compile(r"\b(?:torchrun|msrun|torch\.distributed\.(?:run|launch))\b")


class Command(t.NamedTuple):
    """Where a container's start command stands.

    :ivar kind: C(shell), C(words) or C(none).
    :ivar path: of the shell text, or of the list that more words are appended to.
    :ivar text: the shell text, or the words as a line of shell.
    """

    kind: str
    path: Path
    text: str


def _launches(text: str) -> list[shell.Launch]:
    return start_text(text).launches


# Many replicas, and many jobs of one run, have the same text.
@functools.lru_cache(maxsize=512)
def _syntax_mistake(text: str) -> tuple[Finding, ...]:
    try:
        check_syntax(text, "")
    except Refused as exc:
        return tuple(exc.findings)
    return ()


def locate(draft: Draft, container: Path) -> Command:
    """The start command of a container."""
    items = [
        (container + (key, index), str(word))
        for key in ("command", "args")
        for index, word in enumerate(draft.data(container + (key,)) or ())
    ]
    words = [word for _path, word in items]
    index = _shell_text_index(words)
    if index is not None:
        return Command("shell", items[index][0], words[index])
    for path, word in items:
        if re.search(r"\s", word.strip()) and not _syntax_mistake(word) and _launches(word):
            return Command("shell", path, word)
    line = " ".join(shlex.quote(word) for word in words)
    if line and _launches(line):
        return Command("words", items[-1][0][:-1], line)
    return Command("none", items[-1][0][:-1] if items else container, line)


def _shell_text_index(words: list[str]) -> int | None:
    """The number of the word behind C(bash -c)."""
    for number, word in enumerate(words):
        if os.path.basename(word) not in _SHELLS:
            continue
        index = number + 1
        while index < len(words) and words[index][:1] in ("-", "+"):
            option = words[index]
            index += 1
            if re.match(r"-\w*c\w*\Z", option):
                return index if index < len(words) else None
            if option in ("-o", "+o", "-O", "+O"):
                index += 1
    return None


class StartCommand:
    """Puts flags and exports onto the start command of one container.

    :param replica: name of the replica type, for messages.
    :param extra: words of the user's that come on top, as a list.
    :param former: takes out the exports of other releases.
    """

    def __init__(
        self,
        draft: Draft,
        findings: Findings,
        plan: t.Mapping[str, t.Any],
        container: Path,
        replica: str,
        extra: t.Sequence[str],
        former: Former,
    ) -> None:
        self.draft = draft
        self.findings = findings
        self.job = plan["job"]
        self.container = container
        self.replica = replica
        self.extra = [shlex.quote(word) for word in extra]
        self.former = former

    def adapt(self) -> dict[str, str]:
        """Edit the command.

        :returns: variables that could not be exported and belong into the container's environment.
        """
        command = locate(self.draft, self.container)
        if command.kind == "shell" and self._bad_syntax(command):
            return {}
        if not (self.job["args"] or self.job["exports"] or self.extra):
            edits = self._former_exports(command) if command.kind == "shell" else []
            if edits:
                self.draft.retext(command.path, edits)
            return {}
        launches = _launches(command.text) if command.kind != "none" else ()
        if not launches:
            self._no_launch(command)
            return {}
        if command.kind == "words":
            self._append_items(command, launches[0])
            return dict(self.job["exports"])
        self._edit_text(command)
        return {}

    def _bad_syntax(self, command: Command) -> bool:
        for mistake in _syntax_mistake(command.text):
            inside = re.search(r"line (\d+)", mistake.where)
            offset = _line_offset(command.text, int(inside.group(1)) if inside else 1)
            place = self.draft.text_place(command.path, offset)
            self.findings.refusals.append(
                Finding(mistake.code, mistake.what, mistake.why, mistake.remedy, "%s (`%s`)" % (place, self.replica))
            )
        return bool(_syntax_mistake(command.text))

    def _no_launch(self, command: Command) -> None:
        shown = command.text.strip().splitlines()[-1].strip()[:80] if command.text.strip() else ""
        what = "no command in `%s` starts training" % self.replica
        self.findings.refusals.append(
            Finding(
                "start-command-missing",
                what + (", the last line is `%s`" % shown if shown else ": `command` and `args` are empty"),
                "The recovery flags belong onto the command that starts training, and without them nothing recovers",
                "%s. %s" % (_LOOKED_FOR, self._way_out(command)),
                self.draft.place(command.path),
            )
        )

    def _way_out(self, command: Command) -> str:
        words = self._strings("command") + self._strings("args")
        if command.kind == "shell" and any(_launches(word) for word in words[words.index(command.text) + 1 :]):
            return (
                "`bash -c` runs one word, and those behind it are its `$0`, `$1` and so on: write all lines as one "
                "item, behind `- |`"
            )
        if _LAUNCHER.search(command.text):
            return (
                "One of them stands in a text that is handed to another program (`bash -c`, `eval`, `ssh`, `<<EOF`) or "
                "in a function that nothing calls, where nothing can be added safely: start it directly in `args`"
            )
        return "Start training by one of them in `args`"

    # --- shell text ----------------------------------------------------------------------------------------------

    def _edit_text(self, command: Command) -> None:
        text = start_text(command.text)
        edits: list[tuple[int, int, str]] = self._corrections(command, text.assignments)
        edits += self._former_exports(command)
        for index, launch in enumerate(text.launches):
            self._warn_surplus(command, launch, functools.partial(text.may_have, index))
            flagged = append_words(command.text, launch, self._missing_on(text, index))
            edits += _insertion(command.text, flagged, launch.words_end)
            exported = insert_exports(command.text, launch, self._unexported(text, index))
            edits += _insertion(command.text, exported, launch.start)
            if text.drops_arguments(index, [*self.job["args"], *self.extra]):
                self._warn_dropped(command, launch)
        if edits:
            self.draft.retext(command.path, sorted(set(edits)))

    def _warn_dropped(self, command: Command, launch: shell.Launch) -> None:
        self.findings.warn(
            "flags-dropped",
            "`%s` of `%s` runs a script that `args` writes itself, and the script uses none of its arguments"
            % (" ".join(launch.words[:2]), self.replica),
            "The recovery flags stand behind the script's name and never reach the training, so that nothing recovers",
            "Write `\"$@\"` at the end of the command in the script, with the heredoc quoted (`<<'EOF'`), or start "
            "training directly in `args`",
            self.draft.text_place(command.path, launch.start),
        )

    def _unexported(self, text: StartText, index: int) -> dict[str, str]:
        return {
            name: value
            for name, value in self.job["exports"].items()
            if not (self._in_environment(name) or text.surely_exports(index, name))
        }

    def _missing_on(self, text: StartText, index: int) -> list[str]:
        words = [word.text for word in text.launches[index].spans]
        return [flag for flag in self.job["args"] if not text.surely_has(index, flag)] + self._missing_extra(words)

    def _in_environment(self, name: str) -> bool:
        """Whether the container's environment has the variable already; its value is looked after there."""
        env = self.draft.data(self.container + ("env",))
        return any(isinstance(entry, dict) and entry.get("name") == name for entry in env or ())

    def _missing_extra(self, words: t.Sequence[str]) -> list[str]:
        """The user's own words, unless they stand there already, one behind the other."""
        width = len(self.extra)
        there = any(list(words[at : at + width]) == self.extra for at in range(len(words) - width + 1))
        return [] if there else self.extra

    def _corrections(self, command: Command, assignments: t.Sequence[shell.Assignment]) -> list[tuple[int, int, str]]:
        edits = []
        for found in assignments:
            wanted = self.job["exports"].get(found.name)
            if wanted is None or found.value == wanted or found.append:
                continue
            place = "%s (`%s`)" % (self.draft.text_place(command.path, found.start), self.replica)
            old, new = "`%s`" % found.value, "`%s`" % wanted
            if self.findings.correct("export-corrected", found.name, old, new, place):
                value = quote_export(found.name, wanted).split("=", 1)[1]
                edits.append((found.value_start, found.value_end, value))
        return edits

    def _former_exports(self, command: Command) -> list[tuple[int, int, str]]:
        def place(offset: int) -> str:
            return "%s (`%s`)" % (self.draft.text_place(command.path, offset), self.replica)

        return self.former.exports(command.text, start_text(command.text).assignments, place)

    def _warn_surplus(self, command: Command, launch: shell.Launch, has: t.Callable[[str], bool]) -> None:
        for flag in self.job["surplus"]["args"]:
            if not has(flag):
                continue
            span = next((word for word in launch.spans if shell.plain_value(word.text) == flag), launch.spans[0])
            place = self.draft.text_place(command.path, span.start) if command.kind == "shell" else (
                self.draft.place(command.path)
            )  # fmt: skip
            self.findings.warn(
                "flag-surplus",
                "`%s` is on the start command of `%s`, but no strategy of the plan needs it" % (flag, self.replica),
                "It switches on a recovery that the job does not ask for in `recover-strategy`",
                "Remove it, or add its strategy to `recovery_plan_strategies`; it was left as it is",
                place,
            )

    # --- words ---------------------------------------------------------------------------------------------------

    def _append_items(self, command: Command, launch: shell.Launch) -> None:
        words = [shlex.quote(word) for key in ("command", "args") for word in self._strings(key)]
        self._warn_surplus(command, launch, words.__contains__)
        missing = [flag for flag in self.job["args"] if flag not in words]
        for word in missing + self._missing_extra(words):
            self.draft.append(command.path, shlex.split(word)[0])

    def _strings(self, key: str) -> list[str]:
        return [str(word) for word in self.draft.data(self.container + (key,)) or ()]


def _line_offset(text: str, line: int) -> int:
    offset = 0
    for _number in range(line - 1):
        following = text.find("\n", offset)
        if following < 0:
            break
        offset = following + 1
    return offset


def _insertion(old: str, new: str, offset: int) -> list[tuple[int, int, str]]:
    """What was inserted at an offset as an edit; nothing where nothing was."""
    width = len(new) - len(old)
    return [(offset, offset, new[offset : offset + width])] if width else []
