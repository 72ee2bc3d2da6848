# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is corrected, what is refused, and what hostile input does to it."""

from __future__ import annotations

import subprocess

import pytest

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Refused
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._start_script import adapt_script

RUN = "torchrun --nproc_per_node 8 train.py\n"


def codes(findings):
    return [finding.code for finding in findings]


def refused(text, plan, **options):
    with pytest.raises(Refused) as caught:
        adapt_script(text, plan, where="/job/train_start.sh", **options)
    return caught.value.findings


# Options of the launcher


@pytest.mark.parametrize("spelling", ["--max_restarts 3", "--max-restarts 3", "--max_restarts=3", "--max-restarts=3"])
def test_each_spelling_of_an_option_is_recognised(spelling, pytorch_plan, run_script):
    text = "# one\nD='--nnodes 1 %s'\ntorchrun $D train.py\n" % spelling
    result = adapt_script(text, pytorch_plan)
    assert "D='--nnodes 1 %s --monitor_interval 10'" % spelling.replace("3", "5") in result.text
    assert codes(result.corrections) == ["value-corrected"]
    assert result.corrections[0].where == "script line 2"
    assert "--max_restarts is 3" in result.corrections[0].what
    assert adapt_script(result.text, pytorch_plan, state="absent").text == text


def test_strict_refuses_every_other_value_with_its_line(pytorch_plan):
    text = (
        "export HCCL_ASYNC_ERROR_HANDLING=1\nD='--nnodes 1 --max_restarts 3 --monitor_interval 5'\ntorchrun $D t.py\n"
    )
    found = refused(text, pytorch_plan, strict=True)
    assert codes(found) == ["value-differs"] * 3
    assert [finding.where[-6:] for finding in found] == ["line 2", "line 2", "line 1"]
    assert all(finding.remedy for finding in found)


def test_values_already_right_need_no_change(pytorch_plan):
    text = (
        'export HCCL_OP_RETRY_ENABLE="L0:0,L1:1,L2:1" HCCL_ASYNC_ERROR_HANDLING=0\n'
        "torchrun --max-restarts=5 --monitor_interval 10.0 train.py\n"
    )
    result = adapt_script(text, pytorch_plan, strict=True)
    assert (result.text, result.corrections, result.warnings) == (text, [], [])
    assert adapt_script(text, pytorch_plan, state="absent").text == text


def test_an_identical_line_of_the_users_gets_no_duplicate(pytorch_plan):
    text = "export HCCL_ASYNC_ERROR_HANDLING=0\n" + RUN
    adapted = adapt_script(text, pytorch_plan).text
    assert adapted.count("HCCL_ASYNC_ERROR_HANDLING") == 1
    assert adapt_script(adapted, pytorch_plan, state="absent").text == text


def test_own_values_win_over_the_plan(pytorch_plan):
    adapted = adapt_script(RUN, pytorch_plan, max_restarts=0, monitor_interval=2.5).text
    assert "torchrun --max_restarts 0 --monitor_interval 2.5 --nproc_per_node 8 train.py" in adapted


def test_a_variable_that_other_commands_take_as_arguments_stays(pytorch_plan, run_script):
    text = "D='--nnodes 1'\ntorchrun $D train.py\npython plain.py $D\n"
    calls = run_script(adapt_script(text, pytorch_plan).text)
    assert calls[0].words == ["python", "plain.py", "--nnodes", "1"]
    assert calls[1].words == [
        "torchrun",
        "--max_restarts",
        "5",
        "--monitor_interval",
        "10",
        "--nnodes",
        "1",
        "train.py",
    ]


def test_options_never_land_behind_the_training_script(pytorch_plan, run_script):
    text = "ALL='--nnodes 1 train.py --lr 1'\ntorchrun $ALL\n"
    (call,) = run_script(adapt_script(text, pytorch_plan).text)
    assert call.words[1:7] == ["--max_restarts", "5", "--monitor_interval", "10", "--nnodes", "1"]


@pytest.mark.parametrize("env", [{}, {"MANY": "yes"}])
def test_a_path_that_leaves_the_variable_unset_is_covered_too(env, pytorch_plan, run_script):
    text = 'if [ "$MANY" = yes ]; then\n  D="--nnodes 2"\nelse\n  echo single\nfi\ntorchrun $D train.py\n'
    (call,) = run_script(adapt_script(text, pytorch_plan).text, env)
    assert call.words[1:5] == ["--max_restarts", "5", "--monitor_interval", "10"]
    assert call.words.count("--max_restarts") == 1


