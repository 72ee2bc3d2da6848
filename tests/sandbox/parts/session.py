# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Starting the parts that a command asks for, on top of those that run already."""

from __future__ import annotations

import contextlib
import os
import shutil
import typing as t

from . import base_images, engine, given_cluster, kube, locks, paths, prepare, registry, services, stub_wheels
from .home import Home

PARTS = "SANDBOX_PARTS"
RECORD = "environment.json"


class Session:
    """The services of one command or one state folder.

    :param home: where they live.
    :ivar environment: the variables that name what runs.
    """

    def __init__(self, home: Home, stack: contextlib.ExitStack) -> None:
        self._home = home
        self._stack = stack
        self.environment: dict[str, str] = {}

    def provide(self, parts: t.Sequence[str]) -> None:
        """Start the parts in their order; each adds its variables."""
        for part in parts:
            self.environment.update(self._provided(part))

    def _provided(self, part: str) -> dict[str, str]:
        if part in prepare.TARS:
            base = prepare.TARS[part]
            return {base.tar_variable: str(base_images.tarball(base))}
        return self._image(part) if part in prepare.IMAGES else t.cast("dict[str, str]", getattr(self, f"_{part}")())

    def _docker(self) -> dict[str, str]:
        host = engine.ensure_installed()
        if host:
            return {"DOCKER_HOST": host}
        private = engine.PrivateEngine()
        if self._home.lasting:
            private.keep_for(self._home.folder)
        return {"DOCKER_HOST": self._stack.enter_context(private.used())}

    def _registry(self) -> dict[str, str]:
        started = registry.start(self._home)
        host = self.environment.get("DOCKER_HOST")
        if host and not self._home.lasting:
            for name in registry.ADDRESSES:
                self._stack.callback(engine.forget_images, host, started[name])
        return started

    def _wheels(self) -> dict[str, str]:
        with locks.exclusive("wheels"):
            return stub_wheels.once(paths.cache() / "wheels")

    def _image(self, part: str) -> dict[str, str]:
        base = prepare.IMAGES[part]
        with locks.exclusive("images"):
            return {base.variable: base_images.imported(base, {**os.environ, **self.environment})}

    def _kube(self) -> dict[str, str]:
        return given_cluster.start(self._home) if given_cluster.wanted() else kube.start(self._home)

    def _scheduler(self) -> dict[str, str]:
        kube.start_scheduler(self._home, self.environment["KUBECONFIG"])
        return {}


def missing(parts: t.Iterable[str], environment: t.Mapping[str, str]) -> list[str]:
    """The parts, and what they stand on, that the environment does not name as running."""
    there = environment.get(PARTS, "").split(",")
    return [part for part in prepare.with_needs(parts) if part not in there]


@contextlib.contextmanager
def running(parts: t.Sequence[str], outer: t.Mapping[str, str]) -> t.Iterator[dict[str, str]]:
    """Have the parts running for the time of the block; what an outer run started is used as it is.

    :param outer: the environment that this command was called with.
    :returns: the variables to add to that environment.
    """
    wanted = missing(parts, outer)
    prepare.prepare(wanted)
    with contextlib.ExitStack() as stack:
        home = Home.temporary()
        stack.callback(shutil.rmtree, home.folder, ignore_errors=True)
        stack.callback(services.stop_all, home)
        session = Session(home, stack)
        # What the wanted parts stand on may be an outer run's.
        session.environment.update({name: outer[name] for name in ("DOCKER_HOST", "KUBECONFIG") if name in outer})
        session.provide(wanted)
        session.environment[PARTS] = ",".join(filter(None, [outer.get(PARTS, ""), *wanted]))
        yield session.environment


def up(home: Home, parts: t.Sequence[str]) -> dict[str, str]:
    """Start the parts in a state folder and leave them running; what runs already stays as it is."""
    known = home.read(RECORD)
    wanted = prepare.with_needs([*parts, *known.get(PARTS, "").split(",")])
    prepare.prepare(wanted)
    with contextlib.ExitStack() as stack:
        session = Session(home, stack)
        session.provide(wanted)
    session.environment[PARTS] = ",".join(wanted)
    home.write(RECORD, session.environment)
    return session.environment


def down(home: Home) -> None:
    """End what runs in a state folder; data, ports and passwords stay for the next time."""
    services.stop_all(home)
    engine.PrivateEngine().release(home.folder)
