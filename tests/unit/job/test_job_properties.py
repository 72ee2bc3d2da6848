# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What holds for every job, tried on generated ones."""

from __future__ import annotations

import difflib
import itertools

import yaml
from conftest import container_of, env_of, job_of, make_plan
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.mindcluster.recovery.plugins.plugin_utils._job_adapt import adapt_job

PLANS = {
    names: make_plan(names, fault_scheduling=mode)
    for names, mode in itertools.product(["retry", "retry,recover,dump", "elastic-training", "exit"], ["grace"])
}
COMMENTS = ["", "   # 说明", ' # a: b, "c"', " # 尾"]
STARTS = ["bash scripts/train_start.sh a", "torchrun train.py", "exec python3 -m torch.distributed.run x.py"]
ENDS = ["", " 2>&1 | tee log", " > log 2>&1 &\nwait"]


@st.composite
def manifests(draw: st.DrawFn) -> str:
    """A job without anything of recovery in it, written in one of many ways."""
    shift = draw(st.sampled_from([0, 2]))
    quote = draw(st.sampled_from(["", '"', "'"]))

    def comment() -> str:
        return str(draw(st.sampled_from(COMMENTS)))

    lines = draw(
        st.sampled_from(
            [[], ["# 注释", ""], ["---"], ["apiVersion: v1", "kind: Service", "metadata: {name: s}", "---"]]
        )
    )
    lines = [*lines, "apiVersion: mindxdl.gitee.com/v1", "kind: AscendJob" + comment(), "metadata:", "  name: job"]
    if draw(st.booleans()):
        lines += ["  labels:" + comment(), "    framework: %spytorch%s" % (quote, quote) + comment()]
    if draw(st.booleans()):
        lines += ["  annotations:", "    说明: '随便'" + comment()]
    lines += ["spec:", "  replicaSpecs:"]
    for replica in draw(st.sampled_from([["Master"], ["Master", "Worker"], ["Worker", "Master"]])):
        lines += ["    %s:" % replica + comment(), "      template:", "        spec:", "          containers:"]
        lines += [" " * (10 + shift) + line for line in draw(containers(shift))]
    lines += draw(st.sampled_from([[], [""], ["# 结束"], ["..."]]))
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    return newline.join(lines) + draw(st.sampled_from(["", newline]))


@st.composite
def containers(draw: st.DrawFn, shift: int) -> list[str]:
    margin = " " * shift
    parts = {
        "image": ["image: a:1" + draw(st.sampled_from(COMMENTS))],
        "env": ["env:", margin + "- name: 变量", margin + '  value: "1"' + draw(st.sampled_from(COMMENTS)), "# 尾注"],
        "ports": ["ports: [{containerPort: 22, name: ssh}]"],
        "command": ["command: [bash, -c]", *draw(arguments(margin))],
        "resources": ["resources:", "  limits: {huawei.com/Ascend910: 8}"],
    }
    needed = {"image", "command"}
    chosen = [name for name in draw(st.permutations(list(parts))) if name in needed or draw(st.booleans())]
    lines = ["name: ascend", *(line for name in chosen for line in parts[name])]
    return ["- " + lines[0], *("  " + line for line in lines[1:])]


@st.composite
def arguments(draw: st.DrawFn, margin: str) -> list[str]:
    script = "cd code  # 进入\n\n" + draw(st.sampled_from(STARTS)) + draw(st.sampled_from(ENDS)) + "\n"
    form = draw(st.sampled_from(["literal", "double", "single", "flow"]))
    if form == "literal":
        return ["args:", margin + "- " + draw(st.sampled_from(["|", "|-", "|  # 脚本"]))] + [
            margin + "    " + line if line else "" for line in script.rstrip("\n").split("\n")
        ]
    one_line = "cd code; " + script.split("\n", 2)[2].rstrip("\n").replace("\n", "; ").replace("&;", "&")
    if form == "single":
        return ["args:", margin + "- '%s'  # 脚本" % one_line]
    if form == "double":
        return ["args:", margin + '- "%s"' % one_line]
    return ['args: ["%s"]' % one_line]


@given(text=manifests(), names=st.sampled_from(list(PLANS)))
@settings(max_examples=60, deadline=None)
def test_adapting_twice_is_adapting_once(text: str, names: str) -> None:
    once = adapt_job(text, PLANS[names], image="a:2")
    again = adapt_job(once.text, PLANS[names], image="a:2")
    assert again.text == once.text
    assert again.corrections == []


@given(text=manifests(), names=st.sampled_from(list(PLANS)))
@settings(max_examples=60, deadline=None)
def test_taking_the_added_characters_out_gives_the_input_back(text: str, names: str) -> None:
    result = adapt_job(text, PLANS[names])
    assert result.corrections == []
    assert _is_subsequence_by_lines(text, result.text)


def _is_subsequence_by_lines(before: str, after: str) -> bool:
    """Whether every line of the input is still there in order, whole or with something inserted into it."""
    matcher = difflib.SequenceMatcher(a=before.splitlines(True), b=after.splitlines(True), autojunk=False)
    for kind, a1, a2, b1, b2 in matcher.get_opcodes():
        old, new = "".join(matcher.a[a1:a2]), "".join(matcher.b[b1:b2])
        if kind == "delete" or (kind == "replace" and not _inserted_into(old, new)):
            return False
    return True


def _inserted_into(old: str, new: str) -> bool:
    rest = iter(new)
    return all(char in rest for char in old)


@given(text=manifests(), names=st.sampled_from(list(PLANS)))
@settings(max_examples=60, deadline=None)
def test_everything_of_the_plan_is_there_afterwards(text: str, names: str) -> None:
    plan = PLANS[names]
    job = job_of(adapt_job(text, plan).text)
    assert plan["job"]["labels"].items() <= job["metadata"]["labels"].items()
    assert plan["job"]["annotations"].items() <= job["metadata"]["annotations"].items()
    for replica in job["spec"]["replicaSpecs"]:
        container = container_of(job, replica)
        wanted = {entry["name"]: entry.get("value", entry.get("valueFrom")) for entry in plan["job"]["env"]}
        assert wanted.items() <= env_of(container).items()
        assert {port["name"] for port in plan["job"]["ports"]} <= {port["name"] for port in container["ports"]}
        for flag in plan["job"]["args"]:
            assert container["args"][0].split().count(flag) == 1


@given(text=manifests())
@settings(max_examples=30, deadline=None)
def test_other_objects_in_the_file_stay(text: str) -> None:
    kept = [d for d in yaml.safe_load_all(text) if d and d["kind"] != "AscendJob"]
    result = adapt_job(text, PLANS["retry"]).text
    assert [d for d in yaml.safe_load_all(result) if d and d["kind"] != "AscendJob"] == kept
