# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Files that are no manifest yet, or none that the API server would take: what is wrong, where, and the remedy."""

from __future__ import annotations

import typing as t

import pytest
from ansible.errors import AnsibleFilterError
from conftest import make_plan

from ansible_collections.mindcluster.recovery.plugins.filter.recovery_job import recovery_job
from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Refused
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._job_adapt import adapt_job
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._job_spec import read_spec

JOB = """\
apiVersion: mindxdl.gitee.com/v1
kind: AscendJob
metadata:
  name: llama
spec:
  replicaSpecs:
    Master:
      replicas: 1
      template:
        spec:
          containers:
          - name: ascend
            image: registry.example.com/train:1
            command: [bash, -c, "torchrun train.py"]
"""
IMAGE = "image: registry.example.com/train:1"


def mistakes(text: str, **options: str) -> list[tuple[str, str, str, str]]:
    with pytest.raises(Refused) as refused:
        adapt_job(text, make_plan("retry"), where="job.yaml", **options)
    return [(finding.code, finding.where, finding.what, finding.remedy) for finding in refused.value.findings]


def with_lines(*lines: str) -> str:
    """The job with more lines in its container."""
    return JOB + "".join("            %s\n" % line for line in lines)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (JOB.replace(IMAGE, "image: {{ .Values.image }}"), 13),
        (JOB.replace("replicas: 1", "replicas: {{ .Values.nodes }}"), 8),
        (JOB.replace("spec:\n  rep", "{{- if .Values.on }}\nspec:\n  rep") + "{{- end }}\n", 5),
        (JOB.replace("  name: llama", '  name: llama\n  labels:\n    {{- include "c.labels" . | nindent 4 }}'), 6),
        ("{% if on %}\n" + JOB + "{% endif %}\n", 1),
    ],
)
def test_a_template_is_to_be_rendered_first(text: str, line: int) -> None:
    ((code, where, _what, remedy),) = mistakes(text)
    assert (code, where) == ("yaml-template", "job.yaml, line %d" % line)
    assert "helm template" in remedy


@pytest.mark.parametrize("name", ['"{{ .Release.Name }}"', "${NAME}"])
def test_a_name_of_a_template_is_to_be_rendered_first(name: str) -> None:
    ((code, _where, _what, remedy),) = mistakes(JOB.replace("llama", name))
    assert code == "job-name"
    assert "render it first" in remedy


def test_braces_of_a_script_are_no_template() -> None:
    text = JOB.replace("torchrun train.py", "docker ps --format '{{.ID}}'; torchrun train.py")
    assert "'{{.ID}}'; torchrun train.py --enable" in adapt_job(text, make_plan("retry")).text.replace(
        "export ELASTIC_PROCESS_RECOVER_ENABLE=1; ", ""
    )


def test_a_file_of_another_encoding_read_by_a_lookup() -> None:
    text = JOB.replace("train:1", "train:1 # 训练").encode("gb18030").decode("utf-8", "surrogateescape")
    ((code, where, _what, remedy),) = mistakes(text)
    assert (code, where) == ("manifest-encoding", "job.yaml, line 13")
    assert "iconv" in remedy


def test_line_ends_that_no_tool_knows_any_more() -> None:
    ((code, where, _what, _remedy),) = mistakes(JOB.replace("\n", "\r"))
    assert (code, where) == ("yaml-line-ends", "job.yaml")


@pytest.mark.parametrize("depth", [3000, 20000])
@pytest.mark.parametrize("pair", ["[]", ("{a: ", "}")])
def test_values_without_a_bottom(pair: tuple[str, str], depth: int) -> None:
    ((code, _where, what, _remedy),) = mistakes(JOB + "x: %s%s\n" % (pair[0] * depth, pair[1] * depth))
    assert code == "yaml-invalid"
    assert "depth" in what or "deep" in what


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        (JOB.replace("name: llama", "name: llama\n  labels: [a]"), 5, "`metadata.labels` is a list, not a mapping"),
        (JOB.replace("name: llama", "name: llama\n  annotations: a"), 5, "is the text `a`, not a mapping"),
        (JOB[: JOB.index("template")] + "template: [1]\n", 9, "template` is a list, not a mapping"),
        (JOB[: JOB.index("- name")] + "- ascend\n", 12, "containers[0]` is the text `ascend`, not a mapping"),
        (JOB.replace("          cont", "          nodeSelector: [a]\n          cont"), 11, "nodeSelector` is a list"),
        (with_lines("env: [A=b]"), 15, "env[0]` is the text `A=b`, not a mapping"),
        (with_lines("env: {A: b}"), 15, "env` is a mapping, not a list"),
        (with_lines("ports: 2222"), 15, "ports` is the number `2222`, not a list"),
        (with_lines("ports: [null]"), 15, "ports[0]` is empty, not a mapping"),
        (with_lines("resources: 8"), 15, "resources` is the number `8`, not a mapping"),
        (with_lines("resources: {limits: [8]}"), 15, "resources.limits` is a list, not a mapping"),
        (JOB.replace('[bash, -c, "torchrun train.py"]', "[torchrun, 8, t.py]"), 14, "command[1]` is the number `8`"),
        (JOB.replace('[bash, -c, "torchrun train.py"]', "[torchrun, yes]"), 14, "command[1]` is `true`, a boolean"),
        (JOB.replace('[bash, -c, "torchrun train.py"]', "torchrun t.py"), 14, "`torchrun t.py`, not a list"),
    ],
)
def test_a_value_of_the_wrong_kind(text: str, line: int, said: str) -> None:
    found = [entry for entry in mistakes(text) if entry[0] == "job-shape"]
    assert [where for _code, where, _what, _remedy in found] == ["job.yaml, line %d" % line]
    assert said in found[0][2]


