# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""What the launcher of a start script gets as environment, and what the script itself does to it."""

from __future__ import annotations

import dataclasses
import itertools
import re
import typing as t

from ansible_collections.mindcluster.recovery.plugins.plugin_utils._shell import (
    Assignment,
    Launch,
    Source,
    is_step,
    to_bytes,
)
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._shell_edit import quote_export
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._shell_flow import Flow

if t.TYPE_CHECKING:
    from tree_sitter import Node

Launches = list[tuple[Launch, "Node"]]

_RUNNERS = ("env", "exec", "nohup", "time", "sudo", "command", "timeout", "numactl")
_ENV_WORD = re.compile(r"([A-Za-z_]\w*)=(.*)\Z", re.DOTALL)


@dataclasses.dataclass(frozen=True)
class Wrong:
    """A line that sets an owned variable to something else, and can be corrected where it stands.

    :ivar start: the value as written, up to C(end).
    """

    name: str
    site: str
    before: str
    start: int
    end: int
    line: int


@dataclasses.dataclass(frozen=True)
class Undecidable:
    """A line whose effect on an owned variable cannot be told or corrected."""

    name: str
    line: int
    shown: str
    reason: str


@dataclasses.dataclass(frozen=True)
class EnvWord:
    """C(NAME=value) as an argument of C(env) before a launcher; C(start) to C(end) is the value."""

    name: str
    raw: str
    start: int
    end: int
    command: Node


def env_words(source: Source) -> list[EnvWord]:
    """All of them in front of the launches of a script, in the order of the text."""
    found = []
    for launch, command in source.launches():
        before = [word for word in source.words(command) if word.end <= launch.spans[0].start]
        for word in before:
            match = _ENV_WORD.match(word.text)
            if match:
                start = word.start + len(match.group(1)) + 1
                found.append(EnvWord(match.group(1), match.group(2), start, word.end, command))
    return found


