# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""The variables that the roles read, and the names that look like one and are none."""

from __future__ import annotations

import difflib
import functools
import glob
import os
import typing as t
from collections import abc

import yaml

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# What the roles and playbooks set themselves, for each other and for the user.
FACTS = frozenset(
    {
        "npu_node_removed",
        "npu_node_verified",
        "recovery_plan_result",
        "recovery_preflight",
        "recovery_site",
        "start_script_removed",
        "start_script_verified",
        "training_image_ref",
        "training_image_removed",
        "training_image_verified",
        "training_job_removed",
        "training_job_result",
        "training_job_rolled_back",
        "training_job_verified",
    }
)

# How near an option has to be: to be named for a name with a role's prefix, and to take a name without for a slip.
_RELATED, _SLIP = 0.6, 0.9


@functools.lru_cache(maxsize=1)
def options() -> frozenset[str]:
    """Name of every variable in the argument specifications of the roles."""
    found: set[str] = set()
    for path in glob.glob(os.path.join(glob.escape(ROOT), "roles", "*", "meta", "argument_specs.yml")):
        with open(path, encoding="utf-8") as stream:
            specs = yaml.safe_load(stream)["argument_specs"]
        found.update(name for spec in specs.values() for name in spec.get("options", {}))
    return frozenset(found)


def unread(names: abc.Iterable[t.Any]) -> list[str]:
    """Each name that a user may have meant for one of ours and that nothing reads."""
    return sorted(name for name in map(str, names) if _nearest(name) is not None)


def message(name: str, hosts: abc.Sequence[str] = ()) -> str:
    """The warning for one name.

    :param hosts: the hosts that have it, where these are not all.
    """
    where = ""
    if hosts:
        where = " (host %s%s)" % (hosts[0], " and %d more" % (len(hosts) - 1) if len(hosts) > 1 else "")
    near = _nearest(name)
    known = "The nearest that is read is %s" % near if near else "The README of each role lists what it reads"
    return (
        "%s%s: no role of this collection reads a variable of this name, so its value does nothing here. %s. "
        "Correct the name, or take another for a variable of your own." % (name, where, known)
    )


@functools.cache
def _nearest(name: str) -> str | None:
    """The option that is nearest, "" where none is near, None where the name has nothing to do with ours."""
    if name in options() or name in FACTS or name in _modules() or name.startswith(("_", "ansible_")):
        return None
    ours = name.startswith(_prefixes())
    near = difflib.get_close_matches(name, options(), n=1, cutoff=_RELATED if ours else _SLIP)
    return near[0] if near else "" if ours else None


@functools.lru_cache(maxsize=1)
def _prefixes() -> tuple[str, ...]:
    folders = glob.glob(os.path.join(glob.escape(ROOT), "roles", "*", ""))
    return tuple(sorted(os.path.basename(os.path.dirname(path)) + "_" for path in folders))


@functools.lru_cache(maxsize=1)
def _modules() -> frozenset[str]:
    """The modules' names, under which many register what one answered."""
    found = glob.glob(os.path.join(glob.escape(ROOT), "plugins", "modules", "*.py"))
    return frozenset(os.path.basename(path)[: -len(".py")] for path in found)
