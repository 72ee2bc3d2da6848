# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""What verify.yml has seen, as rows of its table.

A row has C(piece), C(state) and C(seen). The state is C(ok), C(warning), C(differs) (there, but not as the plan wants
it), C(failed) (could not be looked at) or C(pending) (in check mode: would be made by a run).
"""

from __future__ import annotations

import typing as t

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import listed
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._job_reverse import TOLD

OK = "ok"
WARNING = "warning"
DIFFERS = "differs"
FAILED = "failed"
PENDING = "pending"

Row = dict[str, str]
Result = t.Mapping[str, t.Any]

_PATCHES = {"run_py": "patch torch/distributed/run.py", "rendezvous": "patch torch/distributed/rendezvous.py"}


def _row(piece: str, state: str, seen: str) -> Row:
    return {"piece": piece, "state": state, "seen": seen}


def _failed(piece: str, result: Result) -> list[Row]:
    return [_row(piece, FAILED, str(result.get("msg", "no message")))]


def _patch_row(patch: Result, wrong: bool) -> Row:
    place = "%s line %s" % (patch.get("file"), patch["line"]) if patch.get("line") else str(patch.get("file"))
    module = ", imports %s" % patch["import_module"] if patch.get("import_module") else ""
    seen = "%s: %s%s, by the %s" % (patch.get("state"), place, module, patch.get("recognised_by"))
    name = str(patch["name"])
    return _row(_PATCHES.get(name, name), DIFFERS if wrong else OK, seen)


def image_rows(result: Result, check: bool = False) -> list[Row]:
    """Rows for what M(mindcluster.recovery.training_image_info) returned, in a loop over platforms or by itself."""
    platform = result.get(str(result.get("ansible_loop_var")))
    suffix = " (%s)" % platform if platform else ""
    return [{**row, "piece": row["piece"] + suffix} for row in _image_rows(result, check)]


def _image_rows(result: Result, check: bool) -> list[Row]:
    # The task lets the playbook go on, so that `failed` is no longer there.
    if result.get("failed") or ("msg" in result and "patches" not in result):
        if not check:
            return _failed("image", result)
        return [_row("image", PENDING, "not in the registry yet: %s" % result.get("msg", "no message"))]
    missing = result.get("missing", [])
    text = " ".join(str(finding.get("what")) + str(finding.get("where")) for finding in missing)
    name = str(result["image"]).partition("@")[0]
    repository = name.rpartition(":")[0] if ":" in name.rpartition("/")[2] else name
    reference = "%s@%s" % (repository, result["digest"]) if result.get("digest") else str(result["image"])
    rows = [_row("image", OK if result.get("landed", True) else DIFFERS, reference)]
    python = "Python %s" % result.get("python_version")
    torch = "torch %s at %s, " % (result["torch_version"], result["torch_path"]) if result.get("torch_version") else ""
    rows.append(_row("image: interpreter", OK, torch + python))
    rows += [_patch_row(patch, str(patch.get("file")) in text) for patch in result.get("patches", [])]
    for module, imported in sorted(result.get("imports", {}).items()):
        state = OK if imported.get("state") in ("ok", "imported", "found", "needs-library") else DIFFERS
        seen = imported.get("file") or imported.get("error") or ""
        rows.append(_row("image: import %s" % module, state, "%s: %s" % (imported.get("state"), seen)))
    return rows + [_row("image", DIFFERS, str(finding.get("what"))) for finding in missing]


def script_rows(result: Result, check: bool = False) -> list[Row]:
    """Rows for what M(mindcluster.recovery.start_script_file) returned in check mode."""
    if result.get("failed"):
        return _failed("start scripts", result)
    rows = []
    for script in result.get("scripts", []):
        if script["changed"]:
            rows.append(_row("start script", PENDING if check else DIFFERS, "%s: would be adapted" % script["path"]))
        else:
            rows.append(_row("start script", OK, "%s: arguments and exports are in place" % script["path"]))
    return rows


def _node_problems(result: Result) -> dict[str, list[str]]:
    """What is wrong with each node, by its name; with one node several things may be."""
    problems: dict[str, list[str]] = {name: ["is not in the cluster"] for name in result.get("absent_nodes", [])}
    for node in result.get("drift", []):
        keys = [*node.get("missing", {}), *node.get("different", {})]
        if keys:
            problems.setdefault(node["name"], []).append(", ".join(keys))
    for found in result.get("contradictions", []):
        problems.setdefault(str(found.get("where")), []).append(str(found.get("what")))
    return problems


def _few(told: list[str]) -> str:
    return "; ".join(told[:5]) + ("; and %d more" % (len(told) - 5) if len(told) > 5 else "")


def node_rows(result: Result, check: bool = False) -> list[Row]:
    """Rows for what M(mindcluster.recovery.node_labels_info) returned."""
    if result.get("failed"):
        return _failed("node labels", result)
    problems = _node_problems(result)
    count = result.get("counts", {}).get("requested", 0)
    rows = [_row("node labels", OK, "%d Nodes, read back from the API" % count)]
    if problems:
        told = ["%s: %s" % (name, ", ".join(what)) for name, what in problems.items()]
        seen = "%d of %d Nodes: %s" % (len(problems), count, _few(told))
        rows = [_row("node labels", PENDING if check else DIFFERS, seen)]
    surplus = ["%s: %s" % (node["name"], ", ".join(node["surplus"])) for node in result.get("drift", [])
               if node.get("surplus")]  # fmt: skip
    if surplus:
        # No fault: they stay until somebody asks for their removal.
        seen = "%d Nodes keep labels of an earlier run (npu_node_prune takes them away): %s"
        rows.append(_row("nodes: former labels", WARNING, seen % (len(surplus), _few(surplus))))
    without = result.get("without_npus", [])
    if without:
        # The labels are right all the same, and the device plugin is not this collection's.
        seen = "%d Nodes offer none: no device plugin runs there, or no NPU is there: %s" % (
            len(without),
            listed(without, 5),
        )
        rows.append(_row("nodes: NPUs", WARNING, seen))
    return rows


def file_rows(result: Result, piece: str, check: bool = False) -> list[Row]:
    """Rows for what M(mindcluster.recovery.manifest_files) returned in check mode."""
    if result.get("failed"):
        return _failed(piece, result)
    changed = set(result.get("changed_paths", []))
    return [
        _row(piece, OK if path not in changed else PENDING if check else DIFFERS, path)
        for path in result.get("paths", [])
    ]


def job_rows(result: Result, check: bool = False) -> list[Row]:
    """Rows for what M(mindcluster.recovery.manifest_apply) returned in check mode."""
    if result.get("failed"):
        return _failed("job", result)
    rows = []
    for thing in result.get("objects", []):
        name = "%s %s/%s" % (thing["kind"], thing.get("namespace") or "-", thing["name"])
        same = thing["action"] == "unchanged"
        seen = "stored as rendered" if same else "would be %s" % thing["action"]
        rows.append(_row("job", OK if same else PENDING if check else DIFFERS, "%s: %s" % (name, seen)))
    return rows


def deviation_rows(found: t.Sequence[Result]) -> list[Row]:
    """What in the rendered jobs still keeps them from recovering."""
    return [
        _row(
            "job",
            WARNING if one["code"] in TOLD else DIFFERS,
            "%s: %s. %s." % (one["where"], one["what"], one["remedy"]),
        )
        for one in found
    ]


def warning_rows(plan: Result) -> list[Row]:
    """The plan's own warnings."""
    return [
        _row("plan", WARNING, "%s. %s." % (warning["what"].rstrip("."), warning["remedy"].rstrip(".")))
        for warning in plan.get("warnings", [])
    ]
