# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Sanity and unit tests on other releases of ansible-core, each with every Python that it and this machine have."""

from __future__ import annotations

import typing as t

from . import sanity, tests
from .step import Step

from parts import pythons, venv  # isort: skip

#: Oldest and newest Python on which each core runs a controller; the core of C(.venv) is among them on purpose, since
#: there it meets one Python only.
CORES = {
    "2.16": ((3, 10), (3, 12)),
    "2.18": ((3, 11), (3, 13)),
    "2.19": ((3, 11), (3, 13)),
    "2.21": ((3, 12), (3, 14)),
}
PYTHONS = ((3, 12), (3, 13))
#: What a change has to pass: beside the core of C(.venv) the oldest one, which differs from it most.
ONE_OTHER = ("2.16", (3, 12))


def steps() -> list[Step]:
    """Two steps for each pair; a pair that cannot be had here is reported as not run."""
    pairs = [(core, python) for core in CORES for python in PYTHONS]
    return [step for core, python in pairs for step in _pair(core, python)]


def one_other() -> list[Step]:
    """The same for one pair."""
    return _pair(*ONE_OTHER)


def environment(core: str, python: pythons.Version) -> venv.Environment:
    """The environment of a pair, with what the plugins and the unit tests import and nothing else."""
    files = [word for name in ("python.txt", "unit.txt") for word in ("-r", str(venv.REQUIREMENTS / name))]
    interpreter = pythons.found([python]).get(python, "")
    return venv.cached(f"core-{core}-{_dotted(python)}", [f"ansible-core~={core}.0", *files], interpreter)


def _pair(core: str, python: pythons.Version) -> list[Step]:
    where = environment(core, python)
    missing = _why_not(core, python, where)
    title = f"on core {core}, Python {_dotted(python)}"
    return [
        sanity.step(f"sanity {title}", where, _dotted(python))._replace(missing=missing),
        tests.step(f"units {title}", tests.OF_PLUGINS, python=where, tool="ansible-core")._replace(missing=missing),
    ]


def _why_not(core: str, python: pythons.Version, where: venv.Environment) -> str:
    oldest, newest = CORES[core]
    if not oldest <= python <= newest:
        return f"ansible-core {core} does not support Python {_dotted(python)}"
    return "" if where.python else f"this machine has no Python {_dotted(python)}"


def _dotted(python: t.Iterable[int]) -> str:
    return ".".join(map(str, python))
