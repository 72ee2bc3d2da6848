# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the collection writes for a plan has no deviation from it, and what it repairs has no error left."""

from __future__ import annotations

import json
import pathlib
import typing as t

import pytest
import yaml

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Refused
from ansible_collections.mindcluster.recovery.plugins.module_utils._job_check import check_job
from ansible_collections.mindcluster.recovery.plugins.module_utils._plan import build_plan
from ansible_collections.mindcluster.recovery.plugins.module_utils._releases import RELEASE_NAMES
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._job_adapt import adapt_job
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._job_generate import generate_job
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._job_spec import JobSpec
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._manifest_read import read_documents

HERE = pathlib.Path(__file__).parent
SETS = [
    "retry",
    "retry,recover,dump",
    "recover-in-place,exit",
    "elastic-training",
    "retry,recover,elastic-training,dump",
]
COMMANDS = {"pytorch": "bash train_start.sh", "mindspore": "bash msrun_launcher.sh"}
# What the collection corrects by itself in a user's file, where nothing has to be decided.
REPAIRED = (
    "flag missing on the Worker only", "on without quotes", "fault-scheduling off", "fault-retry-times missing",
    "blank between strategies", "TTP_PORT and ttp-port disagree", "NPUs under limits only", "export missing",
)  # fmt: skip


@pytest.mark.parametrize("release", RELEASE_NAMES)
@pytest.mark.parametrize("framework", ["pytorch", "mindspore"])
@pytest.mark.parametrize("product", [None, "atlas-800t-a2", "atlas-900-a3-superpod"])
def test_generated_job(release: str, framework: str, product: str | None) -> None:
    written = 0
    for strategies in SETS:
        request: dict[str, t.Any] = {"strategies": strategies, "release": release, "framework": framework}
        try:
            plan = build_plan({**request, **({"product": product, "arch": "aarch64"} if product else {})})
        except Refused:
            assert "elastic-training" in strategies
            continue
        spec = JobSpec(name="j", image="i:1", workers=2, npus_per_node=8, command=COMMANDS[framework])
        text = adapt_job(generate_job(spec, plan, "the test"), plan).text
        assert check_job(read_documents(text), plan) == []
        written += 1
    assert written >= 3


@pytest.mark.parametrize("name", REPAIRED)
def test_repaired_job(name: str) -> None:
    rows = yaml.safe_load((HERE / "golden" / "mistakes.yml").read_text(encoding="utf-8"))
    row = next(row for row in rows if row["mistake"] == name)
    text = (HERE / "files" / "pytorch.yml").read_text(encoding="utf-8").replace(row["replace"], row["by"])
    text = yaml.safe_dump_all(without_aliases(list(yaml.safe_load_all(text))))
    plan = build_plan({"strategies": "retry,recover", "product": "atlas-800t-a2"})
    assert check_job(read_documents(text), plan) != []
    assert check_job(read_documents(adapt_job(text, plan).text), plan) == []


def without_aliases(documents: list[t.Any]) -> list[t.Any]:
    """The same data with nothing shared, since a shared part cannot be edited at one place only."""
    return [json.loads(json.dumps(document)) for document in documents]
