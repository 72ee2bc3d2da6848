# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Both languages say the same: the same sections, commands, code words, tables and lists, in the same order."""

from __future__ import annotations

import re
from pathlib import Path

import markdown
import pytest

PAIRS = [
    ("README.md", "README.zh-CN.md"),
    ("docs/getting-started.md", "docs/zh/getting-started.md"),
    ("docs/gitops.md", "docs/gitops.zh-CN.md"),
    ("docs/life-cycle.md", "docs/life-cycle.zh-CN.md"),
]
# Pictures of letters are drawn anew in another language.
_DRAWN = "text"
_COMMENT = re.compile(r"(^|\s+)#.*$")


def _bare(block: markdown.Block) -> markdown.Block:
    """A code block without its comments, which are translated."""
    return markdown.Block(
        block.language, [] if block.language == _DRAWN else [_COMMENT.sub("", line) for line in block.lines]
    )


@pytest.fixture(params=PAIRS, ids=lambda pair: pair[0])
def pair(request: pytest.FixtureRequest) -> tuple[list[markdown.Section], list[markdown.Section]]:
    english, chinese = request.param
    return tuple(  # type: ignore[return-value]
        markdown.sections((markdown.CHECKOUT / name).read_text(encoding="utf-8")) for name in (english, chinese)
    )


Pair = tuple[list[markdown.Section], list[markdown.Section]]


def test_sections_are_the_same(pair: Pair) -> None:
    assert [section.level for section in pair[0]] == [section.level for section in pair[1]]


def test_code_blocks_are_the_same_but_for_their_comments(pair: Pair) -> None:
    for number, (english, chinese) in enumerate(zip(*pair, strict=True)):
        assert [_bare(block) for block in english.blocks] == [_bare(block) for block in chinese.blocks], (
            f"section {number}"
        )


def test_tables_and_lists_are_as_long(pair: Pair) -> None:
    for number, (english, chinese) in enumerate(zip(*pair, strict=True)):
        assert (english.rows, english.items) == (chinese.rows, chinese.items), f"section {number}"


def test_code_words_are_the_same(pair: Pair) -> None:
    for number, (english, chinese) in enumerate(zip(*pair, strict=True)):
        assert set(english.codes) == set(chinese.codes), f"section {number}"


def test_pictures_are_drawn_alike() -> None:
    shapes = []
    for name in ("flow.svg", "flow.zh.svg"):
        text = (markdown.CHECKOUT / "docs" / "images" / name).read_text(encoding="utf-8")
        shapes.append(re.sub(r">[^<]*</text>|aria-label=\"[^\"]*\"", "", text))
    assert shapes[0] == shapes[1]


def test_every_chinese_page_has_its_english_one() -> None:
    named = {chinese for _english, chinese in PAIRS}
    docs = markdown.CHECKOUT / "docs"
    found = [*docs.glob("zh/*.md"), *docs.glob("*.zh-CN.md"), *markdown.CHECKOUT.glob("*.zh-CN.md")]
    assert {str(Path(path).relative_to(markdown.CHECKOUT)) for path in found} == named
