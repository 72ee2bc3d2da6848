# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Python environments with this collection linked into them: that of the controller, and others for tests."""

from __future__ import annotations

import hashlib
import importlib.util
import re
import subprocess
import sys
import time
import typing as t
from pathlib import Path

from . import apt, commands, locks, paths
from .console import SandboxError, elapsed, say

REQUIREMENTS = paths.CHECKOUT / "requirements"


class Environment(t.NamedTuple):
    """A Python environment.

    :ivar folder: where it is; it cannot be moved.
    :ivar wanted: what pip is told to install, with files of requirements as C(-r FILE).
    :ivar python: the interpreter that it is made from.
    :ivar linked: whether this checkout is what its Ansible finds as the collection.
    """

    folder: Path
    wanted: t.Sequence[str]
    python: str = sys.executable
    linked: bool = True

    @property
    def programs(self) -> Path:
        """Where its commands are."""
        return self.folder / "bin"

    @property
    def packages(self) -> Path:
        """Where its packages are."""
        return next(self.folder.glob("lib/python3*/site-packages"))

    def version_of(self, package: str) -> str:
        """Which version of a package it has; empty where it has none."""
        name = re.compile(re.sub(r"[-_.]+", "[-_.]+", package) + r"-([^-]+)\.dist-info", re.IGNORECASE)
        matches = [name.fullmatch(path.name) for path in self.folder.glob("lib/python3*/site-packages/*.dist-info")]
        return next((match[1] for match in matches if match), "")


CONTROLLER = Environment(paths.CHECKOUT / ".venv", ("-r", str(REQUIREMENTS / "development.txt")))


def cached(name: str, wanted: t.Sequence[str], python: str = sys.executable) -> Environment:
    """An environment of the cache folder, one for each name and checkout."""
    place = hashlib.sha256(str(paths.CHECKOUT).encode()).hexdigest()[:8]
    return Environment(paths.cache() / "environments" / f"{name}-{place}", wanted, python)


def ensure(environment: Environment = CONTROLLER) -> None:
    """Make an environment, or bring it up to date where the requirements or the Python changed.

    :raises SandboxError: when Python's venv module or pip fails; the message ends with the tail of the log.
    """
    folder = environment.folder
    stamp = folder / "requirements.sha256"
    with locks.exclusive(f"venv-{hashlib.sha256(str(folder).encode()).hexdigest()[:8]}"):
        version = _version_of(environment.python)
        digest = _digest(environment, version)
        if _version_of(folder / "bin" / "python", "pip") != version or _content(stamp) != digest:
            _install(environment, version, stamp)
            stamp.write_text(digest, encoding="ascii")
        _link_collection(environment)


def _digest(environment: Environment, version: str) -> str:
    """What the environment depends on."""
    content = b"".join(path.read_bytes() for path in sorted(REQUIREMENTS.glob("*.txt")))
    words = "\n".join([*environment.wanted, version, str(environment.folder)])
    return hashlib.sha256(content + words.encode()).hexdigest()


def _content(stamp: Path) -> str:
    return stamp.read_text(encoding="ascii") if stamp.exists() else ""


def _version_of(python: str | Path, *modules: str) -> str:
    """The interpreter's full version; empty where it does not run, as one whose environment was moved."""
    probe = f"import {', '.join(['sys', *modules])}; print(sys.version)"
    try:
        answer = subprocess.run([str(python), "-c", probe], capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return answer.stdout.strip() if answer.returncode == 0 else ""


def _install(environment: Environment, version: str, stamp: Path) -> None:
    folder = environment.folder
    started = time.monotonic()
    log = paths.logs() / f"venv{'' if environment is CONTROLLER else '-' + folder.name}.log"
    log.unlink(missing_ok=True)
    if _version_of(folder / "bin" / "python", "pip") != version:
        _ensure_venv_module(environment.python)
        say(f"venv: making {folder}")
        commands.logged("venv", [environment.python, "-m", "venv", "--clear", folder], log)
    stamp.unlink(missing_ok=True)
    say(f"venv: installing {' '.join(environment.wanted)} (log: {log})")
    commands.logged("venv", [str(folder / "bin" / "python"), "-m", "pip", "install", *environment.wanted], log)
    say(f"venv: ready after {elapsed(time.monotonic() - started)}")


def _ensure_venv_module(python: str) -> None:
    if python != sys.executable or importlib.util.find_spec("ensurepip"):
        return
    if not Path(sys.executable).is_relative_to("/usr/bin"):
        raise SandboxError(f"{sys.executable} has no ensurepip; use another Python: make env PYTHON=…")
    apt.ensure([f"python{sys.version_info.major}.{sys.version_info.minor}-venv"])


def _link_collection(environment: Environment) -> None:
    """Let the environment's Ansible find this checkout, so that an edit here is what runs."""
    link = paths.made(environment.packages / "ansible_collections" / "mindcluster") / "recovery"
    wanted = paths.CHECKOUT if environment.linked else None
    if wanted and link.is_symlink() and link.resolve() == wanted:
        return
    link.unlink(missing_ok=True)
    if wanted:
        link.symlink_to(wanted)