# Exports


@pytest.mark.parametrize(
    "line",
    [
        "export HCCL_ASYNC_ERROR_HANDLING=1",
        "HCCL_ASYNC_ERROR_HANDLING=1; export HCCL_ASYNC_ERROR_HANDLING",
        "declare -x HCCL_ASYNC_ERROR_HANDLING='1'",
        "export HCCL_ASYNC_ERROR_HANDLING=${HCCL_ASYNC_ERROR_HANDLING:-1}",
        "set_it() { export HCCL_ASYNC_ERROR_HANDLING=1; }; set_it",
        "if true; then unset HCCL_ASYNC_ERROR_HANDLING; fi",
        "( export HCCL_ASYNC_ERROR_HANDLING=1 )",
        "never() { export HCCL_ASYNC_ERROR_HANDLING=1; }",
    ],
)
def test_the_launcher_gets_the_plans_value_whatever_the_script_sets(line, pytorch_plan, run_script):
    text = line + "\n" + RUN
    adapted = adapt_script(text, pytorch_plan).text
    (call,) = run_script(adapted, {"HCCL_ASYNC_ERROR_HANDLING": "2"})
    assert call.env["HCCL_ASYNC_ERROR_HANDLING"] == "0"
    assert adapt_script(adapted, pytorch_plan).text == adapted
    assert adapt_script(adapted, pytorch_plan, state="absent").text == text


def test_a_line_between_two_launches_is_corrected(pytorch_plan, run_script):
    text = "torchrun one.py\nexport HCCL_ASYNC_ERROR_HANDLING=1\ntorchrun two.py\n"
    result = adapt_script(text, pytorch_plan)
    assert [finding.where for finding in result.corrections] == ["script line 2"]
    assert [call.env["HCCL_ASYNC_ERROR_HANDLING"] for call in run_script(result.text)] == ["0", "0"]


@pytest.mark.parametrize(
    "lines",
    [
        'if [ "$DEBUG" = 1 ]; then\n  export HCCL_ASYNC_ERROR_HANDLING=1\nfi',
        '\n[ "$DEBUG" = 1 ] && export HCCL_ASYNC_ERROR_HANDLING=1',
        'case "$A" in\n  b) export HCCL_ASYNC_ERROR_HANDLING=1 ;;\nesac',
        '\neval "export HCCL_ASYNC_ERROR_HANDLING=$X"',
        "\nreadonly HCCL_ASYNC_ERROR_HANDLING=0",
        "\nread HCCL_ASYNC_ERROR_HANDLING < file",
        "\nexport HCCL_ASYNC_ERROR_HANDLING+=1",
    ],
)
def test_what_cannot_be_decided_is_refused_with_its_line(lines, pytorch_plan):
    (finding,) = refused(lines + "\n" + RUN, pytorch_plan)
    assert finding.code == "value-undecidable"
    assert finding.where == "/job/train_start.sh line 2"
    assert "HCCL_ASYNC_ERROR_HANDLING=0" in finding.why


@pytest.mark.parametrize("prefix", ["env -i ", "env -u HCCL_ASYNC_ERROR_HANDLING "])
def test_env_that_takes_the_export_away_is_refused(prefix, pytorch_plan):
    assert codes(refused(prefix + RUN, pytorch_plan)) == ["value-undecidable"]


def test_unset_behind_the_block_is_refused(pytorch_plan):
    text = "torchrun one.py\nunset HCCL_OP_RETRY_ENABLE\ntorchrun two.py\n"
    (finding,) = refused(text, pytorch_plan)
    assert "line 2" in finding.where


def test_names_to_unset_are_taken_away(pytorch_plan, run_script):
    pytorch_plan["script"]["unset"] = ["PYTORCH_NO_NPU_MEMORY_CACHING"]
    text = "export PYTORCH_NO_NPU_MEMORY_CACHING=1\n" + RUN
    adapted = adapt_script(text, pytorch_plan).text
    (call,) = run_script(adapted, {"PYTORCH_NO_NPU_MEMORY_CACHING": "1"})
    assert "PYTORCH_NO_NPU_MEMORY_CACHING" not in call.env
    assert adapt_script(adapted, pytorch_plan).text == adapted


def test_all_mistakes_come_at_once(pytorch_plan):
    text = (
        '[ -n "$A" ] && export HCCL_ASYNC_ERROR_HANDLING=1\n[ -n "$B" ] && export HCCL_OP_RETRY_ENABLE=x\n'
        "torchrun --max_restarts 1 train.py\n"
    )
    found = refused(text, pytorch_plan, strict=True)
    assert sorted(codes(found)) == ["value-differs", "value-undecidable", "value-undecidable"]


