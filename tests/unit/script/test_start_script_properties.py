# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Properties of every script that can be put together from what people write."""

from __future__ import annotations

import itertools
import subprocess

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Refused
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._start_script import adapt_script

PLAN = {
    "framework": "pytorch",
    "script": {
        "torchrun_args": {"--max_restarts": "5", "--monitor_interval": "10"},
        "exports": {"HCCL_OP_RETRY_ENABLE": "L0:0, L1:1, L2:1", "HCCL_ASYNC_ERROR_HANDLING": "0"},
    },
}

# With all that a plan for PyTorch can ask of a script; see C(script_plan).
WHOLE_PLAN = {
    "framework": "pytorch",
    "script": {
        "torchrun_args": {"--max_restarts": "32767"},
        "exports": {**PLAN["script"]["exports"], "TASKD_PROCESS_ENABLE": "on"},
        "unset": ["PYTORCH_NO_NPU_MEMORY_CACHING"],
        "ttp_port": "8000",
        "taskd_manager": True,
    },
}

OPTION_WORDS = st.sampled_from(
    [
        "--nproc_per_node 8",
        "--nnodes $N",
        "--max_restarts 3",
        "--max-restarts=5",
        "--monitor_interval 7",
        "--standalone",
    ]
)
OPTIONS = st.lists(OPTION_WORDS, min_size=1, max_size=4, unique=True)
NAMES = st.sampled_from(["DISTRIBUTED_ARGS", "OPTS"])
LINES = st.sampled_from(
    [
        "# 注释 torchrun",
        "echo torchrun $DISTRIBUTED_ARGS",
        "export HCCL_ASYNC_ERROR_HANDLING=1  # 看门狗",
        "export HCCL_ASYNC_ERROR_HANDLING=0",
        'export HCCL_OP_RETRY_ENABLE="L0:0, L1:1, L2:1"',
        "HCCL_OP_RETRY_ENABLE=x",
        "unset HCCL_OP_RETRY_ENABLE",
        "cat <<EOF > /dev/null\ntorchrun --nnodes 2 x.py\nEOF",
        "never() {\n    torchrun never.py\n}",
        "N=2",
        "",
    ]
)
LAUNCHERS = st.sampled_from(
    ["torchrun", "python -m torch.distributed.run", "${PY:-python} -m torch.distributed.launch"]
)
ENDS = st.sampled_from(["", " 2>&1 | tee log", " && tee log < /dev/null", " &> log &", " || exit 1", " >> log"])
ARGUMENTS = st.sampled_from(
    ["$DISTRIBUTED_ARGS", '"${OPTS[@]}"', "$OPTS", "--nnodes 1", "--nnodes 1 \\\n    --max_restarts 9", ""]
)


@st.composite
def assignments(draw):
    name, words = draw(NAMES), draw(OPTIONS)
    form = draw(st.sampled_from(["line", "lines", "array", "array lines", "append", "single", "self"]))
    return {
        "line": '%s="%s"' % (name, " ".join(words)),
        "lines": '%s="\n    %s\n"' % (name, " \\\n    ".join(words)),
        "array": "%s=(%s)" % (name, " ".join(words)),
        "array lines": "%s=(\n  %s  # 末尾\n)" % (name, "\n  ".join(words)),
        "append": '%s+=" %s"' % (name, words[0]),
        "single": "%s='%s'" % (name, " ".join(words)),
        "self": '%s="$%s %s"' % (name, name, words[0]),
    }[form]


@st.composite
def launches(draw):
    prefix = draw(st.sampled_from(["", "exec_on_host=1 ", "nohup ", "HCCL_ASYNC_ERROR_HANDLING=2 ", "env A=b "]))
    words = [draw(LAUNCHERS), draw(ARGUMENTS), "train.py", "--lr 1"]
    return prefix + " ".join(word for word in words if word) + draw(ENDS)


def indented(text):
    """Indented as far as strings and heredocs over several lines allow it."""
    return text if "\n" in text else "  " + text


@st.composite
def nested(draw, lines):
    body = "\n".join(indented(line) for line in draw(st.lists(lines, min_size=1, max_size=3)))
    form = draw(st.sampled_from(["if", "else", "function", "for", "braces", "subshell"]))
    return {
        "if": 'if [ "$A" = 1 ]; then\n%s\n  :\nfi' % body,
        "else": 'if [ "$A" = 1 ]; then\n  :\nelse\n%s\n  :\nfi' % body,
        "function": "go() {\n%s\n  :\n}\ngo" % body,
        "for": "for i in 1; do\n%s\n  :\ndone" % body,
        "braces": "{\n%s\n  :\n}" % body,
        "subshell": "(\n%s\n  :\n)" % body,
    }[form]


ANY = st.one_of(LINES, assignments(), launches())
SCRIPTS = st.lists(st.one_of(ANY, nested(ANY)), min_size=1, max_size=7).map(
    lambda parts: "#!/bin/bash\n" + "\n".join(parts)
)


def parses(text):
    done = subprocess.run(["bash", "-n"], input=text.encode(), capture_output=True, check=False)
    return done.returncode == 0


def adapted_or_none(text, plan=None):
    try:
        return adapt_script(text, PLAN if plan is None else plan)
    except Refused as exc:
        assert all(finding.what and finding.why and finding.remedy for finding in exc.findings)
        assert "result-broken" not in [finding.code for finding in exc.findings]
        return None


@settings(max_examples=100, deadline=None, derandomize=True)
@given(text=SCRIPTS, ending=st.sampled_from(["", "\n"]), plan=st.sampled_from([PLAN, WHOLE_PLAN]))
def test_adapting_is_idempotent_revertible_and_parses(text, ending, plan):
    text += ending
    result = adapted_or_none(text, plan)
    if result is None:
        return
    assert parses(result.text)
    again = adapt_script(result.text, plan, strict=True)
    assert (again.text, again.corrections) == (result.text, [])
    assert adapt_script(result.text, plan, state="absent").text == text


def _options(words):
    """The launcher's own options of one recorded call, by name; of several the last one counts."""
    own = words[: words.index("train.py")]
    joined = [item for word in own for item in word.split("=", 1)]
    return {name: value for name, value in itertools.pairwise(joined) if name.startswith("--m")}


@settings(max_examples=15, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=SCRIPTS, branch=st.sampled_from(["0", "1"]))
def test_every_launch_that_runs_gets_the_plan(text, branch, run_script):
    text += "\ntorchrun $DISTRIBUTED_ARGS train.py\nwait\n"
    result = adapted_or_none(text)
    if result is None:
        return
    for call in run_script(result.text, {"A": branch, "N": "2", "HCCL_ASYNC_ERROR_HANDLING": "2"}):
        options = {name.replace("-r", "_r"): value for name, value in _options(call.words).items()}
        assert options.get("--max_restarts") == "5"
        assert options.get("--monitor_interval") == "10"
        assert call.env.get("HCCL_ASYNC_ERROR_HANDLING") == "0"
        assert call.env.get("HCCL_OP_RETRY_ENABLE") == "L0:0, L1:1, L2:1"
