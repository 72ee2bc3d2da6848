# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A job that moves to another MindCluster release loses what the older plan had put there, and nothing else."""

from __future__ import annotations

import itertools
import typing as t

import pytest
import yaml
from conftest import changed_lines, container_of, env_of, job_of, make_plan

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Refused
from ansible_collections.mindcluster.recovery.plugins.module_utils._releases import RELEASE_NAMES
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._job_adapt import adapt_job

EXPORT = "export ELASTIC_PROCESS_RECOVER_ENABLE=1"
STRATEGIES = "retry,recover-in-place,dump"


def manifest(
    framework: str = "pytorch", command: str = '[bash, -c, "bash train_start.sh"]', container: str = ""
) -> str:
    leader = "Master" if framework == "pytorch" else "Scheduler"
    return f"""\
apiVersion: mindxdl.gitee.com/v1
kind: AscendJob
metadata:
  name: own
  labels:
    framework: {framework}
spec:
  replicaSpecs:
    {leader}:
      replicas: 1
      template:
        spec:
          containers:
            - name: ascend
              image: r/x:1
              command: {command}
{container}              resources:
                requests: {{huawei.com/Ascend910: 8}}
"""


def plan_of(release: str, framework: str = "pytorch", **request: t.Any) -> dict[str, t.Any]:
    return make_plan(STRATEGIES, release=release, framework=framework, product="atlas-800t-a2", **request)


def meaning(text: str) -> t.Any:
    """What a manifest says, whatever the order of lists in it, and whatever ends a line of shell."""

    def settled(value: t.Any) -> t.Any:
        if isinstance(value, dict):
            return {name: settled(item) for name, item in value.items()}
        if isinstance(value, list):
            return sorted((settled(item) for item in value), key=str)
        return value.replace(";", "") if isinstance(value, str) else value

    return settled(list(yaml.safe_load_all(text)))


@pytest.mark.parametrize("framework", ["pytorch", "mindspore"])
@pytest.mark.parametrize(("old", "new"), list(itertools.permutations(RELEASE_NAMES, 2)))
def test_a_moved_job_is_the_job_that_the_new_release_would_have_made_at_once(
    old: str, new: str, framework: str
) -> None:
    text = manifest(framework)
    moved = adapt_job(adapt_job(text, plan_of(old, framework)).text, plan_of(new, framework))
    # The scheduler of 7.3.0 and newer reads it, so it may be meant.
    expected = adapt_job(text, plan_of(new, framework)).text
    if old == "26.1.0" and new in ("7.3.0", "26.0.0"):
        expected = expected.replace("  annotations:\n", "  annotations:\n    huawei.com/schedule_policy: chip8-node8\n")
    assert meaning(moved.text) == meaning(expected)
    assert adapt_job(moved.text, plan_of(new, framework))[:2] == (moved.text, [])


def test_each_removal_is_told_with_its_line_and_strict_refuses_it() -> None:
    text = adapt_job(manifest("mindspore"), plan_of("7.1.RC1", "mindspore")).text
    told = {finding.what: finding for finding in adapt_job(text, plan_of("7.3.0", "mindspore")).corrections}
    for name in ("MINDIO_FOR_MINDSPORE", "MS_ENABLE_THM", "MS_ENABLE_TFT", "ENABLE_RESTART_FAULT_PROCESS"):
        finding = told[f"`{name}` was taken out"]
        number = int(finding.where.rpartition(" ")[2])
        assert f"name: {name}" in text.splitlines()[number - 1]
        assert "7.1.RC1" in finding.why and "7.3.0" in finding.why and "training_job_extra_env" in finding.remedy
    with pytest.raises(Refused) as caught:
        adapt_job(text, plan_of("7.3.0", "mindspore"), strict=True)
    assert [finding.code for finding in caught.value.findings].count("former-present") == 4


@pytest.mark.parametrize("value", ["{UCE:1}", "{UCE:1, HCCE:1, ARF:1, TTP:1, RSC:1}"])
def test_another_value_than_the_older_plan_would_have_given_is_the_users(value: str) -> None:
    own = f'              env:\n                - {{name: MS_ENABLE_TFT, value: "{value}"}}\n'
    result = adapt_job(manifest("mindspore", container=own), plan_of("7.3.0", "mindspore"))
    assert env_of(container_of(job_of(result.text), "Scheduler"))["MS_ENABLE_TFT"] == value


