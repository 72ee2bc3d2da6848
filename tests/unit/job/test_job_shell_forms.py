# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Shell texts as people put them into `args`, each run by bash: every launch gets every flag once."""

from __future__ import annotations

import pytest
import yaml
from conftest import Recorder, container_of, env_of, job_of, make_plan

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Refused
from ansible_collections.mindcluster.recovery.plugins.module_utils._job_check import check_job
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._job_adapt import AdaptResult, adapt_job
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._manifest_read import documents_of

FLAGS = ["--enable-high-availability", "--enable-hbmfault-repair"]
SCRIPT = "bash scripts/train_start.sh a"

TEXTS = {
    # one command over several lines
    "continuation": SCRIPT + " \\\n  --bf16 \\\n  --lr 1e-5\n",
    "comment behind the last line": SCRIPT + " \\\n  --bf16  # 说明\n",
    "comments between the lines": SCRIPT + " \\\n  `# 学习率` \\\n  --bf16 `# 精度` \\\n  --lr 1\n",
    "comment that ends the command": SCRIPT + " \\\n  --bf16 \\\n  # 注释\n",
    "backslash before an empty line": SCRIPT + " \\\n  --bf16 \\\n\necho done\n",
    "backslash at the very end": SCRIPT + " \\\n  --bf16 \\\n",
    "pipe on a line of its own": SCRIPT + " \\\n  --bf16 2>&1 \\\n  | tee /job/output/log\n",
    "redirection on a line of its own": SCRIPT + " \\\n  --bf16 \\\n  2>&1 | tee /job/output/log\n",
    # what stands around it
    "exec": "exec " + SCRIPT + " --bf16",
    "tee": SCRIPT + " --bf16 2>&1 | tee /job/output/log",
    "tee of both": SCRIPT + " --bf16 |& tee -a /job/output/log",
    "redirection between words": "bash scripts/train_start.sh > /job/output/log a --bf16",
    "process substitution": SCRIPT + " --bf16 > >(cat > /job/output/log) 2>&1; wait; sleep 0.1",
    "background": SCRIPT + " --bf16 > /job/output/log 2>&1 &\nwait $!\n",
    "chain": "cd /job/code && " + SCRIPT + " --bf16 && echo ok || exit 1",
    "semicolon behind it": "set -ex; cd /job/code; chmod -R 755 scripts; " + SCRIPT + " --bf16 ;",
    "prepared before": "bash set_env.sh; " + SCRIPT + " --bf16",
    "variables before it": "A=b OMP_NUM_THREADS=1 " + SCRIPT + " --bf16",
    "env, nohup": "env A=b nohup " + SCRIPT + " --bf16 > /job/output/log",
    "timeout": "timeout 20 " + SCRIPT + " --bf16",
    "subshell": "(cd /job/code; " + SCRIPT + " --bf16)",
    "braces": "{ " + SCRIPT + " --bf16; } 2>&1 | tee /job/output/log",
    "branch": "if [ -d /job/code/ ]; then\n  " + SCRIPT + " --bf16\nelse\n  exit 1\nfi\n",
    "condition": "if ! " + SCRIPT + " --bf16; then exit 3; fi\n",
    "loop": "while true; do " + SCRIPT + " --bf16 && break; done",
    "case": 'case "$X" in\n  *) ' + SCRIPT + " --bf16 ;;\nesac\n",
    "function": 'run() {\n  bash scripts/train_start.sh a "$@"\n}\nrun --bf16\n',
    "two branches": "if false; then torchrun a.py --bf16; else torchrun b.py --bf16; fi",
    # what only looks like it
    "heredoc": "cat > /job/output/help <<EOF\nbash scripts/train_start.sh nothing\nEOF\n" + SCRIPT + " --bf16\n",
    "words of echo": 'echo "bash scripts/train_start.sh"; ' + SCRIPT + " --bf16",
    "comment": "# torchrun train.py\n" + SCRIPT + " --bf16\n",
    # launchers
    "torchrun": "torchrun --nproc_per_node 8 train.py --bf16",
    "torchrun by its path": "/usr/bin/env torchrun train.py --bf16",
    "module run": "python -m torch.distributed.run --nnodes 1 train.py --bf16",
    "module launch": "python3 -u -m torch.distributed.launch --nnodes 1 train.py --bf16",
    "python in a variable": "PY=${PY:-python3}\n$PY -m torch.distributed.run train.py --bf16\n",
    "command in a variable": 'CMD="torchrun --nnodes 1 train.py --bf16"\n$CMD\n',
    "command in an array": 'CMD=(torchrun --nnodes 1 train.py --bf16)\n"${CMD[@]}"\n',
    "script in a variable": "S=scripts/train_start.sh\nbash set_env.sh\nbash ${S} a --bf16\n",
    "script by itself": "./scripts/train_start.sh a --bf16",
    "other shell": "sh scripts/train_start.sh a --bf16",
    "sourced": "source scripts/train_start.sh a --bf16",
    # flags that are there
    "quoted flag": SCRIPT + ' --bf16 "--enable-high-availability"',
    "flag in a variable": 'ARGS="--bf16 --enable-high-availability"\ntorchrun train.py $ARGS\n',
    "flag added to a variable": 'ARGS="--bf16"\nARGS+=" --enable-high-availability"\ntorchrun train.py $ARGS\n',
    "flag in an array": 'ARGS=(--bf16 --enable-hbmfault-repair)\ntorchrun train.py "${ARGS[@]}"\n',
    "flag in a variable of a variable": 'HA="--enable-high-availability"\nARGS="--bf16 $HA"\ntorchrun x.py $ARGS\n',
    "flag in both branches": "if false; then A='--enable-high-availability'; else A='--enable-high-availability'; fi\n"
    "torchrun train.py --bf16 $A\n",
    "flag in the branch that is not taken": "if false; then A='--enable-high-availability'; else A=''; fi\n"
    "torchrun train.py --bf16 $A\n",
    "flag that is taken back": "A='--enable-high-availability'\nA=''\ntorchrun train.py --bf16 $A\n",
    # exports that are there
    "exported": "export ELASTIC_PROCESS_RECOVER_ENABLE=1\n" + SCRIPT + " --bf16\n",
    "exported among others": "export A=1 ELASTIC_PROCESS_RECOVER_ENABLE=1 B=2\n" + SCRIPT + " --bf16\n",
    "exported later": "ELASTIC_PROCESS_RECOVER_ENABLE=1\nexport ELASTIC_PROCESS_RECOVER_ENABLE\n"
    + SCRIPT
    + " --bf16\n",
    "given to the command": "ELASTIC_PROCESS_RECOVER_ENABLE=1 " + SCRIPT + " --bf16\n",
    "given by env": "env ELASTIC_PROCESS_RECOVER_ENABLE=1 " + SCRIPT + " --bf16\n",
    "assigned, not exported": "ELASTIC_PROCESS_RECOVER_ENABLE=1\n" + SCRIPT + " --bf16\n",
    "exported behind the command": SCRIPT + " --bf16\nexport ELASTIC_PROCESS_RECOVER_ENABLE=1\n",
    "exported in a branch": "if false; then export ELASTIC_PROCESS_RECOVER_ENABLE=1; fi\n" + SCRIPT + " --bf16\n",
    "taken away again": "export ELASTIC_PROCESS_RECOVER_ENABLE=1\nunset ELASTIC_PROCESS_RECOVER_ENABLE\n"
    + SCRIPT
    + " --bf16\n",
}


