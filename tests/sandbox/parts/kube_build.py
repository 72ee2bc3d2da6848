# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""kube-apiserver and kube-scheduler, built from Debian's source package."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from . import apt, cache, commands, paths
from .cache import Workbench
from .console import SandboxError

BUILD_PACKAGES = ("golang-1.19-go", "golang-github-modern-go-reflect2-dev", "make", "rsync")
REFLECT2 = Path("/usr/share/gocode/src/github.com/modern-go/reflect2")
BINARIES = ("kube-apiserver", "kube-scheduler")
RECIPE = 1  # raised whenever the way of building changes, so that an older cache is not taken for it


def given() -> dict[str, Path]:
    """Binaries that the environment names, by the variables of the envtest tools."""
    found: dict[str, Path] = {}
    folder = os.environ.get("KUBEBUILDER_ASSETS")
    for name in ("etcd", *BINARIES):
        single = os.environ.get("TEST_ASSET_" + name.upper().replace("-", "_"))
        if single:
            found[name] = Path(single)
        elif folder and (Path(folder) / name).exists():
            found[name] = Path(folder) / name
    for name, path in found.items():
        if not os.access(path, os.X_OK):
            raise SandboxError(f"{name}: {path} is named by the environment and is no program that can be run")
    return found


def binaries() -> Path:
    """The folder with both binaries, built where the cache has none."""
    return cache.build_once("kube-apiserver and kube-scheduler", target(), _recipe)


def target() -> Path:
    """Where the built binaries are kept."""
    return paths.cache() / f"kube-{RECIPE}"


def _recipe(bench: Workbench) -> Path:
    apt.ensure(BUILD_PACKAGES)
    tree = _unpack(_download(bench), bench)
    _take_reflect2_from_debian(tree)
    gopath = bench.folder / "go"
    place = paths.made(gopath / "src" / "k8s.io") / "kubernetes"
    place.symlink_to(tree)
    environment = {
        **os.environ,
        "PATH": "/usr/lib/go-1.19/bin:" + os.environ["PATH"],
        "GOPATH": str(gopath),
        "GOCACHE": str(bench.folder / "gocache"),
        "GO111MODULE": "off",
        "GOFLAGS": "",
        "CGO_ENABLED": "0",
        "PWD": str(place),  # Go looks at the name of the folder, not at where the link leads
    }
    what = " ".join(f"cmd/{name}" for name in BINARIES)
    make = ["nice", "-n", "5", "make", f"WHAT={what}", "GOLDFLAGS=-s -w"]
    commands.logged("kube build", make, bench.log, cwd=place, env=environment)
    return _collect(tree, bench.folder / "result")


def _download(bench: Workbench) -> Path:
    """The upstream tarball of the source package, by an apt with a state of its own: the machine's lists stay."""
    root = bench.folder / "apt"
    for name in ("lists/partial", "cache/archives/partial"):
        paths.made(root / name)
    sources = root / "sources.list"
    sources.write_text(apt.source_line("deb-src", apt.SUITE) + "\n", encoding="utf-8")
    options = [
        f"-oDir::State::Lists={root}/lists",
        f"-oDir::Etc::SourceList={sources}",
        "-oDir::Etc::SourceParts=/dev/null",
        f"-oDir::Cache={root}/cache",
        "-oAPT::Sandbox::User=root",  # the cache folder may lie below a home that no other user may enter
    ]
    commands.logged("source list", ["apt-get", *options, "update"], bench.log)
    commands.logged(
        "kubernetes source", ["apt-get", *options, "source", "--download-only", "kubernetes"], bench.log, cwd=root
    )
    tarballs = sorted(root.glob("kubernetes_*.orig.tar.*"))
    if len(tarballs) != 1:
        raise SandboxError(f"The source package kubernetes brought {len(tarballs)} upstream tarballs instead of one")
    return tarballs[0]


def _unpack(tarball: Path, bench: Workbench) -> Path:
    folder = paths.made(bench.folder / "src")
    commands.logged("unpacking", ["tar", "--extract", "--file", tarball, "--directory", folder], bench.log)
    return next(path for path in folder.iterdir() if path.is_dir())


def _take_reflect2_from_debian(tree: Path) -> None:
    """Replace the vendored reflect2, which crashes the server when it is built with Go 1.19."""
    vendored = tree / "vendor/github.com/modern-go/reflect2"
    shutil.rmtree(vendored)
    shutil.copytree(REFLECT2, vendored)


def _collect(tree: Path, result: Path) -> Path:
    result.mkdir()
    for name in BINARIES:
        built = [path for path in (tree / "_output/local/bin").glob(f"linux/*/{name}") if path.is_file()]
        if len(built) != 1:
            raise SandboxError(f"The build ended well and left {len(built)} files named {name} instead of one")
        shutil.copy2(built[0], result / name)
    return result