def test_a_value_that_the_user_asks_for_stays() -> None:
    extra = {"MINDIO_FOR_MINDSPORE": "1"}
    text = adapt_job(manifest("mindspore"), plan_of("7.1.RC1", "mindspore")).text
    result = adapt_job(text, plan_of("7.3.0", "mindspore"), extra_env=extra)
    assert env_of(container_of(job_of(result.text), "Scheduler"))["MINDIO_FOR_MINDSPORE"] == "1"


SELECTORS = {
    "both, as the older plan wants them": ("host-arch: huawei-arm\naccelerator-type: module-910b-8 # 机型\n", None, []),
    "with one of the user's": (
        "host-arch: huawei-arm\npool: a\naccelerator-type: module-910b-8\n", {"pool": "a"}, [],
    ),
    "of another product": (
        "host-arch: huawei-arm\naccelerator-type: card\n", {"accelerator-type": "card"}, ["accelerator-type"],
    ),
    "of the user alone": ("pool: a\n", {"pool": "a"}, []),
}  # fmt: skip


def with_selector(lines: str) -> str:
    block = "          nodeSelector:\n" + "".join(f"            {line}\n" for line in lines.splitlines())
    return manifest().replace("          containers:\n", block + "          containers:\n")


@pytest.mark.parametrize(("lines", "left", "told"), SELECTORS.values(), ids=SELECTORS)
def test_a_node_selector_that_no_node_carries_any_more(
    lines: str, left: dict[str, str] | None, told: list[str]
) -> None:
    result = adapt_job(with_selector(lines), plan_of("26.1.0"))
    pod = job_of(result.text)["spec"]["replicaSpecs"]["Master"]["template"]["spec"]
    assert pod.get("nodeSelector") == left
    warned = [finding.what for finding in result.warnings if finding.code == "node-selector-retired"]
    assert [what.split("`")[3].partition(":")[0] for what in warned] == told
    assert adapt_job(result.text, plan_of("26.1.0")).text == result.text
    kept = adapt_job(with_selector(lines), plan_of("26.0.0")).text
    assert job_of(kept)["spec"]["replicaSpecs"]["Master"]["template"]["spec"]["nodeSelector"] == yaml.safe_load(lines)


@pytest.mark.parametrize("value", ["[a]", "{a: b}", "1", ""])
def test_a_retired_node_selector_of_any_value_is_told(value: str) -> None:
    result = adapt_job(with_selector(f"host-arch: {value}"), plan_of("26.1.0"))
    assert [finding.code for finding in result.warnings if "selector" in finding.code] == ["node-selector-retired"]


def test_without_a_product_the_node_selector_stays_and_the_product_is_asked_for() -> None:
    plan = make_plan(STRATEGIES, release="26.1.0")
    (warning,) = (
        finding
        for finding in adapt_job(with_selector("host-arch: huawei-arm\n"), plan).warnings
        if finding.code == "node-selector-retired"
    )
    assert "`recovery_plan_product` (not given)" in warning.remedy


def test_a_node_selector_that_two_replicas_share_is_left_in_both_and_told() -> None:
    one = with_selector("host-arch: huawei-arm\n")
    master = one[one.index("    Master:") :].replace("nodeSelector:", "nodeSelector: &where")
    worker = master.replace("Master", "Worker").replace("&where\n            host-arch: huawei-arm", "*where")
    text = one[: one.index("    Master:")] + master + worker
    result = adapt_job(text, plan_of("26.1.0"))
    assert "nodeSelector: &where" in result.text and "nodeSelector: *where" in result.text
    assert {finding.code for finding in result.warnings} >= {"former-left"}
    assert [finding for finding in result.corrections if "host-arch" in finding.what] == []


def test_strict_refuses_each_line_of_a_retired_node_selector() -> None:
    with pytest.raises(Refused) as caught:
        adapt_job(
            with_selector("host-arch: huawei-arm\naccelerator-type: module-910b-8\n"), plan_of("26.1.0"), strict=True
        )
    assert [finding.code for finding in caught.value.findings].count("former-present") == 2


COMMANDS = {
    "lines": ("echo one\n{export}\nbash train_start.sh\n", "echo one\nbash train_start.sh\n"),
    "a line that ends with a semicolon": ("{export};\nbash train_start.sh\n", "bash train_start.sh\n"),
    "a comment on its line": ("{export}  # for recovery\nbash train_start.sh\n", "bash train_start.sh\n"),
    "one line": ("cd /job; {export}; bash train_start.sh\n", "cd /job; bash train_start.sh\n"),
    "a chain": ("cd /job && {export} && bash train_start.sh\n", "cd /job && bash train_start.sh\n"),
    "twice": ("{export}\n{export}\nbash train_start.sh\n", "bash train_start.sh\n"),
    "among others": ("A=1\n{export}\nexport B=2\nbash train_start.sh\n", "A=1\nexport B=2\nbash train_start.sh\n"),
    "behind a semicolon": ("A=1; {export} && bash train_start.sh\n", "A=1; bash train_start.sh\n"),
}  # fmt: skip


