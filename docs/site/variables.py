# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The page of all variables, from the roles' argument specifications."""

from __future__ import annotations

import json
import re
import typing as t

import yaml
from antsibull_docs_parser.md import to_md
from antsibull_docs_parser.parser import Context, parse
from pages import CHECKOUT

Json = dict[str, t.Any]

# In the order of the site's plan; a role that is not named here comes after these.
ORDER = ("recovery_plan", "training_image", "start_script", "npu_node", "training_job")

_CODE = re.compile(r"<code>(.*?)</code>")
_ESCAPE = r"\\(.)"

_HEAD = """# Variables

Every variable of every role, as the roles check them at their start. A value of another type, a variable that is needed
and not there, or a word that is none of the choices is refused before anything is touched. Where they go: the inventory
(`group_vars`, `host_vars`), or a file behind `-e @`.
"""


def page() -> str:
    """The page, in Markdown."""
    roles = {path.parents[1].name: path for path in sorted((CHECKOUT / "roles").glob("*/meta/argument_specs.yml"))}
    order = [role for role in ORDER if role in roles] + [role for role in roles if role not in ORDER]
    parts = [_HEAD]
    for role in order:
        specs = yaml.safe_load(roles[role].read_text(encoding="utf-8"))["argument_specs"]
        parts.append(_role(role, specs))
    return "\n".join(parts)


def _role(role: str, specs: Json) -> str:
    """A role with the variables of all its entry points, each once."""
    options = {name: option for spec in specs.values() for name, option in (spec.get("options") or {}).items()}
    lines = [f"## {role}", "", f"{_text(specs['main'].get('short_description', ''))}.", ""]
    for name, option in options.items():
        lines += _option(name, option, "###")
    return "\n".join(lines)


def _option(name: str, option: Json, level: str) -> list[str]:
    lines = [f"{level} {name}", "", _facts(option), ""]
    for paragraph in _list(option.get("description")):
        lines += [_text(paragraph), ""]
    for key, inner in (option.get("options") or {}).items():
        lines += [f"- `{key}`: {_facts(inner)}. " + " ".join(_text(p) for p in _list(inner.get("description")))]
    return [*lines, ""]


def _facts(option: Json) -> str:
    kind = str(option.get("type", "str")).replace("raw", "any type")
    facts = [f"list of {option['elements']}" if kind == "list" and "elements" in option else kind]
    if option.get("required"):
        facts.append("needed")
    if "choices" in option:
        facts.append("one of " + ", ".join(_code(choice) for choice in option["choices"]))
    if "default" in option:
        facts.append(f"default {_code(option['default'])}")
    if option.get("no_log"):
        facts.append("secret: it appears in no output")
    return "*" + "; ".join(facts) + "*"


def _code(value: t.Any) -> str:
    return f"`{value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}`"


def _list(value: t.Any) -> list[str]:
    return [value] if isinstance(value, str) else list(value or [])


def _text(marked_up: str) -> str:
    """Ansible's markup (C(…), O(…), M(…)) as Markdown."""
    return _CODE.sub(_as_code, to_md(parse(marked_up, Context())))


def _as_code(match: re.Match[str]) -> str:
    """Code is taken as it is, so what was escaped in it is no longer to be."""
    return f"`{re.sub(_ESCAPE, lambda escaped: escaped[1], match[1])}`"
