# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""The line endings of a start script: worked on as Unix ones, kept where that is asked for, and given back."""

from __future__ import annotations

import difflib
import re

CRLF_ALL = "CRLF"
MIXED = "mixed"
_BUT_FOR = re.compile(r"CRLF but for lines? ([0-9,]+)\Z")
# More exceptions than a line of the block can hold.
_MOST = 30


class Endings:
    """The line endings of a file."""

    def __init__(self, raw: bytes) -> None:
        self.raw = raw
        self.windows = b"\r\n" in raw
        self.unix = raw.replace(b"\r\n", b"\n")

    def first_line(self) -> int:
        return self.raw.count(b"\n", 0, self.raw.index(b"\r\n")) + 1

    def described(self) -> str:
        """What they are, in the words of the block; empty for Unix ones."""
        if not self.windows:
            return ""
        lines = self.raw.split(b"\n")[:-1]
        other = [number for number, line in enumerate(lines, 1) if not line.endswith(b"\r")]
        if not other:
            return CRLF_ALL
        if len(other) > _MOST:
            return MIXED
        return "CRLF but for line%s %s" % ("s" if len(other) > 1 else "", ",".join(map(str, other)))

    def restore(self, changed: bytes) -> bytes:
        """A changed text with the endings of this file."""
        if not self.windows:
            return changed
        if changed == self.unix:
            return self.raw
        if self.raw.count(b"\n") == self.raw.count(b"\r\n"):
            return changed.replace(b"\n", b"\r\n")
        return self._restore_mixed(changed)

    def _restore_mixed(self, changed: bytes) -> bytes:
        """Each line that stayed keeps its own ending; new lines get the Windows one."""
        old = self.raw.splitlines(keepends=True)
        plain = [line.replace(b"\r\n", b"\n") for line in old]
        new = changed.splitlines(keepends=True)
        out = [line.replace(b"\n", b"\r\n") for line in new]
        for block in difflib.SequenceMatcher(None, plain, new, autojunk=False).get_matching_blocks():
            out[block.b : block.b + block.size] = old[block.a : block.a + block.size]
        return b"".join(out)


def with_endings(unix: bytes, described: str) -> bytes | None:
    """A text with Unix endings as it was before; None where the description does not say how it was."""
    but_for = _BUT_FOR.match(described)
    if described != CRLF_ALL and not but_for:
        return None
    other = set(but_for.group(1).split(",")) if but_for else set()
    lines = unix.split(b"\n")
    ended = [line if str(number) in other else line + b"\r" for number, line in enumerate(lines[:-1], 1)]
    return b"\n".join([*ended, lines[-1]])
