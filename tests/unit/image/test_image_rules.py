# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.mindcluster.recovery.plugins.module_utils import _image_rules as rules

PLAN: dict[str, t.Any] = {
    "torch_version": "2.6.0",
    "arch": "aarch64",
    "image": {"imports": ["mindx_elastic.api"], "run_py_import": "mindx_elastic.api", "rendezvous": "patch"},
}
MINDSPORE: dict[str, t.Any] = {"image": {"imports": ["taskd"], "run_py_import": None, "rendezvous": "none"}}


def facts(**changes: t.Any) -> dict[str, t.Any]:
    python = {
        "version": "3.11.2",
        "implementation": "cpython",
        "executable": "/usr/bin/python3",
        "machine": "aarch64",
        "bits": 64,
        "libc": "glibc",
        "libc_version": "2.36",
    }
    return dict({"python": python, "pip": "23.0", "torch": {"version": "2.6.0+cpu", "path": "/t"}}, **changes)


def codes(findings: t.Iterable[t.Any]) -> list[str]:
    return [finding.code for finding in findings]


def test_a_base_image_that_will_do() -> None:
    assert rules.check_base("base", facts(), PLAN) == []


@pytest.mark.parametrize(
    ("change", "plan", "expected"),
    [
        ({"torch": None}, PLAN, ["base-without-torch"]),
        ({"torch": None}, MINDSPORE, []),
        ({"torch": None, "pip": None}, PLAN, ["base-without-pip", "base-without-torch"]),
        ({"torch": {"version": "", "path": "", "error": "two versions"}}, PLAN, ["base-torch-broken"]),
        ({"torch": {"version": "2.7.1", "path": "/t"}}, PLAN, ["torch-version-mismatch"]),
        ({"python": dict(facts()["python"], implementation="pypy")}, MINDSPORE, ["base-python-unfit"]),
    ],
)
def test_a_base_image_that_will_not(change: dict[str, t.Any], plan: dict[str, t.Any], expected: list[str]) -> None:
    assert codes(rules.check_base("base", facts(**change), plan)) == expected


def test_a_version_that_differs_is_told_as_a_plain_version() -> None:
    finding = rules.check_torch_version("base", "1.13.0a0", {"torch_version": "1.13.1"})[0]
    assert "recovery_plan_torch_version to 1.13.0," in finding.remedy


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("2.6", "2.6.0+cpu", True),
        ("2.6.0", "2.6.0a0+git1", True),
        ("2.1.0", "2.10.0", False),
        ("2.6.0", "2.6.1", False),
    ],
)
def test_releases(one: str, other: str, same: bool) -> None:
    assert rules.same_release(one, other) is same


def wheel(**changes: t.Any) -> dict[str, t.Any]:
    return dict({"filename": "w.whl", "tags": "py3-none-any", "inner_tags": ["py3-none-any"]}, **changes)


def test_all_wheels_that_do_not_fit_are_told() -> None:
    wheels = {"taskd": wheel(tags="py3-none-linux_x86_64"), "mindio_ttp": wheel(tags="cp39-cp39-linux_aarch64")}
    assert codes(rules.check_wheels(wheels, facts())) == ["wheel-wrong-python", "wheel-wrong-arch"]


def test_a_renamed_wheel_is_a_warning() -> None:
    renamed = {"mindio_ttp": wheel(inner_tags=["cp310-cp310-linux_aarch64"])}
    assert codes(rules.wheel_warnings(renamed, facts())) == ["wheel-renamed"]
    assert rules.wheel_warnings({"mindio_ttp": wheel(inner_tags=["cp311-cp311-linux_aarch64"])}, facts()) == []


def test_an_image_for_other_hosts_is_a_warning() -> None:
    assert codes(rules.plan_warnings(PLAN, "x86_64")) == ["image-arch-differs"]
    assert rules.plan_warnings(PLAN, "aarch64") == []


def seen(run: str = "patched", rendezvous: str = "patched", imported: str = "imported") -> dict[str, t.Any]:
    patch = {"file": "/t/run.py", "recognised_by": "syntax tree: so"}
    return {
        "imports": {"mindx_elastic.api": {"state": imported, "error": "libascend_hal.so: cannot open", "file": ""}},
        "patches": [dict(patch, name="run_py", state=run), dict(patch, name="rendezvous", state=rendezvous)],
    }


@pytest.mark.parametrize(
    ("states", "answer", "expected"),
    [
        ({}, "patch", []),
        ({"rendezvous": "native"}, "auto", []),
        ({"rendezvous": "native"}, "native", []),
        ({"rendezvous": "runtime"}, "runtime", []),
        ({"rendezvous": "native"}, "patch", ["patch-not-landed"]),
        ({"rendezvous": "patched"}, "runtime", ["patch-not-landed"]),
        ({"run": "repeated", "rendezvous": "unpatched"}, "auto", ["patch-not-landed", "patch-not-landed"]),
        ({"imported": "failed", "run": "other"}, "auto", ["import-fails", "patch-not-landed"]),
        ({"imported": "needs-library"}, "auto", []),
    ],
)
def test_what_has_to_be_seen_in_a_finished_image(states: dict[str, str], answer: str, expected: list[str]) -> None:
    plan_image = dict(PLAN["image"], rendezvous=answer)
    assert codes(rules.check_landed("image", seen(**states), plan_image)) == expected


def test_an_import_that_was_not_tried_is_not_proved() -> None:
    plan_image = dict(MINDSPORE["image"], imports=["taskd", "mindio_ttp"])
    proof = {"imports": {"taskd": {"state": "imported", "error": "", "file": ""}}, "patches": []}
    assert codes(rules.check_landed("image", proof, plan_image)) == ["import-fails"]


def test_a_library_of_the_driver_is_a_warning() -> None:
    assert codes(rules.import_warnings("image", seen(imported="needs-library"))) == ["import-needs-library"]
