# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""Words inside shell values, with the place of each in the text."""

from __future__ import annotations

import dataclasses
import itertools
import typing as t

from ansible_collections.mindcluster.recovery.plugins.plugin_utils._shell import Launch, Source, plain_value

if t.TYPE_CHECKING:
    from tree_sitter import Node

_CLOSING = {b"$(": b")", b"${": b"}", b"`": b"`"}


@dataclasses.dataclass(frozen=True)
class Piece:
    """One word that the shell will see: of a command, or of a value once it is split.

    :ivar text: the word without quotes.
    :ivar raw: the word as written; in the middle of a string the string's own quotes are no part of it.
    """

    text: str
    start: int
    end: int
    raw: str


def pieces_of_launch(launch: Launch) -> list[Piece]:
    return [Piece(plain_value(word.text), word.start, word.end, word.text) for word in launch.spans]


def pieces_of_value(source: Source, value: Node) -> list[Piece]:
    """The words in an assigned value: the elements of an array, else the text split at blanks."""
    if value.type == "array":
        elements = [child for child in value.named_children if child.type != "comment"]
        return [_piece(source.raw, node.start_byte, node.end_byte) for node in elements]
    start = value.start_byte + (1 if value.type == "ansi_c_string" else 0)
    return _split(source.raw, start, value.end_byte)


def _decode(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


def _split(raw: bytes, start: int, end: int) -> list[Piece]:
    found: list[Piece] = []
    quote = b""
    begin: int | None = None
    index = start
    while index < end:
        char = raw[index : index + 1]
        if char in b" \t\r\n":
            if begin is not None:
                found.append(_piece(raw, begin, index))
            begin = None
            index += 1
        elif char in b"\"'" and quote in (b"", char):
            quote = b"" if quote else char
            if begin is not None and not quote and index + 1 >= end:
                found.append(_piece(raw, begin, index))
                begin = None
            index += 1
        elif raw[index : index + 2] == b"\\\n" and quote != b"'":
            index += 2
        else:
            begin = index if begin is None else begin
            index = _skip(raw, index, end, quote)
    if begin is not None:
        found.append(_piece(raw, begin, end))
    return found


def _piece(raw: bytes, begin: int, end: int) -> Piece:
    written = _decode(raw[begin:end])
    return Piece(plain_value(written), begin, end, written)


def _skip(raw: bytes, index: int, end: int, quote: bytes) -> int:
    """Behind one character, one escaped character, or one whole expansion."""
    if quote == b"'":
        return index + 1
    if raw[index : index + 1] == b"\\":
        return min(index + 2, end)
    opening = raw[index : index + 2] if raw[index : index + 1] == b"$" else raw[index : index + 1]
    closing = _CLOSING.get(opening)
    if closing is None:
        return index + 1
    depth = 1
    index += len(opening)
    while index < end and depth:
        if raw[index : index + 1] == b"\\":
            index += 1
        elif raw[index : index + 1] == closing:
            depth -= 1
        elif opening != b"`" and raw[index : index + 1] == opening[1:]:
            depth += 1
        index += 1
    return min(index, end)


def joint_of(raw: bytes, pieces: t.Sequence[Piece]) -> bytes:
    """What stands between words: one blank, or the last line break with its continuation and indent."""
    for left, right in reversed(list(itertools.pairwise(pieces))):
        gap = raw[left.end : right.start]
        if b"\n" in gap:
            last = gap.rsplit(b"\n", 1)[1]
            indent = last[: len(last) - len(last.lstrip(b" \t"))]
            return (b" \\\n" if b"\\\n" in gap else b"\n") + indent
    return b" "


def gap_before(raw: bytes, offset: int, floor: int) -> int:
    """Where the blanks, line breaks and continuations before an offset begin, not going below the floor."""
    start = offset
    while start > floor:
        continued = raw[start - 1 : start + 1] == b"\\\n"
        if not continued and raw[start - 1 : start] not in (b" ", b"\t", b"\r", b"\n"):
            break
        start -= 1
    return start
