# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The built collection has what its users need and nothing else."""

from __future__ import annotations

import os
import tarfile
from pathlib import Path

import pytest

FILES = {
    "CHANGELOG.md", "CONTRIBUTING.md", "COPYING", "FILES.json", "MANIFEST.json", "README.md", "README.zh-CN.md",
    "REUSE.toml", "bindep.txt", "requirements/controller.txt", "requirements/python.txt", "tests/config.yml",
}  # fmt: skip
FOLDERS = ("changelogs", "docs", "examples", "LICENSES", "meta", "playbooks", "plugins", "roles", "tests/sanity")
#: Everything that is tracked below these is needed at run time.
NEEDED = ("meta", "playbooks", "plugins", "roles")
MOST_BYTES = 1_500_000


@pytest.fixture(scope="module")
def members(artifact: Path) -> dict[str, tarfile.TarInfo]:
    with tarfile.open(artifact) as archive:
        return {member.name: member for member in archive.getmembers() if not member.isdir()}


def test_nothing_needless(members: dict[str, tarfile.TarInfo]) -> None:
    strange = [name for name in members if name not in FILES and not name.startswith(tuple(f"{f}/" for f in FOLDERS))]
    assert strange == [], "name these in galaxy.yml's build_ignore, or here"


def test_nothing_missing(members: dict[str, tarfile.TarInfo]) -> None:
    source = Path(os.environ["ARTIFACT_FOLDER"]) / "source"
    tracked = {str(path.relative_to(source)) for top in NEEDED for path in (source / top).rglob("*") if path.is_file()}
    assert len(tracked) > 200
    assert tracked - set(members) == set()


def test_plain_files_of_sensible_size(members: dict[str, tarfile.TarInfo], artifact: Path) -> None:
    assert [name for name, member in members.items() if not member.isreg()] == []
    assert artifact.stat().st_size < MOST_BYTES
