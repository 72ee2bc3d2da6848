# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""Values in a user's job that belong to the plan.

A missing one is added; one with another value is corrected and told, or refused in strict mode; an adjustable one
keeps a legal value of the user's.
"""

from __future__ import annotations

import typing as t

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Finding
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._yaml_edit import Draft, Path
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._yaml_render import Quoted

WHY = {
    "process-recover-enable": "ClusterD recovers processes only where it is exactly `on`",
    "fault-scheduling": "It decides how the scheduler takes a faulty job off its nodes, and the plan has another way",
    "fault-retry-times": "The operator reads a whole number from 1 on; with anything else no Pod is ever made",
    "recover-strategy": "It names the strategies that the job may use, and they are the plan's",
    "PROCESS_RECOVER": "The recovery controller starts only where it is exactly `on`",
    "POD_IP": "The recovery controller listens at the address of the Pod",
    "TTP_PORT": "Both ends of MindIO's connection, in all replicas, must use the same port",
    "ttp-port": "The port of the container must be the one in TTP_PORT",
    "framework": "The operator refuses a job without a known framework",
}
_GENERAL_WHY = "The recovery plan needs this value"


class Findings:
    """What is said about one job while it is adapted."""

    def __init__(self, strict: bool) -> None:
        self.strict = strict
        self.corrections: list[Finding] = []
        self.warnings: list[Finding] = []
        self.refusals: list[Finding] = []

    def correct(self, code: str, name: str, old: str, new: str, where: str, keep: str = "") -> bool:
        """Note that an owned value is another one. False where strict mode forbids to change it."""
        why = WHY.get(name, _GENERAL_WHY)
        if self.strict:
            self.refusals.append(
                Finding(code, "`%s` is %s, the plan wants %s" % (name, old, new), why,
                        "Write %s, or run without strict to have it corrected" % new, where)
            )  # fmt: skip
            return False
        remedy = "Nothing is to be done%s" % ("; %s" % keep if keep else "")
        self.corrections.append(Finding(code, "`%s` was %s and is now %s" % (name, old, new), why, remedy, where))
        return True

    def warn(self, code: str, what: str, why: str, remedy: str, where: str) -> None:
        finding = Finding(code, what, why, remedy, where)
        if finding not in self.warnings:
            self.warnings.append(finding)


def shown(value: t.Any) -> str:
    """A value of the user's in a sentence."""
    if isinstance(value, bool):
        return "`%s` (a boolean, not text)" % ("true" if value else "false")
    if isinstance(value, (int, float)):
        return "`%s` (a number, not text)" % value
    if value is None:
        return "empty"
    if isinstance(value, dict):
        return "taken from %s" % ", ".join(str(name) for name in value)
    return "`%s`" % value


def is_number(value: t.Any) -> bool:
    """A whole number; YAML's true and false are numbers to Python only."""
    return isinstance(value, int) and not isinstance(value, bool)


def legal_count(value: t.Any) -> bool:
    return isinstance(value, str) and value.isascii() and value.isdigit() and int(value) > 0


def legal_port(value: t.Any) -> bool:
    return legal_count(value) and int(value) < 65536


def legal_wait(value: t.Any) -> bool:
    """Seconds that MindIO may wait for clusterd's answer: 60 at least for elastic training, 3600 at most."""
    return legal_count(value) and 60 <= int(value) <= 3600


def _nothing(_value: t.Any) -> bool:
    return False


# TTP_PORT is not here: it has to be one number in all replicas, which _job_ports sees to.
_LEGAL_ENV: dict[str, t.Callable[[t.Any], bool]] = {"MINDIO_WAIT_MINDX_TIME": legal_wait}


def same_strategies(left: t.Any, right: str) -> bool:
    """Order and repetition do not count; blanks and case do, as in ClusterD."""
    return isinstance(left, str) and set(left.split(",")) == set(right.split(","))


