# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""The ports of a job. C(TTP_PORT) and the port C(ttp-port) are one number in all replicas: MindIO's connection."""

from __future__ import annotations

import typing as t

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Finding
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._job_owner import (
    Findings,
    is_number,
    legal_port,
    shown,
)
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._yaml_edit import Draft, Path

TTP_VARIABLE = "TTP_PORT"
TTP_NAME = "ttp-port"


def _named(items: t.Any, name: str) -> dict[str, t.Any] | None:
    return next(
        (item for item in items if isinstance(item, dict) and item.get("name") == name) if isinstance(items, list) else
        iter(()),
        None,
    )  # fmt: skip


def job_port(draft: Draft, containers: t.Iterable[Path], default: str) -> str:
    """The TTP port of a job: the user's first legal one, the leader's before the others, the variable first."""
    found = []
    for container in containers:
        variable = _named(draft.data(container + ("env",)), TTP_VARIABLE) or {}
        port = _named(draft.data(container + ("ports",)), TTP_NAME) or {}
        value = variable.get("value")
        found += [str(value) if is_number(value) else value, str(port.get("containerPort", ""))]
    return next((str(value) for value in found if legal_port(value)), default)


def bad_port(extra_env: t.Mapping[str, t.Any], where: str) -> list[Finding]:
    """The user's own C(TTP_PORT), where no port can be declared from it."""
    value = extra_env.get(TTP_VARIABLE)
    if not value or legal_port(str(value) if is_number(value) else value):
        return []
    return [
        Finding(
            "ttp-port",
            "`%s` in `training_job_extra_env` is %s, which is no number of a port" % (TTP_VARIABLE, shown(value)),
            "The same number is declared as the port `%s`, and all replicas have to agree on it" % TTP_NAME,
            "Give a number from 1 to 65535",
            where,
        )
    ]


class Ports:
    """Adds and corrects the ports of one container."""

    def __init__(self, draft: Draft, findings: Findings, plan: t.Mapping[str, t.Any], ttp_port: str) -> None:
        self.draft = draft
        self.findings = findings
        self.wanted = [
            dict(port, containerPort=int(ttp_port)) if port["name"] == TTP_NAME else port
            for port in plan["job"]["ports"]
        ]

    def apply(self, container: Path, replica: str) -> None:
        path = container + ("ports",)
        present = self.draft.data(path)
        missing = []
        for port in self.wanted:
            index = next((i for i, item in enumerate(present or ()) if item.get("name") == port["name"]), None)
            if index is not None:
                self.check(path + (index, "containerPort"), port)
            elif not self.taken(present, port, path, replica):
                missing.append({"containerPort": port["containerPort"], "name": port["name"]})
        if missing and "ports" not in self.draft.data(container):
            self.draft.add(container, "ports", missing, ("args", "command", "env"))
            return
        for port in missing:
            self.draft.append(path, port)

    def check(self, path: Path, port: t.Mapping[str, t.Any]) -> None:
        value = self.draft.data(path)
        if value == port["containerPort"] or (port["name"] != TTP_NAME and is_number(value) and 0 < value < 65536):
            return
        new = "`%d`" % port["containerPort"]
        if self.findings.correct("port-corrected", port["name"], _plain(value), new, self.draft.place(path)):
            self.draft.replace(path, port["containerPort"])

    def taken(self, present: t.Any, port: t.Mapping[str, t.Any], path: Path, replica: str) -> bool:
        """Whether another name stands at the same number; a port number may be there only once."""
        for index, item in enumerate(present or ()):
            if item.get("containerPort") == port["containerPort"] and item.get("protocol", "TCP") == "TCP":
                self.findings.warn(
                    "port-name",
                    "the port %d of `%s` is named %s, not `%s`"
                    % (port["containerPort"], replica, shown(item.get("name")), port["name"]),
                    "A number may be declared only once, so the port was not added a second time",
                    "Rename it to `%s`" % port["name"],
                    self.draft.place(path + (index,)),
                )
                return True
        return False


def _plain(value: t.Any) -> str:
    return "`%s`" % value if is_number(value) else shown(value)
