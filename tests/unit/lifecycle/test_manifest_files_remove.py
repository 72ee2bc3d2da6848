# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A working tree is as it was before: what was put in goes, what is somebody else's stays."""

from __future__ import annotations

import pathlib

import pytest

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Refused
from ansible_collections.mindcluster.recovery.plugins.module_utils._kustomization import with_resources
from ansible_collections.mindcluster.recovery.plugins.module_utils._kustomization_remove import without_resources
from ansible_collections.mindcluster.recovery.plugins.module_utils._manifest_files import Wish, plan_changes, write
from ansible_collections.mindcluster.recovery.plugins.module_utils._manifest_files_remove import (
    make_absent,
    plan_absence,
)

WISHES = [Wish("a.yaml", "a: 1\n"), Wish("sub/b.yaml", "b: 2\n")]
KUSTOMIZATIONS = {
    "block": "# ours\nresources:\n  - other.yaml  # 别人的\n  # the jobs\n\nnamePrefix: x-\n",
    "flush": "kind: Kustomization\nresources:\n- other.yaml\nnamePrefix: x-\n",
    "flow": "resources: [other.yaml]  # one line\nnamePrefix: x-\n",
    "empty flow": "resources: []\nnamePrefix: x-\n",
    "no list": "namePrefix: x-\n",
    "windows": "resources:\r\n  - other.yaml\r\nnamePrefix: x-\r\n",
}


def put(folder: pathlib.Path) -> None:
    for change in plan_changes(str(folder), WISHES, True):
        write(change)


def take_out(folder: pathlib.Path, *wishes: Wish) -> tuple[list[str], list[str]]:
    absences, stay = plan_absence(str(folder), wishes or WISHES, True)
    for absence in absences:
        make_absent(absence)
    return [absence.path for absence in absences], stay


def tree(folder: pathlib.Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("text", KUSTOMIZATIONS.values(), ids=KUSTOMIZATIONS)
def test_the_kustomization_is_as_before(tmp_path: pathlib.Path, text: str) -> None:
    (tmp_path / "kustomization.yaml").write_bytes(text.encode())
    before = tree(tmp_path)
    put(tmp_path)
    assert tree(tmp_path) != before
    take_out(tmp_path)
    assert tree(tmp_path) == before
    assert take_out(tmp_path) == ([], [])


def test_a_kustomization_of_ours_goes_with_its_last_file(tmp_path: pathlib.Path) -> None:
    put(tmp_path)
    take_out(tmp_path, WISHES[0])
    assert sorted(tree(tmp_path)) == ["kustomization.yaml", "sub/b.yaml"]
    take_out(tmp_path, WISHES[1])
    assert tree(tmp_path) == {}


def test_a_file_of_somebody_else_stays_and_stays_listed(tmp_path: pathlib.Path) -> None:
    (tmp_path / "a.yaml").write_text("mine: true\n")
    (tmp_path / "kustomization.yaml").write_text("resources:\n  - a.yaml\n")
    before = tree(tmp_path)
    assert take_out(tmp_path) == ([], [str(tmp_path / "a.yaml")])
    assert tree(tmp_path) == before


def test_nothing_outside_is_touched(tmp_path: pathlib.Path) -> None:
    inside = tmp_path / "tree"
    inside.mkdir()
    outside = tmp_path / "outside.yaml"
    outside.write_text("# Managed by mindcluster.recovery\n")
    (inside / "link.yaml").symlink_to(outside)
    with pytest.raises(Refused) as caught:
        plan_absence(str(inside), [Wish("../outside.yaml", ""), Wish("link.yaml", "")], True)
    assert [finding.code for finding in caught.value.findings] == ["file-name", "file-name"]
    assert outside.exists()


def test_a_folder_that_is_not_there_holds_nothing(tmp_path: pathlib.Path) -> None:
    assert plan_absence(str(tmp_path / "gone" / "away"), WISHES, True) == ([], [])


def test_a_list_that_cannot_be_shortened_is_refused() -> None:
    text = "resources: [a.yaml,\n  b.yaml]\n"
    with pytest.raises(Refused) as caught:
        without_resources(text, ["a.yaml"], "kustomization.yaml")
    assert caught.value.findings[0].code == "kustomization-form"


def test_a_name_that_is_not_listed_changes_nothing() -> None:
    text = KUSTOMIZATIONS["block"]
    assert without_resources(text, ["a.yaml"], "k") == text
    assert without_resources(with_resources(text, ["a.yaml"], "k"), ["./a.yaml"], "k") == text
