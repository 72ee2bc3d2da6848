# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Every shape of start script, run in each branch: the launcher gets the plan's words and all else as before."""

from __future__ import annotations

import difflib
import subprocess

import pytest

from ansible_collections.mindcluster.recovery.plugins.module_utils._plan import build_plan
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._start_script import adapt_script

POD = {"RANK": "1", "MASTER_ADDR": "10.0.0.1", "MASTER_PORT": "29500", "WORLD_SIZE": "16", "LOCAL_WORLD_SIZE": "8"}

# file, environment, arguments, and for each launch the words wanted
BRANCHES = {
    "page, several servers": (
        "if_one_line.sh",
        POD,
        ["--bf16"],
        [
            "python -m torch.distributed.run --nproc_per_node 8 --nnodes 2 --node_rank 1 --master_addr 10.0.0.1 "
            "--master_port 29500 --max_restarts 5 --monitor_interval 10 pretrain_gpt.py --lr 1.25e-6 --bf16"
        ],
    ),
    "page, one server": (
        "if_one_line.sh",
        {**POD, "SERVER_COUNT": "1", "DLS_PROGRAM_EXECUTOR": "python3"},
        [],
        [
            "python3 -m torch.distributed.launch --nproc_per_node 8 --nnodes 1 --node_rank 1 --master_addr 10.0.0.1 "
            "--master_port 29500 --max_restarts 5 --monitor_interval 10 pretrain_gpt.py --single"
        ],
    ),
    "one line with LOCAL_WORLD_SIZE": (
        "local_world_size.sh",
        POD,
        ["/job/code", "--lr", "1"],
        [
            "torchrun --nproc_per_node 8 --nnodes 2 --node_rank 1 --master_addr 10.0.0.1 --master_port 29500 "
            "--max_restarts 5 --monitor_interval 10 /job/code/train.py --lr 1"
        ],
    ),
    "several lines, in the background": (
        "several_lines.sh",
        POD,
        [],
        [
            "torchrun --nproc_per_node 8 --nnodes 1 --node_rank 0 --master_addr 10.0.0.1 --master_port 6000 "
            "--max_restarts 5 --monitor_interval 10 pretrain_gpt.py --tensor-model-parallel-size 4 --num-layers 36 "
            "--distributed-backend nccl"
        ],
    ),
    "array, one node": (
        "array.sh",
        {},
        [],
        [
            "torchrun --nproc_per_node 8 --nnodes 1 --max_restarts 5 --monitor_interval 10 train.py "
            "--lr 1e-4 --name two_words"
        ],
    ),
    "array, several nodes": (
        "array.sh",
        {"NNODES": "2", "NODE_RANK": "1", "MASTER_ADDR": "a"},
        [],
        [
            "torchrun --nproc_per_node 8 --nnodes 2 --max_restarts 5 --monitor_interval 10 --node_rank 1 "
            "--master_addr a train.py --lr 1e-4 --name two_words"
        ],
    ),
    "case, static": (
        "branches.sh",
        {},
        [],
        [
            "python3.10 -u -m torch.distributed.run --nnodes 2 --node_rank 0 --master_addr 10.0.0.1 "
            "--max_restarts 5 --monitor_interval 10 --tee 3 finetune.py --step %d" % step
            for step in (1, 2)
        ],
    ),
    "case, with another value": (
        "branches.sh",
        {"MODE": "elastic"},
        [],
        [
            "python3.10 -u -m torch.distributed.run --nnodes 1:2 --rdzv_backend c10d --max_restarts=5 "
            "--rdzv_endpoint host:29400 --monitor_interval 10 --tee 3 finetune.py --step %d" % step
            for step in (1, 2)
        ],
    ),
    "case, default": (
        "branches.sh",
        {"MODE": "other"},
        [],
        [
            "python3.10 -u -m torch.distributed.run --standalone --max_restarts 5 --monitor_interval 10 "
            "--tee 3 finetune.py --step %d" % step
            for step in (1, 2)
        ],
    ),
    "no variable, one line": (
        "no_variable.sh",
        {},
        [],
        ["torchrun --max_restarts 5 --monitor_interval 10 --standalone --nproc_per_node 8 train.py --local"],
    ),
    "no variable, eleven lines": (
        "no_variable.sh",
        {"MASTER_ADDR": "a", "NNODES": "2"},
        [],
        [
            "torchrun --max_restarts 5 --nnodes 2 --nproc_per_node 8 --monitor-interval 10 --master_addr a "
            "--master_port 29500 train.py --data data --max_restarts 99 --epochs 3"
        ],
    ),
    "appended": (
        "appended.sh",
        {},
        [],
        ["torchrun --monitor_interval 10 --nproc_per_node 8 --max_restarts 5 train.py"],
    ),
    "appended, in a condition": (
        "appended.sh",
        {"NNODES": "3"},
        [],
        ["torchrun --monitor_interval 10 --nproc_per_node 8 --nnodes 3 --max_restarts 5 train.py"],
    ),
    "function in a loop, first try": (
        "function.sh",
        {},
        [],
        ["torchrun --nproc_per_node 8 --rdzv_backend c10d --max_restarts 5 --monitor_interval 10 train.py --try 0"],
    ),
    "function in a loop, two tries": (
        "function.sh",
        {"RECORDER_STATUS": "1"},
        [],
        [
            "torchrun --nproc_per_node 8 --rdzv_backend c10d --max_restarts 5 --monitor_interval 10 train.py --try 0",
            "torchrun --nproc_per_node 8 --rdzv_backend c10d --max_restarts 5 --monitor_interval 10 train.py --try 1",
        ],
    ),
    "launcher in a variable": (
        "in_variable.sh",
        {},
        [],
        ["torchrun --max_restarts 5 --monitor_interval 10 --nproc_per_node 8 --nnodes 1 train.py --lr 1"],
    ),
    "another launcher in the variable": (
        "in_variable.sh",
        {"OLD": "yes"},
        [],
        [
            "python -m torch.distributed.launch --max_restarts 5 --monitor_interval 10 --nproc_per_node 4 "
            "train.py --lr 1"
        ],
    ),
    "launcher in a variable, by eval": (
        "in_variable.sh",
        {"EVAL": "yes"},
        [],
        ["torchrun --max_restarts 5 --monitor_interval 10 --nproc_per_node 8 --nnodes 1 evaluate.py"],
    ),
    "behind wrappers": (
        "wrapped.sh",
        {},
        [],
        ["torchrun --max_restarts 5 --monitor_interval 10 --nproc_per_node=8 train.py --a b_c"],
    ),
    "options from outside": (
        "from_outside.sh",
        {"TORCHRUN_OPTS": "--nproc_per_node 4"},
        [],
        ["torchrun --max_restarts 5 --monitor_interval 10 --nproc_per_node 4 -m package.train --lr 1"],
    ),
    "exec": (
        "torch_sed.sh",
        {},
        [],
        ["python -m torch.distributed.run --max_restarts 5 --monitor_interval 10 --nproc_per_node 8 train.py"],
    ),
}
MINDSPORE_BRANCHES = {
    "msrun, one node": (
        "msrun_launcher.sh",
        {"MS_SCHED_HOST": "10.0.0.9"},
        ["run.py --a b", "4"],
        ["msrun --worker_num=4 --local_worker_num=4 --log_dir=output/msrun_log --join=True run.py --a b"],
    ),
    "msrun, several nodes": (
        "msrun_launcher.sh",
        {"MS_SCHED_HOST": "10.0.0.9", "MS_ENABLE_TFT": "{ARF:1}"},
        ["run.py", "16", "8", "10.0.0.9", "8118", "1"],
        [
            "msrun --worker_num=16 --local_worker_num=8 --master_addr=10.0.0.9 --master_port=8118 --node_rank=1 "
            "--log_dir=output/msrun_log --cluster_time_out=300 run.py"
        ],
    ),
    "train_start.sh that calls msrun_launcher.sh": (
        "mindspore_train_start.sh",
        {},
        [],
        ["msrun run_mindformer.py_--config_a.yaml 16 8 10.0.0.9 8118 0"],
    ),
}