def test_all_values_of_the_wrong_kind_are_told_at_once() -> None:
    text = with_lines("env: 1", "ports: 2", "resources: 3").replace("name: llama", "name: llama\n  labels: 4")
    assert [code for code, *_rest in mistakes(text)] == ["job-shape"] * 4


def test_jobs_of_one_name_cannot_be_told_apart_by_it() -> None:
    twice = JOB + "---\n" + JOB.replace("name: llama", "name: llama\n  namespace: b")
    for options in ({}, {"job_name": "llama"}):
        ((code, _where, _what, remedy),) = mistakes(twice, **options)
        assert (code, remedy) == ("job-ambiguous", "Give each of them a file of its own")


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ('["bash", "-c", "cd /job", "torchrun train.py"]', "write all lines as one item"),
        ('["bash", "-c", "eval \'torchrun train.py\'"]', "start it directly"),
        ('["bash", "-c", "bash -c \'torchrun train.py\'"]', "start it directly"),
        ('["bash", "-c", "bash <<EOF\\ntorchrun train.py\\nEOF"]', "start it directly"),
        ('["bash", "-c", "python train.py"]', "Start training by one of them in `args`"),
    ],
)
def test_a_start_command_out_of_reach(command: str, said: str) -> None:
    ((code, _where, _what, remedy),) = mistakes(JOB.replace('[bash, -c, "torchrun train.py"]', command))
    assert code == "start-command-missing"
    assert said in remedy


@pytest.mark.parametrize("value", ["!!int ''", "!!bool maybe", "2026-13-45", "!own x"])
def test_a_value_that_does_not_fit_its_tag_stays(value: str) -> None:
    text = JOB.replace("\nspec:\n", "\nx-own: %s\nspec:\n" % value)
    assert "x-own: %s\n" % value in adapt_job(text, make_plan("retry")).text


@pytest.mark.parametrize("value", ["abc", "0", "65536", 70000, {"valueFrom": {"fieldRef": {"fieldPath": "a"}}}])
def test_a_port_of_ones_own_is_a_number(value: object) -> None:
    with pytest.raises(Refused) as refused:
        adapt_job(JOB, make_plan("retry"), extra_env={"TTP_PORT": value})
    assert [finding.code for finding in refused.value.findings] == ["ttp-port"]
    assert "65535" in refused.value.findings[0].remedy


@pytest.mark.parametrize("value", ["9000", 9000])
def test_a_port_of_ones_own_is_declared(value: object) -> None:
    text = adapt_job(JOB, make_plan("retry"), extra_env={"TTP_PORT": value}).text
    assert 'value: "9000"' in text
    assert "containerPort: 9000" in text


@pytest.mark.parametrize(
    ("given", "code", "said"),
    [
        ({"image": "R/X:1"}, "reference-invalid", "capital letters"),
        ({"image": "a b"}, "reference-invalid", "not a path"),
        ({"image": ""}, "reference-invalid", "not a path"),
        ({"filename": "job.txt"}, "job-filename", ".yaml"),
        ({"filename": "job"}, "job-filename", ".yaml"),
        ({"extra_env": {"A": {"value": "b"}}}, "job-extra-value", "valueFrom"),
        ({"extra_env": {"A": {"valueFrom": {}}}}, "job-extra-value", "valueFrom"),
        ({"image_pull_secrets": ["My_Secret"]}, "job-pull-secret", "`My_Secret`"),
        ({"extra_volumes": [{"name": "a", "mountPath": "/a", "nfs": "host:/a"}]}, "job-volume", "not a mapping"),
        ({"extra_volumes": [{"name": "a", "mountPath": "/a", "hostPath": None}]}, "job-volume", "not a mapping"),
    ],
)
def test_a_variable_that_the_api_server_or_kustomize_would_refuse(
    given: dict[str, t.Any], code: str, said: str
) -> None:
    with pytest.raises(Refused) as refused:
        read_spec({"name": "a", **given}, "training_job")
    (finding,) = refused.value.findings
    assert finding.code == code
    assert said in finding.what


@pytest.mark.parametrize("plan", [None, "retry", {}, {"job": {}}, [1]])
def test_a_plan_that_is_none(plan: t.Any) -> None:
    with pytest.raises(AnsibleFilterError, match=r"plan|strateg|request"):
        recovery_job(JOB, plan)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"extra_lables": {}}, "Did you mean `extra_labels`"),
        ({"extra_env": "A=b"}, "`extra_env` is not a mapping"),
        ({"extra_args": "--x"}, "`extra_args` is not a list"),
        ({"strict": "perhaps"}, "Give true or false"),
        ({"namespace": "A/b"}, "`namespace` is `A/b`"),
    ],
)
def test_an_option_of_the_filter_that_is_wrong(options: dict[str, t.Any], said: str) -> None:
    with pytest.raises(AnsibleFilterError, match=said):
        recovery_job(JOB, make_plan("retry"), **options)


def test_options_of_the_filter_that_are_empty() -> None:
    empty = {"job_name": None, "namespace": None, "image": None, "extra_env": {}, "extra_args": []}
    assert recovery_job(JOB, make_plan("retry"), **empty) == recovery_job(JOB, make_plan("retry"))
