# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The Python environment of the controller, with this collection linked into it."""

from __future__ import annotations

import hashlib
import importlib.util
import subprocess
import sys
import time
from pathlib import Path

from . import apt, commands, locks, paths
from .console import SandboxError, elapsed, say

FOLDER = paths.CHECKOUT / ".venv"
REQUIREMENTS = paths.CHECKOUT / "requirements"
STAMP = FOLDER / "requirements.sha256"


def ensure() -> None:
    """Make the environment, or bring it up to date where the requirements or the Python changed.

    :raises SandboxError: when Python's venv module or pip fails; the message ends with the tail of the log.
    """
    with locks.exclusive(f"venv-{hashlib.sha256(str(FOLDER).encode()).hexdigest()[:8]}"):
        wanted = _digest()
        if not _usable() or not STAMP.exists() or STAMP.read_text(encoding="ascii") != wanted:
            _install()
            STAMP.write_text(wanted, encoding="ascii")
        _link_collection()


def _digest() -> str:
    """What the environment depends on."""
    content = b"".join(path.read_bytes() for path in sorted(REQUIREMENTS.glob("*.txt")))
    return hashlib.sha256(content + sys.version.encode() + str(FOLDER).encode()).hexdigest()


def _usable() -> bool:
    """Whether the environment's Python runs and is this Python's release; it breaks when either is moved."""
    probe = [str(FOLDER / "bin" / "python"), "-c", "import pip, sys; print(sys.version)"]
    try:
        answer = subprocess.run(probe, capture_output=True, text=True, check=False)
    except OSError:
        return False
    return answer.returncode == 0 and answer.stdout.strip() == sys.version.strip()


def _install() -> None:
    started = time.monotonic()
    log = paths.logs() / "venv.log"
    log.unlink(missing_ok=True)
    if not _usable():
        _ensure_venv_module()
        say(f"venv: making {FOLDER}")
        commands.logged("venv", [sys.executable, "-m", "venv", "--clear", FOLDER], log)
    STAMP.unlink(missing_ok=True)
    say(f"venv: installing requirements/development.txt (log: {log})")
    pip = [str(FOLDER / "bin" / "python"), "-m", "pip", "install"]
    commands.logged("venv", [*pip, "-r", str(REQUIREMENTS / "development.txt")], log)
    say(f"venv: ready after {elapsed(time.monotonic() - started)}")


def _ensure_venv_module() -> None:
    if importlib.util.find_spec("ensurepip"):
        return
    if not Path(sys.executable).is_relative_to("/usr/bin"):
        raise SandboxError(f"{sys.executable} has no ensurepip; use another Python: make env PYTHON=…")
    apt.ensure([f"python{sys.version_info.major}.{sys.version_info.minor}-venv"])


def _link_collection() -> None:
    """Let the environment's Ansible find this checkout, so that an edit here is what runs."""
    site_packages = next(FOLDER.glob("lib/python3*/site-packages"))
    link = paths.made(site_packages / "ansible_collections" / "mindcluster") / "recovery"
    if link.is_symlink() and link.resolve() == paths.CHECKOUT:
        return
    link.unlink(missing_ok=True)
    link.symlink_to(paths.CHECKOUT)