class Environment:
    """The owned variables in one script.

    :param exports: owned names with the values wanted, as the plan has them.
    :param unset: names that the launcher must not get.
    """

    def __init__(
        self, source: Source, flow: Flow, launches: Launches, exports: t.Mapping[str, str], unset: t.Sequence[str]
    ) -> None:
        self.source = source
        self.flow = flow
        self.launches = launches
        self.exports = exports
        self.unset = unset
        self.wrong: list[Wrong] = []
        self.undecidable: list[Undecidable] = []
        self._good: dict[str, set[int]] = {}
        self._disturbed: set[str] = set()
        self._ordinals: dict[str, int] = {}
        for node in source.nodes("variable_assignment"):
            self._look_at_assignment(node)
        self._look_at_env()
        self._look_at_unsets()
        self._look_at_evals()

    # What the script does

    def _look_at_assignment(self, node: Node) -> None:
        fact = self.source.assignment(node)
        if fact is None or fact.name not in self.exports:
            return
        number = self._ordinals[fact.name] = self._ordinals.get(fact.name, 0) + 1
        seen_by = self._seen_by(node)
        if not seen_by:
            return
        if self._is_wanted(fact):
            self._good.setdefault(fact.name, set()).add(node.id)
        elif fact.append:
            self._doubt(fact.name, node, "it adds to the value")
        elif self._always_before(node, seen_by):
            self.wrong.append(
                Wrong(fact.name, "%s#%d" % (fact.name, number), fact.raw, fact.value_start, fact.value_end, fact.line)
            )
            self._good.setdefault(fact.name, set()).add(node.id)
        else:
            self._doubt(fact.name, node, "whether this line is run before the launch depends on a condition")

    def _seen_by(self, node: Node) -> list[Node]:
        """The launches that an assignment has an effect on."""
        if self.source.dead(node):
            return []
        prefixed = self._prefixed_command(node)
        if prefixed is not None:
            return [command for _launch, command in self.launches if command.id == prefixed.id]
        if _is_local(self.source, node):
            function = _function_around(node)
            inside = [item for item in self.launches if function and _within(item[1], function)]
            return [command for _launch, command in inside if self.flow.reaches(node, command)]
        return [command for _launch, command in self.launches if self.flow.reaches(node, command)]

    def _prefixed_command(self, node: Node) -> Node | None:
        """The command of C(NAME=value command)."""
        return node.parent if node.parent is not None and node.parent.type == "command" else None

    def _always_before(self, node: Node, commands: list[Node]) -> bool:
        if self._prefixed_command(node) is not None:
            return True
        return all(self.flow.assured(lambda item: item.id == node.id, command, guards=True) for command in commands)

    def _is_wanted(self, fact: Assignment) -> bool:
        if fact.append or (fact.raw.startswith("'") and "$" in fact.raw):
            return False
        return _comparable(fact.value) == _comparable(self.exports[fact.name])

    def _look_at_env(self) -> None:
        """C(env NAME=value torchrun), C(env -u NAME torchrun) and C(env -i torchrun)."""
        ours = {command.id for _launch, command in self.launches}
        for word in env_words(self.source):
            if word.name in self.exports:
                self._look_at_env_word(word, word.command.id in ours)
        for _launch, command in self.launches:
            self._look_at_env_options(command)

    def _look_at_env_options(self, command: Node) -> None:
        words = [word.text for word in self.source.words(command)]
        if words[0].rpartition("/")[2] not in _RUNNERS:
            return
        for previous, word in itertools.pairwise(words):
            dropped = word if previous in ("-u", "--unset") else word.partition("--unset=")[2]
            if dropped in self.exports and "env" in words:
                self._doubt(dropped, command, "`env -u` takes it away from the launcher")
            if previous.endswith("env") and word in ("-i", "-", "--ignore-environment") and self.exports:
                self._doubt(next(iter(self.exports)), command, "`env -i` takes all exports away from the launcher")

    def _look_at_env_word(self, word: EnvWord, ours: bool) -> None:
        number = self._ordinals["env:" + word.name] = self._ordinals.get("env:" + word.name, 0) + 1
        if ours and _comparable(word.raw.strip("\"'")) != _comparable(self.exports[word.name]):
            site = "env:%s#%d" % (word.name, number)
            line = self.source.line(word.start)
            self.wrong.append(Wrong(word.name, site, word.raw, word.start, word.end, line))

    def _look_at_unsets(self) -> None:
        self._disturbed.update(name for _node, names in self._unsets() for name in names)
        for node in self.source.nodes("declaration_command"):
            if self.source.slice(node).split()[0] == b"readonly":
                self._look_at_readonly(node)

    def _look_at_readonly(self, node: Node) -> None:
        for child in node.named_children:
            name = self.source.slice(child).partition(b"=")[0].decode("utf-8", "surrogateescape")
            if name in self.exports:
                self._doubt(name, node, "a readonly variable can be neither corrected nor exported later")

    def _look_at_evals(self) -> None:
        """Text that is put together and run: no syntax tree can tell what it sets."""
        for command in self.source.nodes("command"):
            text = self.source.slice(command)
            program = self.source.command_name(command)
            if program in (b"read", b"mapfile", b"printf", b"getopts"):
                self._look_at_reader(command, program)
            if program != b"eval":
                continue
            for name in self.exports:
                if re.search(rb"\b%s\+?=" % name.encode(), text) and self._seen_by(command):
                    self._doubt(name, command, "it is set by `eval`")

    def _look_at_reader(self, command: Node, program: bytes) -> None:
        words = [word.text for word in self.source.words(command)]
        targets = words[words.index("-v") + 1 :][:1] if program == b"printf" and "-v" in words else words[1:]
        if program == b"printf" and "-v" not in words:
            return
        for name in self.exports:
            if name in targets and self._seen_by(command):
                self._doubt(
                    name, command, "`%s` gives it a value that is known only when the script runs" % program.decode()
                )

    def _doubt(self, name: str, node: Node, reason: str) -> None:
        shown = self.source.slice(node).decode("utf-8", "surrogateescape").splitlines()[0]
        self.undecidable.append(Undecidable(name, self.source.line(node.start_byte), shown, reason))

    # What is missing

    def missing(self) -> list[str]:
        """Owned names that the script does not surely export with the wanted value before every launch."""
        return [name for name in self.exports if not self._satisfied(name)]

    def _satisfied(self, name: str) -> bool:
        if name in self._disturbed:
            return False
        good = self._good.get(name, set())
        exported = {node.id for node in self.source.nodes("declaration_command") if self._exports(node, name)}
        for _launch, command in self.launches:
            has_value = self.flow.assured(lambda node: node.id in good, command)
            is_exported = self.flow.assured(lambda node: node.id in exported, command)
            if not (has_value and is_exported):
                return False
        return True

    def _exports(self, node: Node, name: str) -> bool:
        words = self.source.slice(node).split()
        marks = words[0] == b"export" or any(re.match(rb"-\w*x", word) for word in words[1:])
        names = [self.source.slice(child).partition(b"=")[0].rstrip(b"+") for child in node.named_children]
        return marks and b"-n" not in words and name.encode() in names

    def late_unsets(self, anchor: Node) -> list[Undecidable]:
        """Lines behind the block, which stands before the anchor, that take an owned variable away again."""
        found: list[Undecidable] = []
        for node, names in self._unsets():
            same_code = _function_around(node) == _function_around(anchor)
            early = same_code and node.start_byte < anchor.start_byte
            if early or not self.flow.reaches(anchor, node):
                continue
            line = self.source.line(node.start_byte)
            shown = self.source.slice(node).decode("utf-8", "surrogateescape")
            found.extend(Undecidable(name, line, shown, "it is taken away behind the block") for name in names)
        return found

    def _unsets(self) -> list[tuple[Node, list[str]]]:
        """C(unset NAME), C(export -n NAME) and C(declare +x NAME) of owned names that a launch can feel."""
        found = []
        for node in self.source.nodes("unset_command", "declaration_command"):
            words = self.source.slice(node).split()
            if node.type == "declaration_command" and words[:2] not in ([b"export", b"-n"], [b"declare", b"+x"]):
                continue
            names = [
                self.source.slice(child).decode() for child in node.named_children if child.type == "variable_name"
            ]
            owned = [name for name in names if name in self.exports]
            if owned and self._seen_by(node):
                found.append((node, owned))
        return found

    def given_though_unset(self, anchor: Node) -> list[tuple[str, int, bool]]:
        """Names that the launcher must not get and the script sets: each with line, and whether behind the block."""
        found = []
        ours = {command.id for _launch, command in self.launches}
        for name in self.unset:
            starts = [node.start_byte for _fact, node in self.settings(name)]
            late_words = [word for word in env_words(self.source) if word.name == name and word.command.id in ours]
            starts += [word.start for word in late_words]
            found += [(name, self.source.line(start), start >= anchor.start_byte) for start in starts]
        return found

    def settings(self, name: str) -> list[tuple[Assignment, Node]]:
        """Assignments of any variable, owned or not, that a launch can feel."""
        found = []
        for node in self.source.nodes("variable_assignment"):
            fact = self.source.assignment(node)
            if fact is not None and fact.name == name and self._seen_by(node):
                found.append((fact, node))
        return found

    def gives(self, name: str) -> bool:
        """Whether the script itself gives every launch this variable, if only on some ways to it."""
        values = [node for _fact, node in self.settings(name)]
        exports = [node for node in self.source.nodes("declaration_command") if self._exports(node, name)]
        by_env = {word.command.id for word in env_words(self.source) if word.name == name}
        for _launch, command in self.launches:
            prefixed = any(self._prefixed_command(node) is not None for node in self._felt_by(command, values))
            exported = self._felt_by(command, values) and self._felt_by(command, exports)
            if not (prefixed or exported or command.id in by_env):
                return False
        return True

    def _felt_by(self, command: Node, nodes: list[Node]) -> list[Node]:
        return [node for node in nodes if any(seen.id == command.id for seen in self._seen_by(node))]

    def commands(self) -> list[str]:
        """The lines of the block for the owned variables."""
        lines = [quote_export(name, self.exports[name]) for name in self.missing()]
        return ["unset " + name for name in self.unset if self._needs_unset(name)] + lines

    def _needs_unset(self, name: str) -> bool:
        """A name that the Pod's environment may bring is taken away always, unless the script does so itself."""
        done = {
            node.id for node in self.source.nodes("unset_command") if name.encode() in self.source.slice(node).split()
        }
        return not all(self.flow.assured(lambda node: node.id in done, command) for _launch, command in self.launches)


