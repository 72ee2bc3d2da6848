# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""ansible-test sanity, on a copy: it wants a git repository of its own below ansible_collections, and no link."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import typing as t
from pathlib import Path

from . import snapshot
from .step import BUILD, VENV, Count, Step

from parts import paths, venv  # isort: skip

COPY = BUILD / "sanity" / "ansible_collections" / "mindcluster" / "recovery"
# What tests and examples feed in stands for a user's files, and is written the way users write.
DATA = re.compile(r"^(tests|molecule|examples)/.*\b(fixtures|files)/")
BOOTSTRAP = '''\
"""Stands in for the script that ansible-test would fetch: installs pip from the wheel beside it."""
import pathlib
import sys

here = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(next(here.glob("pip-{version}-*.whl"))))
options = [word for word in sys.argv[1:] if word.startswith("-") and word not in ("--no-setuptools", "--no-wheel")]
sys.argv = ["pip", "install", "--no-index", "--find-links", str(here), "pip=={version}", *options]
from pip._internal.cli.main import main

sys.exit(main())
'''


def steps() -> list[Step]:
    """One step, which counts for each of its tests."""
    return [step("sanity", venv.CONTROLLER, "%d.%d" % sys.version_info[:2])]


def step(name: str, environment: venv.Environment, python: str) -> Step:
    """The sanity tests of the core in an environment, with that environment's own Python."""
    command = ["ansible-test", "sanity", "--color", "no", "--local", "--python", python]

    def make_ready() -> None:
        snapshot.copy(COPY, lambda name: not DATA.match(name))
        _bootstrap(environment)

    return Step(name, command, _count, {"HOME": str(_home())}, COPY, make_ready, environment, "ansible-core")


def _count(code: int, log: str) -> Count:
    """Passed are tests; failed is what the others found, or the others themselves where they do not say how much."""
    total = len(re.findall(r'^Running sanity test "', log, re.MULTILINE))
    listed = re.search(r"FATAL: The (\d+) sanity test\(s\) listed below", log)
    failed = int(listed[1]) if listed else int(code != 0)
    found = sum(map(int, re.findall(r"^ERROR: Found (\d+) .*issue", log, re.MULTILINE)))
    return Count(max(0, total - failed), max(failed, found))


def _home() -> Path:
    """A home folder for ansible-test alone, so that the user's own one keeps what it has."""
    return paths.cache() / "ansible-test"


def _bootstrap(environment: venv.Environment) -> None:
    """Prepare what ansible-test needs for making its environments from the package index that pip uses here."""
    version = _wanted_pip(environment)
    folder = paths.made(_home() / ".ansible" / "test" / "cache")
    if not list(folder.glob(f"pip-{version}-*.whl")):
        _pip("download", "-q", "--no-deps", "-d", str(folder), f"pip=={version}")
    script = folder / f"get_pip_{version.replace('.', '_')}.py"
    script.write_text(BOOTSTRAP.format(version=version), encoding="utf-8")
    _hand_over_pip_settings()


def _wanted_pip(environment: venv.Environment) -> str:
    source = environment.packages / "ansible_test" / "_internal" / "python_requirements.py"
    found = re.search(r"pip='([\d.]+)'", source.read_text(encoding="utf-8"))
    if not found:
        raise RuntimeError(f"{source} does not say which pip ansible-test wants")
    return found[1]


def _pip(*words: str) -> str:
    command = [str(VENV / "bin" / "python"), "-m", "pip", *words]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode:
        raise RuntimeError(f"`{' '.join(command)}` failed: {result.stderr.strip()}")
    return result.stdout


def _hand_over_pip_settings() -> None:
    """Write pip's settings of this user and this environment to the other home, which would not see them."""
    settings = dict(_pip_settings())
    lines = [f"{name} = {_continued(value)}" for name, value in sorted(settings.items())]
    folder = paths.made(_home() / ".config" / "pip")
    (folder / "pip.conf").write_text("\n".join(["[global]", *lines, ""]), encoding="utf-8")
    cache = _home() / ".cache"
    if not cache.is_symlink():
        cache.symlink_to(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def _pip_settings() -> t.Iterator[tuple[str, str]]:
    for line in _pip("config", "list").splitlines():
        name, _equals, value = line.partition("=")
        section, _dot, key = name.rpartition(".")
        if section in ("global", "install", ":env:"):
            yield key, str(ast.literal_eval(value))


def _continued(value: str) -> str:
    return "\n    ".join(value.splitlines())
