# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.mindcluster.recovery.plugins.module_utils import _image_inputs as inputs_of

BASE = "sha256:" + "1" * 64
PLAN = {
    "wheels": ["mindx_elastic"],
    "imports": ["mindx_elastic.api"],
    "run_py_import": "mindx_elastic.api",
    "rendezvous": "auto",
}
WHEELS = {"mindx_elastic": {"filename": "mindx_elastic-7.2rc1-py3-none-any.whl", "sha256": "a" * 64}}
HOUSE = [{"filename": "packaging-24.0-py3-none-any.whl", "sha256": "b" * 64}]
FACTS = {"torch": {"version": "2.6.0"}, "python": {"version": "3.11.2"}}


def collect(**changes: t.Any) -> dict[str, t.Any]:
    arguments: dict[str, t.Any] = {
        "base_identity": BASE,
        "plan_image": PLAN,
        "wheels": WHEELS,
        "wheelhouse": HOUSE,
        "code": {"_image_stage": "c" * 64},
        "python": "python3",
    }
    return inputs_of.collect_inputs(**dict(arguments, **changes))


def test_the_same_inputs_give_the_same_hash() -> None:
    assert inputs_of.inputs_hash(collect()) == inputs_of.inputs_hash(collect())


@pytest.mark.parametrize(
    "change",
    [
        {"base_identity": "sha256:" + "2" * 64},
        {"wheels": {"mindx_elastic": dict(WHEELS["mindx_elastic"], sha256="d" * 64)}},
        {"wheelhouse": []},
        {"code": {"_image_stage": "e" * 64}},
        {"python": "/opt/conda/bin/python"},
        {"platform": "linux/arm64"},
        {"plan_image": dict(PLAN, run_py_import="taskd.python.adaptor.patch")},
        {"plan_image": dict(PLAN, rendezvous="runtime")},
        {"build_args": {"FLAVOUR": "1"}},
    ],
)
def test_whatever_changes_the_image_changes_the_hash(change: dict[str, t.Any]) -> None:
    assert inputs_of.inputs_hash(collect(**change)) != inputs_of.inputs_hash(collect())


@pytest.mark.parametrize(
    "change",
    [
        {"plan_image": dict(PLAN, rendezvous="patch")},
        {"plan_image": dict(PLAN, something_new=True)},
        {"build_args": {"https_proxy": "http://proxy:3128", "NO_PROXY": "localhost"}},
    ],
)
def test_whatever_does_not_change_the_image_does_not(change: dict[str, t.Any]) -> None:
    assert inputs_of.inputs_hash(collect(**change)) == inputs_of.inputs_hash(collect())


def test_values_of_build_arguments_are_not_kept() -> None:
    assert "s3cret" not in str(collect(build_args={"TOKEN": "s3cret"}))


def test_labels_tell_what_the_image_was_built_from() -> None:
    labels = inputs_of.labels_for(collect(), "registry.example/base:1", "sha256:" + "9" * 64, FACTS)
    assert labels["mindcluster.recovery.inputs"] == inputs_of.inputs_hash(collect())
    assert labels["org.opencontainers.image.base.digest"] == BASE
    assert labels["org.opencontainers.image.base.name"] == "registry.example/base:1"
    assert inputs_of.built_from(labels) == collect()


def test_an_image_id_is_not_told_as_a_digest() -> None:
    labels = inputs_of.labels_for(collect(), "base:1", BASE, FACTS)
    assert "org.opencontainers.image.base.digest" not in labels


@pytest.mark.parametrize("value", ["", "no json", "[]", "{}", '{"plan": 1}'])
def test_other_images_tell_nothing(value: str) -> None:
    assert inputs_of.built_from({"mindcluster.recovery.built-from": value}) is None


def render(user: str = "", **changes: t.Any) -> str:
    return inputs_of.render_dockerfile(BASE, "base:1", "python3", user, {"b": 'say "$HOME"', "a": "1"}, **changes)


def test_the_dockerfile() -> None:
    assert render().splitlines() == [
        "# base:1",
        f"FROM {BASE}",
        "COPY .mindcluster-recovery /.mindcluster-recovery",
        'RUN ["python3", "-B", "/.mindcluster-recovery/_image_stage.py", "install", "/.mindcluster-recovery"]',
        'LABEL a="1" \\',
        '      b="say \\"\\$HOME\\""',
    ]


@pytest.mark.parametrize("user", ["", "0", "root", "0:0"])
def test_a_base_that_is_root_stays_as_it_is(user: str) -> None:
    assert "USER" not in render(user)


def test_the_user_of_the_base_is_restored() -> None:
    lines = render("9000:9000").splitlines()
    assert lines.index("USER root") < lines.index("COPY .mindcluster-recovery /.mindcluster-recovery")
    assert lines.index("USER 9000:9000") > next(number for number, line in enumerate(lines) if line.startswith("RUN"))


def test_only_unknown_build_arguments_are_declared() -> None:
    assert [
        line for line in render(build_args=["FLAVOUR", "https_proxy", "HTTP_PROXY"]).splitlines() if "ARG" in line
    ] == ["ARG FLAVOUR"]


def test_the_diff_does_not_repeat_the_inputs() -> None:
    labels = inputs_of.labels_for(collect(), "base:1", BASE, FACTS)
    shown = inputs_of.shown_dockerfile(inputs_of.render_dockerfile(BASE, "base:1", "python3", "", labels))
    assert "mindcluster.recovery.built-from=(the inputs)" in shown
    assert "wheelhouse" not in shown
    assert f'mindcluster.recovery.inputs="{inputs_of.inputs_hash(collect())}"' in shown
