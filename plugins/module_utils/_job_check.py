# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""The reverse check: every deviation of an existing manifest from a plan.

Plain data in, plain data out. It changes nothing, and an unexpected shape is a deviation, never an exception.
"""

from __future__ import annotations

import typing as t

from ansible_collections.mindcluster.recovery.plugins.module_utils._job_check_beside import check_beside
from ansible_collections.mindcluster.recovery.plugins.module_utils._job_check_command import CommandCheck
from ansible_collections.mindcluster.recovery.plugins.module_utils._job_check_env import (
    TTP_VARIABLE,
    check_env,
    check_ports,
    check_same_port,
    read_env,
)
from ansible_collections.mindcluster.recovery.plugins.module_utils._job_check_metadata import check_metadata
from ansible_collections.mindcluster.recovery.plugins.module_utils._job_check_nodes import check_nodes
from ansible_collections.mindcluster.recovery.plugins.module_utils._job_check_report import (
    MISSING,
    Path,
    Replica,
    Report,
    mapping,
    sequence,
    shown,
)
from ansible_collections.mindcluster.recovery.plugins.module_utils._job_check_shape import (
    check_policy,
    check_replica,
    read_replicas,
)

_FRAMEWORKS = ("pytorch", "mindspore", "tensorflow")
Document = t.Mapping[str, t.Any]


def _located(documents: t.Sequence[t.Any]) -> list[tuple[Path, t.Any]]:
    """Each document with its path; the items of a C(List) are documents too, empty documents are none."""
    found: list[tuple[Path, t.Any]] = []
    given = [item for item in documents if item is not None]
    for number, document in enumerate(given):
        root: Path = ("documents", number) if len(given) > 1 else ()
        if isinstance(document, dict) and document.get("kind") == "List":
            for index, item in enumerate(sequence(document.get("items"))):
                found.append((root + ("items", index), item))
        else:
            found.append((root, document))
    return found


def check_job(documents: t.Sequence[t.Any], plan: t.Mapping[str, t.Any]) -> list[dict[str, str]]:
    """Compare every AscendJob among some documents with a plan.

    :param documents: as a YAML parser gives them.
    :param plan: the result of C(build_plan).
    :returns: the deviations, each with C(code), C(level) (C(error) or C(warning)), C(job), C(path), C(found),
        C(wanted), C(why), all texts; empty where the manifest is what the plan wants.
    """
    report = Report(plan)
    located = _located(documents)
    jobs: list[tuple[Path, Document]] = []
    others: list[tuple[Path, Document]] = []
    for root, document in located:
        if not isinstance(document, dict):
            report.root = root
            report.add("shape", (), shown(document), "a mapping", "A Kubernetes object is a mapping")
        elif document.get("kind") == plan["job"]["kind"]:
            jobs.append((root, document))
        else:
            others.append((root, document))
    for root, document in jobs:
        report.root = root
        report.job = str(mapping(document.get("metadata")).get("name") or "")
        _check_one(report, document)
    names = [str(mapping(document.get("metadata")).get("name")) for _root, document in jobs]
    check_beside(report, others, names)
    if not jobs:
        _no_job(report, others)
    return report.items


def _no_job(report: Report, others: t.Sequence[tuple[Path, Document]]) -> None:
    report.root, report.job = (), ""
    if any(item["code"] == "job-volcano" for item in report.items):
        return
    kinds = sorted({str(document.get("kind")) for _root, document in others})
    report.add(
        "job-missing", (), ", ".join(kinds) or MISSING, report.plan["job"]["kind"],
        "Only an AscendJob can be made recoverable",
    )  # fmt: skip


def _head(report: Report, document: Document) -> bool:
    """Name, version and framework. False where the plan is for another framework, which the rest depends on."""
    job = report.plan["job"]
    version = document.get("apiVersion")
    if version != job["api_version"]:
        report.add(
            "api-version", ("apiVersion",), MISSING if version is None else shown(version), job["api_version"],
            "MindCluster's operator serves that version only",
        )  # fmt: skip
    metadata = mapping(document.get("metadata"))
    if not (metadata.get("name") or metadata.get("generateName")):
        report.add("name-missing", ("metadata", "name"), MISSING, "a name", "The API server refuses it")
    framework = mapping(metadata.get("labels")).get("framework")
    return framework not in _FRAMEWORKS or framework == report.plan["framework"]


def _check_one(report: Report, document: Document) -> None:
    fits = _head(report, document)
    replicas = read_replicas(report, document) if fits else []
    check_metadata(report, document, replicas)
    if not fits:
        return
    labels = mapping(mapping(document.get("metadata")).get("labels"))
    check_policy(report, document, replicas)
    commands = CommandCheck(report)
    ports: dict[str, tuple[Path, t.Any]] = {}
    for replica in replicas:
        check_replica(report, replica, "fault-retry-times" in labels)
        if replica.container:
            _container(report, replica, commands, ports)
    check_same_port(report, ports)
    check_nodes(report, replicas, labels.get("fault-scheduling"))


def _container(report: Report, replica: Replica, commands: CommandCheck, ports: dict[str, tuple[Path, t.Any]]) -> None:
    env = read_env(report, replica)
    check_env(report, replica, env)
    check_ports(report, replica, env)
    if TTP_VARIABLE in env:
        ports[replica.name] = (replica.container_path + ("env",), env[TTP_VARIABLE])
    commands.run(replica, env)
