# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""Shell text read by its syntax tree: where training is launched, and what is assigned.

Nothing here searches text for words: a C(torchrun) in a comment, a string, a heredoc or behind C(echo) is none.
All is bytes and byte offsets, as for the parser, so that comments in Chinese or in an encoding that is not UTF-8 shift
nothing.
"""

from __future__ import annotations

import bisect
import dataclasses
import re
import typing as t

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Finding, Refused
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._shell_launcher import (
    LIKELY_SCRIPT,
    SHELLS,
    STRONG_SCRIPT,
    base_name,
    behind_options,
    recognise,
    skip_wrappers,
)

try:
    import tree_sitter
    import tree_sitter_bash

    _LANGUAGE: tree_sitter.Language | None = tree_sitter.Language(tree_sitter_bash.language())
except ImportError:
    _LANGUAGE = None

if t.TYPE_CHECKING:
    from tree_sitter import Node

_ANY_COMMAND = re.compile(rb'"?\$\{?[@*1]\}?"?\Z')
_REDIRECTS = ("file_redirect", "heredoc_redirect", "herestring_redirect")
# A comment between the lines of one command, C(`# learning rate` \\). To bash it is an empty substitution; the grammar
# takes the closing backtick for a part of the comment, and the rest of the text with it.
_INLINE_COMMENT = re.compile(rb"`#([^`\n]*)`")
# Nodes whose statements run one after the other; an export line can stand before each of them.
_SEQUENCES = frozenset(
    "program compound_statement subshell do_group if_statement elif_clause else_clause case_item "
    "command_substitution process_substitution".split()
)


@dataclasses.dataclass(frozen=True)
class Word:
    """One word of a simple command, as written."""

    text: str
    start: int
    end: int


@dataclasses.dataclass(frozen=True)
class Launch:
    """A command that starts training.

    :ivar kind: C(torchrun), C(python) (C(-m torch.distributed.run|launch)), C(msrun), or C(script) (a shell script).
    :ivar start: where the whole statement begins, that is where an export can be put in front.
    :ivar end: where the simple command with its redirections ends.
    :ivar words_end: just behind the last argument word, before redirections and pipes.
    :ivar words: the words as written, from the launcher on (without C(exec), C(nohup), C(A=b) before it).
    :ivar line: line of the launcher, counted from 1.
    :ivar launcher_end: just behind the words that name the launcher; options of torchrun go here at the earliest.
    :ivar spans: the same words with their offsets.
    :ivar variable: name of the variable that holds the launcher, where it is launched as C($CMD); else empty.
    :ivar script: the script, where its name is held by a variable (C(bash $SCRIPT)); else empty.
    """

    kind: str
    start: int
    end: int
    words_end: int
    words: tuple[str, ...]
    line: int
    launcher_end: int
    spans: tuple[Word, ...]
    variable: str = ""
    script: str = ""


@dataclasses.dataclass(frozen=True)
class Assignment:
    """One C(NAME=value), with or without C(export).

    :ivar value: the value with its quotes taken off; C(${X}) is written C($X), so that equal values compare equal.
    :ivar raw: the value as written.
    """

    name: str
    value: str
    raw: str
    start: int
    end: int
    value_start: int
    value_end: int
    line: int
    exported: bool
    append: bool


def _masked(match: re.Match[bytes]) -> bytes:
    return b"`:" + b"x" * len(match.group(1)) + b"`"


def to_text(raw: bytes | None) -> str:
    return (raw or b"").decode("utf-8", "surrogateescape")


def to_bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


class Source:
    """A shell text with its syntax tree; all offsets are bytes.

    :raises Refused: where the Python packages for the syntax tree are missing, or the text holds a NUL byte.
    """

    def __init__(self, raw: bytes) -> None:
        if _LANGUAGE is None:
            raise Refused(_missing_parser())
        if b"\0" in raw:
            raise Refused(binary(""))
        self.raw = raw
        self.tree = tree_sitter.Parser(_LANGUAGE).parse(_INLINE_COMMENT.sub(_masked, raw))
        self.root: Node = self.tree.root_node
        self._by_type: dict[str, list[Node]] = {}
        self._newlines = [match.start() for match in re.finditer(rb"\n", raw)]
        self._collect()
        self._assignments: list[Assignment] | None = None
        self._called: dict[int, bool] = {}
        self._launches: list[tuple[Launch, Node]] | None = None

    def _collect(self) -> None:
        stack = [self.root]
        while stack:
            node = stack.pop()
            if node.is_named:
                self._by_type.setdefault(node.type, []).append(node)
            stack.extend(reversed(node.children))

    def nodes(self, *types: str) -> list[Node]:
        """All nodes of these types, in the order of the text."""
        found = [node for kind in types for node in self._by_type.get(kind, [])]
        return sorted(found, key=lambda node: node.start_byte) if len(types) > 1 else found

    def line(self, offset: int) -> int:
        return bisect.bisect_left(self._newlines, offset) + 1

    def line_start(self, offset: int) -> int:
        return self.raw.rfind(b"\n", 0, offset) + 1

    def first_on_line(self, offset: int) -> bool:
        """Whether only blanks stand before it, and the line before does not run on into this one."""
        start = self.line_start(offset)
        before = self.raw[:start].rstrip(b"\r\n") if start else b""
        return not self.raw[start:offset].strip(b" \t") and not before.endswith(b"\\")

    def indent(self, offset: int) -> bytes:
        start = self.line_start(offset)
        rest = self.raw[start:]
        return rest[: len(rest) - len(rest.lstrip(b" \t"))]

    def slice(self, node: Node) -> bytes:
        return self.raw[node.start_byte : node.end_byte]

    def errors(self) -> list[Node]:
        """Nodes that the parser could not make sense of."""
        if not self.root.has_error:
            return []
        found = []
        stack = [self.root]
        while stack:
            node = stack.pop()
            if node.is_error or node.is_missing:
                found.append(node)
            elif node.has_error:
                stack.extend(node.children)
        return sorted(found, key=lambda node: node.start_byte)

    # Functions

    def functions(self) -> dict[bytes, Node]:
        """Name to definition; of two definitions the last one counts."""
        found = {}
        for node in self.nodes("function_definition"):
            name = node.child_by_field_name("name")
            if name is not None:
                found[self.slice(name)] = node
        return found

    def calls(self, name: bytes) -> list[Node]:
        """Commands that call the function by its name."""
        return [node for node in self.nodes("command") if self.command_name(node) == name]

    def command_name(self, command: Node) -> bytes:
        name = command.child_by_field_name("name")
        return self.slice(name) if name is not None else b""

    def _is_called(self, definition: Node) -> bool:
        """Whether anything outside a function's body can run it: by name, by C(trap), or by a computed name."""
        name_node = definition.child_by_field_name("name")
        if name_node is None:
            return False
        name = self.slice(name_node)
        for word in self.nodes("word", "raw_string", "string_content"):
            if definition.start_byte <= word.start_byte < definition.end_byte:
                continue
            if word.type == "word" and self.slice(word) == name:
                return True
            if word.type != "word" and name in re.split(rb"[^\w.-]+", self.slice(word)):
                return True
        # C("$@") and C($1) as a command may call any function.
        return any(_ANY_COMMAND.match(self.command_name(node)) for node in self.nodes("command"))

    def dead(self, node: Node) -> bool:
        """Whether it stands in a function that nothing calls."""
        above = node.parent
        while above is not None:
            if above.type == "function_definition":
                if above.id not in self._called:
                    self._called[above.id] = self._is_called(above)
                if not self._called[above.id]:
                    return True
            above = above.parent
        return False

    # Statements

    def statement(self, node: Node) -> Node:
        """The statement around a node that stands directly in a sequence of statements."""
        while node.parent is not None and not is_step(node):
            node = node.parent
        return node

    # Words and launches

    def words(self, command: Node) -> list[Word]:
        """The words of a simple command, without assignments before it and without redirections."""
        found: list[Word] = []
        for child in command.children:
            if child.type in _REDIRECTS:
                found.extend(self._behind_redirect(child))
            elif child.type == "command_name" or (child.is_named and child.type != "variable_assignment"):
                found.append(self._word(child))
        parent = command.parent
        if parent is not None and parent.type == "redirected_statement":
            for child in parent.children:
                if child.type == "file_redirect":
                    found.extend(self._behind_redirect(child))
        return found

    def _behind_redirect(self, redirect: Node) -> list[Word]:
        # The grammar takes every word behind C(> file) for a destination; bash takes only the first one.
        targets = redirect.children_by_field_name("destination")
        return [self._word(node) for node in targets[1:]]

    def _word(self, node: Node) -> Word:
        # An expansion's node can begin with the blank before it.
        written = self.slice(node).lstrip(b" \t")
        return Word(to_text(written), node.end_byte - len(written), node.end_byte)

    def assignments(self) -> list[Assignment]:
        """Every assignment in the text, whether it is exported or not."""
        if self._assignments is None:
            found = [self.assignment(node) for node in self.nodes("variable_assignment")]
            self._assignments = [assignment for assignment in found if assignment is not None]
        return self._assignments

    def assignment(self, node: Node) -> Assignment | None:
        name = node.child_by_field_name("name")
        if name is None or name.type != "variable_name":
            return None
        value = node.child_by_field_name("value")
        operator = next((child for child in node.children if child.type in ("=", "+=")), None)
        end = operator.end_byte if operator is not None else node.end_byte
        start, stop = (value.start_byte, value.end_byte) if value is not None else (end, end)
        raw = self.raw[start:stop]
        return Assignment(
            name=to_text(self.slice(name)),
            value=plain_value(to_text(raw)),
            raw=to_text(raw),
            start=node.start_byte,
            end=node.end_byte,
            value_start=start,
            value_end=stop,
            line=self.line(node.start_byte),
            exported=_is_export(self, node),
            append=operator is not None and operator.type == "+=",
        )

    def launches(self) -> list[tuple[Launch, Node]]:
        """All launches with the command node of each; scripts other than the likely ones are left out."""
        if self._launches is None:
            found = [(self._launch(command), command) for command in self.nodes("command")]
            alive = [(launch, node) for launch, node in found if launch is not None and not self.dead(node)]
            self._launches = _without_unlikely_scripts(alive)
        return self._launches

    def _launch(self, command: Node) -> Launch | None:
        words = self.words(command)
        index = skip_wrappers([to_bytes(word.text) for word in words])
        if index is None:
            return None
        words = words[index:]
        variable = ""
        hit = recognise([to_bytes(word.text) for word in words])
        if hit is None:
            variable, hit = self._through_variable(words)
        script = ""
        if hit is None:
            script, hit = self._script_in_variable(words)
        if hit is None:
            return None
        kind, launcher_words = hit
        body = command
        if command.parent is not None and command.parent.type == "redirected_statement":
            body = command.parent
        return Launch(
            kind=kind,
            start=self.statement(command).start_byte,
            end=body.end_byte,
            words_end=words[-1].end,
            words=tuple(word.text for word in words),
            line=self.line(words[0].start),
            launcher_end=words[launcher_words - 1].end,
            spans=tuple(words),
            variable=variable,
            script=script,
        )

    def _through_variable(self, words: list[Word]) -> tuple[str, tuple[str, int] | None]:
        """A launcher that stands in a variable: C(CMD="torchrun ..."; $CMD train.py)."""
        name = variable_of(words[0].text)
        if not name:
            return "", None
        for assignment in self.assignments():
            if assignment.name != name or assignment.append:
                continue
            inner = assignment.value.strip("()").split()
            hit = recognise([to_bytes(word) for word in inner]) if inner else None
            if hit is not None and hit[0] != "script":
                return name, (hit[0], 1)
        return "", None

    def _script_in_variable(self, words: list[Word]) -> tuple[str, tuple[str, int] | None]:
        """A script whose name stands in a variable: C(SCRIPT=train_start.sh; bash $SCRIPT)."""
        if base_name(to_bytes(words[0].text)) not in SHELLS:
            return "", None
        index = behind_options([to_bytes(word.text) for word in words])
        name = variable_of(words[index].text) if index is not None else ""
        for assignment in self.assignments():
            if index is not None and assignment.name == name and assignment.value.endswith(".sh"):
                return assignment.value, ("script", index + 1)
        return "", None


