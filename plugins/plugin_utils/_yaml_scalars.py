# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""Changes inside one YAML scalar that keep the way it is written.

A shell script inside C(args) may be a literal or folded block, quoted or plain. For each form the text is decoded
together with a table of where each character of the value stands in the source, so that a change of the value
becomes the smallest change of the source.
"""

from __future__ import annotations

import json
import re
import typing as t

from ansible_collections.mindcluster.recovery.plugins.plugin_utils._yaml_nodes import Node, column_of

_BREAK = re.compile(r"\r\n|\n|\r")
_ESCAPES = {
    "0": "\0", "a": "\a", "b": "\b", "t": "\t", "\t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r", "e": "\x1b",
    " ": " ", '"': '"', "/": "/", "\\": "\\", "N": "\x85", "_": "\xa0", "L": "\u2028", "P": "\u2029",
}  # fmt: skip
_HEX = {"x": 2, "u": 4, "U": 8}
_UNSAFE_PLAIN = re.compile(r": |:$| #|^[-?:,\[\]{}#&*!|>'\"%@`]|[\n\t]")
_UNSAFE_FLOW = re.compile(r"[,\[\]{}]")


class Decoded(t.NamedTuple):
    """A value and, for each of its characters, the offset in the source; one more for the end.

    :ivar margin: indentation of continuation lines in the source.
    """

    value: str
    offsets: list[int]
    margin: str


class _Writer:
    """Collects decoded characters with their offsets."""

    def __init__(self) -> None:
        self.chars: list[str] = []
        self.offsets: list[int] = []

    def put(self, char: str, offset: int) -> None:
        self.chars.append(char)
        self.offsets.append(offset)

    def done(self, end: int, margin: str) -> Decoded:
        return Decoded("".join(self.chars), self.offsets + [end], margin)


def decode(text: str, node: Node) -> Decoded | None:
    """The scalar's value with its source offsets; None where the form is not understood."""
    if node.style == "|":
        decoded = _decode_block(text, node, folded=False)
    elif node.style == ">":
        decoded = _decode_block(text, node, folded=True)
    else:
        decoded = _decode_flow(text, node)
    return decoded if decoded is not None and decoded.value == node.value else None


def _block_lines(text: str, node: Node) -> list[tuple[int, int]]:
    """The lines of a block scalar as offsets of their start and of their line break."""
    header = _BREAK.search(text, node.body)
    lines = []
    offset = header.end() if header else node.end
    # The end that the parser gives may lie one behind the end of a text without a last line break.
    while offset < min(node.end, len(text)):
        brk = _BREAK.search(text, offset)
        stop, after = (brk.start(), brk.end()) if brk else (len(text), len(text))
        lines.append((offset, stop))
        offset = after
    return lines


def _decode_block(text: str, node: Node, folded: bool) -> Decoded | None:
    header = _BREAK.split(text[node.body : node.body + 80])[0].split("#")[0]
    chomp = "+" if "+" in header else "-" if "-" in header else ""
    lines = _block_lines(text, node)
    widths = [_width(text[start:stop]) for start, stop in lines if text[start:stop].strip(" ")]
    if not widths:
        return None
    # With an explicit indentation the first line may itself begin with blanks: the one that gives the value fits.
    candidates = range(min(widths), 0, -1) if re.search(r"\d", header) else [widths[0]]
    for indent in candidates:
        decoded = _decode_lines(text, node, lines, indent, folded, chomp)
        if decoded.value == node.value:
            return decoded
    return None


