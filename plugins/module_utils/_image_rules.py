# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""What a base image, wheels and a plan must be to each other, and what a finished image must show."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Finding
from ansible_collections.mindcluster.recovery.plugins.module_utils._wheels import ARCHITECTURES, Target, misfit

Json = t.Mapping[str, t.Any]

_BASE = "training_image_base"
_WHEELS = "training_image_wheels"

# Without this library TaskD imports, logs an error and does nothing.
_TASKD_LIBRARY = "taskd/python/cython_api/libs/libtaskd.so"

# States of rendezvous.py that each answer of a plan accepts, and the last one each answer of an image's label.
_RENDEZVOUS_GOOD = {
    "patch": ("patched",),
    "native": ("native",),
    "auto": ("patched", "native"),
    "runtime": ("runtime", "native"),
    "never": ("runtime", "native", "unpatched"),
}


def needs_torch(plan_image: Json) -> bool:
    return bool(plan_image.get("run_py_import"))


def target_of(facts: Json) -> Target:
    """The Python of an image, for the wheels' tags."""
    python = facts["python"]
    major, minor = python["version"].split(".")[:2]
    libc_version = tuple(int(part) for part in re.findall(r"\d+", python["libc_version"])[:2])
    arch = ARCHITECTURES.get(python["machine"], python["machine"])
    return Target((int(major), int(minor)), arch, python["libc"], libc_version)


def check_base(base: str, facts: Json, plan: Json, needs_pip: bool = True) -> list[Finding]:
    """What makes a base image useless for a plan.

    :param needs_pip: whether the wheels are installed by the image's own pip.
    """
    findings = []
    python = facts["python"]
    if python["implementation"] != "cpython" or python["bits"] != 64:
        findings.append(
            Finding(
                "base-python-unfit",
                "`%s` has %s with %d bits" % (base, python["implementation"], python["bits"]),
                "torch, torch_npu and the vendor's wheels exist for CPython with 64 bits only",
                "Name another interpreter in training_image_python, or take another base image",
                _BASE,
            )
        )
    if needs_pip and not facts["pip"]:
        findings.append(
            Finding(
                "base-without-pip",
                "the Python of `%s` (%s) has no pip" % (base, python["executable"]),
                "The wheels are installed with it",
                "Install pip in the base image (python3-pip, or `python3 -m ensurepip`), or name another interpreter "
                "in training_image_python",
                _BASE,
            )
        )
    return findings + (_check_torch(base, facts, plan) if needs_torch(plan["image"]) else [])


def _check_torch(base: str, facts: Json, plan: Json) -> list[Finding]:
    torch = facts["torch"]
    if torch is None:
        return [
            Finding(
                "base-without-torch",
                "the Python of `%s` (%s) finds no torch" % (base, facts["python"]["executable"]),
                "A PyTorch plan patches torch, and the collection never installs it",
                "Take a base image with torch, name the interpreter that has it in training_image_python, or plan for "
                "framework mindspore",
                _BASE,
            )
        ]
    if torch.get("error"):
        return [
            Finding(
                "base-torch-broken",
                "torch in `%s` cannot be used: %s" % (base, torch["error"]),
                "It can be neither patched nor trusted",
                "Repair torch in the base image",
                _BASE,
            )
        ]
    return check_torch_version(base, torch["version"], plan)


def check_torch_version(image: str, found: str, plan: Json) -> list[Finding]:
    """Whether an image's torch is the one that was planned for."""
    planned = plan.get("torch_version")
    if not planned or same_release(str(planned), found):
        return []
    return [
        Finding(
            "torch-version-mismatch",
            "the plan is for torch %s, and `%s` has %s" % (planned, image, found),
            "Flags, gates and the second patch depend on the version",
            "Set recovery_plan_torch_version to %s, or take the base image that was meant" % _shown_release(found),
            _BASE,
        )
    ]


def same_release(one: str, other: str) -> bool:
    """Equal release numbers: C(2.6) is C(2.6.0+cpu), and 2.10 is not 2.1."""
    return _release(one) == _release(other)


def _shown_release(version: str) -> str:
    match = re.match(r"\d+(?:\.\d+)*", version)
    return match.group(0) if match else version


def _release(version: str) -> tuple[int, ...]:
    match = re.match(r"\s*v?(\d+(?:\.\d+)*)", version)
    numbers = [int(part) for part in match.group(1).split(".")] if match else []
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


def check_wheels(wheels: t.Mapping[str, Json], facts: Json) -> list[Finding]:
    """Wheels that cannot be installed in the base image."""
    target = target_of(facts)
    findings = []
    for key, wheel in sorted(wheels.items()):
        problem = misfit(wheel, target)
        if problem is not None:
            code, what, remedy = problem
            findings.append(
                Finding(code, "`%s` %s" % (wheel["filename"], what), "pip would refuse it", remedy, _at(key))
            )
    return findings


