# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""Editing a user's YAML by position.

Each change is made twice: as a small edit of the text, and in the data that the text stands for. At the end the
edited text is read again and must give exactly that data, so nothing else can have changed. Every byte outside the
edits stays as it is: comments, quotes, order, line breaks, anchors, document markers.
"""

from __future__ import annotations

import copy
import json
import typing as t

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Finding, Refused
from ansible_collections.mindcluster.recovery.plugins.plugin_utils import _yaml_nodes as nodes
from ansible_collections.mindcluster.recovery.plugins.plugin_utils import _yaml_removal as removal
from ansible_collections.mindcluster.recovery.plugins.plugin_utils import _yaml_render as render
from ansible_collections.mindcluster.recovery.plugins.plugin_utils import _yaml_scalars as scalars

Path = nodes.Path


class _Edit(t.NamedTuple):
    start: int
    end: int
    text: str
    depth: int
    number: int


class Draft:
    """A YAML text that is being edited.

    A path is a tuple that begins with the number of the document: C((0, "metadata", "labels")).

    :raises Refused: the text is no YAML.
    """

    def __init__(self, text: str, where: str) -> None:
        self.text = text
        self.where = where
        self.roots = nodes.parse(_ended(text), where)
        self.wanted: list[t.Any] = [nodes.to_data(root) for root in self.roots]
        self._edits: dict[t.Any, _Edit] = {}

    # --- looking -------------------------------------------------------------------------------------------------

    def data(self, path: Path, default: t.Any = None) -> t.Any:
        """The value at a path with all changes so far."""
        value: t.Any = self.wanted
        for step in path:
            try:
                value = value[step]
            except (KeyError, IndexError, TypeError):
                return default
        return value

    def node(self, path: Path) -> nodes.Node | None:
        """The node at a path in the text as it was given, aliases followed."""
        node = self.roots[t.cast(int, path[0])]
        for step in path[1:]:
            if node is None:
                return None
            node = node.real
            if isinstance(step, int):
                node = node.items[step] if node.kind == "seq" and step < len(node.items) else None
            else:
                entry, _merged = nodes.find(node, step) if node.kind == "map" else (None, False)
                node = entry.value if entry else None
        return node.real if node else None

    def place(self, path: Path) -> str:
        """The file and line of a path, or of the nearest thing above it that is in the text."""
        while len(path) > 1:
            parent = self.node(path[:-1])
            if parent is not None and parent.kind == "map":
                entry, _merged = nodes.find(parent, str(path[-1]))
                if entry:
                    return "%s, line %d" % (self.where, entry.key.line)
            last = path[-1]
            if parent is not None and isinstance(last, int) and last < len(parent.items):
                return "%s, line %d" % (self.where, parent.items[last].line)
            path = path[:-1]
        root = self.roots[t.cast(int, path[0])]
        return "%s, line %d" % (self.where, root.line) if root else self.where

    def text_place(self, path: Path, offset: int) -> str:
        """The file and line of a character inside a longer text, such as a script in C(args)."""
        node = self.node(path)
        decoded = scalars.decode(self.text, node) if node is not None and node.kind == "scalar" else None
        if decoded is None or offset >= len(decoded.offsets):
            return self.place(path)
        return "%s, line %d" % (self.where, nodes.line_of(self.text, decoded.offsets[offset]))

    # --- changing ------------------------------------------------------------------------------------------------

    def add(self, path: Path, name: str, value: t.Any, after: t.Sequence[str] = ()) -> None:
        """Add a key to the mapping at C(path).

        :param after: names of keys; the new one goes behind the first of them that is there, else to the end.
        """
        node = self.node(path)
        if node is None or (node.kind != "map" and not _is_null(node)):
            raise ValueError("no mapping at %r" % (path,))
        self._want(path, {} if _is_null(node) else None)[name] = copy.deepcopy(_plain(value))
        key = (id(node), "add", name)
        if key in self._edits:
            return
        if node.flow or (node.kind == "map" and not node.entries):
            self._add_flow(key, node, name, value)
            return
        lines = render.entry(name, value, self._child_column(path, node), self._dash_shift(path))
        self._insert_below(key, node, lines, after)

    def append(self, path: Path, value: t.Any) -> None:
        """Add an item to the end of the list at C(path)."""
        node = self.node(path)
        if node is None or (node.kind != "seq" and not _is_null(node)):
            raise ValueError("no list at %r" % (path,))
        self._want(path, [] if _is_null(node) else None).append(copy.deepcopy(_plain(value)))
        key = (id(node), "append", json.dumps(_plain(value), sort_keys=True))
        if key in self._edits:
            return
        if node.flow or (node.kind == "seq" and not node.items):
            self._append_flow(key, node, value)
            return
        column = nodes.column_of(self.text, node.body) if node.kind == "seq" else self._new_list_column(path)
        self._insert_below(key, node, render.block([value], column, self._dash_shift(path)), ())

    def replace(self, path: Path, value: t.Any) -> None:
        """Give a scalar another value; its quotes stay where they can."""
        parent, name = self.node(path[:-1]), path[-1]
        if parent is None:
            raise ValueError("nothing at %r" % (path[:-1],))
        if parent.kind == "map":
            entry, merged = nodes.find(parent, str(name))
            if merged:
                self.add(path[:-1], str(name), value)
                return
            node = t.cast(nodes.Entry, entry).value
        else:
            node = parent.items[t.cast(int, name)]
        if node.kind == "scalar" and isinstance(value, str) and node.style:
            self.retext(path, [(0, len(node.value), str(value))])
            return
        self._want(path[:-1], None)[name] = _plain(value)
        if node.empty:
            self._put((id(node), "set"), node.end, node.end, " " + render.scalar(value), node.depth)
        else:
            plain = render.scalar(str(value) if isinstance(value, str) and node.style == "" else value)
            self._put((id(node), "set"), node.body, self._value_end(node), plain, node.depth)

    def retext(self, path: Path, changes: t.Sequence[tuple[int, int, str]]) -> None:
        """Change a longer text in place, with the smallest changes of the source.

        :param changes: start, end and replacement in the text as it was given.
        """
        node = self.node(path)
        if node is None or node.kind != "scalar":
            raise ValueError("no text at %r" % (path,))
        value = node.value
        for start, end, piece in sorted(changes, reverse=True):
            value = value[:start] + piece + value[end:]
        self._want(path[:-1], None)[path[-1]] = value
        newline = nodes.newline_at(self.text, node.body)
        for start, end, piece in scalars.rewrite(self.text, node, value, changes, newline):
            self._put((id(node), "set", start), start, end, piece, node.depth)

    def rename(self, path: Path, name: str, value: t.Any) -> None:
        """Replace the entry at C(path), key and value, by another one."""
        parent = self.node(path[:-1])
        entry, merged = nodes.find(parent, str(path[-1])) if parent else (None, False)
        if parent is None or entry is None or merged:
            raise ValueError("no entry at %r" % (path,))
        holder = self._want(path[:-1], None)
        fresh = {(name if key == path[-1] else key): (_plain(value) if key == path[-1] else item)
                 for key, item in holder.items()}  # fmt: skip
        holder.clear()
        holder.update(fresh)
        if parent.flow:
            json_like = entry.key.style == '"'
            text = "%s: %s" % (render.scalar(name, json_like), render.flow(value, json_like))
        else:
            column = nodes.column_of(self.text, entry.key.start)
            lines = render.entry(name, value, column, self._dash_shift(path))
            text = nodes.newline_at(self.text, entry.key.start).join(lines).lstrip(" ")
        end = nodes.content_end(self.text, entry.value)
        self._put((id(entry.key), "rename"), entry.key.start, end, text, entry.key.depth)

    def can_remove(self, path: Path) -> bool:
        """Whether C(remove) would take out the entry or the item."""
        return self._span(path) is not None

    def remove(self, path: Path) -> bool:
        """Take out the entry or the item at C(path). Items of one list are taken out from the last to the first.

        :returns: False, and nothing is changed, where the text has it in a form that other things hang on.
        """
        parent, span = self.node(path[:-1]), self._span(path)
        if parent is None or span is None:
            return False
        del self._want(path[:-1], None)[path[-1]]
        self._put((id(parent), "remove", path[-1]), *span, "", parent.depth)
        return True

    def _span(self, path: Path) -> tuple[int, int] | None:
        parent = self.node(path[:-1])
        return removal.span(self.text, parent, path[-1]) if parent is not None else None

    # --- the result ----------------------------------------------------------------------------------------------

    def finish(self) -> str:
        """The edited text.

        :raises Refused: the text cannot be edited without changing more than was asked for.
        """
        if not self._edits:
            return self.text
        ordered = sorted(self._edits.values(), key=lambda edit: (edit.start, edit.end, -edit.depth, edit.number))
        pieces, offset = [], 0
        for edit in ordered:
            if edit.start < offset:
                raise Refused(self._impossible(self.where))
            pieces += [self.text[offset : edit.start], edit.text]
            offset = edit.end
        result = "".join(pieces) + self.text[offset:]
        self._prove(result)
        return result

    def _prove(self, result: str) -> None:
        try:
            got = [nodes.to_data(root) for root in nodes.parse(_ended(result), self.where)]
        except Refused as exc:
            raise Refused(self._impossible(self.where)) from exc
        different = _first_difference(self.wanted, got, ())
        if different is not None:
            place = self.place(different) if different else self.where
            raise Refused(self._impossible("%s (%s)" % (place, ".".join(str(step) for step in different[1:]))))

    def _impossible(self, where: str) -> Finding:
        return Finding(
            "yaml-shared-value",
            "this place cannot be changed without changing something else with it",
            "It is most likely written once and used in several places by an anchor and aliases (`&name`, `*name`)",
            "Write the value out in the places that must differ, or make the change by hand",
            where,
        )

    # --- helpers -------------------------------------------------------------------------------------------------

    def _want(self, path: Path, fresh: t.Any) -> t.Any:
        """The data at a path; an empty one becomes C(fresh) first."""
        value: t.Any = self.wanted
        for step in path[:-1]:
            value = value[step]
        if value[path[-1]] is None and fresh is not None:
            value[path[-1]] = fresh
        return value[path[-1]]

    def _put(self, key: t.Any, start: int, end: int, text: str, depth: int) -> None:
        self._edits[key] = _Edit(start, end, text, depth, len(self._edits))

    def _insert_below(self, key: t.Any, node: nodes.Node, lines: list[str], after: t.Sequence[str]) -> None:
        """Put new lines behind the last line of a block collection, or of one of its entries."""
        if node.kind == "scalar" and not node.empty:
            # An empty collection that is written as `null` or `~`.
            self._put((id(node), "null"), node.body, node.end, "", node.depth)
        anchor = node
        depth = node.depth
        if node.kind == "map":
            found = (nodes.find(node, name) for name in after)
            chosen = next((entry.value for entry, merged in found if entry and not merged), None)
            anchor = chosen or node
        place = nodes.end_of_line(self.text, nodes.content_end(self.text, anchor))
        newline = nodes.newline_at(self.text, place)
        self._put(key, place, place, newline + newline.join(lines), depth)

    def _child_column(self, path: Path, node: nodes.Node) -> int:
        if node.entries:
            return nodes.column_of(self.text, node.entries[0].key.start)
        parent = self.node(path[:-1])
        if parent is None or parent.kind != "map":
            raise ValueError("no mapping above %r" % (path,))
        return nodes.column_of(self.text, parent.entries[0].key.start) + 2

    def _new_list_column(self, path: Path) -> int:
        parent = self.node(path[:-1])
        if parent is None or not parent.entries:
            raise ValueError("no mapping above %r" % (path,))
        return nodes.column_of(self.text, parent.entries[0].key.start) + self._dash_shift(path)

    def _dash_shift(self, path: Path) -> int:
        """How far this document indents its lists below their key."""
        stack = [self.roots[t.cast(int, path[0])]]
        while stack:
            node = stack.pop(0)
            for entry in node.entries if node else ():
                value = entry.value
                if value.kind == "seq" and not value.flow and value.items:
                    return nodes.column_of(self.text, value.body) - nodes.column_of(self.text, entry.key.start)
                stack.append(value)
            stack.extend(node.items if node else ())
        return 2

    def _add_flow(self, key: t.Any, node: nodes.Node, name: str, value: t.Any) -> None:
        json_like = node.entries[0].key.style == '"' if node.entries else self._json(node)
        text = "%s: %s" % (render.scalar(name, json_like), render.flow(value, json_like))
        last = node.entries[-1] if node.entries else None
        self._insert_flow(key, node, last.value if last else None, last.key if last else None, text)

    def _append_flow(self, key: t.Any, node: nodes.Node, value: t.Any) -> None:
        last = node.items[-1] if node.items else None
        first_key = last.real.entries[0].key if last is not None and last.real.entries else None
        json_like = first_key.style == '"' if first_key is not None else self._json(node)
        quoted = last is not None and last.style == '"'
        self._insert_flow(key, node, last, last, render.flow(value, json_like or quoted))

    def _json(self, node: nodes.Node) -> bool:
        """Whether the document around a node is written as JSON."""
        around = [root for root in self.roots if root is not None and root.start <= node.start]
        return bool(around) and around[-1].flow and any(e.key.style == '"' for e in around[-1].entries)

    def _insert_flow(
        self, key: t.Any, node: nodes.Node, last: nodes.Node | None, begins: nodes.Node | None, text: str
    ) -> None:
        if last is None or begins is None:
            known = [edit for name, edit in self._edits.items() if name[0] == id(node)]
            if node.kind == "scalar":
                raise ValueError("a flow collection is expected")
            place = node.body + 1
            self._put(key, place, place, (", " if known else "") + text, node.depth)
            return
        line_start = begins.start - nodes.column_of(self.text, begins.start)
        glue = ", "
        if not self.text[line_start : begins.start].strip():
            glue = "," + nodes.newline_at(self.text, begins.start) + self.text[line_start : begins.start]
        self._put(key, last.end, last.end, glue + text, node.depth)

    def _value_end(self, node: nodes.Node) -> int:
        return nodes.content_end(self.text, node)


def _ended(text: str) -> str:
    """The text with a line break at its end.

    A block scalar that is the last thing in a file without one has none in its value either. It gets one as soon as
    anything is added below it, and that is no change that anybody means.
    """
    return text if text.endswith(("\n", "\r")) else text + "\n"


def _is_null(node: nodes.Node) -> bool:
    return node.kind == "scalar" and node.value is None


def _plain(value: t.Any) -> t.Any:
    """The value without the marks that only steer how it is written."""
    if isinstance(value, dict):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, render.Quoted) else value


def _first_difference(left: t.Any, right: t.Any, path: Path) -> Path | None:
    """The path of the first place where two values differ, None where they are the same."""
    if type(left) is not type(right):
        return path
    if isinstance(left, dict):
        for name in list(left) + [name for name in right if name not in left]:
            if name not in left or name not in right:
                return path + (name,)
            found = _first_difference(left[name], right[name], path + (name,))
            if found is not None:
                return found
        return None
    if isinstance(left, list):
        for number, (one, other) in enumerate(zip(left, right, strict=False)):
            found = _first_difference(one, other, path + (number,))
            if found is not None:
                return found
        return None if len(left) == len(right) else path
    return None if left == right else path
