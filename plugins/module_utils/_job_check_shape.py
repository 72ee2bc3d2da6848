# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""What the operator refuses, mostly without a word in the job's status: replica types, containers, run policy.

Source: ascend-operator C(pkg/controllers/v1/ascendjob_validate.go); up to 7.3 it writes an Event only.
"""

from __future__ import annotations

import typing as t

from ansible_collections.mindcluster.recovery.plugins.module_utils._job_check_report import (
    MISSING,
    WARNING,
    Path,
    Replica,
    Report,
    mapping,
    sequence,
    shown,
)

_EVENT = "The operator refuses the job, and up to 7.3 says so in an Event only"
_REPLICAS: Path = ("spec", "replicaSpecs")


def read_replicas(report: Report, document: t.Mapping[str, t.Any]) -> list[Replica]:
    """The replica types of a job, and what is wrong with them."""
    specs = mapping(document.get("spec")).get("replicaSpecs")
    legal = report.plan["job"]["replica_types"]
    if not isinstance(specs, dict) or not specs:
        report.add(
            "replica-specs-missing", _REPLICAS, MISSING if specs is None else shown(specs), " and ".join(legal),
            "An AscendJob without replicas starts nothing",
        )  # fmt: skip
        return []
    replicas = []
    for key, spec in specs.items():
        name = _canonical(report, key, legal)
        if not isinstance(spec, dict):
            report.add("shape", _REPLICAS + (str(key),), shown(spec), "a mapping", "The API server refuses it")
        elif name is not None:
            replicas.append(Replica(name, _REPLICAS + (str(key),), spec, report.plan["job"]["container"]))
    if legal[0] not in [replica.name for replica in replicas]:
        report.add(
            "replica-type-missing", _REPLICAS, ", ".join(map(str, specs)), legal[0],
            "Without its leader the operator starts no PyTorch job, and injects nothing into a MindSpore job",
        )  # fmt: skip
    return replicas


def _canonical(report: Report, key: t.Any, legal: t.Sequence[str]) -> str | None:
    if key in legal:
        return str(key)
    name = next((word for word in legal if word.lower() == str(key).strip().lower()), None)
    report.add(
        "replica-type", _REPLICAS + (str(key),), str(key), name or " or ".join(legal),
        "The operator compares the key letter by letter. %s" % _EVENT,
    )  # fmt: skip
    return name


def check_replica(report: Report, replica: Replica, retried: bool) -> None:
    """One replica type: its number, its containers.

    :param retried: the job has the label C(fault-retry-times).
    """
    _count(report, replica)
    policy = replica.spec.get("restartPolicy")
    if retried and policy not in (None, "Never"):
        report.add(
            "restart-policy", replica.path + ("restartPolicy",), shown(policy), "Never",
            "fault-retry-times is counted only with Never", WARNING,
        )  # fmt: skip
    containers = replica.pod.get("containers")
    wanted = report.plan["job"]["container"]
    names = [str(item.get("name")) for item in sequence(containers) if isinstance(item, dict)]
    if wanted not in names:
        report.add(
            "container-missing", replica.pod_path + ("containers",), ", ".join(names) or MISSING, wanted,
            "The operator puts the recovery variables into the container of that name. %s" % _EVENT,
        )  # fmt: skip
    for index, item in enumerate(sequence(containers)):
        _image(report, replica.pod_path + ("containers", index), item)


def _image(report: Report, path: Path, container: t.Any) -> None:
    if not isinstance(container, dict):
        report.add("shape", path, shown(container), "a mapping", "The API server refuses it")
        return
    if container.get("image") or not (
        report.release.images_of_all or container.get("name") == report.plan["job"]["container"]
    ):
        return
    report.add(
        "image-missing", path + ("image",), MISSING, "an image",
        "%s; up to 7.3 this holds for every container of the Pod, a sidecar too" % _EVENT,
    )  # fmt: skip


def _number(value: t.Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _count(report: Report, replica: Replica) -> None:
    path = replica.path + ("replicas",)
    count = replica.spec.get("replicas", 1)
    if replica.name == report.plan["job"]["replica_types"][0]:
        if count != 1 or isinstance(count, bool):
            report.add("leader-replicas", path, str(count), "1", "There is exactly one leader. %s" % _EVENT)
        return
    if not _number(count) or not 0 <= count <= report.release.most_replicas:
        report.add("replicas", path, str(count), "0 to %d" % report.release.most_replicas, _EVENT)


def check_policy(report: Report, document: t.Mapping[str, t.Any], replicas: t.Sequence[Replica]) -> None:
    """C(runPolicy), C(successPolicy) and the scheduler of a job."""
    spec = mapping(document.get("spec"))
    policy = mapping(spec.get("runPolicy")).get("schedulingPolicy")
    path: Path = ("spec", "runPolicy", "schedulingPolicy")
    if isinstance(policy, dict):
        if not policy.get("queue"):
            report.add("queue-missing", path + ("queue",), MISSING, "default", _EVENT)
        _gang(report, path + ("minAvailable",), policy.get("minAvailable"), replicas)
    success = spec.get("successPolicy")
    if success not in (None, "", "AllWorkers"):
        report.add("success-policy", ("spec", "successPolicy"), shown(success), "AllWorkers", _EVENT)
    scheduler = spec.get("schedulerName")
    if scheduler not in (None, "", "volcano"):
        report.add(
            "scheduler", ("spec", "schedulerName"), shown(scheduler), "volcano",
            "Only Volcano with the vendor's plugin reschedules a faulty job", WARNING,
        )  # fmt: skip


def _gang(report: Report, path: Path, wanted: t.Any, replicas: t.Sequence[Replica]) -> None:
    counts = [replica.spec.get("replicas", 1) for replica in replicas]
    if not _number(wanted) or not all(_number(count) for count in counts) or wanted <= sum(counts):
        return
    report.add(
        "min-available", path, str(wanted), "at most %d" % sum(counts),
        "The scheduler waits for more Pods than the job has, so none ever starts",
    )  # fmt: skip
