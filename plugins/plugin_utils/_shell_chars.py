# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""Byte offsets of a shell text turned into offsets of its characters."""

from __future__ import annotations

import bisect
import dataclasses
import typing as t

from ansible_collections.mindcluster.recovery.plugins.plugin_utils._shell import Assignment, Launch, Word, to_bytes


class Offsets:
    """Byte offsets to character offsets of one text."""

    def __init__(self, text: str, raw: bytes) -> None:
        self._starts: list[int] | None = None
        if len(raw) != len(text):
            starts = [0]
            for char in text:
                starts.append(starts[-1] + len(to_bytes(char)))
            self._starts = starts

    def char(self, offset: int) -> int:
        return offset if self._starts is None else bisect.bisect_left(self._starts, offset)


def assignment_in_chars(item: Assignment, offsets: Offsets) -> Assignment:
    fields = ("start", "end", "value_start", "value_end")
    moved: dict[str, t.Any] = {name: offsets.char(getattr(item, name)) for name in fields}
    return dataclasses.replace(item, **moved)


def launch_in_chars(launch: Launch, offsets: Offsets) -> Launch:
    spans = tuple(Word(word.text, offsets.char(word.start), offsets.char(word.end)) for word in launch.spans)
    fields = ("start", "end", "words_end", "launcher_end")
    moved: dict[str, t.Any] = {name: offsets.char(getattr(launch, name)) for name in fields}
    return dataclasses.replace(launch, spans=spans, **moved)