class Owner:
    """Puts the plan's labels, annotations and variables into one job.

    :param extra: the user's own values, which win over the plan: C(labels), C(annotations), C(env).
    """

    def __init__(self, draft: Draft, findings: Findings, plan: t.Mapping[str, t.Any], extra: t.Mapping[str, t.Any]):
        self.draft = draft
        self.findings = findings
        self.job = plan["job"]
        self.extra = extra

    # --- labels and annotations ----------------------------------------------------------------------------------

    def texts(self, metadata: Path, kind: str, after: t.Sequence[str]) -> None:
        """Labels or annotations of the job.

        :param kind: C(labels) or C(annotations).
        """
        wanted = dict(self.job[kind], **self.extra.get(kind, {}))
        present = self.draft.data(metadata + (kind,))
        missing = {name: Quoted(value) for name, value in wanted.items() if name not in (present or {})}
        for name, value in wanted.items():
            if name not in missing:
                self.text(metadata + (kind, name), kind, str(value))
        if missing and kind not in self.draft.data(metadata):
            self.draft.add(metadata, kind, missing, after)
            return
        for name, value in missing.items():
            self.draft.add(metadata + (kind,), name, value)

    def text(self, path: Path, kind: str, wanted: str) -> None:
        name, value = str(path[-1]), self.draft.data(path)
        if value == wanted or (name == "recover-strategy" and same_strategies(value, wanted)):
            return
        if name in self.job["adjustable"][kind] and name not in self.extra.get(kind, {}):
            if legal_count(value):
                return
            if is_number(value) and value > 0:
                wanted = str(value)
        if name in self.extra.get(kind, {}):
            self.draft.replace(path, Quoted(wanted))
            return
        keep = "to keep another value set it in `training_job_extra_%s`" % kind
        place = self.draft.place(path)
        if self.findings.correct("%s-corrected" % kind[:-1], name, shown(value), "`%s`" % wanted, place, keep):
            self.draft.replace(path, Quoted(wanted))

    # --- environment ---------------------------------------------------------------------------------------------

    def environment(self, container: Path, wanted: t.Sequence[dict[str, t.Any]]) -> None:
        """Variables of one container.

        :param wanted: entries as Kubernetes has them; those in C(extra) come on top.
        """
        extra = self.extra.get("env", {})
        entries = [entry for entry in wanted if entry["name"] not in extra]
        entries += [env_entry(name, value) for name, value in extra.items()]
        path = container + ("env",)
        present = self.draft.data(path)
        names = [item.get("name") if isinstance(item, dict) else None for item in present or ()]
        missing = [quoted_entry(entry) for entry in entries if entry["name"] not in names]
        for entry in entries:
            for index in (number for number, name in enumerate(names) if name == entry["name"]):
                self.variable(path + (index,), entry)
        if missing and "env" not in self.draft.data(container):
            self.draft.add(container, "env", missing, ("imagePullPolicy", "image", "name"))
            return
        for entry in missing:
            self.draft.append(path, entry)

    def variable(self, path: Path, wanted: dict[str, t.Any]) -> None:
        present = self.draft.data(path)
        kind = "valueFrom" if "valueFrom" in wanted else "value"
        if present.get(kind) == wanted[kind]:
            return
        name = wanted["name"]
        if name not in self.extra.get("env", {}):
            if name in self.job["adjustable"]["env"] and _LEGAL_ENV.get(name, _nothing)(present.get(kind)):
                return
            old = next((item for key, item in present.items() if key != "name"), None)
            new = "`%s`" % wanted["value"] if kind == "value" else "the field `%s`" % _field(wanted)
            keep = "to keep another value set it in `training_job_extra_env`"
            if not self.findings.correct("env-corrected", name, shown(old), new, self.draft.place(path), keep):
                return
        value = Quoted(wanted[kind]) if kind == "value" else wanted[kind]
        other = next((key for key in present if key != "name"), None)
        if other is None:
            self.draft.add(path, kind, value)
        elif other == "value" == kind:
            self.draft.replace(path + ("value",), value)
        else:
            self.draft.rename(path + (other,), kind, value)


def env_entry(name: str, value: t.Any) -> dict[str, t.Any]:
    """A variable as Kubernetes has it; a mapping is taken as it is (C(valueFrom))."""
    return {"name": name, **value} if isinstance(value, dict) else {"name": name, "value": str(value)}


def quoted_entry(entry: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    return {key: Quoted(value) if key == "value" else value for key, value in entry.items()}


def _field(entry: t.Mapping[str, t.Any]) -> str:
    reference = entry["valueFrom"]
    return str((reference.get("fieldRef") or {}).get("fieldPath", reference))
