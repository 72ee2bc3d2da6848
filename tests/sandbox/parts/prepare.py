# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Everything slow, ahead of time and side by side: packages, binaries, base images."""

from __future__ import annotations

import concurrent.futures
import typing as t

from . import apt, base_images, commands, engine, given_cluster, kube, kube_build, registry
from .console import SandboxError

IMAGES = {base.part: base for base in base_images.BASES}
TARS = {base.tar_part: base for base in (*base_images.BASES, base_images.FOREIGN)}
NEEDS = {"scheduler": ("kube",), **{base.part: ("docker", base.tar_part) for base in base_images.BASES}}
ALL_OF = {"images": tuple(IMAGES), "tars": tuple(TARS)}
ORDER = ("docker", "registry", "wheels", *TARS, *IMAGES, "kube", "scheduler")


def with_needs(parts: t.Iterable[str]) -> list[str]:
    """The parts asked for and those they stand on, in the order in which they start.

    :raises SandboxError: for a part that does not exist.
    """
    wanted = {part.strip() for part in parts if part.strip()}
    unknown = sorted(wanted - {*ORDER, *ALL_OF})
    if unknown:
        raise SandboxError(f"Unknown part {', '.join(unknown)}; there are: {', '.join([*ORDER, *ALL_OF])}")
    for part in wanted & set(ALL_OF):
        wanted.update(ALL_OF[part])
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
    with concurrent.futures.ThreadPoolExecutor(max_workers=len(jobs)) as pool:
        futures = [pool.submit(job) for job in jobs]
        try:
            concurrent.futures.wait(futures)
        except BaseException:
            commands.end_all()
            raise
    failures = [_described(failure) for future in futures if (failure := future.exception())]
    if failures:
        raise SandboxError("\n".join(failures))


def _described(failure: BaseException) -> str:
    return str(failure) if isinstance(failure, SandboxError) else f"{type(failure).__name__}: {failure}"


def _packages(parts: t.Sequence[str]) -> set[str]:
    packages: set[str] = set()
    if "docker" in parts and not engine.running_host():
        packages.update(engine.PACKAGES)
    if "registry" in parts:
        packages.update(registry.PACKAGES)
    if any(not base.tarball.exists() for base in _bases(parts)):
        packages.update(base_images.PACKAGES)
    if "kube" in parts and not given_cluster.wanted():
        packages.update(kube.packages())
        if not kube.built():
            packages.update(kube_build.BUILD_PACKAGES)
    return packages


def _builds(parts: t.Sequence[str]) -> list[t.Callable[[], object]]:
    """The kinds of builds that can go side by side.

    Base images come one after the other: each is bound by the disk, and the other core has Go to compile.
    """
    builds: list[t.Callable[[], object]] = [lambda: [base_images.tarball(base) for base in _bases(parts)]]
    if "kube" in parts and not given_cluster.wanted():
        builds.append(kube.ensure_installed)
    return builds


def _bases(parts: t.Sequence[str]) -> list[base_images.Base]:
    bases = {**IMAGES, **TARS}
    return list(dict.fromkeys(bases[part] for part in parts if part in bases))
