# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The demo: its variables let each choice follow each other, and what it says at the end is counted in the files."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import types
from pathlib import Path

import pytest
import yaml

DEMO = Path(__file__).resolve().parents[3] / "examples" / "demo"


@pytest.fixture
def result() -> types.ModuleType:
    spec = importlib.util.spec_from_file_location("tell_result", DEMO / "tell_result.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("builder", ["docker", "registry"])
@pytest.mark.parametrize(("delivery", "replaced"), [("apply", True), ("gitops", None)])
def test_a_job_of_another_choice_is_replaced(
    tmp_path: Path, delivery: str, builder: str, replaced: bool | None
) -> None:
    wheels = {name: {"path": name, "sha256": "0" * 64} for name in ("mindx_elastic", "mindio_ttp")}
    (tmp_path / "wheels.json").write_text(json.dumps(wheels), encoding="utf-8")
    parts = {"SANDBOX_WHEELS": str(tmp_path), "SANDBOX_REGISTRY": "r:1", "SANDBOX_BASE_TORCH26": "b", "KUBECONFIG": "k"}
    command = [sys.executable, str(DEMO / "describe_sandbox.py"), delivery, builder]
    written = subprocess.run(command, env={**os.environ, **parts}, capture_output=True, text=True, check=True).stdout
    assert yaml.safe_load(written).get("training_job_replace") is replaced


def test_lines_are_counted(tmp_path: Path, result: types.ModuleType) -> None:
    before, after = tmp_path / "a", tmp_path / "b"
    before.write_text("one\ntwo\nthree\n", encoding="utf-8")
    after.write_text("one\n2\nthree\nfour\n", encoding="utf-8")
    assert result.changed(before, after) == f"2 lines added, 1 taken away: diff -u {before} {after}"
    assert result.changed(before, before).startswith("0 lines added, 0 taken away")


def test_nodes_are_counted_in_the_file(tmp_path: Path, result: types.ModuleType) -> None:
    texts = {
        "gitops/nodes/nodes.yaml": "---\nkind: Node\n---\nkind: Node\n",
        "files/llama2-pretrain.yaml": "a\n",
        "gitops/jobs/default.llama2-pretrain.yaml": "a\nb\n",
    }
    for place, text in texts.items():
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_text(text, encoding="utf-8")
    nodes, job = result.files(tmp_path)
    assert "labels for 2 Nodes in" in nodes
    assert "1 lines added, 0 taken away" in job