def _width(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _decode_lines(
    text: str, node: Node, lines: list[tuple[int, int]], indent: int, folded: bool, chomp: str
) -> Decoded:
    out = _Writer()
    pieces = [(text[start + indent : stop], min(start + indent, stop), stop) for start, stop in lines]
    while (
        pieces
        and not pieces[-1][0]
        and _width(text[lines[len(pieces) - 1][0] : pieces[-1][2]]) < indent
        and (pieces[-1][2] >= node.end)
    ):
        pieces.pop()
    for number, (line, start, stop) in enumerate(pieces):
        for index, char in enumerate(line):
            out.put(char, start + index)
        if not folded or number + 1 == len(pieces):
            out.put("\n", stop)
        else:
            _fold(out, pieces, number, stop)
    return _chomp(out, chomp, node, " " * indent)


def _fold(out: _Writer, pieces: list[tuple[str, int, int]], number: int, stop: int) -> None:
    """The break behind a line of a folded block: a blank, a line break, or nothing."""
    line, following = pieces[number][0], pieces[number + 1][0]
    more_indented = line[:1] in (" ", "\t") or following[:1] in (" ", "\t")
    if not line:
        # Between two plain lines the first break of a run stands for nothing, so each break belongs to the line before.
        out.put("\n", pieces[number - 1][2] if _folds(pieces, number) else stop)
        return
    if following and not more_indented:
        out.put(" ", stop)
    elif more_indented:
        out.put("\n", stop)
    elif all(not piece[0] for piece in pieces[number + 1 :]):
        out.put("\n", stop)
    else:
        upcoming = next(piece[0] for piece in pieces[number + 1 :] if piece[0])
        if upcoming[:1] in (" ", "\t"):
            out.put("\n", stop)


def _folds(pieces: list[tuple[str, int, int]], number: int) -> bool:
    """Whether an empty line lies between two lines that are indented no further than the block."""
    above = next((piece[0] for piece in reversed(pieces[:number]) if piece[0]), " ")
    below = next((piece[0] for piece in pieces[number:] if piece[0]), " ")
    return above[:1] not in (" ", "\t") and below[:1] not in (" ", "\t")


def _chomp(out: _Writer, chomp: str, node: Node, margin: str) -> Decoded:
    end = out.offsets[-1] if out.offsets else node.end
    if chomp != "+":
        while out.chars and out.chars[-1] == "\n":
            out.chars.pop()
            end = out.offsets.pop()
        if chomp == "" and out.chars and str(node.value).endswith("\n"):
            out.put("\n", end)
            return out.done(end, margin)
    return out.done(end, margin)


def _decode_flow(text: str, node: Node) -> Decoded | None:
    start, end = node.body, node.end
    if node.style:
        start, end = start + 1, end - 1
    out = _Writer()
    margin = " " * column_of(text, node.body)
    offset = start
    while offset < end:
        char = text[offset]
        if char in "\r\n":
            offset = _fold_flow(text, offset, end, out)
        elif char == "\\" and node.style == '"':
            offset = _escape(text, offset, out)
        elif char == "'" and node.style == "'":
            out.put("'", offset)
            offset += 2
        else:
            out.put(char, offset)
            offset += 1
        if offset < 0:
            return None
    return out.done(end, margin)


def _fold_flow(text: str, offset: int, end: int, out: _Writer) -> int:
    while out.chars and out.chars[-1] in " \t" and text[out.offsets[-1]] == out.chars[-1]:
        out.chars.pop()
        out.offsets.pop()
    place, breaks = offset, 0
    while offset < end and text[offset] in " \t\r\n":
        if text[offset] == "\n" or (text[offset] == "\r" and text[offset + 1 : offset + 2] != "\n"):
            breaks += 1
        offset += 1
    for char in "\n" * (breaks - 1) or " ":
        out.put(char, place)
    return offset


def _escape(text: str, offset: int, out: _Writer) -> int:
    """One backslash sequence of a double quoted scalar; returns the offset behind it, or -1."""
    code = text[offset + 1 : offset + 2]
    if code in _ESCAPES:
        out.put(_ESCAPES[code], offset)
        return offset + 2
    if code in _HEX:
        out.put(chr(int(text[offset + 2 : offset + 2 + _HEX[code]], 16)), offset)
        return offset + 2 + _HEX[code]
    if code in ("\r", "\n"):
        offset += 3 if text[offset + 1 : offset + 3] == "\r\n" else 2
        while text[offset : offset + 1] in (" ", "\t"):
            offset += 1
        return offset
    return -1


def encode(piece: str, style: str, margin: str, newline: str, around: tuple[str, str] = ("", "")) -> str:
    """A piece of text as it is written inside a scalar of the given style.

    :param around: the text before and behind the piece, in the new value.
    """
    if style == "|":
        # A piece that ends in a line break is followed by the rest of a line, which needs the indentation too.
        return re.sub(r"\n+", lambda match: newline * len(match.group()) + margin, piece)
    if style == '"':
        return json.dumps(piece, ensure_ascii=False)[1:-1]
    if style == "'":
        piece = piece.replace("'", "''")
    before, behind = around

    def breaks(match: re.Match[str]) -> str:
        # One break between two lines is a blank, except in a folded block beside a line that is indented further.
        line = (before + piece[: match.start()]).rpartition("\n")[2]
        following = (piece[match.end() :] + behind)[:1]
        kept = style == ">" and (line[:1] in (" ", "\t") or following in (" ", "\t"))
        return newline * (len(match.group()) + (0 if kept else 1)) + margin

    return re.sub(r"\n+", breaks, piece)


def rewrite(
    text: str, node: Node, value: str, changes: t.Sequence[tuple[int, int, str]], newline: str
) -> list[tuple[int, int, str]]:
    """The smallest changes of the source that give a scalar another value.

    :param value: the new value.
    :param changes: what makes it out of the old one: start, end and replacement.
    :returns: the same in the source.
    """
    decoded = decode(text, node)
    if decoded is None or (node.style == "" and _unsafe_plain(changes, value)):
        return [(node.body, node.end, json.dumps(value, ensure_ascii=False))]
    edits = []
    moved = 0
    for start, stop, piece in sorted(_trimmed(decoded.value, *change) for change in changes):
        begin = start + moved
        around = (value[:begin], value[begin + len(piece) :])
        written = encode(piece, node.style, decoded.margin, newline, around)
        edits.append((decoded.offsets[start], decoded.offsets[stop], written))
        moved += len(piece) - (stop - start)
    return edits


def _trimmed(old: str, start: int, stop: int, piece: str) -> tuple[int, int, str]:
    """The change without what is the same at both of its ends."""
    while start < stop and piece and old[start] == piece[0]:
        start, piece = start + 1, piece[1:]
    while start < stop and piece and old[stop - 1] == piece[-1]:
        stop, piece = stop - 1, piece[:-1]
    return start, stop, piece


def _unsafe_plain(changes: t.Sequence[tuple[int, int, str]], value: str) -> bool:
    """Whether a plain scalar would not stay a plain one."""
    return bool(_UNSAFE_PLAIN.search(value)) or any(_UNSAFE_FLOW.search(piece) for _start, _stop, piece in changes)