def variable_of(word: str) -> str:
    """The name in a word that is one variable and nothing else: C($X), C("${X}"), C("${X[@]}"); else empty."""
    match = re.fullmatch(r'"?\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)(?:\[[@*]\])?\})"?', word)
    return (match.group(1) or match.group(2)) if match else ""


def plain_value(raw: str) -> str:
    """A shell word without its quotes, and C(${X}) written as C($X); for comparing values, not for running them."""
    out: list[str] = []
    quote = ""
    index = 0
    while index < len(raw):
        char = raw[index]
        if char == "\\" and quote != "'" and index + 1 < len(raw):
            follower = raw[index + 1]
            if follower != "\n":
                out.append(char + follower if quote and follower not in '"\\`$' else follower)
            index += 2
            continue
        if char in "'\"" and quote in ("", char):
            quote = "" if quote else char
        else:
            out.append(char)
        index += 1
    return re.sub(r"\$\{([A-Za-z_]\w*)\}(?!\w)", r"$\1", "".join(out))


def is_step(node: Node) -> bool:
    """Whether a node is one of the statements of a sequence, and no condition, pipe or operand."""
    parent = node.parent
    if parent is None or parent.type not in _SEQUENCES or not node.is_named:
        return False
    if parent.type in ("if_statement", "elif_clause"):
        then = next((child for child in parent.children if child.type == "then"), None)
        return (
            then is not None and node.start_byte > then.start_byte and node.type not in ("elif_clause", "else_clause")
        )
    if parent.type == "case_item":
        closing = next((child for child in parent.children if child.type == ")"), None)
        return closing is not None and node.start_byte > closing.start_byte
    return True


