# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""Makes the new layer of a training image from a base image's files: resolve, patch, install, write, prove."""

from __future__ import annotations

import calendar
import os
import time
import typing as t

from ansible_collections.mindcluster.recovery.plugins.module_utils import _image_rules as rules
from ansible_collections.mindcluster.recovery.plugins.module_utils import _layer_patch as patch
from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Finding, Refused
from ansible_collections.mindcluster.recovery.plugins.module_utils._image_inputs import plan_part
from ansible_collections.mindcluster.recovery.plugins.module_utils._image_stage import (
    Resolution,
    Stop,
    module_not_in_wheel,
    undeclared,
)
from ansible_collections.mindcluster.recovery.plugins.module_utils._layer_changes import Changes
from ansible_collections.mindcluster.recovery.plugins.module_utils._layer_image import Image
from ansible_collections.mindcluster.recovery.plugins.module_utils._layer_imports import Scan, Sources
from ansible_collections.mindcluster.recovery.plugins.module_utils._layer_index import read_files, read_index
from ansible_collections.mindcluster.recovery.plugins.module_utils._layer_inspect import Facts, inspect
from ansible_collections.mindcluster.recovery.plugins.module_utils._layer_tree import Tree
from ansible_collections.mindcluster.recovery.plugins.module_utils._layer_wheels import install_wheel, sources_of
from ansible_collections.mindcluster.recovery.plugins.module_utils._layer_write import Layer, write_layer
from ansible_collections.mindcluster.recovery.plugins.module_utils._wheels import misfit, normalise

Json = t.Dict[str, t.Any]


class Order(t.NamedTuple):
    """What is to be put in.

    :ivar wheels: what C(read_wheel) told and C(path), by key.
    :ivar python: the interpreter's name or path inside the image.
    """

    plan: Json
    wheels: dict[str, Json]
    wheelhouse: list[Json]
    python: str


class Composed(t.NamedTuple):
    """A new layer, and what the image is with it.

    :ivar layer: None where the base image has everything already.
    :ivar path: its file on this host; it lives as long as the workspace.
    """

    layer: Layer | None
    path: str
    facts: Json
    seen: Json
    replaced: list[str]
    warnings: list[Finding]


class _ImagePython:
    """What a resolution asks of the Python of an image that is not running."""

    def __init__(self, facts: Facts) -> None:
        python = facts.python
        self._facts = facts
        self._target = rules.target_of({"python": python.as_facts()})
        self.environment = {
            "implementation_name": "cpython",
            "implementation_version": python.version,
            "os_name": "posix",
            "platform_machine": python.machine,
            "platform_python_implementation": "CPython",
            "platform_system": "Linux",
            "python_full_version": python.version,
            "python_version": "3.%d" % python.minor,
            "sys_platform": "linux",
        }

    def installed_version(self, name: str) -> str | None:
        return self._facts.distributions.version(name)

    def fits(self, candidate: Json) -> bool:
        return misfit(candidate, self._target) is None


def compose(image: Image, tree: Tree, order: Order, workspace: str) -> Composed:
    """The layer that makes a training image of a base image.

    :param workspace: a folder for the layer's file.
    :raises Refused: everything that cannot work.
    """
    facts = Facts(tree, order.python, image.environment, image.name)
    told = facts.as_dict()
    refused = check(image, told, order)
    if refused:
        raise Refused(refused)
    changes = Changes(tree, _seconds(image.config.get("created")))
    picked = _resolve(facts, order)
    _patch(changes, facts, order.plan["image"])
    replaced = []
    for wheel in list(order.wheels.values()) + picked:
        old = install_wheel(changes, facts.python, facts.distributions, wheel)
        if old is not None:
            replaced.append("%s %s -> %s" % (normalise(wheel["name"]), old, wheel["version"]))
    layer, path = _write(changes, workspace)
    seen = _prove(image, tree, order, path)
    return Composed(layer, path, told, seen, replaced, rules.wheel_warnings(order.wheels, told))


