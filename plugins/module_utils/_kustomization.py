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

#: The names under which kustomize looks for the file, in its order.
KUSTOMIZATION_NAMES = ("kustomization.yaml", "kustomization.yml", "Kustomization")

_KEY = re.compile(r"resources:[ \t]*(?P<rest>[^#\r\n]*?)[ \t]*(#.*)?$")
_ITEM = re.compile(r"(?P<margin>[ \t]*)- +(?P<name>[^#\r\n]*?)[ \t]*(#.*)?$")
_FLOW = re.compile(r"\[(?P<inside>[^\[\]]*)\]$")


def new_kustomization(names: t.Sequence[str]) -> str:
    """A kustomization that lists the files."""
    lines = ["---", "apiVersion: kustomize.config.k8s.io/v1beta1", "kind: Kustomization", "resources:"]
    return "\n".join(lines + ["  - %s" % name for name in names]) + "\n"


def with_resources(text: str, names: t.Sequence[str], where: str) -> str:
    """The text with the missing names at the end of its list of resources.

    :param where: path of the file, for messages.
    :raises Refused: the list is written in a form that cannot be extended safely.
    """
    lines = text.splitlines(True)
    newline = "\r\n" if "\r\n" in text else "\n"
    index = next((number for number, line in enumerate(lines) if _KEY.match(line.rstrip("\r\n"))), None)
    if index is None:
        if lines and not lines[-1].endswith("\n"):
            lines[-1] += newline
        return "".join(lines) + newline.join(["resources:"] + ["  - %s" % name for name in names]) + newline
    match = t.cast("re.Match[str]", _KEY.match(lines[index].rstrip("\r\n")))
    if match.group("rest"):
        return _with_flow(lines, index, match, names, where)
    return _with_block(lines, index, names, newline)


def _bare(name: str) -> str:
    return os.path.normpath(name.strip().strip("\"'"))


def _with_block(lines: list[str], index: int, names: t.Sequence[str], newline: str) -> str:
    margin, last, present = "  ", index, set()
    for number in range(index + 1, len(lines)):
        line = lines[number].rstrip("\r\n")
        item = _ITEM.match(line)
        if item:
            margin, last = item.group("margin"), number
            present.add(_bare(item.group("name")))
        elif line.strip() and not line.lstrip().startswith("#"):
            break
    missing = [name for name in names if _bare(name) not in present]
    if missing and not lines[last].endswith("\n"):
        lines[last] += newline
    addition = ["%s- %s%s" % (margin, name, newline) for name in missing]
    return "".join(lines[: last + 1] + addition + lines[last + 1 :])


def _with_flow(lines: list[str], index: int, match: t.Match[str], names: t.Sequence[str], where: str) -> str:
    flow = _FLOW.match(match.group("rest"))
    if flow is None:
        raise Refused(
            Finding(
                "kustomization-form",
                "the list `resources` is written in a form that this collection does not extend",
                "Something in it could get lost",
                "Write it as a list with one `- file.yaml` per line",
                "%s, line %d" % (where, index + 1),
            )
        )
    present = [part.strip() for part in flow.group("inside").split(",") if part.strip()]
    known = {_bare(part) for part in present}
    missing = [name for name in names if _bare(name) not in known]
    if missing:
        start, end = match.span("rest")
        line = lines[index]
        lines[index] = "%s[%s]%s" % (line[:start], ", ".join(present + missing), line[end:])
    return "".join(lines)