# The vendor's sed


def test_vendor_sed_is_told_and_taken_out_and_brought_back(fixture_text, pytorch_plan, run_script):
    text = fixture_text("torch_sed.sh")
    told = adapt_script(text, pytorch_plan)
    assert codes(told.warnings) == ["vendor-sed"]
    assert told.warnings[0].where == "script line 3"
    assert "sed -i" in told.text
    out = adapt_script(text, pytorch_plan, remove_vendor_sed=True)
    assert codes(out.corrections) == ["vendor-sed-removed"]
    assert not [line for line in out.text.splitlines() if line.strip().startswith("sed")]
    assert run_script(out.text, {"PATCH": "yes"})[0].words[0] == "python"
    again = adapt_script(out.text, pytorch_plan, remove_vendor_sed=True)
    assert (again.text, again.corrections) == (out.text, [])
    assert adapt_script(out.text, pytorch_plan, state="absent").text == text


def test_vendor_sed_inside_another_statement_is_not_torn_out(pytorch_plan):
    text = "cd /x && sed -i '/import os/i import mindx_elastic.api' torch/distributed/run.py\n" + RUN
    assert codes(refused(text, pytorch_plan, remove_vendor_sed=True)) == ["vendor-sed-joined"]


def test_other_seds_are_left_alone(pytorch_plan):
    text = "sed -i 's/a/b/' config.yaml\nsed -n 1p torch/distributed/run.py\n" + RUN
    assert adapt_script(text, pytorch_plan).warnings == []


# Line endings and encodings


def test_crlf_is_converted_and_told(fixture_text, pytorch_plan, run_script):
    text = fixture_text("local_world_size.sh").replace("\n", "\r\n")
    result = adapt_script(text, pytorch_plan)
    assert "\r" not in result.text
    assert codes(result.corrections)[0] == "crlf-converted"
    assert result.text.count("# line endings: were CRLF\n") == 1
    unix = adapt_script(fixture_text("local_world_size.sh"), pytorch_plan).text
    assert result.text.replace("# line endings: were CRLF\n", "") == unix
    pod = {"WORLD_SIZE": "8", "LOCAL_WORLD_SIZE": "8", "RANK": "0", "MASTER_ADDR": "a", "MASTER_PORT": "1"}
    assert len(run_script(result.text, pod, ["/code"])) == 1


def test_crlf_is_kept_when_asked(fixture_text, pytorch_plan):
    text = fixture_text("several_lines.sh").replace("\n", "\r\n")
    result = adapt_script(text, pytorch_plan, crlf="keep")
    assert result.text.count("\n") == result.text.count("\r\n")
    assert codes(result.warnings) == ["crlf-kept"]
    assert adapt_script(result.text, pytorch_plan, crlf="keep").text == result.text
    assert adapt_script(result.text, pytorch_plan, state="absent").text == text


def test_mixed_line_endings_are_kept_line_by_line(pytorch_plan):
    text = "# a\r\nexport B=1\n" + RUN + "echo end\r\n"
    result = adapt_script(text, pytorch_plan, crlf="keep").text
    assert "# a\r\nexport B=1\n# BEGIN mindcluster.recovery\r\n" in result
    assert result.endswith("echo end\r\n")
    assert adapt_script(result, pytorch_plan, crlf="keep").text == result


def test_crlf_is_refused_when_asked(pytorch_plan):
    (finding,) = refused("# a\n" + RUN.replace("\n", "\r\n"), pytorch_plan, crlf="refuse")
    assert finding.code == "crlf"
    assert "line 2" in finding.what


def test_bytes_of_other_encodings_stay(pytorch_plan):
    before = "# 训练\\|`启动\n".encode("gbk").decode("utf-8", "surrogateescape")
    text = before + "export NAME='%s' # 日志\n" % "中".encode("gbk").decode("utf-8", "surrogateescape") + RUN
    adapted = adapt_script(text, pytorch_plan).text
    assert adapted.startswith(text[: text.index("torchrun")])
    assert adapt_script(adapted, pytorch_plan, state="absent").text == text


@pytest.mark.parametrize("ending", ["", "\n", "\n\n\n", " "])
def test_the_end_of_the_file_stays(ending, pytorch_plan):
    text = "torchrun train.py" + ending
    adapted = adapt_script(text, pytorch_plan).text
    assert adapted.endswith("train.py" + ending)
    assert adapt_script(adapted, pytorch_plan, state="absent").text == text