def check(image: Image, told: Json, order: Order) -> list[Finding]:
    """What makes the base image useless for the plan, or a wheel for the base image."""
    findings = rules.check_base(image.name, told, order.plan, needs_pip=False)
    return findings + rules.check_wheels(order.wheels, told)


def _resolve(facts: Facts, order: Order) -> list[Json]:
    """What the wheels need beyond the base image, declared or not, taken from the wheelhouse.

    :raises Refused: with everything that is nowhere.
    """
    wheels = list(order.wheels.values())
    try:
        resolution = Resolution(wheels, order.wheelhouse, _ImagePython(facts))
        for wheel in wheels:
            resolution.require_all(wheel)
        findings = _follow_imports(facts, order, resolution)
    except Stop as exc:
        raise Refused([Finding(**one) for one in exc.findings]) from exc
    lacking = resolution.unmet + findings
    if lacking:
        raise Refused([Finding(**one) for one in lacking])
    return list(resolution.picked.values())


def _follow_imports(facts: Facts, order: Order, resolution: Resolution) -> list[dict[str, str]]:
    """Find what the wheels import without declaring it, and take it from the wheelhouse where that has it."""
    findings: list[dict[str, str]] = []
    told: set[str] = set()
    for module in order.plan["image"].get("imports") or []:
        while True:
            sources = Sources()
            for wheel in list(order.wheels.values()) + list(resolution.picked.values()):
                sources_of(wheel, sources)
            scan = Scan(sources, facts.has_module, facts.version)
            scan.run(module)
            picked = [resolution.pick_module(missing) for missing in scan.missing]
            if not any(picked):
                break
        for missing in scan.absent:
            findings += [] if missing in told else [module_not_in_wheel(module, missing)]
        for missing in scan.missing:
            if missing not in told and not resolution.is_unmet_module(missing):
                own = any(missing.split(".")[0] in wheel["modules"] for wheel in order.wheels.values())
                findings.append(module_not_in_wheel(module, missing) if own else undeclared(module, missing))
        told.update(scan.absent + scan.missing)
    return findings


def _patch(changes: Changes, facts: Facts, plan_image: t.Mapping[str, t.Any]) -> None:
    module = plan_image.get("run_py_import")
    if not module or facts.torch is None:
        return
    done = patch.apply(facts.tree, facts.torch.path, module, plan_part(plan_image)["rendezvous"])
    for path, data in done.files.items():
        changes.replace(path, data)
    for path in done.removed:
        changes.remove(path)


def _write(changes: Changes, workspace: str) -> tuple[Layer | None, str]:
    path = os.path.join(workspace, "layer")
    if changes.is_empty:
        return None, ""
    with open(path, "wb") as stream:
        return write_layer(changes, stream), path


def _prove(image: Image, tree: Tree, order: Order, path: str) -> Json:
    """Look at the image with the new layer on top, which was read back from its file.

    :raises Refused: it does not show what was planned.
    """
    new = with_layer(tree, path) if path else tree
    plan_image = order.plan["image"]
    names = [wheel["name"] for wheel in order.wheels.values()]
    seen = inspect(Facts(new, order.python, image.environment, image.name), plan_image, names)
    missing = rules.check_landed(image.name, seen, plan_image)
    if missing:
        raise Refused(missing)
    return seen


def with_layer(tree: Tree, path: str) -> Tree:
    """A tree with a layer of this host on top of another one."""
    with open(path, "rb") as stream:
        index = read_index(stream, "new")

    def fetch(is_wanted: t.Callable[[str], bool]) -> dict[str, bytes]:
        with open(path, "rb") as layer:
            return read_files(layer, "new", is_wanted)

    return tree.topped(index, fetch)


def _seconds(created: t.Any) -> int:
    """The base image's own time for everything new: a time of this machine would make each build another image."""
    try:
        return max(0, int(calendar.timegm(time.strptime(str(created)[:19], "%Y-%m-%dT%H:%M:%S"))))
    except (ValueError, OverflowError):
        return 0
