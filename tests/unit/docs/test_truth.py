# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the documentation tells people to type exists: targets, playbooks, tags, variables, modules, files."""

from __future__ import annotations

import json
import os
import re
import subprocess
import typing as t
from pathlib import Path

import markdown
import pytest
import yaml

CHECKOUT = markdown.CHECKOUT
PAGES = markdown.pages()
COLLECTION = "mindcluster.recovery"
# What other programs say.
OF_OTHERS = ("Pending", "No module named 'mindx_elastic'", "torchrun")
# Placeholders and families that are no variables themselves: `training_image_*`, `training_image_`.
_FAMILY = re.compile(r"_(\*|)\Z")


def _name(path: Path) -> str:
    return str(path.relative_to(CHECKOUT))


def _specs() -> dict[str, set[str]]:
    found = {}
    for path in (CHECKOUT / "roles").glob("*/meta/argument_specs.yml"):
        spec = yaml.safe_load(path.read_text(encoding="utf-8"))["argument_specs"]
        found[path.parents[1].name] = {name for entry in spec.values() for name in entry.get("options") or {}}
    return found


def _facts() -> set[str]:
    """What the roles set for users; what begins with an underscore is their own."""
    tasks = "\n".join(path.read_text(encoding="utf-8") for path in (CHECKOUT / "roles").glob("*/tasks/*.yml"))
    bodies = re.findall(r"^( *)ansible\.builtin\.set_fact:\n((?:\1 +.*\n)+)", tasks, re.MULTILINE)
    return {name for depth, body in bodies for name in re.findall(rf"^{depth}  ([a-z]\w+):", body, re.MULTILINE)}


FACTS = _facts()
ROLES = _specs()
VARIABLES = FACTS.union(*ROLES.values())
PLAYBOOKS = {path.stem for path in (CHECKOUT / "playbooks").glob("*.yml")}
PLUGINS = {
    path.stem
    for kind in ("modules", "filter", "test", "lookup", "action")
    for path in (CHECKOUT / "plugins" / kind).glob("*.py")
}
MAKEFILE = (CHECKOUT / "Makefile").read_text(encoding="utf-8")
TARGETS = set(re.findall(r"^([a-z-]+):", MAKEFILE, re.MULTILINE))
MAKE_VARIABLES = set(re.findall(r"\$[({]([A-Z_]+)|^([A-Z_]+) [?:]=", MAKEFILE, re.MULTILINE))
OPTIONS_OF_MAKE = {name for pair in MAKE_VARIABLES for name in pair if name}


def _tags(node: t.Any) -> set[str]:
    """Every tag in a playbook."""
    if isinstance(node, list):
        return set().union(*(_tags(item) for item in node)) if node else set()
    if isinstance(node, dict):
        own = node.get("tags") or []
        inner = set().union(*(_tags(value) for value in node.values())) if node else set()
        return inner | {own} if isinstance(own, str) else inner | set(own)
    return set()


TAGS = set().union(
    *(_tags(yaml.safe_load(path.read_text(encoding="utf-8"))) for path in (CHECKOUT / "playbooks").glob("*.yml"))
)


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_targets_of_make_exist(page: Path) -> None:
    for command in markdown.commands(page.read_text(encoding="utf-8")):
        words = command.partition(" #")[0].split()
        if words[:1] != ["make"] or len(words) < 2:
            continue
        for word in words[1:]:
            name, equals, _value = word.partition("=")
            if equals:
                assert name in OPTIONS_OF_MAKE, f"{command}: no such variable of make: {name}"
            elif re.fullmatch(r"[a-z-]+", word):
                assert word in TARGETS, f"{command}: no such target"


