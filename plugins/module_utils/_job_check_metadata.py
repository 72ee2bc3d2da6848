# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""Labels and annotations of a job: where they stand, what they say.

Sources: the vendor's page on a job's YAML; clusterd C(pkg/domain/common/utils.go) and C(pkg/domain/podgroup);
ascend-operator (the PodGroup copies labels and annotations of the job itself, never those of its template).
"""

from __future__ import annotations

import typing as t

from ansible_collections.mindcluster.recovery.plugins.module_utils._job_check_report import (
    ERROR,
    MISSING,
    WARNING,
    Path,
    Replica,
    Report,
    mapping,
    shown,
)
from ansible_collections.mindcluster.recovery.plugins.module_utils._releases import is_before
from ansible_collections.mindcluster.recovery.plugins.module_utils._strategy_rules import check_strategies

STRATEGY = "recover-strategy"
SWITCH = "process-recover-enable"
_COPIED = "The operator copies it from the job itself only; here nobody reads it"
_WHY = {
    "framework": "The operator refuses a job without a known framework",
    SWITCH: "clusterd recovers processes only where it is exactly `on`",
    "fault-scheduling": "Without grace or force the scheduler does not reschedule the faulty job",
    "fault-retry-times": "Process-level recovery needs it: it counts the faults that the job survives",
    "pod-rescheduling": "Only `on` switches Pod-level rescheduling on",
    STRATEGY: "clusterd tries only the strategies that are named here",
    "huawei.com/schedule_policy": "From 26.1.0 on the scheduler chooses nodes by it",
}

# Keys that older releases do not read. Source: the code of each release's scheduler and operator.
_SINCE = {
    "huawei.com/schedule_policy": "7.3.0",
    "huawei.com/recover_policy_path": "7.3.0",
    "huawei.com/schedule_minAvailable": "7.3.0",
    "ra-block": "26.0.0",
    "huawei.com/affinity-config": "26.0.0",
}
_SUB_HEALTHY = ("ignore", "graceExit", "forceExit", "hotSwitch")
_TOR_AFFINITY = ("large-model-schema", "normal-schema", "null")


def check_metadata(report: Report, document: t.Mapping[str, t.Any], replicas: t.Sequence[Replica]) -> None:
    """Labels and annotations of one job."""
    metadata = mapping(document.get("metadata"))
    for kind in ("labels", "annotations"):
        given = metadata.get(kind)
        if given is not None and not isinstance(given, dict):
            report.add("shape", ("metadata", kind), shown(given), "a mapping", "The API server refuses it")
        _texts(report, kind, mapping(given))
        for name, wanted in report.plan["job"][kind].items():
            if name in mapping(given):
                _value(report, kind, name, mapping(given)[name], wanted)
            else:
                _absent(report, kind, name, wanted, metadata, replicas)
    labels, annotations = mapping(metadata.get("labels")), mapping(metadata.get("annotations"))
    _retry_times(report, labels, mapping(mapping(document.get("spec")).get("runPolicy")))
    _other_labels(report, labels, annotations)
    _waiting(report, annotations)
    _too_new(report, ("metadata", "annotations"), annotations)
    for replica in replicas:
        template = mapping(replica.template.get("metadata"))
        path = replica.path + ("template", "metadata", "annotations")
        _too_new(report, path, mapping(template.get("annotations")))


def _texts(report: Report, kind: str, given: t.Mapping[t.Any, t.Any]) -> None:
    """Kubernetes takes texts only; YAML reads an unquoted on, yes or 10 as something else."""
    for name, value in given.items():
        if isinstance(value, str):
            continue
        wanted = report.plan["job"][kind].get(name)
        if wanted is None:
            wanted = ("on" if value else "off") if isinstance(value, bool) else "text" if value is None else str(value)
        report.add(
            "%s-type" % kind[:-1], ("metadata", kind, str(name)), shown(value), '"%s", in quotes' % wanted,
            "YAML reads it as something else than text where it has no quotes, and the API server refuses the job",
        )  # fmt: skip


def _absent(
    report: Report,
    kind: str,
    name: str,
    wanted: str,
    metadata: t.Mapping[str, t.Any],
    replicas: t.Sequence[Replica],
) -> None:
    """A key that the job lacks: it may stand in another place, where it does nothing."""
    other = "annotations" if kind == "labels" else "labels"
    places: list[tuple[Path, t.Any]] = [(("metadata", other, name), mapping(metadata.get(other)).get(name))]
    for replica in replicas:
        template = mapping(replica.template.get("metadata"))
        for sort in (kind, other):
            path = replica.path + ("template", "metadata", sort, name)
            places.append((path, mapping(template.get(sort)).get(name)))
    stray = [(path, value) for path, value in places if value is not None]
    for path, value in stray:
        on = "template" if "template" in path else "job-as-%s" % other[:-1]
        report.add(
            "%s-on-%s" % (kind[:-1], on), path, shown(value), "metadata.%s: %s" % (kind, wanted),
            "%s. %s" % (_COPIED if on == "template" else "It is read as one of the %s" % kind, _WHY.get(name, "")),
        )  # fmt: skip
    if stray:
        return
    by_operator = (
        name == SWITCH and report.release.operator_injects and STRATEGY in mapping(metadata.get("annotations"))
    )
    why = _WHY.get(name, "The plan needs it")
    if by_operator:
        why = (
            "This release's operator sets it from the annotation %s; the vendor's page wants it all the same" % STRATEGY
        )
    report.add(
        "%s-missing" % kind[:-1], ("metadata", kind, name), MISSING, wanted, why, WARNING if by_operator else ERROR
    )


def _value(report: Report, kind: str, name: str, value: t.Any, wanted: str) -> None:
    if not isinstance(value, str) or value == wanted:
        return
    if name == STRATEGY:
        _strategies(report, value, wanted)
    elif name == SWITCH and value == "pause":
        # clusterd writes it itself while a job runs again, and `on` afterwards.
        return
    elif name == "fault-scheduling":
        _scheduling(report, value, wanted)
    elif name != "fault-retry-times":
        report.add("%s-value" % kind[:-1], ("metadata", kind, name), value, wanted, _WHY.get(name, "The plan needs it"))


def _scheduling(report: Report, value: str, wanted: str) -> None:
    path: Path = ("metadata", "labels", "fault-scheduling")
    if value in ("external-grace", "external-force"):
        if not is_before(report.release.name, "26.1.0"):
            return
        report.add("label-too-new", path, value, wanted, "It came with 26.1.0; before that the job is not rescheduled")
    elif value in ("grace", "force"):
        why = "From 7.2.RC1 on the vendor's pages want grace for process-level recovery"
        if wanted == "force":
            why = "Up to 7.1.RC1 the vendor's pages want force for process-level recovery"
        report.add("label-value", path, value, wanted, why, WARNING)
    else:
        report.add("label-value", path, value, wanted, _WHY["fault-scheduling"])


def _strategies(report: Report, value: str, wanted: str) -> None:
    path: Path = ("metadata", "annotations", STRATEGY)
    known, findings = check_strategies(value, report.release, report.plan["framework"])
    for finding in findings:
        report.add(finding.code, path, value, wanted, "%s. %s" % (finding.what, finding.why))
    if findings or set(known) == set(report.plan["strategies"]):
        return
    missing = [name for name in report.plan["strategies"] if name not in known]
    more = [name for name in known if name not in report.plan["strategies"]]
    parts = ["%s is not there" % ", ".join(missing)] if missing else []
    parts += ["%s is not asked for" % ", ".join(more)] if more else []
    report.add("strategies-differ", path, value, wanted, "%s. %s" % ("; ".join(parts), _WHY[STRATEGY]))


def _retry_times(report: Report, labels: t.Mapping[str, t.Any], policy: t.Mapping[str, t.Any]) -> None:
    value = labels.get("fault-retry-times")
    if not isinstance(value, str):
        return
    path: Path = ("metadata", "labels", "fault-retry-times")
    if not (value.isdigit() and value.isascii() and int(value) > 0):
        report.add(
            "fault-retry-times", path, value, "a whole number from 1 on, in quotes",
            "The operator reads it as a number: with anything else, and no backoffLimit, the job gets no Pod and no "
            "condition at all",
        )  # fmt: skip
        return
    limit = policy.get("backoffLimit")
    if isinstance(limit, int) and limit != int(value):
        report.add(
            "backoff-limit", ("spec", "runPolicy", "backoffLimit"), str(limit), value,
            "A given backoffLimit wins over fault-retry-times (%s)" % value, WARNING,
        )  # fmt: skip


def _other_labels(report: Report, labels: t.Mapping[str, t.Any], annotations: t.Mapping[str, t.Any]) -> None:
    healthy = labels.get("subHealthyStrategy")
    path: Path = ("metadata", "labels", "subHealthyStrategy")
    if isinstance(healthy, str) and healthy not in _SUB_HEALTHY:
        report.add(
            "label-value", path, healthy, " or ".join(_SUB_HEALTHY),
            "Compared letter by letter; anything else is read as ignore", WARNING,
        )  # fmt: skip
    if healthy == "hotSwitch":
        _hot_switch(report, path)
    if healthy == "graceExit" and "dump" not in report.plan["strategies"]:
        report.add(
            "grace-exit-dump", path, healthy, "graceExit together with the strategy dump",
            "Leaving a slow node gracefully means saving a dying checkpoint first", WARNING,
        )  # fmt: skip
    tor = labels.get("tor-affinity")
    if isinstance(tor, str) and tor not in _TOR_AFFINITY:
        report.add(
            "label-value", ("metadata", "labels", "tor-affinity"), tor, " or ".join(_TOR_AFFINITY),
            "The scheduler does not know it", WARNING,
        )  # fmt: skip
    pods = labels.get("pod-rescheduling")
    if isinstance(pods, str) and pods not in ("on", "off") and not report.plan["pod_rescheduling"]:
        report.add(
            "label-value", ("metadata", "labels", "pod-rescheduling"), pods, "on", _WHY["pod-rescheduling"], WARNING
        )


def _hot_switch(report: Report, path: Path) -> None:
    if is_before(report.release.name, "7.2.RC1"):
        report.add(
            "label-too-new", path, "hotSwitch", "ignore, graceExit or forceExit", "It came with 7.2.RC1", WARNING
        )
    elif report.release.name == "7.2.RC1" and "retry" in report.plan["strategies"]:
        report.add(
            "retry-hot-switch", path, "hotSwitch", "another value, or MindCluster 7.3.0",
            "The operator of 7.2.RC1 appends HIGH_AVAILABILITY twice, and the last one, recover, takes retry away",
        )  # fmt: skip


def _waiting(report: Report, annotations: t.Mapping[str, t.Any]) -> None:
    value = annotations.get("wait-reschedule-timeout")
    if not isinstance(value, str) or (value.isdigit() and value.isascii() and 30 <= int(value) <= 270):
        return
    report.add(
        "wait-reschedule-timeout", ("metadata", "annotations", "wait-reschedule-timeout"), value, "30 to 270",
        "clusterd leaves another value aside with a warning in its log and waits 270 s", WARNING,
    )  # fmt: skip


def _too_new(report: Report, path: Path, annotations: t.Mapping[str, t.Any]) -> None:
    for name, since in _SINCE.items():
        if name in annotations and is_before(report.release.name, since):
            report.add(
                "annotation-too-new", path + (name,), shown(annotations[name]), "MindCluster %s or newer" % since,
                "MindCluster %s does not read it" % report.release.name, WARNING,
            )  # fmt: skip