def check_wheel_contents(wheels: t.Mapping[str, Json]) -> list[Finding]:
    """Wheels that are not what their key says; needs no image."""
    findings = []
    for key, wheel in sorted(wheels.items()):
        if _normal(wheel["name"]) != _normal(key):
            findings.append(
                Finding(
                    "wheel-of-another-name",
                    "`%s` is the wheel of `%s`" % (wheel["filename"], wheel["name"]),
                    "The image would lack %s" % key,
                    "Give the path of the vendor's %s wheel" % key,
                    _at(key),
                )
            )
        elif key == "taskd" and _TASKD_LIBRARY not in wheel["libraries"]:
            findings.append(
                Finding(
                    "wheel-without-library",
                    "`%s` does not hold %s" % (wheel["filename"], _TASKD_LIBRARY),
                    "Without it TaskD can be imported and does nothing; the package index has another one of that name",
                    "Take the wheel from the vendor's Ascend-mindxdl-taskd package for this architecture",
                    _at(key),
                )
            )
    return findings


def wheel_warnings(wheels: t.Mapping[str, Json], facts: Json) -> list[Finding]:
    """Wheels that fit by name and were built for another Python."""
    target = target_of(facts)
    native = "cp%d%d" % target.python
    findings = []
    for key, wheel in sorted(wheels.items()):
        pythons = {tag.split("-")[0] for tag in wheel["inner_tags"]}
        made_for = sorted(tag for tag in pythons if tag.startswith("cp") and tag != native)
        if made_for and not pythons & {native, "py3"}:
            findings.append(
                Finding(
                    "wheel-renamed",
                    "`%s` was built for %s and renamed; the image has %s" % (wheel["filename"], made_for[0], native),
                    "The vendor's package promises one Python only",
                    "The import in the finished image decides; if it fails, take a base image with that Python",
                    _at(key),
                )
            )
    return findings


def plan_warnings(plan: Json, image_arch: str) -> list[Finding]:
    """What the plan's cluster would not run."""
    arch = plan.get("arch")
    if not arch or arch == image_arch:
        return []
    return [
        Finding(
            "image-arch-differs",
            "the image is for %s, and the plan's nodes are %s" % (image_arch, arch),
            "On those nodes its programs cannot be started",
            "Take the base image and the wheels for %s, or correct recovery_plan_product or recovery_plan_arch" % arch,
            _BASE,
        )
    ]


def check_landed(image: str, seen: Json, plan_image: Json) -> list[Finding]:
    """What a finished image does not show although the plan asks for it."""
    findings = []
    for module in plan_image.get("imports", []):
        proof = seen["imports"].get(module, {"state": "failed", "error": "it was not tried"})
        if proof["state"] == "failed":
            findings.append(
                Finding(
                    "import-fails",
                    "`import %s` fails in `%s`: %s" % (module, image, proof["error"]),
                    "Training that needs it ends at its start",
                    "Build the image anew with the role training_image",
                    module,
                )
            )
    if needs_torch(plan_image):
        findings += _check_patches(image, seen, plan_image)
    return findings


def _check_patches(image: str, seen: Json, plan_image: Json) -> list[Finding]:
    good = {"run_py": ("patched",), "rendezvous": _RENDEZVOUS_GOOD.get(plan_image["rendezvous"], ())}
    findings = []
    for patch in seen["patches"]:
        accepted = good[patch["name"]]
        if accepted and patch["state"] not in accepted:
            findings.append(
                Finding(
                    "patch-not-landed",
                    "the patch %s in `%s` is `%s` where %s is needed (%s)"
                    % (patch["name"], image, patch["state"], " or ".join(accepted), patch["recognised_by"]),
                    "The job would start and not recover",
                    "Build the image anew with the role training_image from an unpatched base image",
                    patch["file"],
                )
            )
    return findings


def import_warnings(image: str, seen: Json) -> list[Finding]:
    """Imports that cannot be proved without the device's driver."""
    return [
        Finding(
            "import-needs-library",
            "`import %s` could not be tried to its end in `%s`: %s" % (module, image, proof["error"]),
            "The library comes with the driver of the NPU host, which no builder has",
            "Try the import once on an NPU node",
            module,
        )
        for module, proof in sorted(seen["imports"].items())
        if proof["state"] == "needs-library"
    ]


def replaced_warnings(replaced: t.Iterable[str]) -> list[Finding]:
    """Packages of the base image that the wheelhouse put another version in place of."""
    return [
        Finding(
            "distribution-replaced",
            "the wheelhouse replaced a package of the base image: %s" % text,
            "A wheel requires another version than the base image has",
            "Check that nothing else in the image needs the old version",
            "training_image_wheelhouse",
        )
        for text in replaced
    ]


def _at(key: str) -> str:
    return "%s.%s" % (_WHEELS, key)


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