def job(command: list[str], args: list[str], framework: str = "pytorch") -> str:
    leader = {"pytorch": "Master", "mindspore": "Scheduler"}[framework]
    resources = {"requests": {"huawei.com/Ascend910": 8}, "limits": {"huawei.com/Ascend910": 8}}
    container = {"name": "ascend", "image": "a:1", "command": command, "args": args, "resources": resources}
    specs = {leader: {"replicas": 1, "template": {"spec": {"containers": [container]}}}}
    document = {"apiVersion": "mindxdl.gitee.com/v1", "kind": "AscendJob", "spec": {"replicaSpecs": specs}}
    document["metadata"] = {"name": "forms", "labels": {"framework": framework}}
    return yaml.safe_dump(document, sort_keys=False, allow_unicode=True)


def adapted(command: list[str], args: list[str], **options: object) -> AdaptResult:
    result = adapt_job(job(command, args), make_plan(), **options)  # type: ignore[arg-type]
    again = adapt_job(result.text, make_plan(), **options)  # type: ignore[arg-type]
    assert again.text == result.text
    assert again.corrections == []
    return result


def words_of(result: AdaptResult, replica: str = "Master") -> list[str]:
    container = container_of(job_of(result.text), replica)
    return [*container.get("command", []), *container.get("args", [])]


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
def test_a_shell_text_runs_with_each_flag_once(text: str, recorder: Recorder) -> None:
    result = adapted(["/bin/bash", "-c"], [text])
    assert [found for found in check_job(documents_of(result.text), make_plan()) if found["level"] == "error"] == []
    (launch,) = recorder.run(words_of(result))
    assert {word: launch.count(word) for word in [*FLAGS, "--bf16"]} == dict.fromkeys([*FLAGS, "--bf16"], 1)
    assert launch[-1] == "env:1"


