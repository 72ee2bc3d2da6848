# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""Keeping the list of resources in a kustomization current, line by line, without losing what else is in it."""

from __future__ import annotations

import os
import re
import typing as t

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Finding, Refused

try:
    import yaml
except ImportError:  # comes with ansible-core, and is missing only on a host that is no controller
    yaml = None  # type: ignore[assignment]

# A tag that does not fit its value, such as `!!bool x`, is a KeyError, IndexError or AttributeError of PyYAML's.
_UNREADABLE: tuple[type[Exception], ...] = (ValueError, RecursionError, LookupError, AttributeError)
if yaml is not None:
    _UNREADABLE += (yaml.YAMLError,)

#: The names under which kustomize looks for the file, in its order.
KUSTOMIZATION_NAMES = ("kustomization.yaml", "kustomization.yml", "Kustomization")

KEY = re.compile(r"resources:[ \t]*(?P<rest>[^#\r\n]*?)[ \t]*(#.*)?$")
ITEM = re.compile(r"(?P<margin>[ \t]*)- +(?P<name>[^#\r\n]*?)[ \t]*(#.*)?$")
FLOW = re.compile(r"\[(?P<inside>[^\[\]]*)\]$")


def new_kustomization(names: t.Sequence[str]) -> str:
    """A kustomization that lists the files."""
    lines = ["---", "apiVersion: kustomize.config.k8s.io/v1beta1", "kind: Kustomization"]
    lines.append("resources:" if names else "resources: []")
    return "\n".join(lines + ["  - %s" % name for name in names]) + "\n"


def with_resources(text: str, names: t.Sequence[str], where: str) -> str:
    """The text with the missing names at the end of its list of resources.

    :param where: path of the file, for messages.
    :raises Refused: the list is written in a form that cannot be extended safely.
    """
    before = read_kustomization(text, where)
    if not names:
        return text
    result = _extended(text, names, where)
    if yaml is not None and safely_loaded(result) != _wanted(before, names):
        raise bad_form("the file is written in a form that this collection does not extend", where)
    return result


def read_kustomization(text: str, where: str) -> dict[str, t.Any]:
    """The file as data, which is what the edit by lines is measured against."""
    if yaml is None:
        return {}
    try:
        documents = [document for document in yaml.safe_load_all(text) if document is not None]
    except _UNREADABLE as exc:
        mark = getattr(exc, "problem_mark", None)
        raise Refused(
            Finding(
                "kustomization-not-yaml",
                "this is not valid YAML: %s" % (getattr(exc, "problem", None) or str(exc).split("\n", 1)[0]),
                "Neither kustomize nor this collection can read it",
                "Correct the file",
                "%s, line %d" % (where, mark.line + 1) if mark else where,
            )
        ) from exc
    if len(documents) > 1 or not isinstance(documents[0] if documents else {}, dict):
        raise bad_form("the file is not one mapping", where)
    document = documents[0] if documents else {}
    resources = document.get("resources")
    if resources is not None and not (isinstance(resources, list) and all(isinstance(r, str) for r in resources)):
        raise bad_form("`resources` is not a list of file names", where)
    return t.cast("dict[str, t.Any]", document)


def safely_loaded(text: str) -> t.Any:
    try:
        return yaml.safe_load(text)
    except _UNREADABLE:
        return None


def _wanted(before: dict[str, t.Any], names: t.Sequence[str]) -> dict[str, t.Any]:
    listed = before.get("resources") or []
    known = {bare_name(name) for name in listed}
    return dict(before, resources=listed + [name for name in names if bare_name(name) not in known])


def bad_form(what: str, where: str) -> Refused:
    return Refused(
        Finding(
            "kustomization-form",
            what,
            "Something in it could get lost",
            "Write `resources:` as a list with one `- file.yaml` per line",
            where,
        )
    )


def _extended(text: str, names: t.Sequence[str], where: str) -> str:
    lines = text.splitlines(True)
    newline = "\r\n" if "\r\n" in text else "\n"
    index = next((number for number, line in enumerate(lines) if KEY.match(line.rstrip("\r\n"))), None)
    if index is None:
        if lines and not lines[-1].endswith("\n"):
            lines[-1] += newline
        return "".join(lines) + newline.join(["resources:"] + ["  - %s" % name for name in names]) + newline
    match = t.cast("re.Match[str]", KEY.match(lines[index].rstrip("\r\n")))
    if match.group("rest"):
        return _with_flow(lines, index, match, names, where)
    return _with_block(lines, index, names, newline)


def bare_name(name: str) -> str:
    return os.path.normpath(name.strip().strip("\"'"))


def _with_block(lines: list[str], index: int, names: t.Sequence[str], newline: str) -> str:
    margin, last, present = "  ", index, set()
    for number in range(index + 1, len(lines)):
        line = lines[number].rstrip("\r\n")
        item = ITEM.match(line)
        if item:
            margin, last = item.group("margin"), number
            present.add(bare_name(item.group("name")))
        elif line.strip() and not line.lstrip().startswith("#"):
            break
    missing = [name for name in names if bare_name(name) not in present]
    if missing and not lines[last].endswith("\n"):
        lines[last] += newline
    addition = ["%s- %s%s" % (margin, name, newline) for name in missing]
    return "".join(lines[: last + 1] + addition + lines[last + 1 :])


def _with_flow(lines: list[str], index: int, match: t.Match[str], names: t.Sequence[str], where: str) -> str:
    flow = FLOW.match(match.group("rest"))
    if flow is None:
        raise bad_form(
            "the list `resources` is written in a form that this collection does not extend",
            "%s, line %d" % (where, index + 1),
        )
    present = [part.strip() for part in flow.group("inside").split(",") if part.strip()]
    known = {bare_name(part) for part in present}
    missing = [name for name in names if bare_name(name) not in known]
    if missing:
        start, end = match.span("rest")
        line = lines[index]
        lines[index] = "%s[%s]%s" % (line[:start], ", ".join(present + missing), line[end:])
    return "".join(lines)