def _is_export(source: Source, node: Node) -> bool:
    parent = node.parent
    if parent is None or parent.type != "declaration_command":
        return False
    words = source.slice(parent).split()
    if words[0] == b"export":
        return True
    return words[0] in (b"declare", b"typeset") and any(re.fullmatch(rb"-\w*x\w*", word) for word in words[1:])


def _without_unlikely_scripts(found: list[tuple[Launch, Node]]) -> list[tuple[Launch, Node]]:
    """Of several shell scripts only those that start training: a C(bash prepare.sh) before them is none."""
    scripts = [item for item in found if item[0].kind == "script"]
    others = [item for item in found if item[0].kind != "script"]
    strong = [item for item in scripts if _names_script(item[0], STRONG_SCRIPT)]
    if strong:
        scripts = strong
    elif others:
        scripts = []
    else:
        scripts = [item for item in scripts if _names_script(item[0], LIKELY_SCRIPT)] or scripts[-1:]
    return sorted(others + scripts, key=lambda item: item[0].words_end)


def _names_script(launch: Launch, pattern: re.Pattern[bytes]) -> bool:
    if launch.script:
        return pattern.search(base_name(to_bytes(launch.script))) is not None
    return any(
        pattern.search(base_name(to_bytes(word.text))) for word in launch.spans if word.end <= launch.launcher_end
    )


def binary(where: str) -> Finding:
    return Finding(
        code="shell-binary",
        what="It holds a NUL byte, so it is no shell text",
        why="bash refuses binary files; a UTF-16 text looks the same to it",
        remedy="Name the shell script itself, saved as UTF-8",
        where=where,
    )


def _missing_parser() -> Finding:
    return Finding(
        code="parser-missing",
        what="The Python packages tree-sitter and tree-sitter-bash are not installed on the controller",
        why="Shell text is only edited where its syntax is understood",
        remedy="Install tree-sitter and tree-sitter-bash for the Python that runs ansible-playbook",
    )
