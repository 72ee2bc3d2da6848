# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Base images made from Debian's packages: a file tree in a tar, imported once into each engine."""

from __future__ import annotations

import io
import tarfile
import typing as t
from pathlib import Path

from . import apt, cache, commands, paths
from .cache import Workbench
from .console import say

PACKAGES = ("mmdebstrap", "debian-archive-keyring")
RECIPE = 1  # part of the tag: raised whenever the way of making them changes


class Base(t.NamedTuple):
    """One base image: its short name, the variable that names it, and what Debian suite and packages make it.

    :ivar architecture: another one than this machine's. Such packages are unpacked and none of them is run.
    """

    name: str
    variable: str
    suite: str = ""
    include: tuple[str, ...] = ()
    architecture: str = ""

    @property
    def part(self) -> str:
        """The name by which it is asked for alone."""
        return f"image-{self.name}"

    @property
    def tar_part(self) -> str:
        """The name by which its file tree alone is asked for, which needs no engine."""
        return f"tar-{self.name}"

    @property
    def tar_variable(self) -> str:
        """The variable that names the file tree."""
        return self.variable.replace("_BASE_", "_TAR_")

    @property
    def reference(self) -> str:
        """The image name inside the engine."""
        return f"mindcluster-recovery/base-{self.name}:{RECIPE}"

    @property
    def tarball(self) -> Path:
        """Where its file tree lies in the cache."""
        return paths.cache() / f"base-{self.name}-{RECIPE}.tar"


BASES = (
    Base("torch26", "SANDBOX_BASE_TORCH26", "trixie", ("python3", "python3-pip", "python3-torch")),
    Base("torch113", "SANDBOX_BASE_TORCH113", "bookworm", ("python3", "python3-pip", "python3-torch")),
    Base("bare", "SANDBOX_BASE_BARE", "bookworm", ("python3", "python3-pip")),
    Base("empty", "SANDBOX_BASE_EMPTY"),
)
#: No engine runs it, so it is there as a file tree only.
FOREIGN = Base("arm64", "SANDBOX_BASE_ARM64", "trixie", ("base-files", "python3-minimal", "libpython3-stdlib"), "arm64")
# All of torch would be a gigabyte; its Python files are what a builder looks at.
TORCH_SOURCES = """
cd "$1"
APT_CONFIG="$MMDEBSTRAP_APT_CONFIG" apt-get -o APT::Sandbox::User=root download python3-torch:arm64
dpkg-deb --fsys-tarfile python3-torch_*.deb | tar -x -C "$1" --exclude='*.so*' ./usr/lib/python3/dist-packages
rm python3-torch_*.deb
"""
UNREAD = ("/usr/share/doc/*", "/usr/share/man/*", "/usr/share/locale/*", "/usr/share/info/*")


def tarball(base: Base) -> Path:
    """The image's file tree, built where the cache has none."""
    return cache.build_once(f"base image {base.name}", base.tarball, lambda bench: _recipe(base, bench))


def _recipe(base: Base, bench: Workbench) -> Path:
    result = bench.folder / "base.tar"
    if not base.suite:
        return _tree_without_programs(result)
    apt.ensure(PACKAGES)
    variant = ["--variant=minbase"]
    if base.architecture:
        variant = ["--variant=extract", f"--architectures={base.architecture}", f"--extract-hook={TORCH_SOURCES}"]
    command = [
        "nice", "-n", "5", "mmdebstrap", *variant, f"--include={','.join(base.include)}",
        *(f"--aptopt={line}" for line in apt.transport_options()),
        *(f"--dpkgopt=path-exclude={pattern}" for pattern in UNREAD),
        base.suite, str(result), apt.source_line("deb", base.suite),
    ]  # fmt: skip
    commands.logged(f"base image {base.name}", command, bench.log)
    return result


def _tree_without_programs(result: Path) -> Path:
    """A file tree with neither Python nor a shell in it, for showing what is said about such a base image."""
    text = b'ID=empty\nPRETTY_NAME="an image without programs"\n'
    with tarfile.open(result, "w") as archive:
        entry = tarfile.TarInfo("etc/os-release")
        entry.size = len(text)
        archive.addfile(entry, io.BytesIO(text))
    return result


def imported(base: Base, environment: t.Mapping[str, str]) -> str:
    """The image's name, after it was imported into the engine of C(DOCKER_HOST) where that has none of the name."""
    known = commands.output_of(["docker", "image", "ls", "--quiet", base.reference], env=environment)
    if not known.strip():
        tar = tarball(base)
        say(f"base image {base.name}: importing into the engine")
        log = paths.logs() / f"import-{base.name}.log"
        log.unlink(missing_ok=True)
        commands.logged(f"import of {base.name}", ["docker", "import", str(tar), base.reference], log, env=environment)
    return base.reference