def test_byte_order_mark_is_told(pytorch_plan):
    assert codes(adapt_script("\ufeff#!/bin/bash\n" + RUN, pytorch_plan).warnings) == ["byte-order-mark"]


# Hostile input


@pytest.mark.parametrize("text", ["", "\n \n", "\t"])
def test_empty_script(text, pytorch_plan):
    assert codes(refused(text, pytorch_plan)) == ["script-empty"]


@pytest.mark.parametrize(
    "text",
    [
        "cat > run.sh <<'EOF'\ntorchrun train.py\nEOF\n",
        "echo torchrun train.py\n",
        "# torchrun train.py\n",
        "never() { torchrun train.py; }\n",
        "eval 'torchrun train.py'\n",
        "bash -c 'torchrun train.py'\n",
    ],
)
def test_text_that_launches_nothing_says_where_it_names_a_launcher(text, pytorch_plan):
    (finding,) = refused("#!/bin/bash\n" + text, pytorch_plan)
    assert finding.code == "launch-missing"
    assert "line %d" % (3 if "EOF" in text else 2) in finding.what


def test_no_launch_at_all(pytorch_plan, mindspore_plan):
    assert codes(refused("echo hello\n", pytorch_plan)) == ["launch-missing"]
    (finding,) = refused("echo a\nmsrun x.py\n", pytorch_plan)
    assert "line 2 starts another framework's" in finding.what
    assert codes(refused(RUN, mindspore_plan)) == ["launch-missing"]


def test_a_hidden_launch_beside_a_plain_one_is_told(pytorch_plan):
    result = adapt_script(RUN + "eval 'torchrun other.py'\n", pytorch_plan)
    assert codes(result.warnings) == ["launch-hidden"]
    assert "line 2" in result.warnings[0].where


@pytest.mark.parametrize(
    "text", ["echo 'unbalanced\n" + RUN, "if true; then\n" + RUN, "f() {\n" + RUN, RUN + "fi\n", RUN + 'X="a\n']
)
def test_a_script_that_bash_cannot_parse_is_refused_with_its_line(text, pytorch_plan):
    (finding,) = refused(text, pytorch_plan)
    assert finding.code == "shell-syntax"
    assert "/job/train_start.sh line " in finding.where


def test_binary_file(pytorch_plan):
    assert codes(refused("\x7fELF\0\0torchrun", pytorch_plan)) == ["shell-binary"]
    assert codes(refused(RUN.encode("utf-16").decode("utf-8", "surrogateescape"), pytorch_plan)) == ["shell-binary"]


def test_five_megabytes_are_refused_at_once(pytorch_plan):
    (finding,) = refused(RUN + "# x\n" * (5 * 1024 * 256), pytorch_plan)
    assert finding.code == "script-too-large"


def test_a_long_script_is_adapted(pytorch_plan):
    text = 'echo "line"; A=1\n' * 3000 + RUN
    assert adapt_script(text, pytorch_plan).text.count("--max_restarts 5") == 1


@pytest.mark.parametrize("text", [RUN * 200, "export HCCL_ASYNC_ERROR_HANDLING=1\n" * 400 + RUN])
def test_generated_monsters_are_refused_at_once(text, pytorch_plan):
    assert codes(refused(text, pytorch_plan)) == ["script-too-complex"]


@pytest.mark.parametrize(
    "text",
    [
        'D="${D:---nnodes 1 --max_restarts 3}"\ntorchrun $D train.py\n',
        'D="--nnodes 1 $(echo --max-restarts 3)"\ntorchrun $D train.py\n',
        "\ntorchrun ${A:---max_restarts 3} train.py\n",
        'A=(--nnodes 1)\nA="--max_restarts 3"\ntorchrun $A train.py\n',
        "A=(--max_restarts 3)\ntorchrun $A train.py\n",
    ],
)
def test_an_option_inside_an_expansion_is_refused(text, pytorch_plan):
    (finding,) = refused(text, pytorch_plan)
    assert finding.code == "option-unclear"
    assert "--max_restarts" in finding.what


def test_deep_nesting_is_no_problem(pytorch_plan):
    text = "if true; then\n" * 300 + RUN + "fi\n" * 300
    adapted = adapt_script(text, pytorch_plan).text
    assert adapt_script(adapted, pytorch_plan, state="absent").text == text


