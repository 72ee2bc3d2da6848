# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""The marked block in a start script, with its record of what else was changed, and the way back.

The record stands in the block as comments, so that taking it all out again needs nothing but the script::

    # BEGIN mindcluster.recovery
    # added: DISTRIBUTED_ARGS#1 --max_restarts --monitor_interval
    # changed: HCCL_ASYNC_ERROR_HANDLING#1 from "1"
    # line endings: were CRLF
    export HCCL_OP_RETRY_ENABLE="L0:0, L1:1, L2:1"
    # END mindcluster.recovery

C(NAME#2) is the second assignment of NAME in the script, C(launch#1) the first launch itself.
"""

from __future__ import annotations

import dataclasses
import json
import re

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Finding, Refused
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._shell import to_bytes

BEGIN = b"# BEGIN mindcluster.recovery"
END = b"# END mindcluster.recovery"
TAKEN_OUT = b"# taken out by mindcluster.recovery: "

_MARKER = re.compile(rb"^[ \t]*(# (?:BEGIN|END) mindcluster\.recovery)[ \t]*\r?\n?", re.MULTILINE)
_ADDED = re.compile(r"# added: (\S+#[1-9]\d{0,5})((?: --\S+)+)\Z")
_ENDINGS = re.compile(r"# line endings: were (.+)\Z")
_CHANGED = re.compile(r"# changed: (\S+#[1-9]\d{0,5})(?: (--[^\s#]+)(?:#([1-9]\d{0,5}))?)? from (\".*\")\Z")


@dataclasses.dataclass(frozen=True)
class Record:
    """One change outside the block.

    :ivar site: C(NAME#n) or C(launch#n).
    :ivar flag: the option of the launcher; empty where an exported value was changed.
    :ivar before: what was there, as written; None where nothing was.
    :ivar number: which of several equal options of the place it is.
    """

    site: str
    flag: str = ""
    before: str | None = None
    number: int = 1


def record_lines(records: list[Record]) -> list[str]:
    """The comments for a list of records: added options of one place share a line."""
    added: dict[str, list[str]] = {}
    changed = []
    for record in records:
        if record.before is None:
            added.setdefault(record.site, []).append(record.flag)
        else:
            flag = " " + record.flag if record.flag else ""
            flag += "#%d" % record.number if record.number > 1 else ""
            before = json.dumps(record.before, ensure_ascii=False)
            changed.append("# changed: %s%s from %s" % (record.site, flag, before))
    return ["# added: %s %s" % (site, " ".join(flags)) for site, flags in added.items()] + changed


def parse_records(line: str) -> list[Record]:
    added = _ADDED.match(line)
    if added:
        return [Record(added.group(1), flag) for flag in added.group(2).split()]
    changed = _CHANGED.match(line)
    if not changed:
        return []
    try:
        before = json.loads(changed.group(4))
    except ValueError:
        return []
    return [Record(changed.group(1), changed.group(2) or "", before, int(changed.group(3) or 1))]


@dataclasses.dataclass
class Found:
    """A script without its block, and what the block said.

    :ivar line: line where the block began, 0 where there is none.
    :ivar endings: what the line endings were before they were converted; empty where they were not.
    """

    raw: bytes
    records: list[Record]
    line: int = 0
    lines: int = 0
    endings: str = ""

    def user_line(self, line: int) -> int:
        """A line of the script without block as the line of the script with it."""
        return line + self.lines if self.line and line >= self.line else line


def split_block(raw: bytes, where: str) -> Found:
    """Take the block out.

    :raises Refused: where the markers do not come as one pair.
    """
    markers = list(_MARKER.finditer(raw))
    if not markers:
        return Found(raw, [])
    kinds = [marker.group(1) for marker in markers]
    if kinds != [BEGIN, END]:
        lines = ", ".join(str(raw.count(b"\n", 0, marker.start(1)) + 1) for marker in markers)
        raise Refused(_broken_block(where, lines))
    start, end = markers[0].start(), markers[1].end()
    inside = raw[markers[0].end() : markers[1].start()].decode("utf-8", "surrogateescape")
    remarks = [line.strip() for line in inside.split("\n")]
    records = [record for line in remarks for record in parse_records(line)]
    endings = [match.group(1) for match in map(_ENDINGS.match, remarks) if match]
    first = raw.count(b"\n", 0, start) + 1
    return Found(raw[:start] + raw[end:], records, first, raw.count(b"\n", start, end), "".join(endings[:1]))


def render_block(indent: bytes, records: list[Record], commands: list[str], endings: str = "") -> bytes:
    lines = [
        BEGIN,
        *(to_bytes(line) for line in record_lines(records)),
        *([to_bytes("# line endings: were %s" % endings)] if endings else []),
        *(to_bytes(command) for command in commands),
        END,
    ]
    return b"".join(indent + line + b"\n" for line in lines)


def comment_out(raw: bytes, start: int, end: int) -> bytes:
    """A statement on lines of its own as comments; the C(:) keeps an C(if) around it from being empty."""
    lines = raw[start:end].split(b"\n")
    return b": " + TAKEN_OUT + (b"\n" + TAKEN_OUT).join(lines)


def restore_commented(raw: bytes) -> bytes:
    """Undo L(comment_out) everywhere."""
    marker = re.escape(TAKEN_OUT)
    raw = re.sub(rb"(?m)^([ \t]*): " + marker, rb"\1", raw)
    return re.sub(rb"(?m)^" + marker, b"", raw)


def _broken_block(where: str, lines: str) -> Finding:
    return Finding(
        code="block-broken",
        what="The markers `%s` and `%s` do not stand there as one pair (lines %s)"
        % (BEGIN.decode(), END.decode(), lines),
        why="What lies between them is written anew at each run, so half a block could take the user's lines with it",
        remedy="Remove the stray markers, then run again",
        where=where,
    )