def test_make_bom_runs_where_the_relative_paths_of_the_site_count_from(tmp_path: Path) -> None:
    site = tmp_path / "my site"
    (site / "inventory").mkdir(parents=True)
    command = ["make", "--dry-run", "bom", f"INVENTORY={site}/inventory/", "PACKAGES=carry/python", "BOM=bom"]
    # Not the flags of a make that runs these tests.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    done = subprocess.run(command, cwd=CHECKOUT, env=environment, check=True, capture_output=True, text=True)
    last = done.stdout.splitlines()[-1]
    assert f'"{CHECKOUT}/.venv/bin/ansible-playbook"' in last
    told = last.replace(f'"{CHECKOUT}/.venv/bin/ansible-playbook"', 'pwd && printf "%s\\n"')
    words = subprocess.run(["bash", "-c", told], cwd=CHECKOUT, check=True, capture_output=True, text=True).stdout
    where, *given = words.splitlines()
    assert where == str(site)
    assert given[:2] == ["-i", f"{site}/inventory"]
    # What is said to make itself counts from where make is called.
    assert json.loads(given[4]) == {"bill_of_materials_dir": f"{CHECKOUT}/bom"}
    assert json.loads(given[6]) == {"bill_of_materials_packages": f"{CHECKOUT}/carry/python"}


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_names_of_the_collection_exist(page: Path) -> None:
    """Playbooks, modules, filters and roles by their full names, in prose and in examples alike."""
    text = page.read_text(encoding="utf-8")
    known = PLAYBOOKS | PLUGINS | set(ROLES) | {"inputs", "git"}  # a label of images; the end of an address
    for name in re.findall(rf"(?<![\w./@-]){re.escape(COLLECTION)}\.(\w+)", text):
        assert name in known, f"{COLLECTION}.{name} does not exist"
    for command in markdown.commands(text):
        for name in re.findall(rf"ansible-playbook .*?{re.escape(COLLECTION)}\.(\w+)", command):
            assert name in PLAYBOOKS, f"{command}: no such playbook"


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_tags_exist(page: Path) -> None:
    for command in markdown.commands(page.read_text(encoding="utf-8")):
        for given in re.findall(r"--(?:skip-)?tags[ =]([\w,]+)", command):
            assert set(given.split(",")) <= TAGS, f"{command}: no such tag"


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_variables_exist(page: Path) -> None:
    """Words that begin with the name of a role are its variables, wherever they stand."""
    text = page.read_text(encoding="utf-8")
    prefixes = "|".join(sorted(ROLES, key=len, reverse=True))
    own = PLUGINS | set(ROLES) | FACTS
    for word in set(re.findall(rf"(?<![\w./-])((?:{prefixes})s?_[a-z_]*\*?)", text)):
        assert word in VARIABLES or word in own or _FAMILY.search(word), f"no such variable: {word}"


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_variables_on_a_command_line_exist(page: Path) -> None:
    for command in markdown.commands(page.read_text(encoding="utf-8")):
        if "ansible-playbook" in command:
            for name in re.findall(r"(?:-e|--extra-vars)[ =]([a-z_]+)=", command):
                assert name in VARIABLES, f"{command}: no such variable"


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_examples_in_yaml_can_be_read(page: Path) -> None:
    for block in markdown.blocks(page.read_text(encoding="utf-8")):
        if block.language in ("yaml", "yml"):
            yaml.safe_load("\n".join(block.lines))


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_links_lead_to_files_of_this_collection(page: Path) -> None:
    for link in markdown.links(page.read_text(encoding="utf-8")):
        path = link.partition("#")[0]
        if path and "://" not in link:
            assert (page.parent / path).exists(), f"the link to {link} leads nowhere"


def test_the_tests_above_look_at_something() -> None:
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    commands = markdown.commands(text)
    assert sum(command.startswith("make ") for command in commands) > 10
    assert sum("ansible-playbook" in command for command in commands) > 30
    assert {"image", "scripts", "nodes", "job", "verify"} <= TAGS


def _sources() -> str:
    """The text of all plugins and roles, with strings that go on in the next line put together."""
    files = [*(CHECKOUT / "plugins").rglob("*.py"), *(CHECKOUT / "roles").glob("*/tasks/*.yml")]
    text = "\n".join(path.read_text(encoding="utf-8") for path in files)
    text = re.sub(r"%[sd]|\{[^{}\n]*\}", "%s", text)
    return _filled(re.sub(r'"\s*\n\s*f?"', "", text))


def _filled(text: str) -> str:
    """A value in a message stands between backticks, and is another one in each run."""
    return re.sub(r"`[^`\n]*`", "`%s`", text)


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_messages_are_those_that_the_collection_gives(page: Path) -> None:
    """The first column of a table of messages is what the reader will search for."""
    sources = _sources()
    tables = re.compile(r"^\| (?:message contains|信息包含) .*\n\|[-|]+\n((?:\|.*\n)+)", re.MULTILINE)
    for table in tables.findall(page.read_text(encoding="utf-8")):
        for row in table.splitlines():
            for fragment in markdown.code_words(row.split(" | ")[0]):
                # What was being done is put behind these words when it fails.
                doing = _filled(fragment.replace("could not ", '"', 1))
                assert fragment in OF_OTHERS or doing in sources, f"no message contains `{fragment}`"
