# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Files of a working tree: the right ones, at once, and nobody else's."""

from __future__ import annotations

import concurrent.futures
import os
import pathlib

import pytest
import yaml

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Refused
from ansible_collections.mindcluster.recovery.plugins.module_utils._kustomization import with_resources
from ansible_collections.mindcluster.recovery.plugins.module_utils._manifest_files import (
    MARKER,
    Change,
    Wish,
    alone,
    plan_changes,
    write,
)


def deliver(folder: pathlib.Path, *wishes: Wish, kustomization: bool = True) -> list[str]:
    changes = plan_changes(str(folder), wishes, kustomization)
    for change in changes:
        write(change)
    return [os.path.relpath(change.path, folder) for change in changes]


def refusal(folder: pathlib.Path, *wishes: Wish) -> list[str]:
    before = sorted(folder.rglob("*")) if folder.is_dir() else []
    with pytest.raises(Refused) as caught:
        plan_changes(str(folder), wishes, True)
    assert (sorted(folder.rglob("*")) if folder.is_dir() else []) == before
    return [finding.code for finding in caught.value.findings]


def test_files_and_list_are_written_once(tmp_path: pathlib.Path) -> None:
    tree = tmp_path / "tree"
    assert deliver(tree, Wish("a.yaml", "a: 1\n"), Wish("sub/b.yaml", "b: 2")) == [
        "a.yaml",
        "sub/b.yaml",
        "kustomization.yaml",
    ]
    assert (tree / "a.yaml").read_text() == MARKER + "\na: 1\n"
    assert yaml.safe_load((tree / "kustomization.yaml").read_text())["resources"] == ["a.yaml", "sub/b.yaml"]
    assert deliver(tree, Wish("a.yaml", "a: 1\n"), Wish("sub/b.yaml", "b: 2")) == []


def test_mode_stays_and_no_leftovers(tmp_path: pathlib.Path) -> None:
    deliver(tmp_path, Wish("a.yaml", "a: 1\n"), kustomization=False)
    (tmp_path / "a.yaml").chmod(0o640)
    assert deliver(tmp_path, Wish("a.yaml", "a: 2\n"), kustomization=False) == ["a.yaml"]
    assert (tmp_path / "a.yaml").stat().st_mode & 0o777 == 0o640
    assert os.listdir(tmp_path) == ["a.yaml"]


def test_line_breaks_and_byte_order_mark_stay(tmp_path: pathlib.Path) -> None:
    deliver(tmp_path, Wish("a.yaml", "\ufeffa: 1\r\n"), kustomization=False)
    assert (tmp_path / "a.yaml").read_bytes().decode() == "\ufeff" + MARKER + "\r\na: 1\r\n"


def test_somebody_elses_file_is_not_written_over(tmp_path: pathlib.Path) -> None:
    (tmp_path / "a.yaml").write_text("mine: true\n")
    assert refusal(tmp_path, Wish("a.yaml", "a: 1\n"), Wish("b.yaml", "b: 1\n")) == ["file-foreign"]


def test_the_input_itself_may_be_edited_in_place(tmp_path: pathlib.Path) -> None:
    own = tmp_path / "a.yaml"
    own.write_text("mine: true\n")
    assert deliver(tmp_path, Wish("a.yaml", "mine: false\n", str(own)), kustomization=False) == ["a.yaml"]
    assert own.read_text() == "mine: false\n"


@pytest.mark.parametrize(
    "path",
    ["../a.yaml", "/tmp/a.yaml", "x/../../a.yaml", "", ".", "..", "kustomization.yaml", "sub/../kustomization.yaml",
     "a.yaml\n  - b.yaml", "a: b.yaml", "#a.yaml", "*a.yaml", "[a].yaml", "a\0.yaml", "a #b.yaml", "'a'.yaml",
     "- a.yaml", "@a.yaml", "a\tb.yaml"],
)  # fmt: skip
def test_nothing_outside_the_directory(tmp_path: pathlib.Path, path: str) -> None:
    assert refusal(tmp_path, Wish(path, "a: 1\n")) == ["file-name"]


