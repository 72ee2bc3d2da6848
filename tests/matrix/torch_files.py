# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The real text of the files that the patcher touches, out of every torch release and for both architectures.

pip finds the wheels (so its own configuration says where: index, proxy, certificates, extra folders), and its
lazy reader fetches the few kilobytes that are needed by range requests instead of gigabytes of wheels. What was
fetched is kept in C(${XDG_CACHE_HOME:-~/.cache}/mindcluster-recovery/torch-files) and is never asked for again.
"""

from __future__ import annotations

import dataclasses
import json
import logging
import os
import pathlib
import typing as t
import zipfile

from pip._internal.commands import create_command
from pip._internal.models.target_python import TargetPython
from pip._internal.network.lazy_wheel import LazyZipOverHTTP
from pip._vendor.packaging.specifiers import SpecifierSet

if t.TYPE_CHECKING:
    from pip._internal.models.link import Link

FILES = ("torch/version.py", "torch/distributed/run.py", "torch/distributed/rendezvous.py")
#: No release before this one has torch/distributed/run.py together with the attempt prefix.
OLDEST = (1, 9, 1)
PYTHONS = ((3, 9), (3, 10), (3, 11), (3, 12), (3, 13), (3, 14))
TAGS = ("manylinux_2_28", "manylinux_2_17", "manylinux2014", "manylinux1")
ARCHITECTURES = ("x86_64", "aarch64")


@dataclasses.dataclass(frozen=True)
class Release:
    """One torch release: its version, and the bytes of its files by architecture and path in the wheel.

    The index has no wheel for aarch64 of the oldest releases.
    """

    version: str
    files: dict[str, dict[str, bytes]]


def cache_folder() -> pathlib.Path:
    """Where the fetched files are kept."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return pathlib.Path(base, "mindcluster-recovery", "torch-files")


def release_tuple(version: str) -> tuple[int, ...]:
    """C(2.13.0+cpu) as C((2, 13, 0)), so that 2.10 comes after 2.9."""
    return tuple(int(part) for part in version.split("+")[0].split("."))


class Index:
    """The package index as pip is set up to see it."""

    def __init__(self) -> None:
        # A folder that pip is told to look in need not have torch.
        logging.getLogger("pip").setLevel(logging.ERROR)
        # pip has no public interface for this; these calls have kept their shape since pip 19.3.
        self._command: t.Any = t.cast(t.Any, create_command("download"))
        self._options = self._command.parser.parse_args([])[0]
        self._session: t.Any = self._command._build_session(self._options)

    def wheels(self, architecture: str) -> dict[str, Link]:
        """Every stable torch release that the index has, with one Linux wheel of it for an architecture."""
        found: dict[str, Link] = {}
        platforms = ["%s_%s" % (tag, architecture) for tag in TAGS]
        for python in PYTHONS:
            target = TargetPython(platforms=platforms, py_version_info=python, implementation="cp")
            finder = self._command._build_package_finder(
                self._options, self._session, target_python=target, ignore_requires_python=True
            )
            for candidate in finder.find_all_candidates("torch"):
                version = candidate.version
                if candidate.link.is_wheel and not version.is_prerelease and not version.is_postrelease:
                    found.setdefault(version.base_version, candidate.link)
        return {version: link for version, link in found.items() if release_tuple(version) >= OLDEST}

    def wheel_for_this_python(self, version: str) -> Link | None:
        """The wheel of a release that pip would install for the Python that runs this; nothing: there is none."""
        finder = self._command._build_package_finder(self._options, self._session)
        candidate = finder.find_best_candidate("torch", SpecifierSet("==" + version)).best_candidate
        return t.cast("Link", candidate.link) if candidate else None

    def needs(self, link: Link) -> list[str]:
        """What a wheel on the index says that it needs, read without fetching the rest of it."""
        with LazyZipOverHTTP(link.url_without_fragment, self._session) as lazy, zipfile.ZipFile(lazy) as archive:
            name = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
            metadata = archive.read(name).decode("utf-8")
        lines = [line.partition(": ")[2] for line in metadata.splitlines() if line.startswith("Requires-Dist: ")]
        return [line for line in lines if "extra ==" not in line]

    def size(self, link: Link) -> int:
        """A wheel's size in bytes, as the server says."""
        return int(self._session.head(link.url_without_fragment).headers["Content-Length"])

    def read(self, link: Link) -> dict[str, bytes]:
        """The files out of a wheel, without fetching the rest of it."""
        if link.is_file:
            with zipfile.ZipFile(link.file_path) as archive:
                return {name: archive.read(name) for name in FILES}
        with LazyZipOverHTTP(link.url_without_fragment, self._session) as lazy, zipfile.ZipFile(lazy) as archive:
            return {name: archive.read(name) for name in FILES}


def fetch(version: str, architecture: str, link: Link, index: Index) -> dict[str, bytes]:
    """A release's files, from the cache where they are there."""
    folder = cache_folder() / version / architecture
    note = folder / "complete.json"
    if not note.exists():
        for name, content in index.read(link).items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        # Written last: a run that was broken off is fetched again.
        note.write_text(json.dumps({"wheel": link.filename}) + "\n")
    return {name: (folder / name).read_bytes() for name in FILES}


def every_release(progress: t.Callable[[str], None] = lambda line: None) -> list[Release]:
    """All releases on the index, oldest first."""
    index = Index()
    files: dict[str, dict[str, dict[str, bytes]]] = {}
    for architecture in ARCHITECTURES:
        for version, link in index.wheels(architecture).items():
            progress("torch %s %s" % (version, architecture))
            files.setdefault(version, {})[architecture] = fetch(version, architecture, link, index)
    return [Release(version, files[version]) for version in sorted(files, key=release_tuple)]


def one_release(version: str) -> Release:
    """One release for x86_64; the index is asked only when the cache does not have it."""
    if (cache_folder() / version / "x86_64" / "complete.json").exists():
        folder = cache_folder() / version / "x86_64"
        return Release(version, {"x86_64": {name: (folder / name).read_bytes() for name in FILES}})
    index = Index()
    return Release(version, {"x86_64": fetch(version, "x86_64", index.wheels("x86_64")[version], index)})


if __name__ == "__main__":
    every_release(lambda line: print(line, flush=True))
