# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""What goes into a training image, as one hash, as labels and as a Dockerfile. Pure text, no engine."""

from __future__ import annotations

import hashlib
import json
import re
import typing as t

LABEL_INPUTS = "mindcluster.recovery.inputs"
LABEL_BUILT_FROM = "mindcluster.recovery.built-from"
LABEL_TORCH = "mindcluster.recovery.torch"
LABEL_PYTHON = "mindcluster.recovery.python"
LABEL_BASE_NAME = "org.opencontainers.image.base.name"
LABEL_BASE_DIGEST = "org.opencontainers.image.base.digest"

# Where the context lies while the image is built; the stage removes it at its end.
FOLDER = "/.mindcluster-recovery"

# Engines know these without an ARG line, keep them out of the image's history and out of the build cache's key.
PROXY_ARGS = ("HTTP_PROXY", "HTTPS_PROXY", "FTP_PROXY", "NO_PROXY", "ALL_PROXY")

_ROOT_USERS = ("", "0", "root", "0:0", "root:root")

# What the patcher is told for each answer of the plan. It looks into torch itself; the plan only forbids.
RENDEZVOUS_ORDER = {
    "patch": "auto",
    "native": "auto",
    "auto": "auto",
    "runtime": "never",
    "none": "never",
    "never": "never",
}


def collect_inputs(
    base_identity: str,
    plan_image: t.Mapping[str, t.Any],
    wheels: t.Mapping[str, t.Mapping[str, t.Any]],
    wheelhouse: t.Sequence[t.Mapping[str, t.Any]],
    code: t.Mapping[str, str],
    python: str,
    platform: str = "",
    build_args: t.Mapping[str, str] | None = None,
) -> dict[str, t.Any]:
    """Everything that decides what is built, in a form that can be compared and stored.

    :param base_identity: digest of the base in its registry, or its image ID where it has none.
    :param wheels: what M(_wheels.read_wheel) told, by key, only the ones that the plan needs.
    :param code: sha256 of each source file that runs inside the image.
    """
    return {
        "base": base_identity,
        "build_args": {
            name: hashlib.sha256(value.encode()).hexdigest()
            for name, value in sorted((build_args or {}).items())
            if name.upper() not in PROXY_ARGS
        },
        "code": dict(sorted(code.items())),
        "plan": plan_part(plan_image),
        "platform": platform,
        "python": python,
        "wheelhouse": {wheel["filename"]: wheel["sha256"] for wheel in wheelhouse},
        "wheels": {key: {"file": wheel["filename"], "sha256": wheel["sha256"]} for key, wheel in wheels.items()},
    }


def plan_part(plan_image: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """Only what changes the image: a plan that names torch's version gives the same order as one that does not."""
    part = {key: plan_image.get(key) for key in ("wheels", "imports", "run_py_import")}
    part["rendezvous"] = RENDEZVOUS_ORDER.get(plan_image.get("rendezvous") or "none", "never")
    return part


def inputs_hash(inputs: t.Mapping[str, t.Any]) -> str:
    """The sha256 by which an image is known to be the one that these inputs make."""
    return hashlib.sha256(_canonical(inputs).encode()).hexdigest()


def labels_for(
    inputs: t.Mapping[str, t.Any], base_name: str, base_id: str, facts: t.Mapping[str, t.Any]
) -> dict[str, str]:
    """The labels of the finished image.

    :param base_id: ID of the base image in the engine. Where that alone identifies it, there is no digest to tell.
    """
    torch = facts.get("torch") or {}
    labels = {
        LABEL_INPUTS: inputs_hash(inputs),
        LABEL_BUILT_FROM: _canonical(inputs),
        LABEL_TORCH: torch.get("version", ""),
        LABEL_PYTHON: facts["python"]["version"],
        LABEL_BASE_NAME: base_name,
    }
    if inputs["base"] != base_id:
        labels[LABEL_BASE_DIGEST] = inputs["base"]
    return labels


def built_from(labels: t.Mapping[str, str]) -> dict[str, t.Any] | None:
    """The inputs of an image that this collection built; None for any other image."""
    try:
        inputs = json.loads(labels.get(LABEL_BUILT_FROM, ""))
    except ValueError:
        return None
    return inputs if isinstance(inputs, dict) and isinstance(inputs.get("plan"), dict) else None


def render_dockerfile(
    base: str,
    base_name: str,
    python: str,
    user: str,
    labels: t.Mapping[str, str],
    build_args: t.Iterable[str] = (),
) -> str:
    """The Dockerfile of the build.

    :param base: ID of the base image in the engine, so that nothing can change between the look and the build.
    :param user: user of the base image, who is restored.
    """
    lines = ["# %s" % base_name, "FROM %s" % base]
    lines += ["ARG %s" % name for name in sorted(build_args) if name.upper() not in PROXY_ARGS]
    as_root = user in _ROOT_USERS
    lines += [] if as_root else ["USER root"]
    lines += [
        "COPY %s %s" % (FOLDER.lstrip("/"), FOLDER),
        # The exec form needs no shell and no quoting.
        "RUN %s" % json.dumps([python, "-B", FOLDER + "/_image_stage.py", "install", FOLDER]),
    ]
    lines += [] if as_root else ["USER %s" % user]
    lines.append(
        "LABEL " + " \\\n      ".join("%s=%s" % (name, _quote(value)) for name, value in sorted(labels.items()))
    )
    return "\n".join(lines) + "\n"


def shown_dockerfile(text: str) -> str:
    """A Dockerfile for C(--diff): the label that repeats the inputs, which have a diff of their own, is cut short."""
    label = re.escape(LABEL_BUILT_FROM) + r'="(?:[^"\\]|\\.)*"'
    return re.sub(label, LABEL_BUILT_FROM + "=(the inputs)", text)


def describe(inputs: t.Mapping[str, t.Any] | None) -> str:
    """The inputs as text for C(--diff); empty where there is no image."""
    return json.dumps(inputs, indent=2, sort_keys=True) + "\n" if inputs else ""


def _canonical(value: t.Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _quote(value: str) -> str:
    """A double-quoted word of a Dockerfile, in which the builder expands nothing."""
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("$", "\\$")
    return '"%s"' % escaped.replace("\n", " ")
