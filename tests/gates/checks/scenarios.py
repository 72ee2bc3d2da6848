# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The Molecule scenarios, against the real parts of the sandbox."""

from __future__ import annotations

import shutil
import typing as t

from .step import BUILD, CHECKOUT, Step

FOLDER = CHECKOUT / "molecule"


def names() -> list[str]:
    """Every folder that is a scenario."""
    return sorted(path.parent.name for path in FOLDER.glob("*/molecule.yml"))


def steps() -> list[Step]:
    """One step for each scenario."""
    return [_step(name) for name in names()]


def _step(name: str) -> Step:
    environment = {
        # Scenarios may run side by side, and none may leave anything in the user's home folder.
        "MOLECULE_EPHEMERAL_DIRECTORY": str(BUILD / "molecule" / name),
        "ANSIBLE_HOME": str(BUILD / "molecule" / name / "home"),
    }
    return Step(f"molecule {name}", ["molecule", "test", "-s", name], environment=environment, before=_forget(name))


def _forget(name: str) -> t.Callable[[], None]:
    """Molecule remembers from its last run that a scenario is prepared, and would not do it for today's services."""
    return lambda: shutil.rmtree(BUILD / "molecule" / name, ignore_errors=True)
