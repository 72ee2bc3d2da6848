# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""A small deflate (RFC 1951) that gives the same bytes on every machine.

Python's zlib does not: it is the system's, and distributors put faster ones in its place that pack differently, so that
one and the same layer would have another digest. This one is slow and packs less, which does not matter for the headers
and the few source files that it gets.
"""

from __future__ import annotations

import typing as t

_WINDOW = 32768
_LONGEST = 258
_SHORTEST = 4
_STORED = 65535


def _reversed(code: int, bits: int) -> int:
    """Codes are sent from their highest bit on, everything else from its lowest."""
    result = 0
    for _bit in range(bits):
        result = result << 1 | code & 1
        code >>= 1
    return result


def _fixed_codes() -> list[tuple[int, int]]:
    """Code and bits of each literal and length symbol in blocks with fixed codes."""
    ranges = ((0, 144, 8, 0x30), (144, 256, 9, 0x190), (256, 280, 7, 0), (280, 288, 8, 0xC0))
    return [
        (_reversed(code + symbol - start, bits), bits)
        for start, end, bits, code in ranges
        for symbol in range(start, end)
    ]


def _steps(first: int, groups: t.Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Smallest value and number of extra bits of each code, from groups of codes with so many extra bits."""
    table, value = [], first
    for count, extra in groups:
        for _code in range(count):
            table.append((value, extra))
            value += 1 << extra
    return table


_SYMBOLS = _fixed_codes()
_LENGTHS = _steps(3, [(8, 0), (4, 1), (4, 2), (4, 3), (4, 4), (4, 5)])
_DISTANCES = _steps(1, [(4, 0)] + [(2, extra) for extra in range(1, 14)])


def _length_codes() -> list[tuple[int, int]]:
    """Everything that is sent for a length, by the length."""
    codes = [(0, 0)] * (_LONGEST + 1)
    for number, (value, extra) in enumerate(_LENGTHS):
        code, bits = _SYMBOLS[257 + number]
        for more in range(1 << extra):
            if value + more <= _LONGEST:
                codes[value + more] = (code | more << bits, bits + extra)
    codes[_LONGEST] = _SYMBOLS[285]
    return codes


_LENGTH_CODES = _length_codes()


def _distance_code(distance: int) -> tuple[int, int]:
    low, high = 0, len(_DISTANCES) - 1
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if _DISTANCES[middle][0] <= distance else (low, middle - 1)
    value, extra = _DISTANCES[low]
    return _reversed(low, 5) | (distance - value) << 5, 5 + extra


def deflate(data: bytes) -> bytes:
    """One whole stream for the data."""
    packed = bytearray()
    # The last block, with fixed codes.
    held, bits = 0b011, 3
    seen: dict[bytes, int] = {}
    at, end = 0, len(data)
    while at < end:
        key = data[at : at + _SHORTEST]
        before = seen.get(key, -1)
        seen[key] = at
        if before >= 0 and at - before <= _WINDOW and len(key) == _SHORTEST:
            length = _match(data, before, at)
            for code, count in (_LENGTH_CODES[length], _distance_code(at - before)):
                held |= code << bits
                bits += count
            at += length
        else:
            code, count = _SYMBOLS[data[at]]
            held |= code << bits
            bits += count
            at += 1
        if bits >= 64:
            packed += (held & 0xFFFFFFFFFFFFFFFF).to_bytes(8, "little")
            held >>= 64
            bits -= 64
    bits += 7  # the end is the symbol 256, seven zeros
    return bytes(packed) + held.to_bytes((bits + 7) // 8, "little")


def _match(data: bytes, before: int, at: int) -> int:
    """How many bytes are the same from two places on."""
    most = min(_LONGEST, len(data) - at)
    length = _SHORTEST
    while length < most and data[before + length] == data[at + length]:
        length += 1
    return length


def stored(pieces: t.Iterable[bytes]) -> t.Iterator[bytes]:
    """One whole stream for data that is packed already, or too large to be packed slowly."""
    for piece in pieces:
        for start in range(0, len(piece), _STORED):
            part = piece[start : start + _STORED]
            yield b"\0" + len(part).to_bytes(2, "little") + (len(part) ^ 0xFFFF).to_bytes(2, "little") + part
    yield b"\1\0\0\xff\xff"
