# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Plans, and a bash with launchers that write down what they get."""

from __future__ import annotations

import os
import pathlib
import subprocess

import pytest

FIXTURES = pathlib.Path(__file__).parent / "fixtures"

FLAGS = ["--max_restarts", "5", "--monitor_interval", "10"]
PYTORCH_EXPORTS = {"HCCL_OP_RETRY_ENABLE": "L0:0, L1:1, L2:1", "HCCL_ASYNC_ERROR_HANDLING": "0"}
MINDSPORE_EXPORTS = {
    "MS_ENABLE_TFT": "{UCE:1, HCCE:1}",
    "HCCL_OP_RETRY_ENABLE": "L0:0, L1:1, L2:1",
    "MS_TFT_IP": "$MS_SCHED_HOST",
    "MS_TFT_PORT": "8000",
}

_RECORDER = """#!/bin/sh
file=$(mktemp "$RECORD/XXXXXXXX")
{ printf '%s\\0' "$(basename "$0")" "$@"; printf '\\0=ENV=\\0'; env -0; } > "$file"
case "$*" in *"prepare"*) rm "$file";; esac
exit ${RECORDER_STATUS:-0}
"""
_STUBS = ("torchrun", "python", "python3", "python3.10", "msrun", "pip3")


class Launched:
    """One call of a launcher: C(words) from the program's name on, C(env) as it saw it."""

    def __init__(self, raw: bytes) -> None:
        words, _mark, environment = raw.partition(b"\0\0=ENV=\0")
        self.words = words.decode().split("\0")
        pairs = (item.partition("=") for item in environment.decode().split("\0") if item)
        self.env = {name: value for name, _equals, value in pairs}


@pytest.fixture
def pytorch_plan():
    flags = {"--max_restarts": "5", "--monitor_interval": "10"}
    return {"framework": "pytorch", "script": {"torchrun_args": flags, "exports": dict(PYTORCH_EXPORTS)}}


@pytest.fixture
def mindspore_plan():
    return {"framework": "mindspore", "script": {"torchrun_args": {}, "exports": dict(MINDSPORE_EXPORTS)}}


@pytest.fixture
def fixture_text():
    return lambda name: (FIXTURES / name).read_text(encoding="utf-8")


@pytest.fixture
def run_script(tmp_path):
    """Run a shell text under bash; returns what the launchers got, in the order of their words."""
    numbers = iter(range(1000))

    def run(text, env=None, args=()):
        home = tmp_path / str(next(numbers))
        (home / "bin").mkdir(parents=True)
        (home / "record").mkdir()
        (home / "work").mkdir()
        for name in _STUBS:
            (home / "bin" / name).write_text(_RECORDER)
            (home / "bin" / name).chmod(0o755)
        (home / "bin" / "nproc").write_text("#!/bin/sh\necho 8\n")
        (home / "bin" / "nproc").chmod(0o755)
        (home / "work" / "scripts").mkdir()
        launcher = home / "work" / "scripts" / "msrun_launcher.sh"
        launcher.write_text('msrun "$@"\n')
        script = home / "work" / "train_start.sh"
        script.write_bytes(text.encode("utf-8", "surrogateescape"))
        path = "%s:%s" % (home / "bin", os.defpath)
        environment = {"PATH": path, "RECORD": str(home / "record"), "HOME": str(home), **(env or {})}
        done = subprocess.run(
            ["bash", str(script), *args],
            cwd=home / "work",
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        calls = [Launched(file.read_bytes()) for file in (home / "record").iterdir()]
        assert calls, "nothing was launched: %s%s" % (done.stdout, done.stderr)
        return sorted(calls, key=lambda call: call.words)

    return run
