# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Installed into an empty folder, the collection does a site's work from another folder, and the second time nothing.

The site is the demo's with an image that exists, as a pipeline without an engine or a cluster has it.
"""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from conftest import Tools

CHECKOUT = Path(__file__).resolve().parents[2]
IMAGE = "registry.example.com/training/llama2@sha256:" + "0123456789abcdef" * 4
MACHINE = f"""---
recovery_plan_arch: x86_64
training_job_image: {IMAGE}
training_job_delivery: gitops
npu_node_delivery: gitops
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site") / "site"
    shutil.copytree(CHECKOUT / "examples" / "demo" / "site", folder)
    (folder / "inventory" / "group_vars" / "all" / "machine.yml").write_text(MACHINE, encoding="utf-8")
    return folder


def test_what_is_installed_is_what_is_found(tools: Tools, collections: Path) -> None:
    name = "mindcluster.recovery.recovery_plan"
    told = tools.run("ansible-doc", "--json", name, ANSIBLE_COLLECTIONS_PATH=str(collections))
    found = json.loads(told[told.index("{") : told.rindex("}") + 1])[name]["doc"]["filename"]
    assert Path(found).is_relative_to(collections)


def test_check_then_run_then_nothing_then_proof(tools: Tools, collections: Path, site: Path) -> None:
    before = _texts(site)
    foreseen = _play(tools, collections, site, "site", "--check", "--diff")
    assert _texts(site) == before
    first = _play(tools, collections, site, "site")
    assert _changed(first) == _changed(foreseen) > 0
    after = _texts(site)
    assert IMAGE in after["gitops/jobs/default.llama2-pretrain.yaml"]
    assert after["files/train_start.sh"] != before["files/train_start.sh"]
    assert any(name.startswith("gitops/nodes/") for name in after)
    second = _play(tools, collections, site, "site")
    assert _changed(second) == 0
    assert _texts(site) == after
    assert "llama2-pretrain" in _play(tools, collections, site, "verify")


def _play(tools: Tools, collections: Path, site: Path, name: str, *options: str) -> str:
    command = ["ansible-playbook", "-i", str(site / "inventory"), f"mindcluster.recovery.{name}", *options]
    return tools.run(*command, ANSIBLE_COLLECTIONS_PATH=str(collections))


def _changed(output: str) -> int:
    recap = output[output.index("PLAY RECAP") :]
    return sum(map(int, re.findall(r"\bchanged=(\d+)", recap)))


def _texts(site: Path) -> dict[str, str]:
    return {str(path.relative_to(site)): path.read_text(encoding="utf-8") for path in site.rglob("*") if path.is_file()}
