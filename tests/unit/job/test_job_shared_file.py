# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Several jobs of one file stay in one file, each adapted to its own plan."""

from __future__ import annotations

import pathlib
import typing as t

import pytest
from ansible.errors import AnsibleFilterError
from conftest import changed_lines, fixture, job_of

from ansible_collections.mindcluster.recovery.plugins.filter.training_jobs_render import training_jobs_render

JOBS: list[dict[str, t.Any]] = [
    {"manifest": "own.yaml", "name": "first"},
    {"manifest": "own.yaml", "name": "second", "plan": {"framework": "mindspore", "strategies": "recover"}},
]


@pytest.fixture
def folder(tmp_path: pathlib.Path) -> pathlib.Path:
    (tmp_path / "own.yaml").write_bytes(fixture("several.yaml").encode())
    return tmp_path


def render(folder: pathlib.Path, jobs: t.Sequence[t.Mapping[str, t.Any]]) -> list[dict[str, t.Any]]:
    rendered = training_jobs_render(list(jobs), request={"strategies": "retry"}, folders=[str(folder)])
    assert isinstance(rendered, list)
    return rendered


def test_both_jobs_are_adapted_in_one_text_and_one_file(folder: pathlib.Path) -> None:
    one, other = render(folder, JOBS)
    assert (one["name"], other["name"]) == ("first", "second")
    assert one["text"] == other["text"] and one["file"] == other["file"]
    assert one["file"]["path"] == "default.first.yaml" == other["filename"]
    assert job_of(one["text"], "first")["metadata"]["annotations"] == {"recover-strategy": "retry"}
    assert job_of(one["text"], "second")["metadata"]["annotations"] == {"recover-strategy": "recover"}
    assert all(line.startswith("+") or "args:" in line or "metadata:" in line
               for line in changed_lines(fixture("several.yaml"), one["text"]))  # fmt: skip


def test_the_order_of_the_jobs_does_not_matter_for_the_text(folder: pathlib.Path) -> None:
    assert render(folder, JOBS)[0]["text"] == render(folder, JOBS[::-1])[0]["text"]


def test_a_second_run_changes_nothing(folder: pathlib.Path) -> None:
    once = render(folder, JOBS)[0]["text"]
    (folder / "own.yaml").write_bytes(once.encode())
    assert render(folder, JOBS)[0]["text"] == once


def test_what_is_told_counts_the_lines_of_the_users_file(folder: pathlib.Path) -> None:
    label = "        framework: mindspore\n"
    text = fixture("several.yaml").replace(label, label + "        fault-scheduling: force\n")
    (folder / "own.yaml").write_bytes(text.encode())
    told = render(folder, JOBS)[1]["corrections"][0]
    number = int(told["where"].rpartition(" ")[2])
    assert "fault-scheduling" in text.splitlines()[number - 1]


def test_the_same_job_twice_is_refused(folder: pathlib.Path) -> None:
    with pytest.raises(AnsibleFilterError, match="the job `default/first` is asked for twice"):
        render(folder, [JOBS[0], JOBS[0]])


def test_two_files_of_one_name_are_refused(folder: pathlib.Path) -> None:
    (folder / "other.yaml").write_bytes(fixture("several.yaml").replace("second", "third").encode())
    jobs = [JOBS[0], {**JOBS[1], "manifest": "other.yaml", "name": "third", "filename": "default.first.yaml"}]
    with pytest.raises(AnsibleFilterError, match=r"the file name `default\.first\.yaml` is asked for twice"):
        render(folder, jobs)
