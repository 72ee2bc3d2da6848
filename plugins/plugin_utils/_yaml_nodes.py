# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""YAML text as a tree that knows where in the text each value stands.

The tree is built from the parser's events and not by a composer, because a composer replaces an alias by the node
that it points to, and with it the place where the alias is written is lost. Values are read as Kubernetes reads
them (YAML 1.1: an unquoted C(on) is a boolean).
"""

from __future__ import annotations

import dataclasses
import functools
import re
import typing as t

import yaml

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Finding, Refused
from ansible_collections.mindcluster.recovery.plugins.plugin_utils import _yaml_mistakes as mistakes

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
# Compared by identity, since a job has hundreds of events; untyped, since the stubs give an event no mark for sure.
_MAP_END: t.Any = yaml.MappingEndEvent
_SEQ_END: t.Any = yaml.SequenceEndEvent
_RESOLVER = yaml.resolver.Resolver()
_CONSTRUCTOR = yaml.constructor.SafeConstructor()
_PROPERTIES = re.compile(r"[&!]\S*[ \t]*")
_BLANK = re.compile(r"(?:\s+|(?<![^\s])#[^\r\n]*)+")
_STRING = "tag:yaml.org,2002:str"
# Kubernetes' reader hands dates on as the text that they are.
_AS_TEXT = frozenset((_STRING, "tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:value", "tag:yaml.org,2002:merge"))

# What aliases may stand for, in values. A manifest of MindCluster's has some hundred; a few lines of aliases to aliases
# stand for billions, and would fill the memory before anybody sees a message.
MOST_COPIES = 100_000

Path = tuple[str | int, ...]


@dataclasses.dataclass(eq=False, slots=True)
class Node:
    """One value in the text.

    :ivar kind: C(scalar), C(map), C(seq) or C(alias).
    :ivar start: offset of the node with its anchor and tag.
    :ivar body: offset of the value itself; for block collections that of the first key or dash.
    :ivar end: offset behind the value; no use for block collections, see :func:`content_end`.
    :ivar line: line of C(body), counted from 1.
    :ivar style: quote or block character of a scalar, empty for a plain one.
    :ivar weight: how many values it stands for, aliases followed; 0 while it is being read.
    """

    kind: str
    start: int
    body: int
    end: int
    line: int
    depth: int
    style: str = ""
    flow: bool = False
    value: t.Any = None
    entries: list[Entry] = dataclasses.field(default_factory=list)
    items: list[Node] = dataclasses.field(default_factory=list)
    target: Node | None = None
    weight: int = 0

    @property
    def real(self) -> Node:
        """The node itself, or the anchored node that an alias stands for."""
        return self.target if self.target is not None else self

    @property
    def empty(self) -> bool:
        """True for a value that is not written at all, as behind C(labels:)."""
        return self.kind == "scalar" and self.start == self.end and not self.style


@dataclasses.dataclass(eq=False, slots=True)
class Entry:
    """One key of a mapping with its value."""

    key: Node
    value: Node


def line_of(text: str, offset: int) -> int:
    """The line of an offset, counted from 1."""
    return text.count("\n", 0, offset) + 1


def column_of(text: str, offset: int) -> int:
    """The column of an offset, counted from 0."""
    return offset - (max(text.rfind("\n", 0, offset), text.rfind("\r", 0, offset)) + 1)


def parse(text: str, where: str) -> list[Node | None]:
    """The documents of a YAML text; an empty document is None.

    :param where: what the text is, for messages: a path, mostly.
    :raises Refused: the text is no YAML, or a key stands twice in one mapping.
    """
    mistake = mistakes.of_text(text, where)
    if mistake:
        raise Refused(mistake)
    documents = _Builder(text).documents(where)
    mappings = [node for root in documents if root for node in _mappings(root)]
    found = mistakes.templates(mappings, text, where) or [
        item for node in mappings for item in _duplicates(node, where)
    ]
    if found:
        raise Refused(found)
    return documents


class _Builder:
    """Turns the parser's events into nodes."""

    def __init__(self, text: str) -> None:
        self.text = text
        # The parser does not count a byte order mark, so it is taken off and its width added to every offset.
        self.shift = 1 if text.startswith("\ufeff") else 0
        self.anchors: dict[str, Node] = {}
        self.copies = 0
        self.events: t.Iterator[t.Any] = iter(())

    def documents(self, where: str) -> list[Node | None]:
        documents: list[Node | None] = []
        try:
            self.events = iter(yaml.parse(self.text[self.shift :], Loader=_LOADER))
            for event in self.events:
                if isinstance(event, yaml.DocumentStartEvent):
                    self.anchors = {}
                    root = self.node(next(self.events), 0)
                    documents.append(None if root.empty else root)
        except (yaml.YAMLError, RecursionError) as exc:
            raise Refused(mistakes.of_parser(exc, self.text, where)) from exc
        return documents

    def node(self, event: t.Any, depth: int) -> Node:
        start = event.start_mark.index + self.shift
        end = event.end_mark.index + self.shift
        kind = type(event)
        if kind is yaml.AliasEvent:
            target = self.target(event)
            return Node(
                "alias", start, start, end, event.start_mark.line + 1, depth, target=target, weight=target.weight
            )
        body = self.body(start, end, event) if event.anchor or event.tag else start
        line = event.start_mark.line + 1 if body == start else line_of(self.text, body)
        if kind is yaml.ScalarEvent:
            style = event.style if event.style and event.style != "\0" else ""
            node = Node("scalar", start, body, end, line, depth, style, False, _scalar(event), weight=1)
            if event.anchor:
                self.anchors[event.anchor] = node
            return node
        mapping = kind is yaml.MappingStartEvent
        node = Node("map" if mapping else "seq", start, body, end, line, depth, flow=bool(event.flow_style))
        if event.anchor:
            self.anchors[event.anchor] = node
        node.weight = 1 + (self.fill_map(node) if mapping else self.fill_seq(node))
        return node

    def target(self, event: t.Any) -> Node:
        """What an alias stands for."""
        target = self.anchors.get(event.anchor)
        problem = ""
        if target is None:
            problem = "found undefined alias %r" % event.anchor
        elif not target.weight:
            problem = "the alias %r stands inside of what it stands for, so it has no end" % event.anchor
        else:
            self.copies += target.weight
            if self.copies > MOST_COPIES:
                problem = "aliases stand for more than %d values" % MOST_COPIES
        if target is None or problem:
            raise yaml.composer.ComposerError(None, None, problem, event.start_mark)
        return target

    def body(self, start: int, end: int, event: t.Any) -> int:
        """Where the value starts behind its anchor and tag."""
        offset = start
        while True:
            match = _PROPERTIES.match(self.text, offset)
            if not match:
                break
            offset = match.end()
        if offset == start:
            return start
        if isinstance(event, yaml.ScalarEvent):
            return min(offset, end)
        match = _BLANK.match(self.text, offset)
        return match.end() if match else offset

    def fill_map(self, node: Node) -> int:
        """Read the entries of a mapping; returns what they weigh."""
        weight = 0
        depth = node.depth + 1
        for event in self.events:
            if isinstance(event, _MAP_END):
                node.end = event.end_mark.index + self.shift
                break
            key = self.node(event, depth)
            value = self.node(next(self.events), depth)
            node.entries.append(Entry(key, value))
            weight += key.weight + value.weight
        return weight

    def fill_seq(self, node: Node) -> int:
        """Read the items of a list; returns what they weigh."""
        weight = 0
        for event in self.events:
            if isinstance(event, _SEQ_END):
                node.end = event.end_mark.index + self.shift
                break
            item = self.node(event, node.depth + 1)
            node.items.append(item)
            weight += item.weight
        return weight


