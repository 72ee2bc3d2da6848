# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""TaskD's start-up, run under bash with a package `taskd` that writes down what its manager gets."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys

import pytest

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Refused
from ansible_collections.mindcluster.recovery.plugins.module_utils._plan import build_plan
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._start_script import adapt_script

FIXTURES = pathlib.Path(__file__).parent / "fixtures"
POD = {"MASTER_ADDR": "10.0.0.1", "MASTER_PORT": "29500", "WORLD_SIZE": "16", "LOCAL_WORLD_SIZE": "8"}
POD.update({"POD_IP": "10.1.1.1", "MINDX_TASK_ID": "job-7", "RANK": "0"})
SCHEDULER = {"MS_SCHED_HOST": "10.1.1.1", "POD_IP": "10.1.1.1", "MINDX_TASK_ID": "job-7"}
SCHEDULER.update({"MS_WORKER_NUM": "32", "MS_LOCAL_WORKER": "16"})
RUN = "D='--nnodes 2'\ntorchrun $D train.py\n"

_API = """
import json, os, pathlib, time
record = pathlib.Path(os.environ["RECORD"])
def init_taskd_manager(config):
    text = json.dumps({"config": config, "env": dict(os.environ)})
    (record / ("manager%d" % os.getpid())).write_text(text)
    return "REFUSE" not in os.environ
def start_taskd_manager():
    for _ in range(2000):
        if "STAY" not in os.environ or (record / "stop").exists():
            break
        time.sleep(0.05)
    return True
"""
_LAUNCHER = """#!/bin/sh
{ printf '%s\\0' "$(basename "$0")" "$@"; printf '\\0=ENV=\\0'; env -0; } > "$RECORD/launch$$"
"""


class Pod:
    """A container with a home of its own; C(launches) are environments with the words under C(words)."""

    def __init__(self, home: pathlib.Path) -> None:
        self.home = home
        self.record = home / "record"
        self.library = home / "site" / "taskd" / "python" / "cython_api" / "libs" / "libtaskd.so"
        for folder in (home / "bin", self.record, home / "work", self.library.parent):
            folder.mkdir(parents=True)
        for name in ("torchrun", "msrun"):
            (home / "bin" / name).write_text(_LAUNCHER)
            (home / "bin" / name).chmod(0o755)
        for name in ("python", "python3"):
            (home / "bin" / name).symlink_to(sys.executable)
        (home / "site" / "taskd" / "__init__.py").touch()
        (home / "site" / "taskd" / "api.py").write_text(_API)
        self.library.touch()

    def run(self, text, env, shell="bash {} 2>&1", shells=("train_start.sh",), to_the_end=True):
        """Run the scripts; what they left running beside them has ended too, where that is wanted."""
        for name, content in zip(shells, [text] if isinstance(text, str) else text, strict=True):
            (self.home / "work" / name).write_text(content)
        environment = {
            "PATH": "%s:%s" % (self.home / "bin", os.defpath),
            "RECORD": str(self.record),
            "PYTHONPATH": str(self.home / "site"),
            **env,
        }
        # Every process that comes of the script holds the pipe's other end open.
        alive, held = os.pipe()
        try:
            process = subprocess.Popen(
                ["bash", "-c", shell.format(shells[0])],
                cwd=self.home / "work",
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                pass_fds=[held],
            )
        finally:
            os.close(held)
        with open(alive, "rb") as pipe:
            output, errors = process.communicate(timeout=300)
            if to_the_end:
                pipe.read()
        assert process.returncode == 0, output + errors
        return output

    @property
    def launches(self):
        found = []
        for file in sorted(self.record.glob("launch*")):
            words, _mark, environment = file.read_bytes().partition(b"\0\0=ENV=\0")
            pairs = (item.partition("=") for item in environment.decode().split("\0") if item)
            found.append({name: value for name, _equals, value in pairs} | {"words": words.decode().split("\0")})
        return found

    @property
    def managers(self):
        return [json.loads(file.read_text()) for file in self.record.glob("manager*")]


@pytest.fixture
def pod(tmp_path):
    return Pod(tmp_path)


def plan(**request):
    return build_plan({"strategies": "retry,recover", "release": "7.3.0", **request})


def adapted(text, **request):
    return adapt_script(text, plan(**request)).text


