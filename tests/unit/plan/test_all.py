# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What holds for every plan: all 63 sets in every release, framework and suite, and 10,000 random inputs."""

from __future__ import annotations

import itertools
import json
import random
import typing as t

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Refused
from ansible_collections.mindcluster.recovery.plugins.module_utils._plan import KEYS, build_plan
from ansible_collections.mindcluster.recovery.plugins.module_utils._products import PRODUCT_NAMES
from ansible_collections.mindcluster.recovery.plugins.module_utils._releases import RELEASE_NAMES
from ansible_collections.mindcluster.recovery.plugins.module_utils._suites import MINDSPEED_LLM

SIX = ("retry", "recover-in-place", "recover", "elastic-training", "dump", "exit")
SETS = [list(chosen) for size in range(1, 7) for chosen in itertools.combinations(SIX, size)]
SUITES = [("mindspeed-llm", version) for version in MINDSPEED_LLM] + [("mindformers", None), ("none", None)]

# What did not exist before a release must not stand in an older plan. Sources as in the tables.
NEWER = {
    "taskd.python.adaptor.patch": "7.3.0",
    "taskd-port": "7.3.0",
    "32767": "7.3.0",
    '"taskd_manager": true': "7.3.0",
    "TASKD_PROCESS_ENABLE": "7.3.0",
    "huawei.com/schedule_policy": "26.1.0",
    "HIGH_AVAILABILITY": "7.2.RC1",
    "elastic-training": "7.2.RC1",
}
# And what a release has retired must not stand in a newer one.
OLDER = {"mindx_elastic": "7.2.RC1", "ELASTIC_PROCESS_RECOVER_ENABLE=": "7.2.RC1", "accelerator-type": "26.0.0"}


def plans(release: str, framework: str, suite: str, version: str | None) -> t.Iterator[dict[str, t.Any]]:
    """Plans of all 63 sets that are not refused."""
    for chosen in SETS:
        request = {"strategies": chosen, "release": release, "framework": framework, "suite": suite}
        if version is not None:
            request["suite_version"] = version
        try:
            yield build_plan(request)
        except Refused as refused:
            assert all(f.what and f.why and f.remedy and f.where for f in refused.findings)


@pytest.mark.parametrize("release", RELEASE_NAMES)
@pytest.mark.parametrize("framework", ["pytorch", "mindspore"])
def test_every_set_release_framework_and_suite(release: str, framework: str) -> None:
    for suite, version in SUITES:
        for plan in plans(release, framework, suite, version):
            job = plan["job"]
            names = [entry["name"] for entry in job["env"]]
            assert len(names) == len(set(names))
            assert len(job["args"]) == len(set(job["args"]))
            assert not set(job["args"]) & set(job["surplus"]["args"])
            assert set(job["args"]) <= (MINDSPEED_LLM[version].flags if version else set(job["args"]))
            reschedules = {"recover", "recover-in-place"} & set(plan["strategies"])
            assert ("fault-retry-times" in job["labels"]) is bool(reschedules)
            assert (job["operator_env"] == {}) is (release == "7.1.RC1")
            assert build_plan_again(plan) == plan


def build_plan_again(plan: dict[str, t.Any]) -> dict[str, t.Any]:
    keys = ("strategies", "release", "framework", "suite", "suite_version", "fault_scheduling", "pod_rescheduling")
    return build_plan({key: plan[key] for key in keys if plan[key] is not None})


@pytest.mark.parametrize("release", RELEASE_NAMES)
def test_nothing_of_another_release_leaks(release: str) -> None:
    position = RELEASE_NAMES.index(release)
    for framework in ("pytorch", "mindspore"):
        for chosen in (["retry"], ["retry", "recover", "dump"], ["recover-in-place", "exit"]):
            plan = build_plan(
                {"strategies": chosen, "release": release, "framework": framework, "product": "atlas-800t-a2"}
            )
            exports = ["%s=" % name for name in plan["job"]["exports"]]
            # What is to be taken out is of other releases on purpose.
            del plan["job"]["former"]
            text = json.dumps({key: plan[key] for key in ("image", "job", "script", "node_labels")})
            text = text.replace(json.dumps(plan["job"]["surplus"]), "") + " ".join(exports)
            for word, since in NEWER.items():
                assert position >= RELEASE_NAMES.index(since) or word not in text, word
            for word, until in OLDER.items():
                assert position <= RELEASE_NAMES.index(until) or word not in text, word


