# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Shell text is read as bash reads it: launches, assignments and small edits."""

from __future__ import annotations

import subprocess

import pytest

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Refused
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._job_start_text import StartText
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._shell_edit import (
    append_words,
    insert_exports,
    quote_export,
)
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._shell_syntax import check_syntax

LAUNCHES = {
    "torchrun --nnodes 2 train.py": ("torchrun", "train.py"),
    "/usr/local/bin/torchrun train.py > log 2>&1": ("torchrun", "train.py"),
    "python -m torch.distributed.run train.py": ("python", "train.py"),
    "python3.10 -u -W ignore -m torch.distributed.launch train.py": ("python", "train.py"),
    "${DLS_PROGRAM_EXECUTOR} -m torch.distributed.run $A train.py 2>&1 | tee log": ("python", "train.py"),
    '"$PY" -m torch.distributed.run train.py && tee log': ("python", "train.py"),
    "python $(which torchrun) train.py": ("torchrun", "train.py"),
    "exec env A=b nohup torchrun train.py &> log &": ("torchrun", "train.py"),
    "time -p torchrun train.py |& tee log": ("torchrun", "train.py"),
    "timeout -k 5 3600s torchrun train.py": ("torchrun", "train.py"),
    "numactl --cpunodebind=0 --membind 0 torchrun train.py": ("torchrun", "train.py"),
    "HCCL_X=1 torchrun train.py": ("torchrun", "train.py"),
    "cd /job && torchrun train.py || exit 1": ("torchrun", "train.py"),
    "if ! torchrun train.py; then exit 1; fi": ("torchrun", "train.py"),
    "while true; do torchrun train.py; done": ("torchrun", "train.py"),
    "(torchrun train.py)": ("torchrun", "train.py"),
    "OUT=$(torchrun train.py)": ("torchrun", "train.py"),
    "f() { torchrun train.py; }; f": ("torchrun", "train.py"),
    "f() { torchrun train.py; }; trap f EXIT": ("torchrun", "train.py"),
    'f() { torchrun train.py; }; "$@"': ("torchrun", "train.py"),
    'CMD="torchrun --nnodes 2"; $CMD train.py': ("torchrun", "train.py"),
    'CMD="torchrun train.py"; eval "$CMD"': ("torchrun", '"$CMD"'),
    "msrun --worker_num 8 run.py --lr 1 &": ("msrun", "1"),
    "bash scripts/train_start.sh /job/code pretrain_gpt.py --lr 1;": ("script", "1"),
    "./msrun_launcher.sh 'run.py' 8": ("script", "8"),
    "bash prepare.sh; bash -x train_start.sh a b": ("script", "b"),
    "torchrun train.py > log --lr 2": ("torchrun", "2"),
}


@pytest.mark.parametrize("text", LAUNCHES)
def test_launch_is_found(text):
    (launch,) = StartText(text).launches
    kind, last = LAUNCHES[text]
    assert (launch.kind, launch.words[-1]) == (kind, last)
    assert text[: launch.words_end].endswith(last)


@pytest.mark.parametrize(
    "text",
    [
        "# torchrun train.py",
        "echo torchrun train.py",
        "nohup echo torchrun train.py",
        "which torchrun",
        "cat <<EOF\ntorchrun train.py\nEOF",
        'HELP="torchrun train.py"',
        'logger "start with torchrun"',
        "f() { torchrun train.py; }",
        "python train.py --launcher torchrun",
        "python -m pip install torch",
        "pip3 show torch",
        "source /usr/local/Ascend/ascend-toolkit/set_env.sh",
        "chmod +x scripts/train_start.sh",
        "bash -c 'echo train_start.sh'",
        "",
    ],
)
def test_no_launch(text):
    assert StartText(text).launches == []


def test_offsets_are_characters_with_chinese_comments_and_other_encodings():
    gbk = "# 训练脚本\n".encode("gbk").decode("utf-8", "surrogateescape")
    text = "# 启动训练 🚀\n" + gbk + "torchrun train.py | tee 日志\n"
    (launch,) = StartText(text).launches
    assert text[launch.start :].startswith("torchrun")
    assert text[: launch.words_end].endswith("train.py")
    assert launch.line == 3
    assert append_words(text, launch, ["--x"]).endswith("torchrun train.py --x | tee 日志\n")


