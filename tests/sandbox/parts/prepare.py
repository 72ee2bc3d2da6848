# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Everything slow, ahead of time and side by side: packages, binaries, base images."""

from __future__ import annotations

import concurrent.futures
import typing as t

from . import apt, base_images, commands, engine, kube, kube_build, registry
from .console import SandboxError, say

NEEDS = {"images": ("docker",), "scheduler": ("kube",)}
ORDER = ("docker", "registry", "wheels", "images", "kube", "scheduler")


def with_needs(parts: t.Iterable[str]) -> list[str]:
    """The parts asked for and those they stand on, in the order in which they start.

    :raises SandboxError: for a part that does not exist.
    """
    wanted = {part.strip() for part in parts if part.strip()}
    unknown = sorted(wanted - set(ORDER))
    if unknown:
        raise SandboxError(f"Unknown part {', '.join(unknown)}; there are: {', '.join(ORDER)}")
    for part in list(wanted):
        wanted.update(NEEDS.get(part, ()))
    return [part for part in ORDER if part in wanted]


def prepare(parts: t.Sequence[str]) -> None:
    """Install packages in one go, then build what is missing side by side.

    :raises SandboxError: with every build that failed, after all have ended.
    """
    apt.ensure(_packages(parts))
    if "docker" in parts:
        engine.ensure_installed()
    jobs = _builds(parts)
    with concurrent.futures.ThreadPoolExecutor(max_workers=max(1, len(jobs))) as pool:
        futures = [pool.submit(job) for job in jobs]
        try:
            concurrent.futures.wait(futures)
        except BaseException:
            commands.end_all()
            raise
    failures = [str(future.exception()) for future in futures if future.exception()]
    if failures:
        raise SandboxError("\n".join(failures))
    say(f"prepared: {', '.join(parts)}")


def _packages(parts: t.Sequence[str]) -> set[str]:
    packages: set[str] = set()
    if "docker" in parts and not engine.running_host():
        packages.update(engine.PACKAGES)
    if "registry" in parts:
        packages.update(registry.PACKAGES)
    if "images" in parts and not all(base.tarball.exists() for base in base_images.BASES):
        packages.update(base_images.PACKAGES)
    if "kube" in parts:
        packages.update(kube.packages())
        if not kube.built():
            packages.update(kube_build.BUILD_PACKAGES)
    return packages


def _builds(parts: t.Sequence[str]) -> list[t.Callable[[], object]]:
    builds: list[t.Callable[[], object]] = []
    if "kube" in parts:
        builds.append(kube.ensure_installed)
    if "images" in parts:
        builds.append(_tarballs)
    return builds


def _tarballs() -> None:
    """One after the other: each is bound by the one lock of dpkg's disk, and the other core has Go to compile."""
    for base in base_images.BASES:
        base_images.tarball(base)