def _shown(call):
    return " ".join(word.replace(" ", "_") for word in call.words)


def _without_flags(words):
    joined = " %s " % " ".join(words)
    script = joined.find(".py ")
    head, tail = joined[:script], joined[script:]
    for text in (" --max_restarts 5", " --monitor_interval 10"):
        head = head.replace(text, "")
    return (head + tail).split()


@pytest.mark.parametrize("branch", BRANCHES)
def test_pytorch_launcher_gets_the_wanted_arguments_and_environment(branch, fixture_text, run_script, pytorch_plan):
    name, env, args, wanted = BRANCHES[branch]
    calls = run_script(adapt_script(fixture_text(name), pytorch_plan).text, env, args)
    assert [_shown(call) for call in calls] == wanted
    for call in calls:
        assert call.env["HCCL_OP_RETRY_ENABLE"] == "L0:0, L1:1, L2:1"
        assert call.env["HCCL_ASYNC_ERROR_HANDLING"] == "0"


@pytest.mark.parametrize("branch", BRANCHES)
def test_the_whole_plan_of_7_2_gives_the_same_arguments(branch, fixture_text, run_script):
    name, env, args, wanted = BRANCHES[branch]
    whole = build_plan({"strategies": "retry", "release": "7.2.RC1"})
    env = {**env, "PYTORCH_NO_NPU_MEMORY_CACHING": "1"}
    calls = run_script(adapt_script(fixture_text(name), whole).text, env, args)
    assert [_shown(call) for call in calls] == wanted
    for call in calls:
        assert call.env["HCCL_OP_RETRY_ENABLE"] == "L0:0, L1:1, L2:1"
        assert call.env["HCCL_ASYNC_ERROR_HANDLING"] == "0"
        assert (call.env["TTP_ADDR"], call.env["TTP_PORT"]) == (call.env.get("MASTER_ADDR", ""), "8000")
        assert "PYTORCH_NO_NPU_MEMORY_CACHING" not in call.env
        assert not any(name.startswith(("TASKD", "RECOVERY")) for name in call.env)