def _mappings(root: Node) -> t.Iterator[Node]:
    """All mappings with something in them; what aliases stand for only once."""
    stack = [root]
    while stack:
        node = stack.pop()
        stack.extend(item for item in node.items if item.kind != "scalar")
        if node.entries:
            stack.extend(entry.value for entry in node.entries if entry.value.kind != "scalar")
            yield node


def _duplicates(node: Node, where: str) -> t.Iterator[Finding]:
    seen: dict[t.Any, int] = {}
    for entry in node.entries:
        name = entry.key.value
        if entry.key.kind != "scalar" or name == "<<":
            continue
        if name in seen:
            yield Finding(
                "yaml-duplicate-key",
                "the key `%s` stands twice in one mapping, first in line %d" % (name, seen[name]),
                "Kubernetes keeps only one of the two values, and does not say which one",
                "Remove one of them",
                "%s, line %d" % (where, entry.key.line),
            )
        seen.setdefault(name, entry.key.line)


def _scalar(event: t.Any) -> t.Any:
    if event.tag is None and not event.implicit[0]:
        return event.value
    return _plain_value(event.value, event.tag)


@functools.lru_cache(maxsize=4096)
def _plain_value(value: str, tag: str | None) -> t.Any:
    if tag is None:
        tag = _RESOLVER.resolve(yaml.ScalarNode, value, (True, False))
    if tag in _AS_TEXT or not tag.startswith("tag:yaml.org,2002:"):
        return value
    try:
        return _CONSTRUCTOR.construct_object(yaml.ScalarNode(tag, value))
    except (ValueError, LookupError, AttributeError):
        # A tag that does not fit, such as `!!int ""`: PyYAML has no error of its own for it.
        return value