@pytest.mark.parametrize("option", ["-c", "-lc", "-exc", "-e -o pipefail -c"])
@pytest.mark.parametrize("split", ["command", "args", "both"])
def test_the_shell_stands_in_either_key_with_any_options(option: str, split: str, recorder: Recorder) -> None:
    words = ["/bin/bash", *option.split(), SCRIPT + " --bf16"]
    cut = {"command": len(words), "args": 0, "both": 1}[split]
    (launch,) = recorder.run(words_of(adapted(words[:cut], words[cut:])))
    assert [launch.count(word) for word in FLAGS] == [1, 1]
    assert launch[-1] == "env:1"


@pytest.mark.parametrize(
    "words",
    [
        ["torchrun", "--nnodes=1", "train.py", "--bf16"],
        ["python3", "-m", "torch.distributed.run", "train.py", "--bf16"],
        ["bash", "scripts/train_start.sh", "a b", "--bf16"],
        ["./scripts/train_start.sh", "--bf16", "--enable-high-availability"],
        ["env", "A=b", "torchrun", "train.py", "--bf16"],
    ],
)
@pytest.mark.parametrize("cut", [0, 1, 99])
def test_words_without_a_shell_get_words(words: list[str], cut: int, recorder: Recorder) -> None:
    result = adapted(words[:cut], words[cut:])
    (launch,) = recorder.run(words_of(result))
    assert [launch.count(word) for word in [*FLAGS, "--bf16"]] == [1, 1, 1]
    # Nothing can be exported there, so the variable is the container's.
    assert env_of(container_of(job_of(result.text), "Master"))["ELASTIC_PROCESS_RECOVER_ENABLE"] == "1"


@pytest.mark.parametrize(
    "text",
    ["msrun --worker_num 16 train.py", "bash scripts/msrun_launcher.sh 'python x.py' 16 8", "bash scripts/run.sh 1"],
)
def test_mindspore_gets_the_users_words_and_no_flags(text: str) -> None:
    plan = make_plan(framework="mindspore")
    manifest = job(["/bin/bash", "-c"], [text], "mindspore")
    assert words_of(adapt_job(manifest, plan), "Scheduler")[-1] == text
    longer = adapt_job(manifest, plan, extra_args=["--seed", "7"])
    assert words_of(longer, "Scheduler")[-1] == text + " --seed 7"
    assert adapt_job(longer.text, plan, extra_args=["--seed", "7"]).text == longer.text


@pytest.mark.parametrize(
    "text",
    [
        "python train.py --bf16",
        "deepspeed train.py",
        "sleep infinity",
        "# torchrun train.py\n",
        "echo torchrun train.py",
        "run() { torchrun train.py; }\n",
        "cat <<EOF\ntorchrun train.py\nEOF\n",
    ],
)
def test_without_a_start_command_it_says_what_it_looked_for(text: str) -> None:
    with pytest.raises(Refused) as caught:
        adapt_job(job(["/bin/bash", "-c"], [text]), make_plan(), where="job.yaml")
    message = str(caught.value)
    assert "no command in `Master` starts training" in message
    for looked_for in ("torchrun", "torch.distributed.run", "msrun", "bash scripts/train_start.sh"):
        assert looked_for in message


