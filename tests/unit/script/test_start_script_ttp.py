# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Where MindIO's controller listens, and the variable that the launcher must not get."""

from __future__ import annotations

import pathlib

import pytest

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Refused
from ansible_collections.mindcluster.recovery.plugins.module_utils._plan import build_plan
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._start_script import adapt_script

DEMO = pathlib.Path(__file__).parents[3] / "examples" / "demo" / "site" / "files" / "train_start.sh"
POD = {"MASTER_ADDR": "10.0.0.1", "MASTER_PORT": "29500", "WORLD_SIZE": "16", "LOCAL_WORLD_SIZE": "8"}
RANKS = {
    "0": ({**POD, "RANK": "0", "POD_IP": "10.1.1.1"}, "10.1.1.1"),
    "1": ({**POD, "RANK": "1", "POD_IP": "10.1.1.2"}, "10.0.0.1"),
}
CACHING = "PYTORCH_NO_NPU_MEMORY_CACHING"


@pytest.fixture
def plan():
    return build_plan({"strategies": "retry"})


@pytest.mark.parametrize("rank", RANKS)
def test_rank_0_listens_and_the_others_reach_it(rank, plan, run_script):
    env, address = RANKS[rank]
    (call,) = run_script(adapt_script("set -eu\ntorchrun train.py\n", plan).text, env)
    assert (call.env["TTP_ADDR"], call.env["TTP_PORT"]) == (address, "8000")


def test_what_the_pod_brings_stays(plan, run_script):
    env = {**RANKS["0"][0], "TTP_ADDR": "10.9.9.9", "TTP_PORT": "8001"}
    (call,) = run_script(adapt_script("torchrun train.py\n", plan).text, env)
    assert (call.env["TTP_ADDR"], call.env["TTP_PORT"]) == ("10.9.9.9", "8001")


OWN = {
    "branches": 'if [ "$RANK" = 0 ]; then\n  export TTP_ADDR=$POD_IP\nelse\n  export TTP_ADDR=$MASTER_ADDR\nfi\n',
    "two ifs": '[ $RANK = 0 ] && export TTP_ADDR=$POD_IP\n[ $RANK = 0 ] || export TTP_ADDR="$MASTER_ADDR"\n',
    "a function": 'addr() {\n  TTP_ADDR=$MASTER_ADDR\n  [ $RANK = 1 ] || TTP_ADDR=$POD_IP\n}\naddr\nexport TTP_ADDR\n',
}  # fmt: skip


@pytest.mark.parametrize("rank", RANKS)
@pytest.mark.parametrize("own", OWN)
def test_a_script_that_sets_it_stays_as_it_is(own, rank, plan, run_script):
    env, address = RANKS[rank]
    adapted = adapt_script(OWN[own] + "torchrun train.py\n", plan, strict=True).text
    assert adapted.startswith(OWN[own] + "# BEGIN")
    assert adapted.count("TTP_ADDR") == OWN[own].count("TTP_ADDR")
    (call,) = run_script(adapted, env)
    assert (call.env["TTP_ADDR"], call.env["TTP_PORT"]) == (address, "8000")


@pytest.mark.parametrize("rank", RANKS)
@pytest.mark.parametrize("line", ["# export TTP_ADDR=x", "never() {\n  export TTP_ADDR=x\n}", "(export TTP_ADDR=x)"])
def test_a_line_that_the_launcher_does_not_feel_does_not_count(line, rank, plan, run_script):
    env, address = RANKS[rank]
    (call,) = run_script(adapt_script(line + "\ntorchrun train.py\n", plan).text, env)
    assert call.env["TTP_ADDR"] == address


def test_a_value_that_is_not_exported_is(plan, run_script):
    (call,) = run_script(adapt_script("TTP_ADDR=10.9.9.9\ntorchrun train.py\n", plan).text, RANKS["0"][0])
    assert call.env["TTP_ADDR"] == "10.9.9.9"


@pytest.mark.parametrize("launch", ["TTP_PORT=9 TTP_ADDR=a torchrun t.py", "env TTP_ADDR=a TTP_PORT=9 torchrun t.py"])
def test_a_value_on_the_launchers_own_line_counts(launch, plan, run_script):
    adapted = adapt_script(launch + "\n", plan).text
    assert adapted.count("TTP_") == 2
    (call,) = run_script(adapted, RANKS["0"][0])
    assert (call.env["TTP_ADDR"], call.env["TTP_PORT"]) == ("a", "9")


@pytest.mark.parametrize("rank", RANKS)
def test_the_demos_script_is_accepted_with_its_own_address(rank, plan, run_script):
    env, address = RANKS[rank]
    text = DEMO.read_text(encoding="utf-8")
    result = adapt_script(text, plan, strict=True)
    assert (result.corrections, result.warnings) == ([], [])
    assert result.text.count("TTP_ADDR") == text.count("TTP_ADDR")
    calls = run_script(result.text, env, [".", "out", "pretrain.py", "--lr", "1"])
    assert [call.env["TTP_ADDR"] for call in calls] == [address]
    assert (
        " ".join(calls[0].words)
        == (
            "python -m torch.distributed.run --nproc_per_node 8 --nnodes 2 --node_rank %s --master_addr 10.0.0.1"
            " --master_port 29500 --max_restarts 5 --monitor_interval 10 pretrain.py --lr 1 --distributed-backend nccl"
        )
        % rank
    )


@pytest.mark.parametrize("request_", [{"framework": "mindspore"}, {"suite": "none"}])
def test_plans_without_mindspeed_get_none_of_it(request_):
    text = "msrun t.py\n" if "framework" in request_ else "torchrun t.py\n"
    assert "TTP_" not in adapt_script(text, build_plan({"strategies": "retry", **request_})).text


# What the launcher must not get


@pytest.mark.parametrize("env", [{}, {CACHING: "1"}])
@pytest.mark.parametrize("line", ["", "export %s=1\n" % CACHING, "[ -n '' ] || export %s=0\n" % CACHING])
def test_memory_caching_stays_on(line, env, plan, run_script):
    (call,) = run_script(adapt_script(line + "torchrun t.py\n", plan).text, env)
    assert CACHING not in call.env


def test_a_line_of_the_users_that_is_taken_away_is_told_or_refused(plan):
    text = "# one\nexport %s=1\ntorchrun t.py\n" % CACHING
    result = adapt_script(text, plan)
    assert [(item.code, item.where) for item in result.warnings] == [("value-taken-away", "script line 2")]
    assert adapt_script(result.text, plan).text == result.text
    assert adapt_script(result.text, plan, state="absent").text == text
    with pytest.raises(Refused, match="line 2"):
        adapt_script(text, plan, strict=True)


@pytest.mark.parametrize("before", ["%s=1 ", "env %s=1 ", "nohup env %s=0 ", "export %s=1; "])
def test_a_line_behind_the_block_is_refused(before, plan):
    with pytest.raises(Refused) as caught:
        adapt_script("torchrun a.py\n%storchrun b.py\n" % (before % CACHING), plan, where="t.sh")
    assert [(item.code, item.where) for item in caught.value.findings] == [("value-not-to-be-set", "t.sh line 2")]
