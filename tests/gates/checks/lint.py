# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Everything that reads the sources without running them."""

from __future__ import annotations

from .step import BUILD, CHECKOUT, Step

TYPES = BUILD / "types"
PACKAGE = "ansible_collections.mindcluster.recovery.plugins"
ON_TARGETS = ("plugins/modules", "plugins/module_utils")


def steps() -> list[Step]:
    """One step for each tool."""
    found = [
        Step("lint ansible-lint", ["ansible-lint", "--strict"]),
        Step("lint yamllint", ["yamllint", "--strict", "."]),
        Step("lint ruff check", ["ruff", "check", "."]),
        Step("lint ruff format", ["ruff", "format", "--check", "."]),
        # The type checker must meet the plugins under the name that they import each other by.
        Step("lint mypy plugins", ["mypy", "-p", PACKAGE], environment={"MYPYPATH": str(TYPES)}, before=_link),
        Step("lint mypy sandbox", ["mypy", "tests/sandbox"], environment={"MYPYPATH": "tests/sandbox"}),
        Step("lint mypy gates", ["mypy", "tests/gates"], environment={"MYPYPATH": "tests/gates:tests/sandbox"}),
        Step("lint mypy docs", ["mypy", "docs/site"], environment={"MYPYPATH": f"docs/site:{TYPES}"}, before=_link),
        Step("lint mypy docs check", ["mypy", "tests/docs"], environment={"MYPYPATH": "tests/docs:tests/sandbox"}),
        # What runs on targets must run on their Python: neither the syntax nor the library of a newer one.
        Step("lint python 3.7", ["vermin", "--target=3.7-", "--no-tips", "--violations", *ON_TARGETS]),
        Step("lint shellcheck", ["shellcheck", *_shell_scripts()]),
    ]
    if (CHECKOUT / "changelogs" / "config.yaml").exists():
        found.append(Step("lint changelog", ["antsibull-changelog", "lint"]))
    return found


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