def test_a_given_value_of_env_is_corrected_in_its_place() -> None:
    result = adapted(["bash", "-c"], ["env ELASTIC_PROCESS_RECOVER_ENABLE=0 " + SCRIPT])
    assert "env ELASTIC_PROCESS_RECOVER_ENABLE=1 bash" in result.text
    assert [finding.code for finding in result.corrections] == ["export-corrected"]


def test_a_surplus_flag_in_a_variable_is_told() -> None:
    result = adapted(["bash", "-c"], ['A="--enable-worker-reboot"\ntorchrun train.py $A\n'])
    assert [finding.code for finding in result.warnings] == ["flag-surplus"]


WRITTEN = {
    "redirected before": "cat > run.sh <<%s\ntorchrun train.py%s\nEOF\nbash run.sh\n",
    "redirected behind": "cat <<%s > /job/output/run.sh\ntorchrun train.py%s\nEOF\nbash /job/output/run.sh a\n",
    "tee": "tee run.sh <<%s\ntorchrun train.py%s\nEOF\nchmod +x run.sh; ./run.sh\n",
    "tee behind a pipe": "cat <<%s | sudo tee /tmp/run.sh >&-\ntorchrun train.py%s\nEOF\ncd /tmp; bash run.sh\n",
    "through a variable": 'S=run.sh\ncat > run.sh <<%s\ntorchrun train.py%s\nEOF\nbash "$S"\n',
}


@pytest.mark.parametrize("text", WRITTEN.values(), ids=WRITTEN.keys())
@pytest.mark.parametrize(
    ("end", "behind", "told"),
    [
        ("EOF", "", True),
        ("'EOF'", "", True),
        ("'EOF'", ' "$@"', False),
        ("\\EOF", " ${*}", False),
        ('"EOF"', " $1", False),
        ("'EOF'", ' "${@:1}"', False),
        ("EOF", ' "\\$@"', False),
        ("EOF", ' "$@"', True),  # those of the text, which has none
        ("'EOF'", " \\$1", True),
        ("EOF", " " + " ".join(FLAGS), False),
        ("EOF", " " + FLAGS[0], True),
        ("EOF", " --shift 1", True),
    ],
)
def test_flags_behind_a_script_that_args_writes_itself(text: str, end: str, behind: str, told: bool) -> None:
    warned = [found.code for found in adapted(["/bin/bash", "-c"], [text % (end, behind)]).warnings]
    assert ("flags-dropped" in warned) == told


@pytest.mark.parametrize(("end", "arrive"), [("'EOF'", True), ("EOF", False)])
def test_bash_says_whether_the_flags_arrive(end: str, arrive: bool, recorder: Recorder) -> None:
    text = 'cat > run.sh <<%s\ntorchrun train.py "$@"\nEOF\nbash run.sh\n' % end
    result = adapted(["/bin/bash", "-c"], [text])
    launches = recorder.run(words_of(result))
    assert [all(flag in launch for flag in FLAGS) for launch in launches][-1] == arrive
    assert ("flags-dropped" in [found.code for found in result.warnings]) != arrive


def test_two_absolute_names_are_two_files() -> None:
    text = "cat > /tmp/train_start.sh <<EOF\necho\nEOF\nbash /job/code/train_start.sh a\n"
    assert "flags-dropped" not in [found.code for found in adapted(["/bin/bash", "-c"], [text]).warnings]


def test_a_heredoc_for_another_file_says_nothing_about_the_script() -> None:
    text = "cat > hostfile <<EOF\nnode-1\nEOF\nbash scripts/train_start.sh a\n"
    assert "flags-dropped" not in [found.code for found in adapted(["/bin/bash", "-c"], [text]).warnings]
