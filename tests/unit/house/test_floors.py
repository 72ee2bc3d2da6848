# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The house of docs/architecture.md: each file of the plugins is on one floor, and imports only downwards."""

from __future__ import annotations

import ast
import graphlib
import re
import sys
import typing as t
from pathlib import Path

import pytest
import yaml

CHECKOUT = Path(__file__).resolve().parents[3]
PLUGINS = CHECKOUT / "plugins"
PACKAGE = "ansible_collections.mindcluster.recovery.plugins."

PAGE = CHECKOUT / "docs" / "architecture.md"
ORDER = ("words", "tables", "rules", "edges", "controller", "public", "roles", "playbooks")
RULES = ORDER.index("rules")
PUBLIC = ORDER.index("public")
#: What reaches outside the process, and so belongs to an edge or to what is above.
OUTSIDE = {
    "ansible", "docker", "fcntl", "http", "kubernetes", "requests", "shutil", "signal", "socket", "ssl", "subprocess",
    "tempfile", "threading", "urllib3",
}  # fmt: skip
FILES = sorted(path for path in PLUGINS.rglob("*.py") if path.parent.name != "doc_fragments")


def floors() -> dict[str, int]:
    """Names of files, or beginnings of names with a star behind them, to their floor in the table of the page."""
    rows = re.findall(r"^\| (\w+) \|.*\| (`.*`) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    of_floors = [(ORDER.index(floor), files) for floor, files in rows if floor in ORDER]
    assert [number for number, _files in of_floors] == list(reversed(range(len(ORDER)))), "highest floor first"
    found = [(name, number) for number, files in of_floors for name in re.findall(r"`([^`]+)`", files)]
    assert len(found) == len(dict(found)), "each name once"
    return {name if "/" in name else f"plugins/module_utils/{name}": number for name, number in found}


FLOORS = floors()


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(PLUGINS).with_suffix("").parts)


def fits(pattern: str, file: str) -> bool:
    return file.startswith(pattern[:-1]) if pattern.endswith("*") else file == pattern


def floor_of(name: str) -> int:
    file = "plugins/" + name.replace(".", "/")
    fitting = [pattern for pattern in FLOORS if fits(pattern, file)]
    assert fitting, f"{name} is on no floor: give it one in the table of {PAGE.name}"
    return FLOORS[max(fitting, key=lambda pattern: (not pattern.endswith("*"), len(pattern)))]


def imports_of(path: Path) -> t.Iterator[tuple[str, int]]:
    """Every module that a file imports, in functions as well, with the line."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}:{node.lineno}: ansible-core wants whole names"
            whole = node.module or ""
            inner = [f"{whole}.{alias.name}" for alias in node.names] if whole.endswith("_utils") else [whole]
            yield from ((name, node.lineno) for name in inner)


def own_imports(path: Path) -> list[tuple[str, int]]:
    return [(name.removeprefix(PACKAGE), line) for name, line in imports_of(path) if name.startswith(PACKAGE)]


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_no_import_runs_upwards(path: Path) -> None:
    here = floor_of(name_of(path))
    upwards = [f"{path.name}:{line} imports {name}" for name, line in own_imports(path) if floor_of(name) > here]
    assert upwards == []
    if here == PUBLIC:
        beside = [name for name, _line in own_imports(path) if floor_of(name) == PUBLIC]
        assert all(name.startswith("action.") or name_of(path).startswith("action.") for name in beside)


def test_rules_and_tables_reach_nothing_outside() -> None:
    pure = [path for path in FILES if floor_of(name_of(path)) <= RULES]
    assert len(pure) > 30
    found = [
        (path.name, line, name) for path in pure for name, line in imports_of(path) if name.split(".")[0] in OUTSIDE
    ]
    assert found == []


def test_no_ring_of_imports() -> None:
    graph = {name_of(path): {name for name, _line in own_imports(path)} for path in FILES}
    assert len(list(graphlib.TopologicalSorter(graph).static_order())) >= len(FILES)


def test_plugins_import_nothing_of_the_collection_but_plugins() -> None:
    strange = [name for path in FILES for name, _line in imports_of(path) if name.startswith("ansible_collections.")
               and not name.startswith(PACKAGE)]  # fmt: skip
    assert strange == []


def test_the_patcher_needs_only_the_standard_library() -> None:
    """It runs by itself inside training images."""
    names = {name.split(".")[0] for name, _line in imports_of(PLUGINS / "module_utils" / "_torch_patcher.py")}
    assert names <= sys.stdlib_module_names


def test_the_table_names_nothing_that_is_gone() -> None:
    files = [str(path.relative_to(CHECKOUT).with_suffix("")) for path in CHECKOUT.glob("p*/**/*") if path.is_file()]
    roles = [str(path.relative_to(CHECKOUT)) for path in CHECKOUT.glob("roles/*")]
    assert [pattern for pattern in FLOORS if not any(fits(pattern, file) for file in [*files, *roles])] == []


@pytest.mark.parametrize("path", sorted((CHECKOUT / "roles").rglob("*.yml")), ids=lambda path: str(path.name))
def test_roles_know_no_playbook(path: Path) -> None:
    # A comment may name a playbook, and so may a message that tells the user which one to call.
    assert not re.search(r"import_playbook|\.\./playbooks/", path.read_text(encoding="utf-8"))


def test_playbooks_use_roles_and_modules_of_this_collection_or_of_core() -> None:
    words: set[str] = set()
    for folder in ("playbooks", "roles"):
        for path in (CHECKOUT / folder).rglob("*.yml"):
            words |= set(_task_names(yaml.safe_load(path.read_text(encoding="utf-8"))))
    assert {word.rpartition(".")[0] for word in words} == {"ansible.builtin", "mindcluster.recovery"}


def _task_names(node: t.Any) -> t.Iterator[str]:
    """Every key that looks like the full name of a module, of any collection."""
    if isinstance(node, dict):
        for key, value in node.items():
            if isinstance(key, str) and re.fullmatch(r"[a-z]\w*\.[a-z]\w*\.[a-z]\w*", key):
                yield key
            yield from _task_names(value)
    elif isinstance(node, list):
        for item in node:
            yield from _task_names(item)
