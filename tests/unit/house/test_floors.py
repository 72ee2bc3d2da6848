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

WORDS, TABLES, RULES, EDGES, CONTROLLER, PUBLIC = range(6)
#: Beginnings of names in module_utils; the longest that fits decides.
FLOORS = {
    "_findings": WORDS,
    "_retries": WORDS,
    "_versions": WORDS,
    "_compatibility": TABLES,
    "_products": TABLES,
    "_releases": TABLES,
    "_strategies": TABLES,
    "_suites": TABLES,
    "_wheel_patterns": TABLES,
    "_compatibility_": RULES,
    "_job_check": RULES,
    "_job_history": RULES,
    "_kube_labels": RULES,
    "_kube_node_check": RULES,
    "_kube_node_plan": RULES,
    "_manifest_documents": RULES,
    "_manifest_findings": RULES,
    "_node_": RULES,
    "_operator_env": RULES,
    "_operator_verdict": RULES,
    "_plan": RULES,
    "_request": RULES,
    "_strategy_rules": RULES,
    "_atomic_file": EDGES,
    "_image_": EDGES,
    "_job_history_edge": EDGES,
    "_kube": EDGES,
    "_kustomization": EDGES,
    "_layer_": EDGES,
    "_manifest_": EDGES,
    "_operator_wait": EDGES,
    "_registry_": EDGES,
    "_torch_": EDGES,
    "_wheel": EDGES,
}
#: What reaches outside the process, and so belongs to an edge or to what is above.
OUTSIDE = {
    "ansible", "docker", "fcntl", "http", "kubernetes", "requests", "shutil", "signal", "socket", "ssl", "subprocess",
    "tempfile", "threading", "urllib3",
}  # fmt: skip
PUBLIC_KINDS = ("action", "filter", "modules", "test")
FILES = sorted(path for path in PLUGINS.rglob("*.py") if path.parent.name != "doc_fragments")


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(PLUGINS).with_suffix("").parts)


def floor_of(name: str) -> int:
    kind, _dot, stem = name.partition(".")
    if kind in PUBLIC_KINDS:
        return PUBLIC
    if kind == "plugin_utils":
        return CONTROLLER
    fitting = [prefix for prefix in FLOORS if stem == prefix or (stem.startswith(prefix) and not _is_whole(prefix))]
    assert fitting, f"{name} is on no floor: name it in {Path(__file__).name}, and see docs/architecture.md"
    return FLOORS[max(fitting, key=len)]


def _is_whole(prefix: str) -> bool:
    """Words and tables are single files; what begins like one of them is none of them."""
    return FLOORS[prefix] in (WORDS, TABLES)


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


@pytest.mark.parametrize("path", [path for path in FILES if floor_of(name_of(path)) <= RULES], ids=name_of)
def test_rules_and_tables_reach_nothing_outside(path: Path) -> None:
    outside = [f"{path.name}:{line} imports {name}" for name, line in imports_of(path) if name.split(".")[0] in OUTSIDE]
    assert outside == []


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


def test_each_floor_of_the_test_is_in_use() -> None:
    stems = [path.stem for path in FILES if path.parent.name == "module_utils"]
    unused = [prefix for prefix in FLOORS if not any(stem.startswith(prefix) for stem in stems)]
    assert unused == []


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
