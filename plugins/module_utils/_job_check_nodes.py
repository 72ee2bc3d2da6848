# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""Where the Pods of a job go and how they leave: NPUs, node selectors, grace period, network.

Sources: ascend-operator (reads NPUs under C(requests)), the vendor's page "creating node labels", the scheduler's
rescheduling (the same nodeSelector in all replica types), the page on a job's YAML (grace period, hostNetwork).
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
    shown,
)

# Volcano's init parameter grace-over-time as the vendor ships it, in seconds.
GRACE_OVER_TIME = 900
# Labels that nodes carry up to 26.0.0 only; C(accelerator) is none of them, the device plugin writes it from then on.
RETIRED_SELECTORS = ("accelerator-type", "host-arch")


def check_nodes(report: Report, replicas: t.Sequence[Replica], scheduling: t.Any) -> None:
    """All replica types of one job.

    :param scheduling: value of the label C(fault-scheduling).
    """
    holders = [replica for replica in replicas if replica.holds_npus()]
    if replicas and not holders and any(replica.container for replica in replicas):
        report.add(
            "npu-missing", ("spec", "replicaSpecs"), MISSING, report.plan["job"]["resource"],
            "No replica type asks for NPUs, so the operator injects nothing, not even MASTER_ADDR",
        )  # fmt: skip
    for replica in replicas:
        _resources(report, replica)
        _leaving(report, replica, scheduling)
    for replica in holders:
        _selector(report, replica)
    _selectors_differ(report, holders)


def _resources(report: Report, replica: Replica) -> None:
    requests, limits = replica.npus("requests"), replica.npus("limits")
    path = replica.container_path + ("resources",)
    if limits and not requests:
        name, count = next(iter(limits.items()))
        report.add(
            "npu-limits-only", path + ("requests",), MISSING, "%s: %s" % (name, count),
            "The operator counts NPUs under requests and injects nothing here, not even MASTER_ADDR",
        )  # fmt: skip
    elif requests != limits:
        report.add(
            "npu-requests-differ", path + ("limits",), _listed(limits) or MISSING, _listed(requests),
            "For NPUs limits and requests have to be the same, or the API server refuses the job",
        )  # fmt: skip
    wanted = report.plan["job"]["resource"]
    for name in requests or limits:
        # A virtual NPU has the card's name and more behind it: huawei.com/Ascend910-6c.1cpu.16g
        if report.plan["product"] and name != wanted and not name.startswith(wanted + "-"):
            report.add(
                "npu-resource", path, name, wanted,
                "Nodes of %s offer another resource, and the Pods would stay Pending" % report.plan["product"],
            )  # fmt: skip
    _too_many(report, (requests or limits).get(wanted), path)


def more_than_a_node_has(asked: t.Any, plan: t.Mapping[str, t.Any]) -> int | None:
    """The number of NPUs that a Pod asks for, where no node of the plan's product has so many; else None.

    :param asked: the value in the manifest, which may be anything.
    """
    has = plan["job"].get("npus_per_node")
    if isinstance(asked, str) and asked.isascii() and asked.isdigit():
        asked = int(asked)
    if not has or not isinstance(asked, int) or isinstance(asked, bool) or asked <= has:
        return None
    return asked


def _too_many(report: Report, asked: t.Any, path: Path) -> None:
    many = more_than_a_node_has(asked, report.plan)
    if many:
        has = report.plan["job"]["npus_per_node"]
        report.add(
            "npus-more-than-node", path, str(many), "%d at most" % has,
            "A node of %s has %d NPUs, so that no node could ever take the Pod" % (report.plan["product"], has),
        )  # fmt: skip


def _listed(npus: t.Mapping[str, t.Any]) -> str:
    return ", ".join("%s: %s" % item for item in npus.items())


def _selector(report: Report, replica: Replica) -> None:
    path = replica.pod_path + ("nodeSelector",)
    given = mapping(replica.pod.get("nodeSelector"))
    if not report.release.product_labels:
        for name in RETIRED_SELECTORS:
            if name in given:
                report.add(
                    "node-selector-retired", path + (name,), shown(given[name]), "%s is not there" % name,
                    "Nodes of MindCluster %s do not carry this label, and the Pods would stay Pending; the annotation "
                    "huawei.com/schedule_policy takes its place" % report.release.name,
                )  # fmt: skip
        return
    for name, wanted in report.plan["job"]["node_selector"].items():
        if name not in given:
            report.add(
                "node-selector-missing", path, MISSING, "%s: %s" % (name, wanted),
                "The scheduler takes the kind of node from it; without it the Pods can stay Pending",
            )  # fmt: skip
        elif given[name] != wanted:
            report.add(
                "node-selector-product", path + (name,), shown(given[name]), wanted,
                "It selects nodes of another product than %s" % report.plan["product"],
            )  # fmt: skip


def _selectors_differ(report: Report, holders: t.Sequence[Replica]) -> None:
    if len(holders) < 2:
        return
    first = mapping(holders[0].pod.get("nodeSelector"))
    for replica in holders[1:]:
        given = mapping(replica.pod.get("nodeSelector"))
        if given != first:
            report.add(
                "node-selectors-differ", replica.pod_path + ("nodeSelector",), _listed(given) or MISSING,
                _listed(first) or "no nodeSelector",
                "%s selects other nodes; rescheduling needs the same nodeSelector in all replica types that hold NPUs"
                % holders[0].name,
            )  # fmt: skip


def _leaving(report: Report, replica: Replica, scheduling: t.Any) -> None:
    if scheduling == "force" and replica.pod.get("hostNetwork") is True and report.plan["fault_scheduling"] == "grace":
        report.add(
            "force-host-network", replica.pod_path + ("hostNetwork",), "true", "grace, or no hostNetwork",
            "A Pod deleted by force may still hold its ports on the node, which its successor cannot bind", WARNING,
        )  # fmt: skip
    seconds = replica.pod.get("terminationGracePeriodSeconds")
    if scheduling != "grace" or not isinstance(seconds, int) or 0 < seconds < GRACE_OVER_TIME:
        return
    report.add(
        "grace-period", replica.pod_path + ("terminationGracePeriodSeconds",), str(seconds),
        "1 to %d" % (GRACE_OVER_TIME - 1),
        "With grace the scheduler deletes a Pod by force after grace-over-time, %d s by default" % GRACE_OVER_TIME,
        WARNING,
    )  # fmt: skip