@pytest.mark.parametrize("path", ["a.yaml", "训练/任务-1.yaml", "a b.yaml", "a+b=c.yml", "1.yaml", "true.yaml"])
def test_names_stand_in_the_kustomization_as_they_are(tmp_path: pathlib.Path, path: str) -> None:
    deliver(tmp_path, Wish(path, "a: 1\n"))
    assert yaml.safe_load((tmp_path / "kustomization.yaml").read_text())["resources"] == [path]


def test_a_file_that_is_a_link_to_another_place_is_not_written(tmp_path: pathlib.Path) -> None:
    outside = tmp_path / "outside.yaml"
    outside.write_text(MARKER + "\nmine: true\n")
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "a.yaml").symlink_to(outside)
    assert refusal(tmp_path / "tree", Wish("a.yaml", "a: 1\n")) == ["file-name"]
    (tmp_path / "tree" / "kustomization.yaml").symlink_to(outside)
    assert refusal(tmp_path / "tree", Wish("b.yaml", "b: 1\n")) == ["kustomization-link"]


def test_a_link_does_not_lead_out(tmp_path: pathlib.Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "out").symlink_to(tmp_path)
    assert refusal(tree, Wish("out/a.yaml", "a: 1\n")) == ["file-name"]


def test_a_directory_that_is_not_there_or_none(tmp_path: pathlib.Path) -> None:
    (tmp_path / "file").write_text("")
    assert refusal(tmp_path / "file", Wish("a.yaml", "")) == ["directory-missing"]
    assert refusal(tmp_path / "no" / "where", Wish("a.yaml", "")) == ["directory-missing"]


def test_a_write_that_fails_leaves_the_old_file(tmp_path: pathlib.Path) -> None:
    (tmp_path / "a.yaml").mkdir()
    with pytest.raises(Refused, match="cannot be written"):
        write(Change(str(tmp_path / "a.yaml"), None, "a: 1\n"))
    assert os.listdir(tmp_path) == ["a.yaml"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("kind: Kustomization\n", "kind: Kustomization\nresources:\n  - b.yaml\n"),
        ("resources:\n- a.yaml  # 任务\n# end\nnamespace: x\n",
         "resources:\n- a.yaml  # 任务\n- b.yaml\n# end\nnamespace: x\n"),
        ("resources:\n    - ./b.yaml\n", "resources:\n    - ./b.yaml\n"),
        ("resources:\n  - a.yaml", "resources:\n  - a.yaml\n  - b.yaml\n"),
        ("resources: []\npatches: []\n", "resources: [b.yaml]\npatches: []\n"),
        ('resources: ["a.yaml"]  # x\n', 'resources: ["a.yaml", b.yaml]  # x\n'),
        ("resources:\r\n  - a.yaml\r\n", "resources:\r\n  - a.yaml\r\n  - b.yaml\r\n"),
    ],
)  # fmt: skip
def test_the_list_keeps_what_else_is_in_it(before: str, after: str) -> None:
    assert with_resources(before, ["b.yaml"], "k") == after
    assert with_resources(after, ["b.yaml"], "k") == after


def test_a_list_over_several_lines_in_brackets_is_refused() -> None:
    with pytest.raises(Refused, match="line 1"):
        with_resources("resources: [a.yaml,\n  b.yaml]\n", ["c.yaml"], "k")


@pytest.mark.parametrize(
    "text",
    [
        '{"resources": []}\n',
        "{}\n",
        '"resources":\n  - a.yaml\n',
        "resources : [a.yaml]\n",
        "resources:\n  - a.yaml\n---\nkind: Other\n",
        "resources:\n-\n  a.yaml\n- c.yaml\n",
        "resources: {a: b}\n",
        "resources: [1, {a: b}]\n",
        "- a.yaml\n",
        "text\n",
    ],
)
def test_a_form_that_could_get_lost_is_refused(text: str) -> None:
    with pytest.raises(Refused) as caught:
        with_resources(text, ["b.yaml"], "k")
    assert [finding.code for finding in caught.value.findings] == ["kustomization-form"]


