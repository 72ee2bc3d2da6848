# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""ansible-test sanity, on a copy: it wants a git repository of its own below ansible_collections, and no link."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import typing as t
from pathlib import Path

from .step import BUILD, CHECKOUT, VENV, Count, Step

from parts import paths  # isort: skip

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
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    command = ["ansible-test", "sanity", "--color", "no", "--local", "--python", python]
    return [Step("sanity", command, _count, {"HOME": str(_home())}, COPY, _make_ready)]


def _count(code: int, log: str) -> Count:
    total = len(re.findall(r'^Running sanity test "', log, re.MULTILINE))
    listed = re.search(r"FATAL: The (\d+) sanity test\(s\) listed below", log)
    failed = int(listed[1]) if listed else int(code != 0)
    return Count(max(0, total - failed), failed)


def _make_ready() -> None:
    _copy()
    _bootstrap()


def _copy() -> None:
    """Copy what git knows or would take, as it is in the working tree, without the data of tests."""
    shutil.rmtree(COPY, ignore_errors=True)
    listing = _git(CHECKOUT, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    for name in filter(None, listing.split("\0")):
        source = CHECKOUT / name
        if source.exists() and not DATA.match(name):
            (COPY / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, COPY / name, follow_symlinks=False)
    _git(COPY, "init", "-q")
    _git(COPY, "add", "-A")


def _git(folder: Path, *words: str) -> str:
    return subprocess.run(["git", "-C", str(folder), *words], check=True, capture_output=True, text=True).stdout


def _home() -> Path:
    """A home folder for ansible-test alone, so that the user's own one keeps what it has."""
    return paths.cache() / "ansible-test"


def _bootstrap() -> None:
    """Prepare what ansible-test needs for making its environments from the package index that pip uses here."""
    version = _wanted_pip()
    folder = paths.made(_home() / ".ansible" / "test" / "cache")
    if not list(folder.glob(f"pip-{version}-*.whl")):
        _pip("download", "-q", "--no-deps", "-d", str(folder), f"pip=={version}")
    script = folder / f"get_pip_{version.replace('.', '_')}.py"
    script.write_text(BOOTSTRAP.format(version=version), encoding="utf-8")
    _hand_over_pip_settings()


def _wanted_pip() -> str:
    source = next(VENV.glob("lib/python3*/site-packages/ansible_test/_internal/python_requirements.py"))
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
