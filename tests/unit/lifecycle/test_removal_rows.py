# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The tables and sentences of uninstall.yml and rollback.yml: nothing that stays goes unsaid."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.mindcluster.recovery.plugins.filter.removal_rows import removal_rows
from ansible_collections.mindcluster.recovery.plugins.filter.rollback_lines import rollback_lines

JOB = {"kind": "AscendJob", "namespace": "default", "name": "j"}


def states(result: dict[str, t.Any], part: str, check: bool = False) -> list[str]:
    return [row["state"] for row in removal_rows(result, part, check=check)]


@pytest.mark.parametrize(
    ("action", "state"),
    [
        ("deleted", "removed"),
        ("released", "removed"),
        ("absent", "absent"),
        ("foreign", "left"),
        ("data", "left"),
        ("left", "left"),
    ],
)
def test_every_action_on_an_object_is_told(action: str, state: str) -> None:
    result = {"objects": [{**JOB, "action": action}]}
    assert states(result, "jobs") == [state]
    assert states(result, "jobs", check=True) == ["pending" if state == "removed" else state]
    assert "default/j" in removal_rows(result, "jobs")[0]["seen"]


def test_files_that_go_and_stay() -> None:
    rows = removal_rows({"changed_paths": ["/t/a.yaml"], "kept_paths": ["/t/own.yaml"]}, "job")
    assert [(row["state"], row["seen"].partition(":")[0]) for row in rows] == [
        ("removed", "/t/a.yaml"),
        ("left", "/t/own.yaml"),
    ]
    assert states({"changed_paths": [], "kept_paths": []}, "job") == ["absent"]
    (row,) = removal_rows({"changed_paths": ["/t/kustomization.yaml"]}, "job")
    assert row["seen"] == "/t/kustomization.yaml: its entry in the list of resources"


def test_node_documents_lose_their_labels_before_they_go() -> None:
    assert states({"skipped": True}, "node documents") == ["absent"]
    bare = {"changed_paths": ["/t/nodes.yaml"], "paths": ["/t/nodes.yaml", "/t/kustomization.yaml"]}
    assert states(bare, "node documents") == ["removed", "left"]
    assert states(dict(bare, changed_paths=[]), "node documents") == ["left"]
    assert states({"changed_paths": ["/t/nodes.yaml"], "kept_paths": []}, "node documents") == ["removed"]
    assert states({"changed_paths": [], "kept_paths": []}, "node documents") == ["absent"]


def test_labels_of_many_nodes_are_one_row() -> None:
    changed = [{"name": "w%d" % number, "before": {"host-arch": "x"}} for number in range(9)]
    (row,) = removal_rows({"changed_nodes": changed}, "nodes")
    assert row["seen"] == "w0, w1, w2, w3, w4 and 4 more: host-arch"
    assert states({"changed_nodes": [], "absent_nodes": ["gone"]}, "nodes") == ["absent"]
    assert states({"skipped": True, "absent_nodes": []}, "nodes") == ["absent"]


def test_scripts_and_what_lies_beside_them() -> None:
    result = {
        "scripts": [{"path": "/a", "changed": True}, {"path": "/b", "changed": False}],
        "missing": ["/c"],
        "copies": ["/a.1~"],
    }
    assert states(result, "scripts") == ["removed", "absent", "absent", "left"]


def test_an_image_stays_without_consent() -> None:
    assert states({"skipped": True, "name": "r/x:1"}, "image") == ["left"]
    assert states({"removed": ["r/x:1"], "left": ["r/x:2: why"], "name": "r/x"}, "image") == ["removed", "left"]
    assert states({"removed": [], "left": [], "name": "r/x"}, "image") == ["absent"]


def test_a_hurried_engineer_reads_where_it_goes() -> None:
    job = {
        "name": "j",
        "namespace": "n",
        "already": False,
        "target": {"release": "7.2.RC1", "images": ["r/x@sha256:1"]},
        "left": {"release": "7.3.0", "images": ["r/x@sha256:2"]},
    }
    assert rollback_lines([job]) == [
        "n/j goes back to MindCluster 7.2.RC1, image r/x@sha256:1",
        "    and leaves MindCluster 7.3.0, image r/x@sha256:2",
    ]
    ended = rollback_lines([job], ended=True)
    assert ended[0].startswith("n/j is back at") and "Set recovery_plan_release to 7.2.RC1" in ended[-1]
    assert rollback_lines([job], ended=True, check=True)[-1] == "Check mode: nothing was changed."
    assert rollback_lines([dict(job, already=True)])[0].startswith("n/j is back at")