@pytest.mark.parametrize("text", ["a: [\n", "resources:\n\t- a\n", "\x07", "a: *b\n"])
def test_a_list_that_is_no_yaml_is_refused(text: str) -> None:
    with pytest.raises(Refused, match="not valid YAML"):
        with_resources(text, ["b.yaml"], "k")


def test_a_kustomization_that_is_a_link(tmp_path: pathlib.Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tmp_path / "own.yaml").write_text("resources: []\n")
    (tree / "kustomization.yaml").symlink_to("../own.yaml")
    assert refusal(tree, Wish("a.yaml", "a: 1\n")) == ["kustomization-link"]
    (tree / "kustomization.yaml").unlink()
    (tree / "inside.yaml").write_text("resources: []\n")
    (tree / "kustomization.yaml").symlink_to("inside.yaml")
    deliver(tree, Wish("a.yaml", "a: 1\n"))
    assert (tree / "kustomization.yaml").is_symlink()
    assert (tree / "inside.yaml").read_text() == "resources: [a.yaml]\n"


def test_a_relative_directory_that_does_not_exist_yet(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for change in plan_changes("tree", [Wish("a.yaml", "a: 1\n")], True):
        write(change)
    assert sorted(os.listdir(tmp_path / "tree")) == ["a.yaml", "kustomization.yaml"]


def test_an_interrupted_write_leaves_nothing_behind(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_handle: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        deliver(tmp_path, Wish("a.yaml", "a: 1\n"))
    assert os.listdir(tmp_path) == []


def test_runs_at_once_keep_each_others_files(tmp_path: pathlib.Path) -> None:
    tree = tmp_path / "tree"

    def run(number: int) -> None:
        with alone(str(tree)):
            deliver(tree, Wish("%d.yaml" % number, "a: 1\n"))

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        list(pool.map(run, range(48)))
    listed = yaml.safe_load((tree / "kustomization.yaml").read_text())["resources"]
    assert sorted(listed) == sorted("%d.yaml" % number for number in range(48))


def test_a_run_that_does_not_end_is_told(tmp_path: pathlib.Path) -> None:
    with alone(str(tmp_path)), pytest.raises(Refused, match="another run"), alone(str(tmp_path), patience=0):
        pass


def test_a_kustomization_without_names_stays_as_it_was_made(tmp_path: pathlib.Path) -> None:
    assert deliver(tmp_path) == ["kustomization.yaml"]
    assert yaml.safe_load((tmp_path / "kustomization.yaml").read_text())["resources"] == []
    assert deliver(tmp_path) == []


@pytest.mark.parametrize("text", ["", "# mine\n", "resources:\n", "resources: []\n", "namespace: a\n"])
def test_a_kustomization_that_needs_no_name_is_left_alone(tmp_path: pathlib.Path, text: str) -> None:
    (tmp_path / "kustomization.yaml").write_text(text)
    assert deliver(tmp_path, Wish("README.txt", "a\n")) == ["README.txt"]
    assert (tmp_path / "kustomization.yaml").read_text() == text


def test_a_pipe_is_not_waited_at(tmp_path: pathlib.Path) -> None:
    os.mkfifo(tmp_path / "a.yaml")
    assert refusal(tmp_path, Wish("a.yaml", "a: 1\n")) == ["file-unreadable"]


@pytest.mark.parametrize("value", ["!!bool maybe", '!!int ""', "!!timestamp soon", "2026-13-45", "!own 1"])
def test_a_value_that_does_not_fit_its_tag(tmp_path: pathlib.Path, value: str) -> None:
    (tmp_path / "kustomization.yaml").write_text("resources: []\nx: %s\n" % value)
    assert refusal(tmp_path, Wish("a.yaml", "a: 1\n")) == ["kustomization-not-yaml"]
