# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""The commands in a container that start training: their words, and what is exported when they run.

What counts as a start command is the same as where the collection puts its flags: C(torchrun), C(python -m
torch.distributed.run), C(msrun), or the shell script that looks most like one.
"""

from __future__ import annotations

import os
import re
import typing as t

from ansible_collections.mindcluster.recovery.plugins.module_utils._job_check_report import Path, sequence
from ansible_collections.mindcluster.recovery.plugins.module_utils._job_check_shell import Word, commands

_SHELLS = frozenset(("bash", "sh", "dash", "zsh", "ksh"))
_TORCH = frozenset(("torch.distributed.run", "torch.distributed.launch"))
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)\+?=(.*)\Z", re.DOTALL)
_VARIABLE = re.compile(r"\$\{?([A-Za-z_][A-Za-z0-9_]*)(?:\[[@*]\])?\}?\Z")
_PYTHON = re.compile(r"(?:python|pypy)[0-9.]*\Z")
_SHELL_OPTION = re.compile(r"-\w*c\w*\Z")
_RESERVED = frozenset(("then", "do", "else", "if", "elif", "while", "until", "{", "!", "time"))
_WRAPPERS = frozenset(
    "exec env nohup time command builtin eval stdbuf timeout nice ionice numactl taskset setsid sudo unbuffer".split()
)
_WRAPPER_VALUE = re.compile(r"(?:-.*|0x[0-9a-fA-F]+|[0-9][0-9,.:-]*[smhd]?)\Z", re.DOTALL)
_STRONG = re.compile(r"(?:train_start|msrun_launcher)[^/]*\.sh\Z")
_LIKELY = re.compile(r"(?:train|launch|run|start|finetune|sft)[^/]*\.sh\Z", re.IGNORECASE)
# Variables in variables are followed so far; of values that name themselves over and over so many words are read.
_DEPTH = 4
_MOST = 1000
_EXPORTS = frozenset(("export", "declare", "typeset"))


class Start(t.NamedTuple):
    """One command that starts training.

    :ivar kind: C(launcher) or C(script).
    :ivar words: its words, those of variables on it included.
    :ivar exports: variables that are exported when it runs.
    :ivar assigned: variables that are assigned but not exported.
    """

    kind: str
    words: list[str]
    exports: dict[str, str]
    assigned: dict[str, str]


class Command(t.NamedTuple):
    """The start of a container.

    :ivar path: of the shell text or of the list of words, inside the container.
    :ivar text: the shell text, empty where the words are run without a shell.
    :ivar starts: the commands that start training.
    :ivar loose: words that begin a command of their own, with their offsets.
    """

    path: Path
    text: str
    starts: list[Start]
    loose: list[Word]


def _base(word: str) -> str:
    return os.path.basename(word)


def _head(words: list[str]) -> int:
    """The number of the word that is run: behind assignments, reserved words and wrappers such as C(nohup)."""
    index = 0
    wrapped = False
    while index < len(words):
        word = words[index]
        if _base(word) in _WRAPPERS:
            wrapped = True
        elif not (word in _RESERVED or _ASSIGNMENT.match(word) or (wrapped and _WRAPPER_VALUE.match(word))):
            break
        index += 1
    return index


def _python_launcher(words: list[str]) -> bool:
    for index, word in enumerate(words[1:], 1):
        if word == "-m":
            return index + 1 < len(words) and words[index + 1] in _TORCH
        if word.startswith("-m") and word[2:] in _TORCH:
            return True
        if not word.startswith("-"):
            return _base(word) == "torchrun" or "which torchrun" in word
    return False


def _script(words: list[str]) -> str:
    """The script that a command runs, or an empty text."""
    base = _base(words[0])
    if base in _SHELLS:
        for word in words[1:]:
            if _SHELL_OPTION.match(word):
                return ""
            if word[:1] not in ("-", "+"):
                return word if word.endswith(".sh") else ""
        return ""
    if base in ("source", "."):
        return words[1] if len(words) > 1 and _STRONG.search(_base(words[1])) else ""
    return words[0] if base.endswith(".sh") else ""


def _launcher(words: list[str]) -> bool:
    base = _base(words[0])
    if base in ("torchrun", "msrun"):
        return True
    return bool(_PYTHON.match(base) or words[0].startswith("$")) and _python_launcher(words)


class _Reader:
    """Goes through the commands of one text in their order."""

    def __init__(self) -> None:
        self.exports: dict[str, str] = {}
        self.assigned: dict[str, str] = {}
        self.found: list[tuple[str, Start]] = []
        self.loose: list[Word] = []

    def read(self, command: list[Word]) -> None:
        words = [word for word, _offset in command]
        index = _head(words)
        if index == len(words):
            self._assign(words)
            return
        name = words[index]
        if name in _EXPORTS or name == "unset":
            self._declare(name, words[index + 1 :])
            return
        self.loose.append(command[index])
        rest = self._resolved(words[index:])
        script = _script(rest)
        if script or _launcher(rest):
            self._start(script, rest, words[:index])

    def _resolved(self, words: list[str]) -> list[str]:
        """The words with a launcher, or the script behind a shell, in place of the variable that holds it."""
        if words[0].startswith("$"):
            return (self._words_of(words[0]) or words[:1]) + words[1:]
        if _base(words[0]) in _SHELLS:
            number = next((n for n, word in enumerate(words[1:], 1) if word[:1] not in ("-", "+")), None)
            inner = self._words_of(words[number]) if number is not None else []
            return words[:number] + inner + words[t.cast(int, number) + 1 :] if len(inner) == 1 else words
        return words

    def _words_of(self, word: str) -> list[str]:
        """The words in a variable."""
        match = _VARIABLE.match(word) if word[:1] == "$" else None
        value = self.assigned.get(match.group(1), self.exports.get(match.group(1))) if match else None
        return value.strip("()").replace('"', " ").replace("'", " ").split() if value else []

    def _assign(self, words: list[str]) -> None:
        for word in words:
            match = _ASSIGNMENT.match(word)
            if match:
                into = self.exports if match.group(1) in self.exports else self.assigned
                old = into.get(match.group(1), "") if "+=" in word[: match.end(1) + 2] else ""
                into[match.group(1)] = ("%s %s" % (old, match.group(2))).strip() if old else match.group(2)

    def _declare(self, name: str, words: list[str]) -> None:
        if name in ("declare", "typeset") and not any(w.startswith("-") and "x" in w for w in words):
            self._assign(words)
            return
        for word in words:
            match = _ASSIGNMENT.match(word)
            if name == "unset":
                self.exports.pop(word, None)
                self.assigned.pop(word, None)
            elif match:
                self.exports[match.group(1)] = match.group(2)
            elif word in self.assigned:
                self.exports[word] = self.assigned.pop(word)

    def _start(self, script: str, words: list[str], before: list[str]) -> None:
        exports = dict(self.exports)
        for word in before:
            match = _ASSIGNMENT.match(word)
            if match:
                exports[match.group(1)] = match.group(2)
        self.found.append(
            (script, Start("script" if script else "launcher", self._expanded(words), exports, dict(self.assigned)))
        )

    def _expanded(self, words: list[str]) -> list[str]:
        """The words, and behind them those of the variables on the command, and of the variables in these."""
        more: list[str] = []
        level = words
        for _depth in range(_DEPTH):
            level = [inner for word in level for inner in self._words_of(word)][:_MOST]
            more += level
        return words + more

    def starts(self) -> list[Start]:
        """Of several scripts only those that start training: a C(bash prepare.sh) before them is none."""
        strong = [start for script, start in self.found if script and _STRONG.search(_base(script))]
        others = [start for script, start in self.found if not script]
        if strong:
            return others + strong
        if others:
            return others
        likely = [start for script, start in self.found if _LIKELY.search(_base(script))]
        return likely or [start for _script_name, start in self.found[-1:]]


def read_text(text: str) -> tuple[list[Start], list[Word]]:
    """The start commands of a shell text, and the words that begin commands in it."""
    reader = _Reader()
    for command in commands(text.replace("\r\n", "\n")):
        reader.read(command)
    return reader.starts(), reader.loose


def read_words(words: list[str]) -> list[Start]:
    """The start command of a container that runs its words without a shell."""
    reader = _Reader()
    if words:
        reader.read([(word, 0) for word in words])
    return reader.starts()


def _shell_text(words: list[str]) -> int | None:
    """The number of the word behind C(bash -c)."""
    for number, word in enumerate(words):
        if _base(word) not in _SHELLS:
            continue
        index = number + 1
        while index < len(words) and words[index][:1] in ("-", "+"):
            if _SHELL_OPTION.match(words[index]):
                return index + 1 if index + 1 < len(words) else None
            index += 2 if words[index] in ("-o", "+o", "-O", "+O") else 1
    return None


def find_command(
    container: t.Mapping[str, t.Any], read: t.Callable[[str], tuple[list[Start], list[Word]]] = read_text
) -> Command:
    """The start command of a container.

    :param read: reads a shell text; a caller that keeps what it has read gives its own.
    """
    items = [
        ((key, index), word if isinstance(word, str) else str(word))
        for key in ("command", "args")
        for index, word in enumerate(sequence(container.get(key)))
    ]
    words = [word for _path, word in items]
    number = _shell_text(words)
    if number is not None:
        starts, loose = read(words[number])
        return Command(items[number][0], words[number], starts, loose)
    for path, word in items:
        if " " in word or "\n" in word:
            starts, loose = read(word)
            if starts:
                return Command(path, word, starts, loose)
    return Command((items[-1][0][0],) if items else ("args",), "", read_words(words), [])