def test_rank_0_starts_the_manager_and_its_launcher_gets_the_library(pod):
    pod.run(adapted(RUN), POD)
    assert [item["config"] for item in pod.managers] == [{"job_id": "job-7", "node_nums": 2, "proc_per_node": 8}]
    (launch,) = pod.launches
    assert launch["words"] == ["torchrun", "--nnodes", "2", "--max_restarts", "32767", "train.py"]
    assert launch["LD_PRELOAD"] == str(pod.library)
    assert launch["TASKD_PROCESS_ENABLE"] == "on"
    assert launch["MASTER_ADDR"] == "10.1.1.1"
    assert pod.managers[0]["env"]["LD_PRELOAD"] == str(pod.library)
    assert pod.managers[0]["env"]["TTP_PORT"] == "8000"


def test_other_ranks_start_none_and_keep_the_masters_address(pod):
    pod.run(adapted(RUN), {**POD, "RANK": "1"})
    assert pod.managers == []
    assert not (pod.home / "work" / "taskd_log").exists()
    assert pod.launches[0]["MASTER_ADDR"] == "10.0.0.1"
    assert pod.launches[0]["LD_PRELOAD"] == str(pod.library)


@pytest.mark.parametrize(("address", "managers"), [("10.1.1.1", 1), ("10.1.1.2", 0)])
def test_mindspore_starts_it_at_the_scheduler_only(address, managers, pod):
    text = adapted((FIXTURES / "msrun_launcher.sh").read_text(encoding="utf-8"), framework="mindspore")
    pod.run(text, {**SCHEDULER, "POD_IP": address}, shell="bash {} run.py 2>&1")
    assert len(pod.managers) == managers
    assert all(item["config"] == {"job_id": "job-7", "node_nums": 2, "proc_per_node": 16} for item in pod.managers)
    assert pod.launches[0]["LD_PRELOAD"] == str(pod.library)
    assert pod.launches[0]["TASKD_PROCESS_ENABLE"] == "on"


def test_a_script_and_the_one_it_calls_start_one_manager(pod):
    texts = [adapted(text, framework="mindspore") for text in ("bash msrun_launcher.sh\n", "msrun run.py\n")]
    pod.run(texts, SCHEDULER, shells=("train_start.sh", "msrun_launcher.sh"))
    assert (len(pod.managers), len(pod.launches)) == (1, 1)
    assert pod.launches[0]["LD_PRELOAD"] == str(pod.library)


def test_a_scheduler_without_npu_is_told_the_numbers(pod):
    text = adapted("msrun run.py\n", framework="mindspore")
    none = {**SCHEDULER, "MS_WORKER_NUM": "0", "MS_LOCAL_WORKER": "0"}
    pod.run(text, none)
    log = (pod.home / "work" / "taskd_log" / "manager.log").read_text()
    assert "MS_LOCAL_WORKER is 0 here; set RECOVERY_PROC_PER_NODE and RECOVERY_NODE_NUMS in the job" in log
    assert "Traceback" not in log
    pod.run(text, {**none, "RECOVERY_PROC_PER_NODE": "8", "RECOVERY_NODE_NUMS": "4"})
    assert [item["config"]["node_nums"] for item in pod.managers] == [4]


def test_a_strict_shell_with_a_loop_and_an_own_preload_starts_one_manager(pod):
    library = pod.home / "other.so"
    library.touch()
    text = "set -euo pipefail\nfor i in 1 2; do\n  torchrun train.py 2>&1 | cat\ndone\n"
    pod.run(adapted(text), {**POD, "LD_PRELOAD": str(library)})
    assert len(pod.managers) == 1
    assert [launch["LD_PRELOAD"] for launch in pod.launches] == ["%s:%s" % (pod.library, library)] * 2


@pytest.mark.parametrize("shell", ["bash {} 2>&1 | cat", "sh {} 2>&1"])
def test_the_manager_keeps_neither_a_pipe_nor_wait_from_ending(shell, pod):
    text = adapted("torchrun train.py &> log &\nwait\necho 'training has ended'\n")
    try:
        assert "training has ended" in pod.run(text, {**POD, "STAY": "yes"}, shell=shell, to_the_end=False)
    finally:
        (pod.record / "stop").touch()


