# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""What ascend-operator makes of a job: it takes it, or refuses it, and says so in different places.

A job that it takes gets a PodGroup named C(<job>-<uid>). A job that it refuses gets a Warning Event and nothing else
up to 7.3, and from 26.0.0 on a condition of type C(Failed), reason C(JobValidFailed), whose message begins with what
is wrong. Source: ascend-operator C(pkg/controllers/v1/ascendjob_validate.go) and C(ascendjob_controller.go) at the tags
v7.1.RC1 to v26.1.0.
"""

from __future__ import annotations

import re
import typing as t

REFUSED_CONDITION = "JobValidFailed"
#: Conditions that a job has only after the operator has taken it.
_WORKED_ON = frozenset(("Running", "Restarting", "Succeeded", "Suspended"))


class Trouble(t.NamedTuple):
    """One reason for which the operator refuses a job.

    :ivar event: reason of the Warning Event, up to 7.3.
    :ivar condition: first word of the condition's message, from 26.0.0 on.
    """

    event: str
    condition: str
    remedy: str


_REPLICAS = (
    "Name the replica types Master and Worker (PyTorch) or Scheduler and Worker (MindSpore), letter by letter, with "
    "exactly one Master or Scheduler"
)
_SPECS = (
    "Look over spec.replicaSpecs: every replica type needs a template, and not more replicas than the operator allows"
)
TROUBLES: tuple[Trouble, ...] = (
    Trouble("FrameworkLabelError", "InvalidFramework", "Set the label `framework` to pytorch, mindspore or tensorflow"),
    Trouble("ReplicaTypeError", "InvalidReplicaType", _REPLICAS),
    Trouble("ContainerError", "InvalidContainer", "Name the container that trains `ascend`, and give it an image"),
    Trouble("SpecsError", "InvalidSpecs", _SPECS),
    Trouble("SpecsError", "InvalidReplicaSpec", _SPECS),
    Trouble("SuccessPolicyError", "InvalidSuccessPolicy", "Leave spec.successPolicy out, or write AllWorkers"),
    Trouble(
        "QueueGetFailed",
        "InvalidQueue",
        "Name a queue of Volcano's in spec.runPolicy.schedulingPolicy.queue (`kubectl get queue`), such as default",
    ),
    Trouble("invalid scaling config", "ArgumentError", "Correct the labels and annotations that ask for scaling"),
)
_BY_EVENT = {trouble.event: trouble for trouble in reversed(TROUBLES)}
_BY_CONDITION = {trouble.condition: trouble for trouble in TROUBLES}
_GENERAL_REMEDY = "Correct what the message names"


class Verdict(t.NamedTuple):
    """What the operator has said.

    :ivar taken: True, False for a refusal, None where it has said nothing yet.
    :ivar reason: the operator's own words.
    """

    taken: bool | None
    reason: str = ""
    remedy: str = ""


NOTHING_YET = Verdict(None)


def verdict(job: t.Mapping[str, t.Any], has_group: bool, events: t.Sequence[t.Mapping[str, t.Any]]) -> Verdict:
    """The operator's verdict on a job as the cluster holds it.

    :param has_group: whether the job's PodGroup exists.
    :param events: the job's Warning Events.
    """
    conditions = [entry for entry in (job.get("status") or {}).get("conditions") or [] if entry.get("status") == "True"]
    for condition in conditions:
        if condition.get("reason") == REFUSED_CONDITION:
            return _refused_by_condition(str(condition.get("message", "")))
    if has_group or any(condition.get("type") in _WORKED_ON for condition in conditions):
        return Verdict(True)
    for event in events:
        if event.get("reason") in _BY_EVENT:
            trouble = _BY_EVENT[event["reason"]]
            return Verdict(False, "%s: %s" % (event["reason"], _line(event.get("message"))), trouble.remedy)
    # Failed for another reason than its form: the operator has worked on it.
    return Verdict(True) if any(condition.get("type") == "Failed" for condition in conditions) else NOTHING_YET


def _refused_by_condition(message: str) -> Verdict:
    word = re.match(r"\w+", message.strip())
    trouble = _BY_CONDITION.get(word.group() if word else "")
    return Verdict(
        False, "%s: %s" % (REFUSED_CONDITION, _line(message)), trouble.remedy if trouble else _GENERAL_REMEDY
    )


def told(job: t.Mapping[str, t.Any], events: t.Sequence[t.Mapping[str, t.Any]]) -> str:
    """What there is to see of a job that the operator has said nothing about."""
    conditions = (job.get("status") or {}).get("conditions") or []
    seen = ["condition %s (%s)" % (entry.get("type"), _line(entry.get("message"))) for entry in conditions]
    seen += ["Event %s (%s)" % (event.get("reason"), _line(event.get("message"))) for event in events]
    return ", ".join(seen) or "neither conditions nor Warning Events"


def group_name(job: t.Mapping[str, t.Any]) -> str:
    """Name of the PodGroup that the operator makes for a job."""
    return "%s-%s" % (job["metadata"]["name"], job["metadata"]["uid"])


def _line(text: t.Any) -> str:
    return " ".join(str(text or "").split())
