# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""What uninstall.yml has done, as rows of its table.

A row has C(piece), C(state) and C(seen). The state is C(removed), C(pending) (in check mode: would be removed),
C(absent) (nothing of the collection's was there) or C(left) (is there and stays, and why).
"""

from __future__ import annotations

import os
import typing as t

from ansible_collections.mindcluster.recovery.plugins.module_utils._kustomization import KUSTOMIZATION_NAMES

REMOVED = "removed"
PENDING = "pending"
ABSENT = "absent"
LEFT = "left"

Row = dict[str, str]
Result = t.Mapping[str, t.Any]

# Why an object of the cluster stays.
_STAYS = {
    "foreign": "was not applied by this collection",
    "data": "may hold data; delete it by hand when nobody needs it",
    "left": "set training_job_remove to delete it",
}


def _row(piece: str, state: str, seen: str) -> Row:
    return {"piece": piece, "state": state, "seen": seen}


def _done(check: bool) -> str:
    return PENDING if check else REMOVED


def object_rows(result: Result, check: bool) -> list[Row]:
    """Rows for what M(mindcluster.recovery.manifest_remove) returned."""
    rows = []
    for thing in result.get("objects", []):
        name = "%s %s/%s" % (thing["kind"], thing.get("namespace") or "-", thing["name"])
        action = thing["action"]
        if action == "deleted":
            rows.append(_row("job", _done(check), name))
        elif action == "released":
            rows.append(_row("job", _done(check), "%s: this collection's fields; the rest is somebody else's" % name))
        elif action == "absent":
            rows.append(_row("job", ABSENT, name))
        else:
            rows.append(_row("job", LEFT, "%s: %s" % (name, _STAYS[action])))
    return rows


def _shown(path: str) -> str:
    return "%s: its entry in the list of resources" % path if _is_kustomization(path) else path


def _is_kustomization(path: str) -> bool:
    return os.path.basename(path) in KUSTOMIZATION_NAMES


def file_rows(result: Result, piece: str, check: bool) -> list[Row]:
    """Rows for what M(mindcluster.recovery.manifest_files) returned."""
    rows = [_row(piece, _done(check), _shown(path)) for path in result.get("changed_paths", [])]
    rows += [
        _row(piece, LEFT, "%s: is your own file; what it was before is in git (git log -p -- FILE)" % path)
        for path in result.get("kept_paths", [])
    ]
    return rows or [_row(piece, ABSENT, "no file of this collection's")]


def node_document_rows(result: Result, check: bool) -> list[Row]:
    """Rows for the node documents of a GitOps folder, which lose their labels before they go."""
    if result.get("skipped") or ("kept_paths" in result and not result["changed_paths"]):
        return [_row("node labels", ABSENT, "no node documents")]
    if "kept_paths" in result:
        return file_rows(result, "node labels", check)
    changed = [path for path in result.get("changed_paths", []) if not _is_kustomization(path)]
    rows = [_row("node labels", _done(check), "%s: the labels in it" % path) for path in changed]
    stays = "%s: documents without labels; when they have been synced, npu_node_remove_file deletes them"
    paths = [path for path in result.get("paths", []) if not _is_kustomization(path)]
    return rows + [_row("node labels", LEFT, stays % path) for path in paths]


def node_rows(result: Result, check: bool) -> list[Row]:
    """Rows for what M(mindcluster.recovery.node_labels) returned for nodes without labels."""
    changed = result.get("changed_nodes", [])
    keys = sorted({key for node in changed for key in node["before"]})
    names = [node["name"] for node in changed]
    shown = ", ".join(names[:5]) + (" and %d more" % (len(names) - 5) if len(names) > 5 else "")
    rows = [_row("node labels", _done(check), "%s: %s" % (shown, ", ".join(keys)))] if changed else []
    rows += [_row("node labels", ABSENT, "%s: is not in the cluster" % name) for name in result.get("absent_nodes", [])]
    return rows or [_row("node labels", ABSENT, "no label of this collection's on these Nodes")]


def script_rows(result: Result, check: bool) -> list[Row]:
    """Rows for what M(mindcluster.recovery.start_script_file) returned."""
    rows = []
    for script in result.get("scripts", []):
        if script["changed"]:
            rows.append(_row("start script", _done(check), "%s: is the user's own again" % script["path"]))
        else:
            rows.append(_row("start script", ABSENT, "%s: nothing of this collection's in it" % script["path"]))
    rows += [_row("start script", ABSENT, "%s: is not there" % path) for path in result.get("missing", [])]
    rows += [_row("start script", LEFT, "%s: a copy that was kept" % path) for path in result.get("copies", [])]
    return rows


def image_rows(result: Result, check: bool) -> list[Row]:
    """Rows for what M(mindcluster.recovery.training_image_remove) returned, or for a removal without consent."""
    if "removed" not in result:
        return [_row("image", LEFT, "%s: set training_image_remove to delete it" % result["name"])]
    rows = [_row("image", _done(check), each) for each in result["removed"]]
    rows += [_row("image", LEFT, each) for each in result.get("left", [])]
    return rows or [_row("image", ABSENT, result["name"])]