REQUESTS = st.fixed_dictionaries(
    {"strategies": st.lists(st.sampled_from(SIX[:3] + SIX[4:]), min_size=1, unique=True)},
    optional={
        "release": st.sampled_from(RELEASE_NAMES),
        "framework": st.sampled_from(["pytorch", "mindspore"]),
        "product": st.sampled_from(PRODUCT_NAMES),
        "pod_rescheduling": st.booleans(),
        "fault_scheduling": st.sampled_from(["grace", "force"]),
        "torch_version": st.sampled_from(["1.13.1", "2.6.0+cpu", "2.7.1a0+git1a2b3c4", "2.10.0"]),
    },
)


@settings(max_examples=60, deadline=None)
@given(REQUESTS, st.randoms(use_true_random=False))
def test_order_and_form_of_the_strategies_do_not_matter(request_: dict[str, t.Any], rng: random.Random) -> None:
    shuffled = list(request_["strategies"])
    rng.shuffle(shuffled)
    plan = build_plan(request_)
    assert build_plan({**request_, "strategies": ",".join(shuffled)}) == plan
    assert build_plan({**request_, "strategies": plan["strategies"]}) == plan


@settings(max_examples=60, deadline=None)
@given(REQUESTS)
def test_a_plan_is_plain_data(request_: dict[str, t.Any]) -> None:
    plan = build_plan(request_)
    assert json.loads(json.dumps(plan)) == plan


WORDS: list[t.Any] = [
    *SIX, *RELEASE_NAMES, *PRODUCT_NAMES, "pytorch", "mindspore", "mindspeed-llm", "mindformers", "none", "aarch64",
    "x86_64", "grace", "force", "2.6.0", "2.6.0+cpu", "2.1.0.post17", "8.3.RC1", "3.11", "retry,dump", "Retry, recovr",
    "", " ", "\x00", "\ud800", "\uff0c", "a" * 300, "9" * 400, "%s", "{{ x }}", None, True, False, 0, -1, 2.1,
    float("nan"), b"x", (), [], {}, ["retry"], ["retry", "retry"], [None], [["retry"]], {"retry": 1}, {1, 2}, object,
]  # fmt: skip


def structure(rng: random.Random, depth: int = 0) -> t.Any:
    kind = rng.random()
    if kind < 0.75 or depth > 2:
        return rng.choice(WORDS)
    if kind < 0.85:
        return "".join(chr(rng.randrange(1, 0x3000)) for _item in range(rng.randrange(12)))
    if kind < 0.93:
        return [structure(rng, depth + 1) for _item in range(rng.randrange(4))]
    return {str(rng.choice(WORDS)): structure(rng, depth + 1) for _item in range(rng.randrange(3))}


def test_ten_thousand_random_inputs_give_a_plan_or_clear_errors() -> None:
    rng = random.Random(20260101)
    keys = (*KEYS, "strategy", "torch", 5, None)
    planned = 0
    for _round in range(10_000):
        # Half of them begin with a legal request, so that the rules behind the first check are reached too.
        raw: t.Any = {"strategies": rng.choice(SETS)} if rng.random() < 0.5 else {}
        for key in rng.sample(keys, rng.randrange(4)):
            raw[key] = structure(rng)
        if rng.random() < 0.05:
            raw = structure(rng)
        try:
            build_plan(raw)
            planned += 1
        except Refused as refused:
            assert refused.findings
            assert all(f.code and f.what and f.why and f.remedy for f in refused.findings)
    assert 500 < planned < 9_500
