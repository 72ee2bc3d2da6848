# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What holds for every job, tried on generated ones."""

from __future__ import annotations

import pathlib
import tempfile
import typing as t

import pytest
import yaml
from conftest import Recorder, container_of, env_of, job_of, make_plan
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from job_texts import Sample, manifests
from test_job_shell_forms import TEXTS

from ansible_collections.mindcluster.recovery.plugins.module_utils._job_check import check_job
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._job_adapt import AdaptResult, adapt_job
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._manifest_read import documents_of

STRATEGIES = {
    "pytorch": ["retry", "retry,recover,dump", "recover-in-place,elastic-training", "exit"],
    "mindspore": ["retry", "retry,recover,dump", "exit"],
}
PLANS = {
    (framework, names, release): make_plan(names, framework=framework, fault_scheduling="grace", release=release)
    for framework, choices in STRATEGIES.items()
    for names in choices
    for release in ("7.2.RC1", "26.0.0")
}
# What a job with another value of an export, or a launch without its flags for sure, shows is another test's subject.
ANY = st.sampled_from(sorted(TEXTS.values()))
MANY = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
FEW = settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))


def plan_for(sample: Sample, data: st.DataObject) -> dict[str, t.Any]:
    return PLANS[data.draw(st.sampled_from([key for key in PLANS if key[0] == sample.framework]))]


def adapt(text: str, sample: Sample, plan: dict[str, t.Any], **options: t.Any) -> AdaptResult:
    return adapt_job(text, plan, job_name=sample.name, **options)


@given(sample=manifests(ANY), data=st.data())
@MANY
def test_adapting_twice_is_adapting_once(sample: Sample, data: st.DataObject) -> None:
    plan = plan_for(sample, data)
    options: dict[str, t.Any] = {"image": "a:2", "extra_args": ["--seed", "7"]} if data.draw(st.booleans()) else {}
    once = adapt(sample.text, sample, plan, **options)
    again = adapt(once.text, sample, plan, **options)
    assert again.text == once.text
    assert again.corrections == []


@given(sample=manifests(ANY), data=st.data())
@MANY
def test_taking_out_what_was_added_gives_the_input_back(sample: Sample, data: st.DataObject) -> None:
    result = adapt(sample.text, sample, plan_for(sample, data))
    # What is of another release is taken out, which is another test's matter.
    assert {finding.code for finding in result.corrections} <= {"former-removed"}
    assert result.corrections or letters_kept(sample.text, result.text)


def letters_kept(before: str, after: str) -> bool:
    """Whether some letters of the text after can be taken out so that the text before remains, byte for byte."""
    rest = iter(after)
    return all(letter in rest for letter in before)


@given(sample=manifests(ANY), data=st.data())
@FEW
def test_everything_of_the_plan_is_there_afterwards_and_nothing_is_found_wrong(
    sample: Sample, data: st.DataObject
) -> None:
    plan = plan_for(sample, data)
    text = adapt(sample.text, sample, plan).text
    job = job_of(text.removeprefix("\ufeff"), sample.name)
    assert plan["job"]["labels"].items() <= job["metadata"]["labels"].items()
    assert plan["job"]["annotations"].items() <= job["metadata"]["annotations"].items()
    for replica in job["spec"]["replicaSpecs"]:
        container = container_of(job, replica)
        wanted = {entry["name"]: entry.get("value", entry.get("valueFrom")) for entry in plan["job"]["env"]}
        assert wanted.items() <= env_of(container).items()
        assert {port["name"] for port in plan["job"]["ports"]} <= {port["name"] for port in container["ports"]}
        assert container["resources"]["requests"] == container["resources"]["limits"]
    found = [item for item in check_job(documents_of(text), plan) if item["job"] == sample.name]
    wrong = {item["code"] for item in found if item["level"] == "error"}
    # A flag of the user's own that the plan does not ask for stays, and with it what it lacks.
    assert wrong <= ({"flag-needs-high-availability"} if not plan["job"]["args"] else set())


@given(sample=manifests(ANY))
@FEW
def test_other_objects_in_the_file_stay(sample: Sample) -> None:
    plan = PLANS[(sample.framework, "retry", "7.2.RC1")]

    def others(text: str) -> list[t.Any]:
        documents = [document for document in yaml.safe_load_all(text.removeprefix("\ufeff")) if document]
        return [document for document in documents if document["metadata"]["name"] != sample.name]

    assert others(adapt(sample.text, sample, plan).text) == others(sample.text)


@pytest.mark.parametrize("names", STRATEGIES["pytorch"][:3])
@given(data=st.data())
@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
def test_bash_runs_each_launch_with_each_flag_once(names: str, data: st.DataObject) -> None:
    sample = data.draw(manifests(ANY).filter(lambda made: made.framework == "pytorch"))
    plan = PLANS[("pytorch", names, "7.2.RC1")]
    job = job_of(adapt(sample.text, sample, plan).text.removeprefix("\ufeff"), sample.name)
    for replica in job["spec"]["replicaSpecs"]:
        container = container_of(job, replica)
        with tempfile.TemporaryDirectory() as folder:
            launches = Recorder(pathlib.Path(folder)).run([*container.get("command", []), *container.get("args", [])])
        assert launches
        for launch in launches:
            flags = [*plan["job"]["args"], "--bf16"]
            assert {flag: launch.count(flag) for flag in flags} == dict.fromkeys(flags, 1)
            assert launch[-1] == "env:1"
