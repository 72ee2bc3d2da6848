# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The commands in the pipelines of docs/gitops, run by bash on a clone of the demo's site.

The gate fails on what is not rendered, the rendering is committed and pushed, the gate then ends well, and fails again
on what somebody changes by hand. It needs git, and no part of the sandbox.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import typing as t
from pathlib import Path

import pytest
import yaml

CHECKOUT = Path(__file__).resolve().parents[2]
EXAMPLES = CHECKOUT / "docs" / "gitops"
SETTINGS = {
    "recovery_plan_arch": "x86_64",
    "training_job_image": "registry.example.com/training/llama2@sha256:" + "0" * 64,
    "training_job_delivery": "gitops",
    "npu_node_delivery": "gitops",
}


def gitlab() -> dict[str, list[str]]:
    text = yaml.safe_load((EXAMPLES / "gitlab-ci.yml").read_text(encoding="utf-8"))
    return {job: text[job]["script"] for job in ("drift", "render")}


def github() -> dict[str, list[str]]:
    text = yaml.safe_load((EXAMPLES / "github-actions.yml").read_text(encoding="utf-8"))
    return {job: [step["run"] for step in text["jobs"][job]["steps"] if "run" in step] for job in ("drift", "render")}


def tekton() -> dict[str, list[str]]:
    task, pipeline = yaml.safe_load_all((EXAMPLES / "tekton.yaml").read_text(encoding="utf-8"))
    clone = pipeline["spec"]["tasks"][0]["taskSpec"]["steps"][0]["script"]
    return {"clone": [clone], "drift": [task["spec"]["steps"][0]["script"]]}


class Repository:
    """A forge with one repository, and runners that clone it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.origin = folder / "origin.git"
        self.runs = 0
        (folder / "home").mkdir()
        self.git(folder, "init", "--quiet", "--bare", "--initial-branch=work", str(self.origin))
        site = folder / "site"
        shutil.copytree(CHECKOUT / "examples" / "demo" / "site", site)
        settings = site / "inventory" / "group_vars" / "all" / "ci.yml"
        settings.write_text("---\n" + yaml.safe_dump(SETTINGS), encoding="utf-8")
        self.git(site, "init", "--quiet", "--initial-branch=work")
        self.git(site, "remote", "add", "origin", str(self.origin))
        self.commit(site, "A site")

    def environment(self) -> dict[str, str]:
        return {
            "PATH": "%s:%s" % (Path(sys.executable).parent, os.environ["PATH"]),
            "HOME": str(self.folder / "home"),
            "LANG": "C.UTF-8",
            "RECOVERY_INVENTORY": "inventory",
            "CI_COMMIT_REF_NAME": "work",
            "GITHUB_REF_NAME": "work",
            "REPOSITORY": str(self.origin),
            "REVISION": "work",
        }

    def git(self, folder: Path, *words: str) -> str:
        command = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com", *words]
        return subprocess.run(
            command, cwd=folder, env=self.environment(), check=True, capture_output=True, text=True
        ).stdout

    def commit(self, folder: Path, message: str) -> None:
        self.git(folder, "add", "--all")
        self.git(folder, "commit", "--quiet", "-m", message)
        self.git(folder, "push", "--quiet", "origin", "HEAD:work")

    def clone(self) -> Path:
        self.runs += 1
        folder = self.folder / ("runner-%d" % self.runs)
        self.git(self.folder, "clone", "--quiet", "--branch=work", str(self.origin), str(folder))
        return folder

    def run(self, commands: t.Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
        """Run one job's commands as a runner does: one shell that ends at the first failure."""
        script = "\n".join(commands)
        command = ["bash", "-e", "-o", "pipefail", "-c", script]
        return subprocess.run(command, cwd=folder, env=self.environment(), check=False, capture_output=True, text=True)

    def commits(self) -> int:
        return int(self.git(self.origin, "rev-list", "--count", "work"))


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path)


def shown(done: subprocess.CompletedProcess[str]) -> str:
    return done.stdout[-3000:] + done.stderr[-1000:]


@pytest.mark.parametrize("pipeline", [gitlab, github])
def test_gate_render_push_gate_and_drift(
    pipeline: t.Callable[[], dict[str, list[str]]], repository: Repository
) -> None:
    jobs = pipeline()
    first = repository.run(jobs["drift"], repository.clone())
    assert first.returncode != 0
    assert "+kind: AscendJob" in first.stdout, shown(first)
    rendered = repository.run(jobs["render"], repository.clone())
    assert rendered.returncode == 0, shown(rendered)
    assert repository.commits() == 2
    tree = repository.clone()
    assert (tree / "gitops" / "jobs" / "default.llama2-pretrain.yaml").is_file()
    gate = repository.run(jobs["drift"], tree)
    assert gate.returncode == 0, shown(gate)
    again = repository.run(jobs["render"], repository.clone())
    assert again.returncode == 0, shown(again)
    assert repository.commits() == 2
    nodes = tree / "gitops" / "nodes" / "nodes.yaml"
    nodes.write_text(nodes.read_text(encoding="utf-8").replace("masterselector", "masterselect"), encoding="utf-8")
    repository.commit(tree, "By hand")
    last = repository.run(jobs["drift"], repository.clone())
    assert last.returncode != 0
    assert "nodes.yaml" in last.stdout, shown(last)


@pytest.mark.parametrize("pipeline", [gitlab, github])
def test_a_site_without_start_scripts_is_rendered(
    pipeline: t.Callable[[], dict[str, list[str]]], repository: Repository
) -> None:
    tree = repository.clone()
    settings = tree / "inventory" / "group_vars" / "all" / "site.yml"
    variables = yaml.safe_load(settings.read_text(encoding="utf-8"))
    del variables["start_script_paths"]
    settings.write_text("---\n" + yaml.safe_dump(variables), encoding="utf-8")
    repository.commit(tree, "No start scripts")
    rendered = repository.run(pipeline()["render"], repository.clone())
    assert rendered.returncode == 0, shown(rendered)
    gate = repository.run(pipeline()["drift"], repository.clone())
    assert gate.returncode == 0, shown(gate)


def test_tekton_clones_and_fails_on_drift(repository: Repository) -> None:
    jobs = tekton()
    workspace = repository.folder / "workspace"
    workspace.mkdir()
    cloned = repository.run(jobs["clone"], workspace)
    assert cloned.returncode == 0, shown(cloned)
    # A second run finds the workspace of the first one.
    assert repository.run(jobs["clone"], workspace).returncode == 0
    done = repository.run(jobs["drift"], workspace)
    assert done.returncode != 0
    assert "differ from what the variables and your files ask for" in done.stdout + done.stderr, shown(done)


def test_a_gate_that_compares_nothing_fails(tmp_path: Path, repository: Repository) -> None:
    done = repository.run(["ansible-playbook -i localhost, mindcluster.recovery.drift"], tmp_path)
    assert done.returncode != 0
    assert "has compared nothing" in done.stdout + done.stderr, shown(done)
