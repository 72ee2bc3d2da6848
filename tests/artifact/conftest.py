# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The built collection, and the programs of an environment that does not know this checkout; `make quality` names both.

The variables are ARTIFACT_FOLDER (with the built file) and ARTIFACT_PROGRAMS (a folder with ansible-playbook).
"""

from __future__ import annotations

import os
import subprocess
import typing as t
from pathlib import Path

import pytest


class Tools(t.NamedTuple):
    """Programs of one environment, called from a folder that has nothing to do with the collection."""

    programs: Path
    folder: Path

    def run(self, *command: str | Path, good: t.Container[int] = (0,), **variables: str) -> str:
        """Run a program and give back all that it printed."""
        environment = {
            "PATH": os.pathsep.join([str(self.programs), os.environ["PATH"]]),
            "HOME": str(self.folder / "home"),
            "LANG": "C.UTF-8",
            "NO_COLOR": "1",
            "ANSIBLE_NOCOLOR": "1",
            **variables,
        }
        program = self.programs / command[0]
        words = [str(program if program.exists() else command[0]), *map(str, command[1:])]
        place = self.folder / "elsewhere"
        place.mkdir(parents=True, exist_ok=True)
        answer = subprocess.run(words, cwd=place, env=environment, capture_output=True, text=True, check=False)
        output = answer.stdout + answer.stderr
        assert answer.returncode in good, f"{words} ended with {answer.returncode}:\n{output}"
        return output


@pytest.fixture(scope="session")
def artifact() -> Path:
    """The one file that was built."""
    (found,) = Path(os.environ["ARTIFACT_FOLDER"]).glob("*.tar.gz")
    return found


@pytest.fixture(scope="session")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Tools:
    return Tools(Path(os.environ["ARTIFACT_PROGRAMS"]), tmp_path_factory.mktemp("place"))


@pytest.fixture(scope="session")
def collections(tools: Tools, artifact: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty folder into which the collection was installed, and which Ansible is to look into alone."""
    folder = tmp_path_factory.mktemp("collections")
    tools.run("ansible-galaxy", "collection", "install", "--offline", "--force", "-p", folder, artifact)
    return folder
