# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Pages that the site makes from code leave nothing out, and pages of docs/ are led where they belong."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import markdown
import pytest
import yaml

from ansible_collections.mindcluster.recovery.plugins.module_utils._products import PRODUCT_NAMES
from ansible_collections.mindcluster.recovery.plugins.module_utils._releases import RELEASES
from ansible_collections.mindcluster.recovery.plugins.module_utils._strategies import STRATEGIES

sys.path.insert(0, str(markdown.CHECKOUT / "docs" / "site"))

import pages
import release_tables
import variables

ROLES = sorted((markdown.CHECKOUT / "roles").glob("*/meta/argument_specs.yml"))


@pytest.mark.parametrize("path", ROLES, ids=lambda path: path.parents[1].name)
def test_every_variable_has_its_heading(path: Path) -> None:
    page = variables.page()
    for entry in yaml.safe_load(path.read_text(encoding="utf-8"))["argument_specs"].values():
        for name in entry["options"]:
            assert f"\n### {name}\n" in page


def test_a_variable_says_type_choices_default_and_secrecy() -> None:
    option = {
        "type": "list",
        "elements": "str",
        "choices": ["a", "b"],
        "default": ["a"],
        "no_log": True,
        "description": "See C(x_y).",
    }
    text = "\n".join(variables._option("some_option", option, "###"))
    assert '*list of str; one of `a`, `b`; default `["a"]`; secret: it appears in no output*' in text
    assert "See `x_y`" in text


def test_every_release_strategy_and_product_has_its_place_and_its_source() -> None:
    page = release_tables.page()
    for row in (*RELEASES, *STRATEGIES):
        assert f"- {row.name}: {row.source}\n" in page
    for name in PRODUCT_NAMES:
        assert f"| `{name}` |" in page


def test_the_page_of_releases_in_the_checkout_is_that_of_the_tables() -> None:
    written = release_tables.PAGE.read_text(encoding="utf-8")
    assert written == release_tables.page(), "run `.venv/bin/python docs/site/release_tables.py`"


def test_tables_have_as_many_cells_in_each_row() -> None:
    cells = 0
    for line in release_tables.page().splitlines():
        here = len(re.findall(r"(?<!\\)\|", line)) if line.startswith("|") else 0
        assert here in (0, cells) or cells == 0, line
        cells = here


def test_links_out_of_the_docs_lead_to_the_repository(tmp_path: Path) -> None:
    text = "[a](flow.md) [b](../README.md#x) [c](../examples) [d](none.md) [e](https://x.example/)\n```\n[f](none.md)\n```\n"
    problems: list[str] = []
    linked = pages._relinked(text, Path("page.md"), {"flow.md"}, problems)
    assert "[a](flow.md)" in linked
    assert re.search(r"\[b\]\(https://\S+/blob/main/README\.md#x\)", linked)
    assert re.search(r"\[c\]\(https://\S+/tree/main/examples\)", linked)
    assert "[e](https://x.example/)" in linked
    assert problems == ["docs/page.md: the link to none.md leads nowhere"]


def test_the_variables_of_a_role_are_read_in_the_site() -> None:
    problems: list[str] = []
    text = "[a](../../roles) [b](../../roles/npu_node/README.md)"
    linked = pages._relinked(text, Path("zh/page.md"), {"variables.md"}, problems)
    assert linked == "[a](../variables.md) [b](../variables.md#npu_node)"
    assert problems == []
