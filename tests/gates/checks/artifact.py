# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The built collection as its users meet it: imported, installed into an empty folder, in an execution environment."""

from __future__ import annotations

import shutil

from . import snapshot, tests
from .step import BUILD, CHECKOUT, Count, Step

from parts import venv  # isort: skip

FOLDER = BUILD / "artifact"
SOURCE = FOLDER / "source"
TOOLS = venv.cached("quality", ["-r", str(venv.REQUIREMENTS / "quality.txt")])._replace(linked=False)
#: What the README tells a user to install, without the checkout: whatever runs here comes from the artifact.
BARE = venv.cached("bare", ["-r", str(venv.REQUIREMENTS / "controller.txt")])._replace(linked=False)
RESOLVED = "execution environment"


def steps() -> list[Step]:
    """What it holds, whether Automation Hub takes it, whether it works where nothing else is."""
    return [
        built("artifact build"),
        Step("galaxy-importer", ["bash", "-c", f"python -m galaxy_importer.main {FOLDER}/*.tar.gz"], _findings,
             {"GALAXY_IMPORTER_CONFIG": str(CHECKOUT / "tests" / "artifact" / "importer.cfg")}, FOLDER,
             python=TOOLS, tool="galaxy-importer"),
        Step("licences", ["reuse", "lint", "--lines"], folder=SOURCE, python=TOOLS, tool="reuse"),
        installed("install", "test_contents.py test_install.py", BARE),
        installed(RESOLVED, "test_execution_environment.py", TOOLS, "ansible-builder"),
    ]  # fmt: skip


def built(name: str) -> Step:
    """The collection, from what git knows: an edit in the middle of it cannot tear the result."""
    command = ["ansible-galaxy", "collection", "build", "--force", "--output-path", str(FOLDER), str(SOURCE)]
    return Step(name, command, before=_copy, tool="ansible-core")


def installed(name: str, files: str, programs: venv.Environment, tool: str = "ansible-core") -> Step:
    """Tests of the built collection with the programs of an environment.

    :param files: names of files in C(tests/artifact).
    """
    step = tests.step(name, " ".join(f"tests/artifact/{file}" for file in files.split()))
    environment = {
        "ARTIFACT_FOLDER": str(FOLDER),
        "ARTIFACT_PROGRAMS": str(programs.programs),
    }
    before = step.before

    def make_ready() -> None:
        venv.ensure(programs)
        if before:
            before()

    return step._replace(environment=environment, before=make_ready, tool=tool, versions_of=programs)


def _copy() -> None:
    shutil.rmtree(FOLDER, ignore_errors=True)
    snapshot.copy(SOURCE)


def _findings(code: int, log: str) -> Count:
    """A warning of the importer is shown to everyone who looks at the collection, and counts.

    That there are exceptions for sanity is no news here: each of them has its reason beside it.
    """
    told = [line for line in log.splitlines() if line.startswith(("WARNING", "ERROR"))]
    found = sum("Ignore files skip ansible-test sanity tests" not in line for line in told)
    return Count(int(not found and code == 0), max(found, int(code != 0)))