def is_text(word: str) -> bool:
    """True where a plain (unquoted) word is read as text."""
    return isinstance(_plain_value(word, None), str)


def find(node: Node, name: str) -> tuple[Entry | None, bool]:
    """The entry of a mapping, and whether it only comes from a merge key (C(<<))."""
    mapping = node.real
    merged: Entry | None = None
    for entry in mapping.entries:
        if entry.key.kind == "scalar" and entry.key.value == name:
            return entry, False
        if merged is None and entry.key.kind == "scalar" and entry.key.value == "<<":
            sources = entry.value.real.items if entry.value.real.kind == "seq" else [entry.value]
            merged = next((found for found in (find(source, name)[0] for source in sources) if found), None)
    return merged, merged is not None


def to_data(node: Node | None) -> t.Any:
    """The value as plain data; each alias becomes a copy of its own."""
    if node is None:
        return None
    real = node.real
    if real.kind == "scalar":
        return real.value
    if real.kind == "seq":
        return [to_data(item) for item in real.items]
    data: dict[t.Any, t.Any] = {}
    for entry in real.entries:
        if entry.key.real.value == "<<":
            _merge(data, entry.value.real)
    for entry in real.entries:
        key = entry.key.real
        name = key.value if key.kind == "scalar" else to_data(key)
        if name != "<<":
            value = entry.value.real
            data[name if isinstance(name, (str, int, float, bool)) else str(name)] = (
                value.value if value.kind == "scalar" else to_data(value)
            )
    return data


def _merge(data: dict[t.Any, t.Any], value: Node) -> None:
    """Take over what a merge key names and the mapping does not have."""
    for source in value.items if value.kind == "seq" else [value]:
        inherited = to_data(source)
        if isinstance(inherited, dict):
            data.update({name: item for name, item in inherited.items() if name not in data})


def content_end(text: str, node: Node) -> int:
    """The offset behind the last written character of a node, without what follows it on the line."""
    if node.kind == "map" and not node.flow and node.entries:
        return content_end(text, node.entries[-1].value)
    if node.kind == "seq" and not node.flow and node.items:
        return content_end(text, node.items[-1])
    if node.kind == "scalar" and node.style in ("|", ">"):
        return _block_scalar_end(text, node)
    return node.end


def _block_scalar_end(text: str, node: Node) -> int:
    if not str(node.value).endswith("\n\n"):
        return len(text[: node.end].rstrip("\r\n \t"))
    # With `|+` the blank lines at the end are content: only the very last line break is not.
    end = len(text[: node.end].rstrip(" \t"))
    return end - (2 if text[:end].endswith("\r\n") else 1)


def end_of_line(text: str, offset: int) -> int:
    """The offset of the line break that ends the line, or the end of the text."""
    end = text.find("\n", offset)
    if end < 0:
        return len(text)
    return end - 1 if end > offset and text[end - 1] == "\r" else end


def newline_at(text: str, offset: int) -> str:
    """The line break in use around an offset."""
    end = text.find("\n", offset)
    if end < 0:
        end = text.rfind("\n", 0, offset)
    return "\r\n" if end > 0 and text[end - 1] == "\r" else "\n"