def test_words_go_before_redirections_in_the_style_of_the_command():
    text = "  bash train_start.sh /job \\\n      --lr 1 \\\n      --bf16 \\\n      2>&1 | tee log &\n"
    (launch,) = StartText(text).launches
    assert append_words(text, launch, ["--a", "--b"]) == (
        "  bash train_start.sh /job \\\n      --lr 1 \\\n      --bf16 \\\n      --a \\\n      --b \\\n"
        "      2>&1 | tee log &\n"
    )


def test_a_comment_ends_a_continued_command_as_in_bash():
    text = "torchrun train.py \\\n  --a \\\n  # --b \\\n  --c\n"
    (launch,) = StartText(text).launches
    assert launch.words[-1] == "--a"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cd /a; bash train_start.sh;", "cd /a; export A=1; bash train_start.sh;"),
        ("cd /a && bash train_start.sh", "export A=1; cd /a && bash train_start.sh"),
        ("cd /a;\n  bash train_start.sh x\n", "cd /a;\n  export A=1\n  bash train_start.sh x\n"),
        ("if true; then\n  ! torchrun x.py\nfi\n", "if true; then\n  export A=1\n  ! torchrun x.py\nfi\n"),
        ("if ! torchrun x.py; then\n  exit 1\nfi\n", "export A=1\nif ! torchrun x.py; then\n  exit 1\nfi\n"),
        ("a=1\nA=2 torchrun x | tee l &\n", "a=1\nexport A=1\nA=2 torchrun x | tee l &\n"),
        ("case $1 in a) torchrun x;; esac", "case $1 in a) export A=1; torchrun x;; esac"),
    ],
)
def test_exports_stand_before_the_whole_statement(text, expected):
    (launch,) = StartText(text).launches
    result = insert_exports(text, launch, {"A": "1"})
    assert result == expected
    check_syntax(result, "result")


@pytest.mark.parametrize(
    ("value", "seen"),
    [
        ("0", "0"),
        ("L0:0, L1:1, L2:1", "L0:0, L1:1, L2:1"),
        ("{UCE:1, HCCE:1}", "{UCE:1, HCCE:1}"),
        ("$HOST_IP", "10.0.0.1"),
        ("${HOST_IP}:1", "10.0.0.1:1"),
        ('a"b\\c`d$(id)', 'a"b\\c`d$(id)'),
        ("", ""),
    ],
)
def test_exported_value_is_what_bash_sees(value, seen):
    script = 'HOST_IP=10.0.0.1\n%s\nprintf %%s "$X"' % quote_export("X", value)
    assert subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True).stdout == seen


def test_export_of_a_bad_name_is_an_error():
    with pytest.raises(ValueError, match="no name"):
        quote_export("A-B", "1")


def test_assignments_know_their_value_and_place():
    text = "# 注释\nexport A='x y' B=\"${C}/d\"\nE+=f\ndeclare -x G=1\n"
    found = {item.name: item for item in StartText(text).assignments}
    assert {name: item.value for name, item in found.items()} == {"A": "x y", "B": "$C/d", "E": "f", "G": "1"}
    assert [item.exported for item in found.values()] == [True, True, False, True]
    assert found["E"].append
    assert found["B"].line == 2
    assert text[found["B"].value_start : found["B"].value_end] == '"${C}/d"'


@pytest.mark.parametrize("text", ["if true; then\n  torchrun x\n", 'echo "a\n', "f() {\n", "for x in; done\n"])
def test_bad_syntax_is_refused_with_its_place(text):
    with pytest.raises(Refused) as refused:
        check_syntax("#!/bin/bash\n" + text, "start.sh")
    assert refused.value.findings[0].code == "shell-syntax"
    assert "start.sh line " in str(refused.value)


@pytest.mark.parametrize("text", ["if true; then\n  torchrun x\n", "f() {\n"])
def test_bad_syntax_is_refused_without_bash_too(text, monkeypatch):
    monkeypatch.setattr("shutil.which", lambda name: None)
    with pytest.raises(Refused, match="bash cannot parse it"):
        check_syntax(text, "start.sh")


def test_binary_is_refused():
    with pytest.raises(Refused, match="NUL byte"):
        check_syntax("a\0b", "start.sh")
    with pytest.raises(Refused, match="NUL byte"):
        StartText("a\0b")
