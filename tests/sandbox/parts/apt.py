# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Debian packages: what is missing is installed, and mirrors are read from the machine's own configuration."""

from __future__ import annotations

import os
import shlex
import subprocess
import typing as t
from pathlib import Path

from . import commands, locks, paths
from .console import SandboxError, say

KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
SUITE = "bookworm"


def ensure(packages: t.Iterable[str]) -> None:
    """Install the packages that are missing; the package lists are fetched only then.

    :raises SandboxError: without apt, or without root rights where something is missing; names the command to run.
    """
    wanted = sorted(set(packages))
    if not _missing(wanted):
        return
    with locks.exclusive("apt"):
        missing = _missing(wanted)
        if missing:
            _install(missing)


def _missing(packages: t.Sequence[str]) -> list[str]:
    return [name for name in packages if not _installed(name)]


def _installed(package: str) -> bool:
    try:
        query = subprocess.run(
            ["dpkg-query", "-W", "-f", "${db:Status-Status}", package], capture_output=True, text=True, check=False
        )
    except FileNotFoundError as exc:
        raise SandboxError("The sandbox needs a Debian 12 machine: dpkg-query was not found") from exc
    return query.stdout.strip() == "installed"


def _install(packages: t.Sequence[str]) -> None:
    install = ["apt-get", "install", "-y", "--no-install-recommends", *packages]
    if os.geteuid() != 0:
        raise SandboxError(
            f"Packages are missing: {', '.join(packages)}. Install them: apt-get update && {shlex.join(install)}"
        )
    log = paths.logs() / "apt.log"
    log.unlink(missing_ok=True)
    say(f"apt: installing {' '.join(packages)}")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8"}
    patient = ["-o", "DPkg::Lock::Timeout=300", "-q"]
    commands.logged("apt-get update", ["apt-get", *patient, "update"], log, env=environment)
    commands.logged("apt-get install", ["apt-get", *patient, *install[1:]], log, env=environment)


def mirror() -> str:
    """The address that this machine's own apt configuration names for Debian's main archive.

    :raises SandboxError: when apt knows none.
    """
    listing = commands.output_of(
        ["apt-get", "indextargets", "--format", "$(REPO_URI) $(CODENAME) $(COMPONENT)", "Created-By: Packages"]
    )
    for line in listing.splitlines():
        uri, codename, component = line.split()
        if codename == SUITE and component == "main":
            return uri
    raise SandboxError(f"apt's sources name no archive for {SUITE} main; add one to /etc/apt/sources.list.d")


def transport_options() -> list[str]:
    """The machine's own proxy settings for apt, as C(key value;) lines for another apt."""
    dump = commands.output_of(["apt-config", "dump"])
    return [
        line for line in dump.splitlines() if line.startswith(("Acquire::http", "Acquire::https")) and '""' not in line
    ]


def source_line(kind: str, suite: str) -> str:
    """A one-line source for Debian's main component of a suite, C(deb) or C(deb-src)."""
    return f"{kind} [signed-by={KEYRING}] {mirror()} {suite} main"
