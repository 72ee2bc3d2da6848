# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Markdown as the tests of the documentation read it: sections, code blocks, code words, tables, links."""

from __future__ import annotations

import re
import typing as t
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[3]

_FENCE = re.compile(r"^( *)(`{3,})([^\n`]*)\n(.*?)^\1\2\s*$", re.DOTALL | re.MULTILINE)
_CODE = re.compile(r"(?<!`)(`{1,2})(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s]+)\)")


class Block(t.NamedTuple):
    """A code block: its language and its lines without the indentation."""

    language: str
    lines: list[str]


class Section(t.NamedTuple):
    """What stands between one heading and the next."""

    level: int
    blocks: list[Block]
    codes: list[str]
    rows: int
    items: int


def pages() -> list[Path]:
    """Every page that people read."""
    docs = [path for path in sorted((CHECKOUT / "docs").rglob("*.md")) if "site" not in path.parts]
    roles = sorted((CHECKOUT / "roles").glob("*/README.md"))
    return [CHECKOUT / "README.md", CHECKOUT / "README.zh-CN.md", *docs, *roles]


def blocks(text: str) -> list[Block]:
    found = []
    for match in _FENCE.finditer(text):
        lines = [line.removeprefix(match[1]) for line in match[4].splitlines()]
        found.append(Block(match[3].strip(), lines))
    return found


def prose(text: str) -> str:
    """The page without its code blocks."""
    return _FENCE.sub("", text)


def code_words(text: str) -> list[str]:
    """What stands between backticks, outside of code blocks."""
    return [re.sub(r"\s+", " ", match[2]).strip() for match in _CODE.finditer(prose(text))]


def links(text: str) -> list[str]:
    return _LINK.findall(prose(text))


def sections(text: str) -> list[Section]:
    """The page, cut at its headings; a heading inside a code block is none."""
    marked = _FENCE.sub(lambda match: match[0].replace("#", "\0"), text)
    pieces = re.split(r"^(#{1,6}) .*$", marked, flags=re.MULTILINE)
    return [_section(len(level), body) for level, body in zip(pieces[1::2], pieces[2::2], strict=True)]


def _section(level: int, body: str) -> Section:
    body = body.replace("\0", "#")
    rows = len(re.findall(r"^ *\|", prose(body), re.MULTILINE))
    items = len(re.findall(r"^ *(?:[-*]|\d+\.) ", prose(body), re.MULTILINE))
    return Section(level, blocks(body), code_words(body), rows, items)


def commands(text: str) -> list[str]:
    """What a reader is told to type: lines behind a `$`, and code words that begin with a program."""
    typed = []
    for block in blocks(text):
        joined = re.sub(r"\\\n\s*", " ", "\n".join(block.lines))
        typed += [line[2:].strip() for line in joined.splitlines() if line.startswith("$ ")]
        if block.language in ("sh", "bash"):
            typed += [line.strip() for line in joined.splitlines()]
    return typed + code_words(text)