@pytest.mark.parametrize(("before", "after"), COMMANDS.values(), ids=COMMANDS)
@pytest.mark.parametrize("suite", ["mindspeed-llm", "none"])
def test_an_export_is_taken_out_with_what_joins_it(before: str, after: str, suite: str) -> None:
    def text(command: str) -> str:
        block = "".join(f"                  {line}\n" for line in command.splitlines())
        return manifest(command="[bash, -c]", container="              args:\n                - |\n" + block)

    plan = plan_of("7.3.0", suite=suite)
    assert adapt_job(text(before.format(export=EXPORT)), plan).text == adapt_job(text(after), plan).text


@pytest.mark.parametrize(
    "command",
    [
        "if true; then {export}; fi; bash train_start.sh",
        "export A=1 ELASTIC_PROCESS_RECOVER_ENABLE=1; bash train_start.sh",
        "true || {export} ; bash train_start.sh",
        "true || {export} && bash train_start.sh",
        "cd /job && {export}; bash train_start.sh",
        "{export} & bash train_start.sh",
    ],
)
def test_an_export_that_other_commands_hang_on_stays_with_a_warning(command: str) -> None:
    text = manifest(command='[bash, -c, "%s"]' % command.format(export=EXPORT))
    result = adapt_job(text, plan_of("7.3.0", suite="none"))
    assert command.format(export=EXPORT) in result.text
    assert "former-left" in [finding.code for finding in result.warnings]


def test_a_command_without_a_shell_had_it_in_the_environment() -> None:
    text = manifest(command="[torchrun, train.py]")
    old = adapt_job(text, plan_of("7.2.RC1")).text
    assert "ELASTIC_PROCESS_RECOVER_ENABLE" in env_of(container_of(job_of(old), "Master"))
    assert meaning(adapt_job(old, plan_of("7.3.0")).text) == meaning(adapt_job(text, plan_of("7.3.0")).text)


ENV = {
    "flow items": '- {{name: A, value: "2"}}\n{i}- {{name: MINDIO_FOR_MINDSPORE, value: "1"}}\n{i}- {{name: B}}',
    "the last item": '- name: A\n{i}  value: "1"\n{i}- name: MINDIO_FOR_MINDSPORE\n{i}  value: "1"',
    "the first item": '- name: MINDIO_FOR_MINDSPORE\n{i}  value: "1"\n{i}# about A\n{i}- name: A\n{i}  value: "1"',
    "one flow list": '[{{name: A, value: "1"}}, {{name: MINDIO_FOR_MINDSPORE, value: "1"}}, {{name: B, value: "2"}}]',
    "first of a flow list": '[{{name: MINDIO_FOR_MINDSPORE, value: "1"}}, {{name: B, value: "2"}}]',
}


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("shape", ENV.values(), ids=ENV)
def test_every_shape_of_a_list_loses_one_item_and_no_other_line(shape: str, newline: str) -> None:
    indent = " " * 16
    lines = shape.format(i=indent)
    lines = f"              env: {lines}\n" if lines[0] == "[" else f"              env:\n{indent}{lines}\n"
    text = manifest("mindspore", container=lines).replace("\n", newline)
    result = adapt_job(text, plan_of("7.3.0", "mindspore")).text
    names = list(env_of(container_of(job_of(result), "Scheduler")))
    assert "MINDIO_FOR_MINDSPORE" not in names
    assert names[0] in ("A", "B")
    taken = [line for line in changed_lines(text, result) if line.startswith("-")]
    assert taken and all("MINDIO_FOR_MINDSPORE" in line or 'value: "1"' in line for line in taken)
    assert result.count("\n") == result.count(newline)


def test_what_an_alias_uses_stays_with_a_warning() -> None:
    env = """\
              env:
                - &shared {name: MINDIO_FOR_MINDSPORE, value: "1"}
                - {name: A, value: "1"}
"""
    beside = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
    result = adapt_job(beside + "---\n" + manifest("mindspore", container=env), plan_of("7.3.0", "mindspore"))
    assert "&shared" in result.text
    assert "former-left" in [finding.code for finding in result.warnings]


def test_a_plan_of_an_older_version_of_the_collection_is_taken_as_it_is() -> None:
    plan = plan_of("7.3.0")
    del plan["job"]["former"]
    assert adapt_job(manifest(), plan).text
