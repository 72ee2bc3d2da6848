# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""A job that was made for another MindCluster release is brought over: what it no longer needs is taken out.

Only what the plan of another release would have put there for the same request, with exactly that value, and what this
release has no use for. Anything else may be meant by the user and stays.
"""

from __future__ import annotations

import functools
import re
import typing as t

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Finding, Refused, listed
from ansible_collections.mindcluster.recovery.plugins.plugin_utils import _shell as shell
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._job_owner import Findings
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._shell_syntax import check_syntax
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._yaml_edit import Draft, Path

Edit = tuple[int, int, str]
_BEFORE = re.compile(r"\bexport[ \t]+\Z")
_BEHIND = re.compile(r"[ \t]*(?:;(?!;)|&&)?[ \t]*")


class Former:
    """Takes out of one job what is of other releases.

    :param extra: the user's own values, which stay whatever they are.
    """

    def __init__(
        self, draft: Draft, findings: Findings, plan: t.Mapping[str, t.Any], extra: t.Mapping[str, t.Any]
    ) -> None:
        self.draft = draft
        self.findings = findings
        self.release = plan["release"]
        self.entries: list[dict[str, t.Any]] = [
            entry
            for entry in plan["job"].get("former", ())
            if entry["name"] not in (extra.get(_OPTION.get(entry["kind"], "")) or {})
        ]

    def run(self, job: Path, containers: t.Iterable[Path]) -> None:
        """Everything but exports; comes last, since the places of what stands behind are counted anew afterwards."""
        if not self.entries:
            return
        annotations = job + ("metadata", "annotations")
        present = self.draft.data(annotations)
        for name, value in list(present.items()) if isinstance(present, dict) else ():
            self._drop("annotations", name, value, annotations + (name,), ("annotations",))
        containers = list(containers)
        self._node_selectors([container[:-2] + ("nodeSelector",) for container in containers])
        for container in containers:
            self._items(container + ("env",), "value", ("env", "exports"))
            self._items(container + ("ports",), "containerPort", ("ports",))

    def _node_selectors(self, paths: t.Sequence[Path]) -> None:
        """A selector with nothing left in it goes as a whole, and in all replicas or in none, which must not differ."""
        found = {
            path: {name: self._entry(("node_selector",), name, value) for name, value in present.items()}
            for path in paths
            if isinstance(present := self.draft.data(path), dict)
        }
        empty = [path for path, entries in found.items() if entries and None not in entries.values()]
        together = all(self.draft.can_remove(path) for path in empty)
        for path, entries in found.items():
            places = {name: self.draft.place(path + (name,)) for name in entries}
            gone = path in empty and together and not self.findings.strict and self.draft.remove(path)
            for name, entry in entries.items():
                if entry is not None:
                    one = functools.partial(self.draft.remove, path + (name,))
                    self._out(entry, places[name], "", functools.partial(bool, gone) if path in empty else one)

    def _items(self, path: Path, key: str, kinds: t.Sequence[str]) -> None:
        items = self.draft.data(path)
        told = len(self.findings.corrections)
        for index in reversed(range(len(items) if isinstance(items, list) else 0)):
            item = items[index]
            if isinstance(item, dict) and set(item) - {"protocol"} == {"name", key}:
                self._drop(kinds[0], item["name"], item[key], path + (index,), kinds)
        # Told in the order of the file.
        self.findings.corrections[told:] = reversed(self.findings.corrections[told:])

    def _drop(self, option: str, name: t.Any, value: t.Any, path: Path, kinds: t.Sequence[str]) -> None:
        entry = self._entry(kinds, name, value)
        if entry is None:
            return
        self._out(entry, self.draft.place(path), option, lambda: self.draft.remove(path))

    def _out(self, entry: dict[str, t.Any], place: str, option: str, remove: t.Callable[[], bool]) -> None:
        if self.findings.strict:
            self._refuse(entry, place)
        elif remove():
            self._tell(entry, place, option)
        else:
            self._leave(entry, place)

    def _entry(self, kinds: t.Sequence[str], name: t.Any, value: t.Any) -> dict[str, t.Any] | None:
        same = (entry for entry in self.entries if entry["kind"] in kinds and entry["name"] == name)
        # In YAML 1 is also True.
        return next((entry for entry in same if entry["value"] == value and type(entry["value"]) is type(value)), None)

    # --- exports -------------------------------------------------------------------------------------------------

    def exports(
        self, text: str, assignments: t.Iterable[shell.Assignment], place: t.Callable[[int], str]
    ) -> list[Edit]:
        """The changes of a shell text that take exports out.

        :param place: names the line of an offset in the text.
        """
        edits: list[Edit] = []
        for found in assignments:
            entry = self._entry(("exports", "env"), found.name, found.value) if found.exported else None
            if entry is None or found.append:
                continue
            where = place(found.start)
            span = _export_span(text, found)
            if self.findings.strict:
                self._refuse(entry, where)
            elif span is None or not _parses(text[: span[0]] + text[span[1] :]):
                self._leave(entry, where)
            else:
                self._tell(entry, where, "")
                edits.append((*span, ""))
        return edits

    # --- words ---------------------------------------------------------------------------------------------------

    def _tell(self, entry: t.Mapping[str, t.Any], where: str, option: str) -> None:
        keep = "; to keep it set it in `training_job_extra_%s`" % option if option in ("annotations", "env") else ""
        self.findings.corrections.append(
            Finding("former-removed", "`%s` was taken out" % entry["name"], self._why(entry),
                    "Nothing is to be done%s" % keep, where)
        )  # fmt: skip

    def _refuse(self, entry: t.Mapping[str, t.Any], where: str) -> None:
        self.findings.refusals.append(
            Finding("former-present", "`%s` is of another release" % entry["name"], self._why(entry),
                    "Remove it, or run without strict to have it taken out", where)
        )  # fmt: skip

    def _leave(self, entry: t.Mapping[str, t.Any], where: str) -> None:
        self.findings.warn(
            "former-left",
            "`%s` is of another release and could not be taken out without touching what stands around it"
            % entry["name"],
            self._why(entry),
            "Remove it by hand",
            where,
        )

    def _why(self, entry: t.Mapping[str, t.Any]) -> str:
        return "The plan wants it on MindCluster %s, and %s has no use for it" % (
            listed(entry["releases"]),
            self.release,
        )


_OPTION = {"annotations": "annotations", "env": "env", "exports": "env"}


def _export_span(text: str, found: shell.Assignment) -> tuple[int, int] | None:
    """An C(export) of this one variable with what joins it to the next command; its whole line where it has one.

    :returns: None where taking it out would change when another command runs, or whether.
    """
    before = _BEFORE.search(text, 0, found.start)
    if before is None:
        return None
    start = before.start()
    line = text.rfind("\n", 0, start) + 1
    behind = _BEHIND.match(text, found.end)
    end = behind.end() if behind else found.end
    joint = text[found.end : end].strip()
    rest, newline, _more = text[end:].partition("\n")
    ahead = text[:start].rstrip()
    if not text[line:start].strip():
        if ahead.endswith(("|", "&&", "\\")) or joint == "&&":
            return (start, end) if joint == "&&" and rest.strip() else None
        if rest.strip()[:1] in ("", "#") and newline:
            return line, end + len(rest) + 1
    follows = not text[line:start].strip() or ahead.endswith(";" if joint == ";" else (";", "&&"))
    return (start, end) if joint and rest.strip() and follows else None


def _parses(text: str) -> bool:
    try:
        check_syntax(text, "")
    except Refused:
        return False
    return True
