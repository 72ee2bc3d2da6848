# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""Options of the torch launcher in a start script: where each stands, and where a missing one can be put.

torchrun and C(python -m torch.distributed.run) take their own options before the training script; what comes
behind it belongs to the script. Options often stand in a variable, C(DISTRIBUTED_ARGS) in the vendor's samples.
"""

from __future__ import annotations

import dataclasses
import re
import typing as t

from ansible_collections.mindcluster.recovery.plugins.plugin_utils._shell import (
    Assignment,
    Launch,
    Source,
    to_bytes,
    variable_of,
)
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._shell_flow import Flow
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._shell_launcher import recognise
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._shell_words import (
    Piece,
    gap_before,
    joint_of,
    pieces_of_launch,
    pieces_of_value,
)

if t.TYPE_CHECKING:
    from tree_sitter import Node

# Options of torch.distributed.run (torch 2.1 to 2.9) that take no value; all others take one.
_SWITCHES = frozenset(
    ("-h", "--help", "-m", "--module", "--no-python", "--run-path", "--use-env", "--standalone", "--virtual-local-rank")
)
_OPTION_NAME = re.compile(r"(?i)arg|opt|dist|flag|param|torchrun|launch")
_LAUNCH_OPTION = re.compile(r"--?(nproc|nnodes|node|master|rdzv|standalone|local)")
_MAIN_VARIABLE = "DISTRIBUTED_ARGS"
_TALKERS = re.compile(rb"(echo|printf|log\w*|tee|true|:)\Z")
_DEPTH = 4


@dataclasses.dataclass(frozen=True)
class Held:
    """An assignment with its syntax node and its name in records, C(DISTRIBUTED_ARGS#1)."""

    fact: Assignment
    node: Node
    site: str

    @property
    def value(self) -> Node:
        value = self.node.child_by_field_name("value")
        if value is None:
            raise AssertionError("an assignment without a value is no assignment")
        return value

    @property
    def extends(self) -> bool:
        """Whether it adds to what the variable held before."""
        pattern = r"\$\{?%s\b" % re.escape(self.fact.name)
        return self.fact.append or re.search(pattern, self.fact.raw) is not None


@dataclasses.dataclass(frozen=True)
class Occurrence:
    """An option that is already there.

    :ivar start: where the option begins; C(value_start) to C(value_end) is its value as written.
    """

    flag: str
    site: str
    start: int
    value: str
    value_start: int
    value_end: int


@dataclasses.dataclass
class Scan:
    """What the words behind a launcher say, up to the training script.

    :ivar target: the launch; values that cannot reach it are passed over. None where one value is read by itself.
    :ivar unclear: options inside an expansion such as C(${A:---max_restarts 3}), with their offset.
    """

    target: Node | None = None
    occurrences: list[Occurrence] = dataclasses.field(default_factory=list)
    variables: list[str] = dataclasses.field(default_factory=list)
    unclear: list[tuple[str, int]] = dataclasses.field(default_factory=list)
    script: bool = False
    pending: str = ""
    option: Piece | None = None


@dataclasses.dataclass(frozen=True)
class Place:
    """Where missing options can be put."""

    site: str
    offset: int
    joint: bytes
    glue_first: bool


class Arguments:
    """The launcher options of one script.

    :param launches: the torch launches with their command nodes.
    :param flags: names of the options looked for, with dashes as in C(--max_restarts).
    """

    def __init__(self, source: Source, flow: Flow, launches: list[tuple[Launch, Node]], flags: t.Iterable[str]) -> None:
        self.source = source
        self.flow = flow
        self.launches = launches
        self.flags = {_canonical(flag): flag for flag in flags}
        self.held: dict[str, list[Held]] = {}
        for node in source.nodes("variable_assignment"):
            self._hold(node)

    def _hold(self, node: Node) -> None:
        fact = self.source.assignment(node)
        if fact is None or node.child_by_field_name("value") is None:
            return
        if node.parent is not None and node.parent.type == "command":
            return
        known = self.held.setdefault(fact.name, [])
        known.append(Held(fact, node, "%s#%d" % (fact.name, len(known) + 1)))

    def _assigned(self, name: str) -> list[Held]:
        return [item for item in self.held.get(name, []) if not self.source.dead(item.node)]

    # Looking

    def scan_launch(self, index: int) -> Scan:
        launch, node = self.launches[index]
        found = Scan(target=node)
        pieces = pieces_of_launch(launch)
        after = [piece for piece in pieces if piece.start >= launch.launcher_end]
        if launch.variable:
            for held, inner in self.launcher_values(launch.variable):
                self._scan(inner, held.site, found)
                if found.script:
                    return found
        self._scan(after, "launch#%d" % (index + 1), found)
        return found

    def scan_held(self, held: Held) -> Scan:
        found = Scan()
        self._scan(pieces_of_value(self.source, held.value), held.site, found, (held.fact.name,))
        return found

    def launcher_values(self, name: str) -> list[tuple[Held, list[Piece]]]:
        """Values of a variable that hold the launcher itself, each with the words behind the launcher."""
        found = []
        for held in self._assigned(name):
            pieces = pieces_of_value(self.source, held.value)
            hit = recognise([to_bytes(piece.text) for piece in pieces]) if pieces else None
            if hit is not None and not held.fact.append:
                found.append((held, pieces[hit[1] :]))
        return found

    def _scan(self, pieces: list[Piece], site: str, found: Scan, inside: tuple[str, ...] = ()) -> None:
        """Read options until the training script comes; C(inside) are the variables that led here."""
        for piece in pieces:
            if found.script:
                return
            self._note_unclear(piece, found)
            if found.pending:
                self._take_value(piece, site, found)
            elif piece.text.startswith("-"):
                self._take_option(piece, site, found)
            else:
                self._take_variable(piece, found, inside)

    def _note_unclear(self, piece: Piece, found: Scan) -> None:
        if "$" in piece.raw or "`" in piece.raw:
            written = piece.raw.replace("_", "-")
            found.unclear.extend((name, piece.start) for flag, name in self.flags.items() if flag in written[1:])

    def _note_opaque(self, values: list[Held], found: Scan) -> None:
        """A variable whose words do not arrive as they are written, such as C($A) of an array."""
        for held in values:
            written = held.fact.raw.replace("_", "-")
            found.unclear.extend((name, held.fact.value_start) for flag, name in self.flags.items() if flag in written)

    def _take_value(self, piece: Piece, site: str, found: Scan) -> None:
        option, flag = found.option, self.flags.get(found.pending)
        if flag is not None and option is not None:
            found.occurrences.append(Occurrence(flag, site, option.start, piece.text, piece.start, piece.end))
        found.pending, found.option = "", None

    def _take_option(self, piece: Piece, site: str, found: Scan) -> None:
        name, equals, value = piece.text.partition("=")
        if equals:
            flag = self.flags.get(_canonical(name))
            if flag is not None:
                value_start = piece.start + self.source.raw[piece.start : piece.end].index(b"=") + 1
                found.occurrences.append(Occurrence(flag, site, piece.start, value, value_start, piece.end))
        elif name == "--":
            found.script = True
        elif _canonical(name) not in _SWITCHES:
            found.pending, found.option = _canonical(name), piece

    def _take_variable(self, piece: Piece, found: Scan, inside: tuple[str, ...]) -> None:
        name = variable_of(piece.text)
        if name in inside:
            # The variable that is being added to; its other values are read on their own.
            return
        known = self._values(name, found.target)
        if not self._split_on_use(piece.raw, known):
            self._note_opaque(known, found)
            first = [inner.text for held in known for inner in pieces_of_value(self.source, held.value)][:1]
            found.script = not (first and first[0].startswith("-"))
            return
        values = [held for held in known if pieces_of_value(self.source, held.value)]
        if len(inside) >= _DEPTH or (not values and not (name and (known or _OPTION_NAME.search(name)))):
            found.script = True
            return
        found.variables.append(name)
        for held in values:
            pending, found.pending = found.pending, ""
            self._scan(pieces_of_value(self.source, held.value), held.site, found, (*inside, name))
            found.pending = found.pending or pending
            if found.script:
                return

    def _values(self, name: str, target: Node | None) -> list[Held]:
        """The values of a variable that can reach the launch."""
        return [held for held in self._assigned(name) if target is None or self.flow.reaches(held.node, target)]

    def _split_on_use(self, raw: str, values: list[Held]) -> bool:
        """Whether the words of a value arrive as words: C($A) of a string, C("${A[@]}") of an array.

        C("$A") of a string is one word, C($A) of an array its first element.
        """
        arrays = {held.value.type == "array" for held in values}
        whole = "[@]" in raw or "[*]" in raw
        if arrays == {True}:
            return whole
        return not arrays or (arrays == {False} and '"' not in raw)

    # Being sure

    def launch_has(self, index: int, flag: str, scan: Scan) -> bool:
        """Whether the launcher gets the option on every way to it."""
        launch, node = self.launches[index]
        own = "launch#%d" % (index + 1)
        if any(item.flag == flag and item.site == own for item in scan.occurrences):
            return True
        if launch.variable:
            values = self.launcher_values(launch.variable)
            if values and all(self._held_has(held, flag, scan) for held, _pieces in values):
                return True
        direct = self._direct_variables(index)
        return any(self._variable_has(name, flag, node, scan, 0) for name in direct)

    def _direct_variables(self, index: int) -> list[str]:
        launch, node = self.launches[index]
        words = [word.text for word in launch.spans if word.start >= launch.launcher_end]
        return [variable_of(text) for text in words if variable_of(text) and self._is_split(text, node)]

    def _is_split(self, raw: str, target: Node) -> bool:
        return self._split_on_use(raw, self._values(variable_of(raw), target))

    def _held_has(self, held: Held, flag: str, scan: Scan, depth: int = 0) -> bool:
        if any(item.flag == flag and item.site == held.site for item in scan.occurrences):
            return True
        words = [piece.raw for piece in pieces_of_value(self.source, held.value)]
        inner = [
            raw for raw in words if variable_of(raw) not in ("", held.fact.name) and self._is_split(raw, held.node)
        ]
        return any(self._variable_has(variable_of(raw), flag, held.node, scan, depth + 1) for raw in inner)

    def _variable_has(self, name: str, flag: str, target: Node, scan: Scan, depth: int) -> bool:
        if depth > _DEPTH or name not in scan.variables:
            return False
        reaching = self._values(name, target)
        carriers = {held.node.id: held for held in reaching if self._held_has(held, flag, scan, depth)}
        resets = [held for held in reaching if held.node.id not in carriers and not held.extends]
        first = min((held.node.start_byte for held in carriers.values()), default=-1)
        if any(held.node.start_byte > first for held in resets):
            return False
        return self.flow.assured(lambda node: node.id in carriers, target, guards=True)

    # Placing

    def places(self, index: int, scan: Scan) -> list[Place]:
        """Where a missing option goes: into each value of the options' variable, else right behind the launcher."""
        launch, _node = self.launches[index]
        for name in self._by_preference(index, scan):
            held = self._fit_values(name, index)
            if held:
                return [place for place in (self._place_in_value(item) for item in held) if place is not None]
        if launch.variable:
            return [self._behind_launcher_value(held, inner) for held, inner in self.launcher_values(launch.variable)]
        return [self._behind_launcher(index)]

    def _by_preference(self, index: int, scan: Scan) -> list[str]:
        names = [name for name in self._direct_variables(index) if name in scan.variables]
        return sorted(
            dict.fromkeys(names), key=lambda name: (name != _MAIN_VARIABLE, not self._looks_like_options(name))
        )

    def _looks_like_options(self, name: str) -> bool:
        return any(
            _LAUNCH_OPTION.match(piece.text)
            for held in self._assigned(name)
            for piece in pieces_of_value(self.source, held.value)
        )

    def _fit_values(self, name: str, index: int) -> list[Held]:
        """The values of a variable that start it, if each can take options and one surely reaches the launch."""
        _launch, node = self.launches[index]
        reaching = self._values(name, node)
        bases = [held for held in reaching if not held.extends]
        if not bases or not self._looks_like_options(name) or self._used_elsewhere(name):
            return []
        if len(bases) < len(reaching) and not all(self._can_grow(held) for held in bases):
            return []
        for held in reaching:
            scan = self.scan_held(held)
            if scan.script or (not held.extends and (scan.pending or self._place_in_value(held) is None)):
                return []
        identities = {held.node.id for held in bases}
        sure = self.flow.assured(lambda item: item.id in identities, node, guards=True)
        return bases if sure else []

    def _can_grow(self, held: Held) -> bool:
        """Whether C(+=) behind it still joins well: an option put into C("") would run into the text added later."""
        return held.value.type == "array" or bool(pieces_of_value(self.source, held.value))

    def _used_elsewhere(self, name: str) -> bool:
        """Whether another command than a torch launch or a message takes the variable as its arguments."""
        launches = {node.id for _launch, node in self.launches}
        for command in self.source.nodes("command"):
            words = self.source.words(command)
            if command.id in launches or not any(variable_of(word.text) == name for word in words):
                continue
            if not _TALKERS.match(self.source.command_name(command)) and not self.source.dead(command):
                return True
        return self._behind_script(name)

    def _behind_script(self, name: str) -> bool:
        return any(self._direct_variables(index).count(name) > 1 for index in range(len(self.launches)))

    def _place_in_value(self, held: Held) -> Place | None:
        value = held.value
        pieces = pieces_of_value(self.source, value)
        joint = joint_of(self.source.raw, pieces)
        if value.type == "array":
            return self._place_in_array(held, pieces, joint)
        last = value.named_children[-1] if value.type == "concatenation" else value
        if last.type not in ("string", "raw_string", "ansi_c_string"):
            return None
        opening = 2 if last.type == "ansi_c_string" else 1
        if not pieces:
            return Place(held.site, last.start_byte + opening, b" ", False) if last is value else None
        offset = pieces[-1].end
        inside = last.start_byte + opening < offset <= last.end_byte - 1
        return Place(held.site, offset, joint, True) if inside else None

    def _place_in_array(self, held: Held, pieces: list[Piece], joint: bytes) -> Place:
        if not pieces:
            return Place(held.site, held.value.start_byte + 1, b" ", False)
        offset = pieces[-1].end
        for child in held.value.named_children:
            same_line = self.source.line(child.start_byte) == self.source.line(offset)
            if child.type == "comment" and child.start_byte > offset and same_line:
                # A remark at the end of the line stays with the line; behind it only a new line helps.
                return Place(held.site, child.end_byte, b"\n" + self.source.indent(offset), True)
        return Place(held.site, offset, joint, True)

    def _behind_launcher(self, index: int) -> Place:
        launch, _node = self.launches[index]
        pieces = [piece for piece in pieces_of_launch(launch) if piece.end >= launch.launcher_end][:2]
        return Place("launch#%d" % (index + 1), launch.launcher_end, joint_of(self.source.raw, pieces), True)

    def _behind_launcher_value(self, held: Held, inner: list[Piece]) -> Place:
        pieces = pieces_of_value(self.source, held.value)
        launcher = pieces[: len(pieces) - len(inner)]
        joint = joint_of(self.source.raw, [launcher[-1], *inner[:1]])
        return Place(held.site, launcher[-1].end, joint, True)

    # Taking out

    def number_of(self, item: Occurrence) -> int:
        """Which of several equal options of one place it is, from 1; 0 where it is not found there again."""
        there = [other.start for other in self.occurrences_of_site(item.site) if other.flag == item.flag]
        return there.index(item.start) + 1 if item.start in there else 0

    def occurrences_of_site(self, site: str) -> list[Occurrence]:
        """The options looked for in one place, named as in records."""
        name, _hash, number = site.rpartition("#")
        if name == "launch":
            index = int(number) - 1
            scan = self.scan_launch(index) if index < len(self.launches) else Scan()
            return [item for item in scan.occurrences if item.site == site]
        known = self.held.get(name, [])
        if not 0 < int(number) <= len(known):
            return []
        held = known[int(number) - 1]
        values = {item.site: inner for item, inner in self.launcher_values(name)}
        found = Scan()
        self._scan(values.get(site, pieces_of_value(self.source, held.value)), site, found, (name,))
        return [item for item in found.occurrences if item.site == site]

    def removal(self, item: Occurrence) -> tuple[int, int]:
        """The span to cut so that an option and what joined it to the word before it are gone."""
        floor = max(self._floor(item), 0)
        return gap_before(self.source.raw, item.start, floor), item.value_end

    def _floor(self, item: Occurrence) -> int:
        name = item.site.rpartition("#")[0]
        for held in self.held.get(name, []):
            if held.site == item.site:
                opening = 2 if held.value.type == "ansi_c_string" else 1
                return held.value.start_byte + opening
        return 0


def _canonical(option: str) -> str:
    """torchrun takes C(--max-restarts) and C(--max_restarts) for the same."""
    dashes = len(option) - len(option.lstrip("-"))
    return option[:dashes] + option[dashes:].replace("_", "-")


def same_number(left: str, right: str) -> bool:
    """Whether two option values mean the same number."""
    try:
        return float(left) == float(right)
    except ValueError:
        return left == right
