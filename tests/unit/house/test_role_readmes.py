# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A role says the same in its README, its argument_specs and its defaults."""

from __future__ import annotations

import json
import re
import typing as t
from pathlib import Path

import pytest
import yaml

CHECKOUT = Path(__file__).resolve().parents[3]
ROLES = sorted(path.parents[1].name for path in (CHECKOUT / "roles").glob("*/meta/argument_specs.yml"))
HEAD = re.compile(r"^\| variable \| default \|.*\n\|[-|]+\|\n((?:\|.*\n)+)", re.MULTILINE)


class Loader(yaml.SafeLoader):
    """Refuses a key that a mapping has twice, of which YAML's own loader keeps the last in silence."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[t.Hashable, t.Any]:
        keys = [key.value for key, _value in node.value]
        assert len(keys) == len(set(keys)), f"twice in {self.name}: {sorted(keys)}"
        return super().construct_mapping(node, deep)


def read(role: str, *parts: str) -> t.Any:
    path = CHECKOUT.joinpath("roles", role, *parts)
    return yaml.load(path.read_text(encoding="utf-8"), Loader) if path.exists() else {}


def options_of(role: str) -> dict[str, dict[str, t.Any]]:
    return dict(read(role, "meta", "argument_specs.yml")["argument_specs"]["main"]["options"])


def documented(role: str) -> list[tuple[str, str]]:
    """Each variable of the README's table with what stands under its default, in the order of the table."""
    table = HEAD.search((CHECKOUT / "roles" / role / "README.md").read_text(encoding="utf-8"))
    assert table, "no table with the columns variable and default"
    found = []
    for line in table[1].splitlines():
        names, default, *_rest = (cell.strip() for cell in line.strip("|").split(" |"))
        for name in re.findall(r"`(\w+)`", names):
            found.append((role + name if name.startswith("_") else name, default))
    return found


@pytest.mark.parametrize("role", ROLES)
def test_the_readme_has_each_variable_once(role: str) -> None:
    assert sorted(name for name, _default in documented(role)) == sorted(options_of(role))


@pytest.mark.parametrize("role", ROLES)
def test_the_readme_says_the_default_of_the_argument_specs(role: str) -> None:
    for name, said in documented(role):
        option = options_of(role)[name]
        literal = re.match(r"`([^`]*)`", said)
        if "default" in option:
            assert literal and yaml.safe_load(literal[1]) == option["default"], f"{name}: {said}"
        elif literal and literal[1] in ("true", "false", "[]", "{}"):
            pytest.fail(f"{name}: the README has the default {said}, the argument_specs have none")


@pytest.mark.parametrize("role", ROLES)
def test_the_defaults_are_those_of_the_argument_specs(role: str) -> None:
    options = options_of(role)
    for name, value in (read(role, "defaults", "main.yml") or {}).items():
        assert name in options, f"{name} is no documented variable"
        if "default" in options[name] and "{{" not in json.dumps(value):
            assert value == options[name]["default"], name


@pytest.mark.parametrize("role", ROLES)
def test_each_variable_is_explained_and_has_the_name_of_its_role(role: str) -> None:
    prefixes = (f"{role}_", f"{role}s")
    for name, option in options_of(role).items():
        assert option.get("description") and option.get("type"), name
        assert name.startswith(prefixes), name
