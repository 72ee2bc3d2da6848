# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""Looks into a finished image, and says whether it is what a plan asks for."""

from __future__ import annotations

import typing as t

from ansible_collections.mindcluster.recovery.plugins.module_utils import _image_inputs as inputs_of
from ansible_collections.mindcluster.recovery.plugins.module_utils import _image_rules as rules
from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Finding, Refused
from ansible_collections.mindcluster.recovery.plugins.module_utils._image_context import one_command
from ansible_collections.mindcluster.recovery.plugins.module_utils._image_engine import (
    Credentials,
    Engine,
    stage_result,
)
from ansible_collections.mindcluster.recovery.plugins.module_utils._image_engine_errors import explain
from ansible_collections.mindcluster.recovery.plugins.module_utils._image_refs import Reference, parse_reference
from ansible_collections.mindcluster.recovery.plugins.module_utils._wheels import ARCHITECTURES

Json = t.Dict[str, t.Any]

# What is looked for in an image of which neither a plan nor a label tells what it should be.
_UNKNOWN: Json = {"wheels": [], "imports": [], "run_py_import": "mindx_elastic.api", "rendezvous": "auto"}


def run_stage(
    engine: Engine, image_id: str, name: str, python: str, mode: str, request: Json, platform: str = ""
) -> Json:
    """The answer of one mode of the stage (C(facts) or C(inspect)) in a container that cannot write.

    :param name: the image's name, for messages.
    :raises Refused: where the image's Python cannot run it.
    """
    code, out, err = engine.run(image_id, name, python, one_command(mode, request), platform)
    answer = stage_result(out)
    if answer is None or not answer["ok"]:
        raise Refused(_inspector_failed(name, code, out + err))
    result: Json = answer["result"]
    return result


def stage_request(plan_image: t.Mapping[str, t.Any]) -> Json:
    """What the stage is told of a plan."""
    return {
        "imports": plan_image.get("imports") or [],
        "run_py_import": plan_image.get("run_py_import"),
        "rendezvous": inputs_of.plan_part(plan_image)["rendezvous"],
    }


def look_into(params: t.Mapping[str, t.Any]) -> Json:
    """Everything that M(mindcluster.recovery.training_image_info) returns.

    :raises Refused: where the image cannot be had or read, and, with a plan, where something has not landed.
    """
    name = parse_reference(params["image"], "image")
    engine = Engine(
        Credentials(name.registry, params["registry_username"], params["registry_password"]),
        params["docker_host"] or "",
    )
    image = _fetch(engine, name, params["pull"], params["platform"] or "")

    def see(expected: Json, python: str) -> Json:
        request = dict(stage_request(expected), distributions=expected.get("wheels") or [])
        return run_stage(engine, image["Id"], params["image"], python, "inspect", request, params["platform"] or "")

    return judge(name, image, params, see)


def judge(name: Reference, image: Json, params: t.Mapping[str, t.Any], see: t.Callable[[Json, str], Json]) -> Json:
    """What an image shows, held against what a plan or its own labels ask for.

    :param image: as an engine describes it.
    :param see: looks into it, told what to expect and with which Python.
    :raises Refused: with a plan, where something has not landed.
    """
    inputs = inputs_of.built_from(dict((image.get("Config") or {}).get("Labels") or {}))
    plan: Json | None = params["plan"]
    expected: Json = (plan or {}).get("image") or (inputs or {}).get("plan") or _UNKNOWN
    seen = see(expected, params["python"] or (inputs or {}).get("python") or "python3")
    missing = rules.check_landed(params["image"], seen, expected)
    if plan is not None:
        missing += _check_plan(params["image"], seen, plan)
    if missing and plan is not None:
        raise Refused(missing)
    return _answer(name, image, seen, inputs, missing, plan)


def _fetch(engine: Engine, name: Reference, policy: str, platform: str) -> Json:
    """The image in the engine, pulled as the policy says."""
    image = engine.inspect(str(name))
    if policy == "always" or (image is None and policy == "missing"):
        engine.pull(name, platform)
        image = engine.inspect(str(name))
    if image is None:
        raise Refused(
            Finding(
                "image-missing",
                "the engine has no image `%s`" % name,
                "There is nothing to look into",
                "Check its spelling, or set `pull` to missing",
                "image",
            )
        )
    return image


def _check_plan(image: str, seen: Json, plan: Json) -> list[Finding]:
    if not rules.needs_torch(plan.get("image") or {}):
        return []
    torch = seen["torch"]
    if torch is None:
        return []
    return rules.check_torch_version(image, torch["version"], plan)


def _answer(
    name: Reference, image: Json, seen: Json, inputs: Json | None, missing: list[Finding], plan: Json | None
) -> Json:
    arch = ARCHITECTURES.get(image.get("Architecture", ""), seen["python"]["machine"])
    warnings = rules.import_warnings(str(name), seen) + rules.plan_warnings(plan or {}, arch)
    own = [
        entry.partition("@")[2] for entry in image.get("RepoDigests") or [] if entry.startswith(name.repository + "@")
    ]
    return {
        "image": str(name),
        "digest": name.digest or (own or [""])[0],
        "image_id": image["Id"],
        "arch": arch,
        "labels": dict((image.get("Config") or {}).get("Labels") or {}),
        "inputs": inputs or {},
        "torch_version": (seen["torch"] or {}).get("version", ""),
        "torch_path": (seen["torch"] or {}).get("path", ""),
        "python_version": seen["python"]["version"],
        "python": seen["python"]["executable"],
        "patches": seen["patches"],
        "imports": seen["imports"],
        "distributions": seen["distributions"],
        "landed": not missing and (plan is not None or inputs is not None),
        "missing": [finding.as_dict() for finding in missing],
        "findings": [finding.as_dict() for finding in warnings],
    }


def _inspector_failed(image: str, code: int, text: str) -> Finding:
    tail = " ".join(text.split())[-400:]
    if "exec format error" in tail:
        return explain(tail, None, "start Python in `%s`" % image, "training_image_base")
    return Finding(
        "inspector-failed",
        "the Python inside `%s` ended with code %d: %s" % (image, code, tail),
        "What is in the image cannot be told",
        "Name a Python 3.7 or newer of the image in training_image_python",
        "training_image_python",
    )
