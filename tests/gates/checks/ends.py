# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The dependencies at both ends of their ranges: the oldest that are allowed on the oldest Python, and the newest."""

from __future__ import annotations

import re
import typing as t

from . import artifact, tests
from .step import Step

from parts import pythons, venv  # isort: skip

OLDEST_PYTHON = (3, 10)
NEWEST_PYTHONS = ((3, 14), (3, 13), (3, 12))
RANGE = re.compile(r"^([\w.-]+(?:\[[\w,-]+\])?)>=([\w.]+),<[\w.]+$")


def steps() -> list[Step]:
    """For each end the unit tests, and the work of a site with the built collection."""
    tested = [step for name, environment in ENDS.items() for step in _end(name, environment())]
    return [artifact.built("build for both ends"), *tested]


def lowest(lines: t.Iterable[str]) -> list[str]:
    """The oldest version that each line of a file of requirements allows, as pip wants to hear it.

    :raises ValueError: for a line that has not both ends.
    """
    pins = []
    for line in lines:
        text = line.partition("#")[0].strip()
        if not text or text.startswith("-r "):
            continue
        found = RANGE.match(text)
        if not found:
            raise ValueError(f"`{text}` does not say from which version to which: name>=1.0,<2")
        pins.append(f"{found[1]}=={found[2]}")
    return pins


def _oldest() -> venv.Environment:
    lines = [line for name in ("python.txt", "controller.txt") for line in _lines(name)]
    python = pythons.found([OLDEST_PYTHON]).get(OLDEST_PYTHON, "")
    return venv.cached("oldest", [*lowest(lines), *_file("unit.txt")], python)


def _newest() -> venv.Environment:
    here = pythons.found(NEWEST_PYTHONS)
    python = next((here[version] for version in NEWEST_PYTHONS if version in here), "")
    wanted = ["--upgrade", "--upgrade-strategy", "eager", *_file("controller.txt"), *_file("unit.txt")]
    return venv.cached("newest", wanted, python)


ENDS: dict[str, t.Callable[[], venv.Environment]] = {"oldest": _oldest, "newest": _newest}


def _end(name: str, environment: venv.Environment) -> list[Step]:
    wanted = OLDEST_PYTHON if name == "oldest" else NEWEST_PYTHONS[-1]
    missing = "" if environment.python else "this machine has no Python %d.%d" % wanted
    return [
        tests.step(f"units, {name} dependencies", tests.OF_PLUGINS, python=environment, tool="ansible-core")
        ._replace(missing=missing),
        artifact.installed(f"site, {name} dependencies", "test_install.py", environment)._replace(missing=missing),
    ]  # fmt: skip


def _file(name: str) -> list[str]:
    return ["-r", str(venv.REQUIREMENTS / name)]


def _lines(name: str) -> list[str]:
    return (venv.REQUIREMENTS / name).read_text(encoding="utf-8").splitlines()
