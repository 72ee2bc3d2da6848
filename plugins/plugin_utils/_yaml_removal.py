# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""Which part of a YAML text is one entry of a mapping or one item of a list, so that it can be taken out."""

from __future__ import annotations

import re

from ansible_collections.mindcluster.recovery.plugins.plugin_utils import _yaml_nodes as nodes

_ANCHOR = re.compile(r"(?:^|\s)&[^\s,\[\]{}]")


def span(text: str, parent: nodes.Node, name: str | int) -> tuple[int, int] | None:
    """The start and end of what belongs to the entry or item alone.

    :returns: None where it is the only one, comes from a merge key, carries an anchor that something else may use, or
        shares its first line with something else.
    """
    ranges = _ranges(parent)
    index = _index(parent, name)
    if index is None or len(ranges) < 2:
        return None
    begin, node = ranges[index]
    if parent.flow:
        found = (ranges[index - 1][1].end, node.end) if index else (begin, ranges[1][0])
    else:
        start = begin - nodes.column_of(text, begin)
        lead = text[start:begin]
        if not re.fullmatch(r"[ \t]*(?:-[ \t]+)?" if parent.kind == "seq" else r"[ \t]*", lead) or not start:
            return None
        # The line break before it, and not the one behind: new lines may be put behind the last item.
        before = start - (2 if text[:start].endswith("\r\n") else 1)
        found = (before, nodes.end_of_line(text, nodes.content_end(text, node)))
    return None if _ANCHOR.search(text[found[0] : found[1]]) else found


def _ranges(parent: nodes.Node) -> list[tuple[int, nodes.Node]]:
    """Where each entry or item begins, and its value."""
    if parent.kind == "map":
        return [(entry.key.start, entry.value) for entry in parent.entries]
    return [(item.start, item) for item in parent.items]


def _index(parent: nodes.Node, name: str | int) -> int | None:
    if isinstance(name, int):
        return name if parent.kind == "seq" and name < len(parent.items) else None
    keys = [entry.key.value for entry in parent.entries if entry.key.kind == "scalar"]
    return keys.index(name) if name in keys and len(keys) == len(parent.entries) else None