def test_without_taskd_it_is_said_and_training_starts(pod):
    said = pod.run(adapted("set -eu\n" + RUN), {**POD, "RANK": "1", "PYTHONPATH": ""})
    assert "there is no libtaskd.so (taskd is not installed); training starts without recovery" in said
    assert len(pod.launches) == 1
    assert "LD_PRELOAD" not in pod.launches[0]


def test_the_librarys_place_can_be_given(pod):
    other = pod.home / "given.so"
    other.touch()
    pod.run(adapted(RUN), {**POD, "TASKD_SO_PATH": str(other)})
    assert pod.launches[0]["LD_PRELOAD"] == str(other)


def test_a_manager_that_does_not_start_says_so_in_its_log(pod):
    pod.run(adapted(RUN), {**POD, "REFUSE": "yes"})
    assert "TaskD manager: not started" in (pod.home / "work" / "taskd_log" / "manager.log").read_text()


OWN = """TASKD_SO_PATH="$(pip show taskd | awk '/^Location: / {print $2"/taskd.so"}')"
export LD_PRELOAD=$TASKD_SO_PATH:$LD_PRELOAD
export TASKD_PROCESS_ENABLE="on"
if [[ "${RANK}" == 0 ]]; then
    export MASTER_ADDR=${POD_IP}
    python /job/code/manager.py 2>> /job/taskd/error.log &
fi
torchrun --max_restarts 32767 train.py
"""


def test_a_start_up_of_the_users_own_stays_the_only_one():
    result = adapt_script(OWN, plan(), where="t.sh")
    block = result.text[result.text.index("# BEGIN") : result.text.index("# END")]
    assert result.text.replace(block, "").replace("# END mindcluster.recovery\n", "") == OWN
    assert not any(word in block for word in ("taskd", "LD_PRELOAD", "TASKD"))
    assert [(item.code, item.where) for item in result.warnings] == [("taskd-own-manager", "t.sh line 6")]


def test_a_manager_named_in_a_comment_or_a_function_that_nothing_calls_is_none(pod):
    text = "# python manager.py &\nnever() {\n    python manager.py &\n}\n" + RUN
    pod.run(adapted(text), POD)
    assert len(pod.managers) == 1


def test_a_switch_that_turns_taskd_off_is_corrected(pod):
    result = adapt_script('export TASKD_PROCESS_ENABLE="off"\n' + RUN, plan())
    assert [item.code for item in result.corrections] == ["value-corrected"]
    pod.run(result.text, POD)
    assert pod.launches[0]["TASKD_PROCESS_ENABLE"] == "on"


@pytest.mark.parametrize("value", ["LD_PRELOAD=/lib/x.so torchrun b.py", "export LD_PRELOAD=/lib/x.so\ntorchrun b.py"])
def test_a_line_behind_the_block_that_drops_the_library_is_refused(value):
    with pytest.raises(Refused) as caught:
        adapt_script("torchrun a.py\n%s\n" % value, plan(), where="t.sh")
    assert [(item.code, item.where) for item in caught.value.findings] == [("taskd-preload-lost", "t.sh line 2")]


def test_a_line_that_keeps_the_library_is_fine():
    adapt_script("torchrun a.py\nexport LD_PRELOAD=/lib/x.so:$LD_PRELOAD\ntorchrun b.py\n", plan())
    adapt_script("export LD_PRELOAD=/lib/x.so\ntorchrun b.py\n", plan())


@pytest.mark.parametrize("release", ["7.1.RC1", "7.2.RC1"])
def test_older_releases_get_none_of_it(release):
    assert "taskd" not in adapted(RUN, release=release).lower()


@pytest.mark.parametrize("fixture", sorted(file.name for file in FIXTURES.glob("*.sh")))
def test_a_second_run_changes_nothing_and_absent_takes_all_of_it_out(fixture):
    text = (FIXTURES / fixture).read_text(encoding="utf-8")
    given = plan(framework="mindspore" if "msrun" in fixture or "mindspore" in fixture else "pytorch")
    once = adapt_script(text, given).text
    assert "RECOVERY_TASKD_MANAGER" in once
    assert adapt_script(once, given, strict=True).text == once
    assert adapt_script(once, given, state="absent").text == text
