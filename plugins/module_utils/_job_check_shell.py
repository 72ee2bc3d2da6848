# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""Shell text cut into commands, quickly: for looking only, never for editing.

Knows comments, quotes, line continuations, separators, redirections, heredocs, C($(...)) and arrays; it knows nothing
of functions and loops, whose words it takes for commands. That suffices to see what stands on a start command.
"""

from __future__ import annotations

import re
import typing as t

Word = t.Tuple[str, int]

# Each repeated part begins with a character that the part before it cannot hold, so that no text makes this slow.
_SUBSTITUTION = r"\$\([^()]*(?:\([^()]*(?:\([^()]*\)[^()]*)*\)[^()]*)*\)"
_PARAMETER = r"\$\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}"
_QUOTES = r"""'[^']*'|"[^"\\]*(?:\\.[^"\\]*)*"|`[^`]*`"""
# Last comes what remains where a quote is not closed.
_PIECES = r"""(?:[^\s'"\\;&|()<>`$]+|\\.|%s|%s|%s|\$|['"`\\])""" % (_QUOTES, _SUBSTITUTION, _PARAMETER)
_TOKEN = re.compile(
    r"""(?P<skip>[ \t\r]+|\\\r?\n|\#[^\n]*)"""
    r"""|(?P<redirect>\d*(?:&>>?|[<>]{1,3}[&|]?))"""
    r"""|(?P<end>\n|;;?|&&?|\|\|?&?|[()])"""
    r"""|(?P<word>[A-Za-z_]\w*\+?=\([^()]*\)|%s+)""" % _PIECES,
    re.DOTALL | re.ASCII,
)
_HEREDOC = re.compile(r"<<(-?)[ \t]*(['\"\\]?)(\w+)['\"]?[^\n]*\n")
_SPECIAL = re.compile(r"['\"\\]")
_QUOTED = re.compile(r"""'([^']*)'|"([^"\\]*(?:\\.[^"\\]*)*)"|\\(.)""", re.DOTALL)
_ESCAPED = re.compile(r"""\\([$`"\\\n])""")


def _bare(match: t.Match[str]) -> str:
    single, double, escaped = match.groups()
    if single is not None:
        return single
    if double is not None:
        return _ESCAPED.sub(lambda inner: "" if inner.group(1) == "\n" else inner.group(1), double)
    return "" if escaped == "\n" else str(escaped)


def unquoted(raw: str) -> str:
    """A word without its quotes and escapes."""
    return _QUOTED.sub(_bare, raw) if _SPECIAL.search(raw) else raw


def _without_heredocs(text: str) -> str:
    """The text with blanks in place of the bodies of its heredocs; offsets and lines stay."""
    if "<<" not in text:
        return text
    offset = 0
    while True:
        start = _HEREDOC.search(text, offset)
        if not start:
            return text
        offset = start.end()
        blanks = r"\t*" if start.group(1) else ""
        end = re.compile(r"^%s%s$" % (blanks, re.escape(start.group(3))), re.MULTILINE).search(text, offset)
        if end:
            body = text[offset : end.end()]
            text = text[:offset] + re.sub(r"[^\n]", " ", body) + text[end.end() :]


def commands(text: str) -> list[list[Word]]:
    """The simple commands of a text in their order, each as words without quotes and with their offsets.

    Redirections and their targets are left out.
    """
    found: list[list[Word]] = []
    current: list[Word] = []
    target = False
    for match in _TOKEN.finditer(_without_heredocs(text)):
        kind = match.lastgroup
        if kind == "word":
            if target:
                target = False
            else:
                current.append((unquoted(match.group()), match.start()))
        elif kind == "end":
            target = False
            if current:
                found.append(current)
                current = []
        elif kind == "redirect":
            target = True
    if current:
        found.append(current)
    return found


def line_of(text: str, offset: int) -> int:
    """The line of an offset, counted from 1."""
    return text.count("\n", 0, offset) + 1
