# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""The shell text of a job: where it launches training, and what each launch gets on every way that leads to it.

A flag that stands in one branch of an C(if) only, or an export behind the launch, does not count as there: the job
would look recoverable and would not be.
"""

from __future__ import annotations

import functools
import re
import typing as t

from ansible_collections.mindcluster.recovery.plugins.plugin_utils import _shell as shell
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._shell_chars import (
    Offsets,
    assignment_in_chars,
    launch_in_chars,
)
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._shell_flow import Flow
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._shell_words import pieces_of_value
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._shell_written import drops_arguments
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._start_script_env import env_words

if t.TYPE_CHECKING:
    from tree_sitter import Node

_DEPTH = 4


class StartText:
    """One shell text.

    :ivar launches: the commands that start training; character offsets.
    :ivar assignments: all assignments, those in the arguments of C(env) among them; character offsets.
    """

    def __init__(self, text: str) -> None:
        raw = shell.to_bytes(text)
        self.source = shell.Source(raw)
        self.flow = Flow(self.source, "")
        offsets = Offsets(text, raw)
        found = self.source.launches()
        self.launches = [launch_in_chars(launch, offsets) for launch, _node in found]
        self._launches = [launch for launch, _node in found]
        self._nodes = [node for _launch, node in found]
        self._values: dict[str, list[Node]] = {}
        for node in self.source.nodes("variable_assignment"):
            name = node.child_by_field_name("name")
            if name is not None and node.child_by_field_name("value") is not None and not self.source.dead(node):
                self._values.setdefault(_text(self.source.slice(name)), []).append(node)
        self.assignments = [assignment_in_chars(fact, offsets) for fact in self._facts()]

    def _facts(self) -> list[shell.Assignment]:
        facts = list(self.source.assignments())
        for word in env_words(self.source):
            begin = word.start - len(shell.to_bytes(word.name)) - 1
            facts.append(
                shell.Assignment(
                    word.name, shell.plain_value(word.raw), word.raw, begin, word.end, word.start, word.end,
                    self.source.line(word.start), True, False,
                )
            )  # fmt: skip
        return sorted(facts, key=lambda fact: fact.start)

    # --- words ---------------------------------------------------------------------------------------------------

    def surely_has(self, index: int, word: str) -> bool:
        """Whether a launch gets the word on every way to it, itself or through the variables that stand on it."""
        launch = self.launches[index]
        written = [span.text for span in launch.spans]
        return self._among(written, word, self._nodes[index], True, 0)

    def may_have(self, index: int, word: str) -> bool:
        """Whether a launch gets the word on some way."""
        written = [span.text for span in self.launches[index].spans]
        return self._among(written, word, self._nodes[index], False, 0)

    def drops_arguments(self, index: int, flags: t.Sequence[str]) -> bool:
        """Whether flags behind a launch are lost, since the text itself writes a script that takes no arguments."""
        return drops_arguments(self.source, self._launches[index], flags)

    def _among(self, written: t.Sequence[str], word: str, target: Node, sure: bool, depth: int) -> bool:
        if any(shell.plain_value(raw) == word for raw in written):
            return True
        return any(self._in_variable(raw, word, target, sure, depth) for raw in written if shell.variable_of(raw))

    def _in_variable(self, raw: str, word: str, target: Node, sure: bool, depth: int) -> bool:
        name = shell.variable_of(raw)
        values = [node for node in self._values.get(name, ()) if self.flow.reaches(node, target)]
        carriers = {node.id: node for node in values if self._holds(node, name, raw, word, sure, depth)}
        if not sure or not carriers:
            return bool(carriers)
        first = min(node.start_byte for node in carriers.values())
        resets = [node for node in values if node.id not in carriers and not self._extends(node, name)]
        if any(node.start_byte > first for node in resets):
            return False
        return self.flow.assured(lambda node: node.id in carriers, target)

    def _holds(self, node: Node, name: str, raw: str, word: str, sure: bool, depth: int) -> bool:
        value = node.child_by_field_name("value")
        if value is None or depth > _DEPTH:
            return False
        pieces = [piece.raw for piece in pieces_of_value(self.source, value)]
        # C("$A") of a text is one word, C($A) of an array its first element.
        if value.type == "array":
            pieces = pieces if "[@]" in raw or "[*]" in raw else pieces[:1]
        elif raw.startswith('"') and len(pieces) > 1:
            return False
        return self._among([piece for piece in pieces if shell.variable_of(piece) != name], word, node, sure, depth + 1)

    def _extends(self, node: Node, name: str) -> bool:
        """Whether an assignment adds to what the variable held before."""
        fact = self.source.assignment(node)
        return fact is not None and (fact.append or re.search(r"\$\{?%s\b" % re.escape(name), fact.raw) is not None)

    # --- exports -------------------------------------------------------------------------------------------------

    def surely_exports(self, index: int, name: str) -> bool:
        """Whether a variable is in the environment of a launch on every way to it; its value is looked after apart."""
        command = self._nodes[index]
        wanted = name.encode()
        if any(self._assigns(child, wanted) for child in command.named_children):
            return True
        if any(word.name == name and word.command.id == command.id for word in env_words(self.source)):
            return True
        exporting = [node for node in self.source.nodes("declaration_command") if self._exports(node, wanted)]
        known = {node.id for node in exporting}
        if not self.flow.assured(lambda node: node.id in known, command):
            return False
        last = max(node.start_byte for node in exporting if self.flow.reaches(node, command))
        return not any(
            node.start_byte > last and self.flow.reaches(node, command)
            for node in self.source.nodes("unset_command")
            if wanted in self.source.slice(node).split()[1:]
        )

    def _assigns(self, node: Node, name: bytes) -> bool:
        if node.type != "variable_assignment":
            return False
        found = node.child_by_field_name("name")
        return found is not None and self.source.slice(found) == name

    def _exports(self, node: Node, name: bytes) -> bool:
        words = self.source.slice(node).split()
        exports = words[0] == b"export" or any(re.match(rb"-\w*x", word) for word in words[1:])
        names = [self.source.slice(child).partition(b"=")[0].rstrip(b"+") for child in node.named_children]
        return exports and b"-n" not in words and name in names


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


@functools.lru_cache(maxsize=512)
def start_text(text: str) -> StartText:
    """A text as it was read before: many replicas, and many jobs of one run, have the same one."""
    return StartText(text)
