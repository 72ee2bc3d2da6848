# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""Taking names out of the list of resources in a kustomization, line by line: the way back of L(_kustomization)."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.mindcluster.recovery.plugins.module_utils import _kustomization as there


def without_resources(text: str, names: t.Sequence[str], where: str) -> str | None:
    """The text without the names; None where nothing would be left of what this collection writes.

    :param where: path of the file, for messages.
    :raises Refused: the list is written in a form that cannot be shortened safely.
    """
    before = there.read_kustomization(text, where)
    listed = before.get("resources") or []
    gone = {there.bare_name(name) for name in names}
    kept = [name for name in listed if there.bare_name(name) not in gone]
    if len(kept) == len(listed):
        return text
    result = _shortened(text, gone)
    if result is None or not _says(result, before, kept):
        raise there.bad_form("the file is written in a form that this collection does not shorten", where)
    return None if not kept and result.splitlines() == there.new_kustomization([]).splitlines()[:-1] else result


def _says(result: str, before: dict[str, t.Any], kept: list[str]) -> bool:
    """Whether the edit by lines means what it should."""
    after = there.safely_loaded(result)
    rest = {key: value for key, value in before.items() if key != "resources"}
    return (after or {}) in (dict(rest, resources=kept), rest if not kept else None)


def _shortened(text: str, gone: t.Collection[str]) -> str | None:
    lines = text.splitlines(True)
    index = next((number for number, line in enumerate(lines) if there.KEY.match(line.rstrip("\r\n"))), None)
    if index is None:
        return None
    match = t.cast(re.Match, there.KEY.match(lines[index].rstrip("\r\n")))
    if match.group("rest"):
        return _shortened_flow(lines, index, match, gone)
    return _shortened_block(lines, index, gone)


def _shortened_block(lines: list[str], index: int, gone: t.Collection[str]) -> str:
    out, items = lines[: index + 1], 0
    number = index + 1
    for number in range(index + 1, len(lines)):
        line = lines[number].rstrip("\r\n")
        item = there.ITEM.match(line)
        if item and there.bare_name(item.group("name")) in gone:
            continue
        if item:
            items += 1
        elif line.strip() and not line.lstrip().startswith("#"):
            out += lines[number:]
            break
        out.append(lines[number])
    if not items:
        # The key came with the first name.
        del out[index]
    return "".join(out)


def _shortened_flow(lines: list[str], index: int, match: t.Match[str], gone: t.Collection[str]) -> str | None:
    flow = there.FLOW.match(match.group("rest"))
    if flow is None:
        return None
    parts = [part.strip() for part in flow.group("inside").split(",") if part.strip()]
    start, end = match.span("rest")
    line = lines[index]
    kept = ", ".join(part for part in parts if there.bare_name(part) not in gone)
    return "".join([*lines[:index], "%s[%s]%s" % (line[:start], kept, line[end:]), *lines[index + 1 :]])
