# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What an execution environment needs is found in the built collection, and can be had, on both architectures."""

from __future__ import annotations

import json
import re
import shutil
import typing as t
from pathlib import Path

import pytest
import yaml
from conftest import Tools

CHECKOUT = Path(__file__).resolve().parents[2]
EXAMPLE = CHECKOUT / "examples" / "execution-environment"
MACHINES = ("x86_64", "aarch64")
#: Not every pip knows that what was built for an older glibc runs on a newer one.
PLATFORMS = ("manylinux_2_28", "manylinux_2_17", "manylinux2014")
#: Comes with ansible-core, so ansible-builder leaves it out.
OF_CORE = {"pyyaml"}
PYTHON = "3.12"
ACTIVE = """
import sys
from bindep.depends import Depends
rules = Depends(open(sys.argv[1], encoding="utf-8").read())
print(*sorted(rule[0] for rule in rules.active_rules(sys.argv[2:])))
"""


class Needs(t.NamedTuple):
    """The lists that were gathered for the image."""

    python: Path
    system: Path


@pytest.fixture(scope="module")
def needs(tools: Tools, collections: Path, tmp_path_factory: pytest.TempPathFactory) -> Needs:
    folder = tmp_path_factory.mktemp("needs")
    found = Needs(folder / "python.txt", folder / "bindep.txt")
    tools.run(
        "ansible-builder", "introspect", f"--write-pip={found.python}", f"--write-bindep={found.system}", collections
    )
    return found


def test_builder_finds_what_the_plugins_import(needs: Needs) -> None:
    assert _names(needs.python) == _names(CHECKOUT / "requirements" / "python.txt") - OF_CORE


@pytest.mark.parametrize("machine", MACHINES)
def test_python_packages_are_to_be_had_as_wheels(tools: Tools, needs: Needs, machine: str, tmp_path: Path) -> None:
    platforms = [f"--platform={platform}_{machine}" for platform in PLATFORMS]
    elsewhere = [*platforms, "--python-version", PYTHON, "--target", tmp_path / "never"]
    report = tmp_path / "report.json"
    core = yaml.safe_load((EXAMPLE / "execution-environment.yml").read_text(encoding="utf-8"))["dependencies"]
    named = [core[key]["package_pip"] for key in ("ansible_core", "ansible_runner")]
    options = ["--quiet", "--dry-run", "--ignore-installed", "--report", report, "--only-binary=:all:", *elsewhere]
    tools.run("python", "-m", "pip", "install", *options, "-r", needs.python, *named, **_pip_of_the_user())
    resolved = {item["metadata"]["name"] for item in json.loads(report.read_text(encoding="utf-8"))["install"]}
    assert _names(needs.python) | {"ansible-core", "ansible-runner"} <= {_plain(name) for name in resolved}


@pytest.mark.parametrize(("platform", "package"), [("rpm", "openssh-clients"), ("dpkg", "openssh-client")])
def test_system_packages_are_understood(tools: Tools, needs: Needs, platform: str, package: str) -> None:
    assert tools.run("python", "-c", ACTIVE, needs.system, f"platform:{platform}").split() == [package]


def test_the_example_makes_a_build_context(tools: Tools, artifact: Path, tmp_path: Path) -> None:
    shutil.copytree(EXAMPLE, tmp_path / "example")
    shutil.copy(artifact, tmp_path / "example")
    definition = tmp_path / "example" / "execution-environment.yml"
    tools.run("ansible-builder", "create", "-f", definition, "-c", tmp_path / "context")
    assert (tmp_path / "context" / "_build" / "collections" / artifact.name).read_bytes() == artifact.read_bytes()
    recipe = next((tmp_path / "context").glob("*file")).read_text(encoding="utf-8")
    assert "ansible-galaxy collection install" in recipe and "introspect" in recipe


def _pip_of_the_user() -> dict[str, str]:
    """Let pip ask the index that this user has configured, and keep what it fetched."""
    return {"HOME": str(Path.home())}


def _names(requirements: Path) -> set[str]:
    lines = [line.partition("#")[0].strip() for line in requirements.read_text(encoding="utf-8").splitlines()]
    return {_plain(re.split(r"[<>=!~; \[]", line)[0]) for line in lines if line}


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
