# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The start command, in every form in which Kubernetes takes it, is run and shows each flag once."""

from __future__ import annotations

import textwrap

import pytest
from conftest import Recorder, container_of, env_of, job_of, make_plan

from ansible_collections.mindcluster.recovery.plugins.plugin_utils._job_adapt import adapt_job

FLAGS = ["--enable-high-availability", "--enable-hbmfault-repair"]
HEAD = """\
apiVersion: mindxdl.gitee.com/v1
kind: AscendJob
metadata:
  name: forms
  labels:
    framework: pytorch
spec:
  replicaSpecs:
    Master:
      template:
        spec:
          containers:
            - name: ascend
              image: a:1
"""

FORMS = {
    "literal block": """\
        command: [/bin/bash, -c]
        args:
          - |
            cd /job/code
            # 启动命令 bash scripts/train_start.sh
            bash scripts/train_start.sh /job/code \\
              --bf16   \\
              --lr 1.25e-6
        """,
    "literal block, stripped, explicit indentation": """\
        command: [/bin/bash, -c]
        args:
          - |2-
              cd /job/code;
              bash scripts/train_start.sh /job/code --bf16
        """,
    "literal block, kept": """\
        command: [/bin/bash, -c]
        args:
          - |+
            cd /job/code; bash scripts/train_start.sh /job/code --bf16

        workingDir: /
        """,
    "folded block": """\
        command: [/bin/bash, -c]
        args:
          - >
            cd /job/code;

            bash scripts/train_start.sh /job/code
            --bf16
        """,
    "folded block with lines indented further": """\
        command: [/bin/bash, -c]
        args:
          - >-
            cd /job/code;

            bash scripts/train_start.sh /job/code \\
              --lr 1.25e-6 \\
              --bf16

            sleep 0
        """,
    "double quoted": """\
        command: ["/bin/bash", "-c"]
        args: ["cd /job/code; bash scripts/train_start.sh \\"a b\\" --bf16"]   # 一行
        """,
    "double quoted over several lines": """\
        command: ["/bin/bash", "-c"]
        args: ["cd /job/code;
          bash scripts/train_start.sh /job/code \\
          --bf16"]
        """,
    "double quoted with line breaks": """\
        command: ["/bin/bash", "-c"]
        args: ["cd /job/code\\nbash scripts/train_start.sh \\\\\\n  --bf16\\n"]
        """,
    "single quoted": """\
        command: ['/bin/bash', '-c']
        args: ['cd /job/code && bash scripts/train_start.sh ''a b'' --bf16']
        """,
    "plain": """\
        command: [/bin/bash, -c]
        args:
          - cd /job/code; bash scripts/train_start.sh /job/code
            --bf16 2>&1 | tee /job/output/log
        """,
    "everything under command": """\
        command:
          - bash
          - -exc
          - cd /job/code; exec bash scripts/train_start.sh --bf16
        """,
    "everything under args": """\
        args: ["/bin/bash", "-o", "pipefail", "-c", "cd /job/code; torchrun --nnodes 1 train.py --bf16"]
        """,
    "torchrun behind a variable": """\
        command: [/bin/bash, -c]
        args:
          - |
            ARGS="--nnodes 1"
            LAUNCHER=python3
            ${LAUNCHER} -m torch.distributed.run $ARGS train.py --bf16 2>&1 | tee /job/output/log && echo done
        """,
}


def adapted(form: str, strategies: str = "retry") -> str:
    text = HEAD + textwrap.indent(textwrap.dedent(form), " " * 14)
    return adapt_job(text, make_plan(strategies)).text


def command_of(text: str) -> list[str]:
    container = container_of(job_of(text), "Master")
    return [*container.get("command", []), *container.get("args", [])]


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())
def test_the_command_runs_with_each_flag_once_and_the_variable_set(form: str, recorder: Recorder) -> None:
    text = adapted(form)
    (launch,) = recorder.run(command_of(text))
    assert [launch.count(flag) for flag in FLAGS] == [1, 1]
    assert launch.count("--bf16") == 1
    assert launch[-1] == "env:1"
    assert adapt_job(text, make_plan()).text == text


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())
def test_comments_and_quotes_around_the_command_stay(form: str) -> None:
    text = adapted(form)
    for mark in ("# 启动命令", "# 一行", "|2-", "|+", '\\"a b\\"', "''a b''"):
        assert mark in text or mark not in form


def test_words_without_a_shell_get_words_and_the_variable_in_the_environment(recorder: Recorder) -> None:
    text = adapted('command: ["torchrun"]\nargs:\n  - --nnodes=1\n  - train.py\n  - --enable-high-availability\n')
    container = container_of(job_of(text), "Master")
    (launch,) = recorder.run(command_of(text))
    assert [launch.count(flag) for flag in FLAGS] == [1, 1]
    assert env_of(container)["ELASTIC_PROCESS_RECOVER_ENABLE"] == "1"
    assert adapt_job(text, make_plan()).text == text


def test_flags_in_a_variable_of_the_command_count_as_there(recorder: Recorder) -> None:
    form = """\
        command: [/bin/bash, -c]
        args:
          - |
            HA="--enable-high-availability"
            torchrun train.py $HA --enable-hbmfault-repair
        """
    (launch,) = recorder.run(command_of(adapted(form)))
    assert [launch.count(flag) for flag in FLAGS] == [1, 1]


def test_each_branch_that_starts_training_gets_the_flags(recorder: Recorder) -> None:
    form = """\
        command: [/bin/bash, -c]
        args:
          - |
            if [ "$NNODES" = 1 ]; then
              torchrun single.py
            else
              torchrun several.py
            fi
        """
    text = adapted(form)
    assert text.count("--enable-hbmfault-repair") == 2
    (launch,) = recorder.run(command_of(text))
    assert launch[-1] == "env:1"


def test_another_value_of_an_export_is_corrected_in_its_place() -> None:
    form = """\
        command: [/bin/bash, -c]
        args:
          - |
            export ELASTIC_PROCESS_RECOVER_ENABLE=0;  # 关
            bash train_start.sh
        """
    text = HEAD + textwrap.indent(textwrap.dedent(form), " " * 14)
    result = adapt_job(text, make_plan(), where="job.yaml")
    assert "export ELASTIC_PROCESS_RECOVER_ENABLE=1;  # 关" in result.text
    assert result.text.count("export ELASTIC") == 1
    assert [finding.where for finding in result.corrections] == ["job.yaml, line 18 (`Master`)"]


def test_an_export_that_stands_in_the_environment_is_not_doubled() -> None:
    form = """\
        env:
          - name: ELASTIC_PROCESS_RECOVER_ENABLE
            value: "0"
        command: [/bin/bash, -c, bash train_start.sh]
        """
    text = HEAD + textwrap.indent(textwrap.dedent(form), " " * 14)
    result = adapt_job(text, make_plan())
    assert "export" not in result.text
    assert env_of(container_of(job_of(result.text), "Master"))["ELASTIC_PROCESS_RECOVER_ENABLE"] == "1"
    assert len(result.corrections) == 1


def test_a_script_that_only_prepares_gets_no_flags(recorder: Recorder) -> None:
    form = """\
        command: [/bin/bash, -c]
        args: ["cd /job/code; bash set_env.sh; bash train_start.sh --bf16"]
        """
    assert "bash set_env.sh; export" in adapted(form)
    (launch,) = recorder.run(command_of(adapted(form)))
    assert launch[-1] == "env:1"