def wanted_value(name: str, value: str) -> bytes:
    """The value as it is written behind C(NAME=)."""
    return to_bytes(quote_export(name, value).partition("=")[2])


def block_anchor(source: Source, launches: Launches) -> Node | None:
    """The statement before which an export reaches every launch: the innermost one around all of them.

    It begins its line, so that whole lines can be put before it.
    """
    chains = [_steps_above(command) for _launch, command in launches]
    shared = [node.parent.id for node in chains[0] if node.parent is not None]
    for chain in chains[1:]:
        present = {node.parent.id for node in chain if node.parent is not None}
        shared = [identity for identity in shared if identity in present]
    for step in chains[0]:
        if step.parent is None or step.parent.id not in shared:
            continue
        anchor: Node | None = step
        while anchor is not None and not (is_step(anchor) and source.first_on_line(anchor.start_byte)):
            anchor = (
                anchor.prev_named_sibling if anchor.prev_named_sibling and is_step(anchor.prev_named_sibling) else None
            )
        if anchor is not None:
            return anchor
    return None


def _steps_above(command: Node) -> list[Node]:
    """Statements around a command, innermost first."""
    found = []
    node: Node | None = command
    while node is not None:
        if is_step(node):
            found.append(node)
        node = node.parent
    return found


def _comparable(value: str) -> str:
    """A value in a form in which equal meanings are equal: blanks and order in C({UCE:1, HCCE:1}) mean nothing."""
    value = re.sub(r"\$\{([A-Za-z_]\w*)\}(?!\w)", r"$\1", value.strip())
    if re.fullmatch(r"\{[^{}]*\}", value):
        return "{%s}" % ",".join(sorted(re.split(r"[,\s]+", value[1:-1].strip())))
    return re.sub(r"\s*,\s*", ",", value)


def _is_local(source: Source, node: Node) -> bool:
    parent = node.parent
    if parent is None or parent.type != "declaration_command" or _function_around(node) is None:
        return False
    words = source.slice(parent).split()
    return words[0] == b"local" or (words[0] in (b"declare", b"typeset") and b"-g" not in words)


def _function_around(node: Node) -> Node | None:
    above = node.parent
    while above is not None and above.type != "function_definition":
        above = above.parent
    return above


def _within(node: Node, outer: Node) -> bool:
    return outer.start_byte <= node.start_byte < outer.end_byte