@pytest.mark.parametrize("branch", MINDSPORE_BRANCHES)
def test_mindspore_launcher_gets_the_wanted_environment(branch, fixture_text, run_script, mindspore_plan):
    name, env, args, wanted = MINDSPORE_BRANCHES[branch]
    calls = run_script(adapt_script(fixture_text(name), mindspore_plan).text, env, args)
    assert [_shown(call) for call in calls] == wanted
    for call in calls:
        assert call.env["MS_ENABLE_TFT"] == "{UCE:1, HCCE:1}"
        assert call.env["HCCL_OP_RETRY_ENABLE"] == "L0:0, L1:1, L2:1"
        assert (call.env["MS_TFT_IP"], call.env["MS_TFT_PORT"]) == ("10.0.0.9", "8000")


@pytest.mark.parametrize("branch", [*BRANCHES, *MINDSPORE_BRANCHES])
def test_everything_else_reaches_the_launcher_as_before(branch, fixture_text, run_script, pytorch_plan, mindspore_plan):
    name, env, args, _wanted = {**BRANCHES, **MINDSPORE_BRANCHES}[branch]
    plan = pytorch_plan if branch in BRANCHES else mindspore_plan
    text = fixture_text(name)
    before = run_script(text, env, args)
    after = run_script(adapt_script(text, plan).text, env, args)
    owned = {*plan["script"]["exports"], "RECORD", "PATH", "PWD", "OLDPWD", "HOME", "_"}
    assert len(before) == len(after)
    for old, new in zip(before, after, strict=True):
        corrected = " ".join(old.words).replace("restarts=3", "restarts=5").replace("-interval 30", "-interval 10")
        corrected = corrected.replace("--max_restarts 1 ", "")
        assert _without_flags(new.words) == corrected.split()
        assert {k: v for k, v in new.env.items() if k not in owned} == {
            k: v for k, v in old.env.items() if k not in owned
        }


SHAPES = sorted({item[0] for item in [*BRANCHES.values(), *MINDSPORE_BRANCHES.values()]})


@pytest.fixture(params=SHAPES)
def shape(request, fixture_text, pytorch_plan, mindspore_plan):
    mindspore = request.param in {item[0] for item in MINDSPORE_BRANCHES.values()}
    return fixture_text(request.param), mindspore_plan if mindspore else pytorch_plan


def test_second_run_changes_and_says_nothing(shape):
    text, plan = shape
    once = adapt_script(text, plan)
    twice = adapt_script(once.text, plan, strict=True)
    assert twice.text == once.text
    assert twice.corrections == []


def test_absent_gives_the_users_own_script_back(shape):
    text, plan = shape
    adapted = adapt_script(text, plan).text
    assert adapted != text
    assert adapt_script(adapted, plan, state="absent").text == text
    assert adapt_script(text, plan, state="absent").text == text


def test_comments_and_other_lines_stay(shape):
    text, plan = shape
    adapted = adapt_script(text, plan).text.splitlines()
    matcher = difflib.SequenceMatcher(None, text.splitlines(), adapted, autojunk=False)
    touched = [line for tag, a, b, _c, _d in matcher.get_opcodes() if tag != "equal" for line in text.splitlines()[a:b]]
    assert len(touched) <= 4
    assert not [line for line in touched if line.strip().startswith("#")]


def test_another_plan_replaces_the_first(shape):
    text, plan = shape
    script = plan["script"]
    flags = {name: "32767" for name in script["torchrun_args"] if name == "--max_restarts"}
    other = {**plan, "script": {"torchrun_args": flags, "exports": {"MY_SWITCH": "1"}}}
    assert adapt_script(adapt_script(text, plan).text, other).text == adapt_script(text, other).text


def test_adapted_script_parses(shape):
    text, plan = shape
    done = subprocess.run(
        ["bash", "-n"], input=adapt_script(text, plan).text, text=True, capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
