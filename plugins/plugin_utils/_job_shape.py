# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""Values of another kind than Kubernetes has at their place, all of them at once.

It comes before anything looks into a job, so that nothing else has to ask what a value is.
"""

from __future__ import annotations

import typing as t

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Finding
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._yaml_edit import Draft, Path

_MAP, _LIST, _TEXT = "a mapping", "a list", "text"
_KINDS: dict[str, type] = {_MAP: dict, _LIST: list, _TEXT: str}
_REMEDIES = {
    _MAP: "Write names with values below it, such as `name: value`",
    _LIST: "Write it as a list, each item on a line of its own behind `- `",
    _TEXT: "Put it in quotes",
}
_POD = ("template", "spec")

# What stands where: the path, its kind, the kind of its items where they matter. An empty value is as good as none.
_JOB: tuple[tuple[Path, str, str], ...] = (
    (("metadata", "labels"), _MAP, ""),
    (("metadata", "annotations"), _MAP, ""),
)
_REPLICA: tuple[tuple[Path, str, str], ...] = (
    ((), _MAP, ""),
    (("template",), _MAP, ""),
    (_POD, _MAP, ""),
    (_POD + ("nodeSelector",), _MAP, ""),
    (_POD + ("containers",), _LIST, _MAP),
    (_POD + ("volumes",), _LIST, _MAP),
    (_POD + ("imagePullSecrets",), _LIST, _MAP),
)
_CONTAINER: tuple[tuple[Path, str, str], ...] = (
    (("image",), _TEXT, ""),
    (("command",), _LIST, _TEXT),
    (("args",), _LIST, _TEXT),
    (("env",), _LIST, _MAP),
    (("ports",), _LIST, _MAP),
    (("volumeMounts",), _LIST, _MAP),
    (("resources",), _MAP, ""),
    (("resources", "requests"), _MAP, ""),
    (("resources", "limits"), _MAP, ""),
)


def misshapen(draft: Draft, job: Path, container: str) -> list[Finding]:
    """What is of the wrong kind in one job.

    :param container: the name of the container that is adapted; others are not looked into.
    """
    found = _wrong(draft, job, _JOB)
    replicas = job + ("spec", "replicaSpecs")
    specs = draft.data(replicas)
    for name in specs if isinstance(specs, dict) else ():
        found += _wrong(draft, replicas + (name,), _REPLICA)
        base = replicas + (name,) + _POD + ("containers",)
        containers = draft.data(base)
        for index, item in enumerate(containers if isinstance(containers, list) else ()):
            if isinstance(item, dict) and item.get("name") == container:
                found += _wrong(draft, base + (index,), _CONTAINER)
    return found


def _wrong(draft: Draft, root: Path, table: t.Iterable[tuple[Path, str, str]]) -> list[Finding]:
    found = []
    for path, kind, items in table:
        value = draft.data(root + path)
        if value is None:
            continue
        if not isinstance(value, _KINDS[kind]):
            found.append(_finding(draft, root + path, value, kind))
            continue
        listed = t.cast("list[t.Any]", value) if items else []
        for index, item in enumerate(listed):
            if not isinstance(item, _KINDS[items]):
                found.append(_finding(draft, root + path + (index,), item, items))
    return found


def _finding(draft: Draft, path: Path, value: t.Any, wanted: str) -> Finding:
    return Finding(
        "job-shape",
        "%s is %s, not %s" % (_name(path[1:]), _kind(value), wanted),
        "The API server refuses it",
        _REMEDIES[wanted],
        draft.place(path),
    )


def _name(path: Path) -> str:
    """A path as people write it, such as C(args[0])."""
    steps = ["[%d]" % step if isinstance(step, int) else ".%s" % step for step in path]
    return "`%s`" % "".join(steps).lstrip(".")


def _kind(value: t.Any) -> str:
    if value is None:
        return "empty"
    if isinstance(value, bool):
        return "`%s`, a boolean" % ("true" if value else "false")
    if isinstance(value, (int, float)):
        return "the number `%s`" % value
    if isinstance(value, str):
        return "the text `%s`" % (value if len(value) < 40 else value[:40] + "…").replace("\n", " ")
    return _LIST if isinstance(value, list) else _MAP
