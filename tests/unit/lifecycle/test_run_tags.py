# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Misspelt tags of the site: refused where they can only be a slip, warned of in a playbook of one's own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ansible_collections.mindcluster.recovery.plugins.plugin_utils import _run_tags

SITE = "mindcluster.recovery.site"
OWN = """
- name: A play of one's own
  hosts: localhost
  gather_facts: false
  tags: mine
  tasks: [{ansible.builtin.debug: {msg: own}, tags: other}]
- name: The site
  ansible.builtin.import_playbook: mindcluster.recovery.site
%s"""


def _said(folder: Path, playbook: str, *words: str) -> tuple[int, str]:
    program = str(Path(sys.executable).with_name("ansible-playbook"))
    environment = {**os.environ, "ANSIBLE_NOCOLOR": "1", "ANSIBLE_LOCALHOST_WARNING": "0", "HOME": str(folder)}
    command = [program, "-i", "localhost,", playbook, "-e", "recovery_plan_strategies=retry", *words]
    ended = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return ended.returncode, " ".join((ended.stdout + ended.stderr).split())


def test_the_tags_are_those_of_the_playbooks() -> None:
    assert _run_tags.tags_of("site") == {"image", "scripts", "nodes", "job", "verify"}
    assert _run_tags.tags_of("drift") == {"scripts", "nodes", "job"}


@pytest.mark.parametrize("name", [SITE, SITE + ".yml", _run_tags.FOLDER + "/site.yml"])
def test_a_slip_is_refused_with_what_was_meant(name: str) -> None:
    found = _run_tags.refusals([name], {"--tags": ["image", "verfy"], "--skip-tags": ["jobs"]})
    assert [(finding.where, finding.code) for finding in found] == [
        ("--tags", "tag-unknown"),
        ("--skip-tags", "tag-unknown"),
    ]
    assert "`verfy`" in found[0].what and "Say `verify`" in found[0].remedy
    assert "Say `job`" in found[1].remedy and "would be run" in found[1].why


@pytest.mark.parametrize("tags", [["all"], ["image", "job"], ["tagged"], ["always"]])
def test_what_the_site_has_is_not_refused(tags: list[str]) -> None:
    assert _run_tags.refusals([SITE], {"--tags": tags, "--skip-tags": []}) == []


def test_an_empty_tag_is_what_an_empty_variable_leaves() -> None:
    assert _run_tags.refusals([SITE], {"--tags": ["scripts", ""], "--skip-tags": [""]}) == []


def test_a_part_that_another_playbook_has_may_be_left_out() -> None:
    assert _run_tags.refusals(["mindcluster.recovery.drift"], {"--skip-tags": ["image", "verify"]}) == []
    (found,) = _run_tags.refusals(["mindcluster.recovery.drift"], {"--tags": ["image"]})
    assert "there are job, nodes, scripts" in found.remedy


@pytest.mark.parametrize("name", ["site", "nodes"])
def test_a_limit_does_not_leave_the_question_out(tmp_path: Path, name: str) -> None:
    (tmp_path / "hosts.yml").write_text("all: {children: {npu_worker: {hosts: {worker-1: {}}}}}\n", encoding="utf-8")
    limit = ["-i", "hosts.yml", "--limit", "worker-1", "--tags", "nodess"]
    code, said = _said(tmp_path, "mindcluster.recovery." + name, *limit)
    assert code == 2, said
    assert "no task of this run has the tag `nodess`" in said


@pytest.mark.parametrize("playbooks", [["own.yml"], [SITE, "own.yml"], ["mindcluster.recovery.nothing"], []])
def test_beside_a_playbook_of_ones_own_nothing_is_refused(playbooks: list[str]) -> None:
    assert _run_tags.refusals(playbooks, {"--tags": ["verfy"], "--skip-tags": []}) == []


def test_the_site_ends_at_a_misspelt_tag(tmp_path: Path) -> None:
    code, said = _said(tmp_path, SITE, "--tags", "verfy")
    assert code == 2, said
    assert "--tags: no task of this run has the tag `verfy`" in said and "Say `verify` if you meant that" in said
    assert "Make the plan" not in said


@pytest.mark.parametrize(
    "name", ["image", "scripts", "nodes", "job", "uninstall", "rollback", "drift", "verify", "bom"]
)
def test_each_part_by_itself_ends_at_a_misspelt_tag(tmp_path: Path, name: str) -> None:
    code, said = _said(tmp_path, "mindcluster.recovery." + name, "--tags", "jobb")
    assert code == 2, said
    assert "--tags: no task of this run has the tag `jobb`" in said
    assert "Prepare the host" not in said


@pytest.mark.parametrize(
    ("tags_of_import", "tag", "warned"),
    [("  tags: mine\n", "mine", False), ("  tags: jobs\n", "jobs", False), ("", "other", False), ("", "verfy", True)],
)
def test_a_playbook_of_ones_own_goes_on(tmp_path: Path, tags_of_import: str, tag: str, warned: bool) -> None:
    (tmp_path / "own.yml").write_text(OWN % tags_of_import, encoding="utf-8")
    _code, said = _said(tmp_path, "own.yml", "--tags", tag)
    assert "Make the plan" in said
    assert "no task of this run has the tag" not in said
    assert ("playbooks has the tag `verfy`" in said) == warned, said


def test_tags_of_the_configuration_are_for_every_playbook_and_are_not_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANSIBLE_SKIP_TAGS", "slow")
    _code, said = _said(tmp_path, SITE, "--tags", "verify")
    assert "has the tag" not in said
    code, said = _said(tmp_path, SITE, "--skip-tags", "jbo")
    assert code == 2 and "no task of this run has the tag `jbo`" in said and "`slow`" not in said