def test_functions_that_call_each_other_come_to_an_end(pytorch_plan):
    text = "a() { b; }\nb() { a; export HCCL_ASYNC_ERROR_HANDLING=1; " + RUN.strip() + "; }\na\nb\n"
    try:
        adapted = adapt_script(text, pytorch_plan).text
    except Refused:
        return
    assert adapt_script(adapted, pytorch_plan).text == adapted


@pytest.mark.parametrize(
    "text",
    [
        "# BEGIN mindcluster.recovery\n" + RUN,
        RUN + "# END mindcluster.recovery\n",
        "# END mindcluster.recovery\n" + RUN + "# BEGIN mindcluster.recovery\n",
        "# BEGIN mindcluster.recovery\n# END mindcluster.recovery\n" * 2 + RUN,
    ],
)
def test_broken_markers_are_refused(text, pytorch_plan):
    assert codes(refused(text, pytorch_plan)) == ["block-broken"]
    assert codes(refused(text, pytorch_plan, state="absent")) == ["block-broken"]


@pytest.mark.parametrize(
    "lines",
    [
        "# added:",
        "# added: X#9 --max_restarts",
        '# changed: launch#7 --max_restarts from "3"',
        '# changed: X#0 from "1"',
        '# changed: HCCL_ASYNC_ERROR_HANDLING#x from "1"',
        '# changed: A#1 from "\\q"',
        "# added: launch#x --max_restarts",
    ],
)
def test_records_edited_by_hand_break_nothing(lines, pytorch_plan):
    text = "# BEGIN mindcluster.recovery\n%s\n# END mindcluster.recovery\n%s" % (lines, RUN)
    assert adapt_script(text, pytorch_plan, state="absent").text == RUN
    assert adapt_script(text, pytorch_plan).text == adapt_script(RUN, pytorch_plan).text


def test_block_edited_by_hand_is_written_anew(pytorch_plan):
    good = adapt_script(RUN, pytorch_plan).text
    bad = good.replace("export HCCL_ASYNC_ERROR_HANDLING=0\n", "export HCCL_ASYNC_ERROR_HANDLING=1\n")
    assert bad != good
    assert adapt_script(bad, pytorch_plan).text == good


# Options


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"kind": "train-start"}, "option-unknown"),
        ({"crlf": "yes"}, "option-unknown"),
        ({"state": "gone"}, "option-unknown"),
        ({"max_restarts": -1}, "option-number"),
        ({"max_restarts": True}, "option-number"),
        ({"monitor_interval": 0}, "option-number"),
        ({"kind": "msrun_launcher"}, "kind-framework"),
    ],
)
def test_bad_options(options, code, pytorch_plan):
    assert codes(refused(RUN, pytorch_plan, **options)) == [code]


def test_bad_options_come_at_once(pytorch_plan):
    assert len(refused(RUN, {}, kind="x", crlf="x", state="x", max_restarts=-1)) == 5


def test_kind_train_start_is_near(pytorch_plan):
    (finding,) = refused(RUN, pytorch_plan, kind="train-start")
    assert "Did you mean `train_start`?" in finding.remedy


def test_adapted_script_is_never_worse_than_the_original(pytorch_plan, fixture_text):
    text = adapt_script(fixture_text("no_variable.sh"), pytorch_plan).text
    done = subprocess.run(["bash", "-n"], input=text, text=True, capture_output=True, check=False)
    assert done.returncode == 0


@pytest.mark.parametrize("first", ["\r\n", "\n"], ids=["every line", "all but one"])
def test_converted_line_endings_come_back(fixture_text, pytorch_plan, first):
    text = fixture_text("several_lines.sh").replace("\n", first, 1)
    text = text[: text.index("\n") + 1] + text[text.index("\n") + 1 :].replace("\n", "\r\n")
    once = adapt_script(text, pytorch_plan).text
    assert "\r" not in once
    assert adapt_script(once, pytorch_plan).text == once
    assert adapt_script(once, pytorch_plan, state="absent").text == text


def test_line_endings_without_a_rule_are_told(fixture_text, pytorch_plan):
    lines = fixture_text("several_lines.sh").split("\n") + ["# 行"] * 80
    text = "".join(line + ("\r\n" if number % 2 else "\n") for number, line in enumerate(lines))
    once = adapt_script(text, pytorch_plan).text
    back = adapt_script(once, pytorch_plan, state="absent")
    assert back.text == text.replace("\r\n", "\n")
    assert codes(back.warnings) == ["endings-not-known"]
