# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A Docker engine: the one that runs on this machine, or a private one that all runs of the sandbox share."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import subprocess
import time
import typing as t
from pathlib import Path

from . import apt, locks, paths, services
from .console import SandboxError, say

PACKAGES = ("docker.io", "iptables")


def running_host() -> str | None:
    """The address of an engine that already runs and that this user may use; None where there is none."""
    if not shutil.which("docker") or subprocess.run(["docker", "info"], capture_output=True, check=False).returncode:
        return None
    if os.environ.get("DOCKER_HOST"):
        return os.environ["DOCKER_HOST"]
    context = subprocess.run(
        ["docker", "context", "inspect", "--format", "{{.Endpoints.docker.Host}}"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return context.stdout.strip() or "unix:///var/run/docker.sock"


def ensure_installed() -> str | None:
    """Install the engine where the machine has none; the address of the one that its package started, if it did."""
    host = running_host()
    if host:
        return host
    apt.ensure(PACKAGES)
    patience = 15 if Path("/run/systemd/system").exists() else 0
    deadline = time.monotonic() + patience
    while not (host := running_host()) and time.monotonic() < deadline:
        time.sleep(0.5)
    return host


class PrivateEngine:
    """The sandbox's own engine; images stay in the cache folder, so that each is imported only once.

    Each run that uses it holds a shared lock, which the kernel frees with the process; whoever leaves last and finds
    no lasting user ends the engine.

    :param folder: another place for its images; an empty one makes an engine that knows no image.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or paths.made(paths.cache() / "engine")
        # A socket's path must be short, which a path below somebody's home need not be.
        self.runtime = Path("/run") / f"mindcluster-sandbox-{_short(str(self.folder))}"
        self.socket = self.runtime / "docker.sock"
        self.pidfile = self.runtime / "docker.pid"
        self.log = (folder or paths.logs()) / "dockerd.log"

    @property
    def host(self) -> str:
        """The address for C(DOCKER_HOST)."""
        return f"unix://{self.socket}"

    @contextlib.contextmanager
    def used(self) -> t.Iterator[str]:
        """Have the engine running for the time of the block; yields its address."""
        with open(self.folder / "users.lock", "w", encoding="ascii") as users:
            with locks.exclusive("engine"):
                fcntl.flock(users, fcntl.LOCK_SH)
            try:
                with locks.exclusive("engine"):
                    self._start()
                yield self.host
            finally:
                self._leave(users)

    def keep_for(self, state: Path) -> None:
        """Let the engine run on after the block, for the sake of a state folder."""
        (paths.made(self.folder / "kept-for") / _short(str(state))).write_text(f"{state}\n", encoding="utf-8")

    def release(self, state: Path) -> None:
        """Take the wish of a state folder back, and end the engine if nobody else uses it."""
        (paths.made(self.folder / "kept-for") / _short(str(state))).unlink(missing_ok=True)
        with open(self.folder / "users.lock", "w", encoding="ascii") as users:
            self._leave(users)

    def _leave(self, users: t.TextIO) -> None:
        with locks.exclusive("engine"):
            fcntl.flock(users, fcntl.LOCK_UN)
            try:
                fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return
            if not any(paths.made(self.folder / "kept-for").iterdir()):
                self._stop()

    def _start(self) -> None:
        if self._answers():
            return
        if os.geteuid() != 0:
            raise SandboxError("No Docker engine answers, and a private one needs root: start Docker or run as root")
        paths.made(self.runtime)
        fresh = not self.pid()
        if fresh:
            self.pidfile.unlink(missing_ok=True)  # left behind by a machine that went down
            say("docker: starting a private engine")
            self._spawn()
        services.wait("dockerd", self._answers, lambda: bool(self.pid()) or self._fresh(), self.log, timeout=90)
        if fresh:  # nobody builds yet, so that no layer of a build at work is taken for a leftover
            _docker(self.host, "image", "prune", "--force")

    def _spawn(self) -> None:
        self.log.unlink(missing_ok=True)
        self._spawned = time.monotonic()
        command: list[str | Path] = [
            "dockerd", "--host", self.host, "--data-root", self.folder / "data", "--exec-root", self.runtime / "exec",
            "--pidfile", self.pidfile,
            # Images are built and run without a network: the engine then touches no interface and no firewall rule.
            "--bridge=none", "--iptables=false", "--ip-masq=false",
        ]  # fmt: skip
        with open(self.log, "ab") as output:
            subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
            )

    def _fresh(self) -> bool:
        """Whether the engine was started so lately that it may not have written its pid file."""
        return time.monotonic() - getattr(self, "_spawned", 0.0) < 5

    def _answers(self) -> bool:
        return self.socket.exists() and not _docker(self.host, "version").returncode

    def pid(self) -> int:
        """The engine's process number; 0 where the one in the pid file is no engine any more."""
        try:
            pid = int(self.pidfile.read_text(encoding="ascii"))
            name = Path(f"/proc/{pid}/comm").read_text(encoding="ascii").strip()
        except (OSError, ValueError):
            return 0
        return pid if name == "dockerd" and services.born(pid) else 0

    def _stop(self) -> None:
        pid = self.pid()
        if pid:
            say("docker: ending the private engine")
            services.end(pid, patience=30)


def forget_images(host: str, registry: str) -> None:
    """Remove the images that were named for a registry of this run; what they share with others stays."""
    template = '{{.Repository}}{{if eq .Tag "<none>"}}@{{.Digest}}{{else}}:{{.Tag}}{{end}}'
    patterns = [f"--filter=reference={registry}/{depth}" for depth in ("*", "*/*", "*/*/*")]
    names = _docker(host, "image", "ls", "--format", template, *patterns).stdout.split()
    if names:
        _docker(host, "image", "rm", *names)


def _docker(host: str, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "DOCKER_HOST": host}
    return subprocess.run(["docker", *words], capture_output=True, text=True, check=False, env=environment)


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]
