# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""The steps of building a training image with the Docker engine.

C(look) decides what is to be done and refuses what cannot work; C(pull), C(trial), C(build) and C(push) do one thing
each. The action plugin runs them one after another, so that it can say what is going on.
"""

from __future__ import annotations

import typing as t

from ansible_collections.mindcluster.recovery.plugins.module_utils import _image_inputs as inputs_of
from ansible_collections.mindcluster.recovery.plugins.module_utils import _image_rules as rules
from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Finding, Refused
from ansible_collections.mindcluster.recovery.plugins.module_utils._image_build_request import Request
from ansible_collections.mindcluster.recovery.plugins.module_utils._image_context import build_context
from ansible_collections.mindcluster.recovery.plugins.module_utils._image_engine import Engine, stage_result
from ansible_collections.mindcluster.recovery.plugins.module_utils._image_inspect import run_stage
from ansible_collections.mindcluster.recovery.plugins.module_utils._image_look import Look
from ansible_collections.mindcluster.recovery.plugins.module_utils._image_refs import parse_reference

Json = t.Dict[str, t.Any]


def look(params: t.Mapping[str, t.Any], check_mode: bool) -> Json:
    """Decide what is to be done.

    :returns: C(next) is V(pull), V(build), V(push) or V(done); what later steps need is under C(look).
    :raises Refused: everything that cannot work.
    """
    return Look(Request(params), check_mode).decide()


def pull(params: t.Mapping[str, t.Any]) -> Json:
    """Bring one image into the engine."""
    request = Request(params)
    request.connect().pull(parse_reference(params["_image"], "training_image_base"), request.platform)
    return {}


def trial(params: t.Mapping[str, t.Any]) -> Json:
    """Do in a throw-away container what a build would do.

    :raises Refused: what would stop the build.
    """
    request = Request(params)
    context = build_context("", request.stage_request(), request.context_files())
    command = ["-B", inputs_of.FOLDER + "/_image_stage.py", "install", inputs_of.FOLDER]
    base_id = params["_look"]["base_id"]
    code, out, err = request.connect().run(
        base_id, params["base"], params["python"], command, request.platform, context
    )
    return _stage_report(stage_result(out), request, (out + err).splitlines(), code)


def build(params: t.Mapping[str, t.Any]) -> Json:
    """Build, prove, and give the image its name.

    :returns: C(image_id), C(report).
    :raises Refused: where the build fails or the image does not show what was planned; no name points at it then.
    """
    request = Request(params)
    engine = request.connect()
    look_result: Json = params["_look"]
    context = build_context(look_result["dockerfile"], request.stage_request(), request.context_files())
    image_id, lines = engine.build(context, params["build_args"] or {}, request.platform)
    if not image_id:
        _stage_report(stage_result("".join(lines)), request, lines, 1)
    seen = _prove(engine, image_id, request)
    engine.tag(image_id, request.target)
    report = (stage_result("".join(lines)) or {}).get("result", {})
    warnings = rules.import_warnings(str(request.target), seen) + rules.replaced_warnings(report.get("replaced", []))
    return {"image_id": image_id, "patches": seen["patches"], "warnings": [finding.as_dict() for finding in warnings]}


def push(params: t.Mapping[str, t.Any]) -> Json:
    """Give an image its name where it has none yet, and send it to its registry where that is asked for.

    :raises Refused: where the image is one of an earlier run that does not show what was planned, or the push fails.
    """
    request = Request(params)
    engine = request.connect()
    look_result: Json = params["_look"]
    if not look_result.get("proved"):
        _prove(engine, look_result["image_id"], request)
    engine.tag(look_result["image_id"], request.target)
    return {"digest": engine.push(request.target) if params["push"] else ""}


def _prove(engine: Engine, image_id: str, request: Request) -> Json:
    """What the inspector sees in a new image, which is removed where that is not what was planned."""
    name = str(request.target)
    seen = run_stage(
        engine, image_id, name, request.params["python"], "inspect", request.stage_request(), request.platform
    )
    missing = rules.check_landed(name, seen, request.plan_image)
    if missing:
        engine.remove(image_id)
        raise Refused(missing)
    return seen


def _stage_report(answer: Json | None, request: Request, lines: list[str], code: int) -> Json:
    """What the stage inside the image said, or why it did not come so far."""
    if answer is None:
        tail = " ".join(line.strip() for line in lines if line.strip())[-600:]
        raise Refused(
            Finding(
                "build-failed",
                "the build on `%s` ended with code %d: %s" % (request.base, code, tail),
                "No image was made, nothing was pushed",
                "Read the words above; run the same Dockerfile by hand (--diff shows it)",
                "training_image_base",
            )
        )
    if not answer["ok"]:
        raise Refused([Finding(**finding) for finding in answer["findings"]])
    report: Json = answer["result"]
    return {
        "report": report,
        "warnings": [finding.as_dict() for finding in rules.replaced_warnings(report.get("replaced", []))],
    }
