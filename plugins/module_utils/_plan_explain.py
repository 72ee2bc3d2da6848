# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""What is tried at a fault, in which order, and what each attempt needs.

Sources: clusterd's recover controller (order; what follows a failed attempt; an agent that does not report C(retry)),
the vendor's pages on each strategy (requirements; a fault of the rank-0 Pod), the page on a job's YAML (what the
labels do when nothing else has helped).
"""

from __future__ import annotations

import typing as t

from ansible_collections.mindcluster.recovery.plugins.module_utils._request import Request
from ansible_collections.mindcluster.recovery.plugins.module_utils._strategies import STRATEGIES, Strategy
from ansible_collections.mindcluster.recovery.plugins.module_utils._suites import mindspeed_llm

_AFTER_RETRY = ("recover-in-place", "recover", "elastic-training", "dump")
# Which strategies clusterd can choose for a fault, besides retry. A Pod or node that is lost has no process that could
# be started again in place, and neither has a broken chip.
_CHOICE: dict[str, tuple[str, ...]] = {
    "chip-memory": ("recover", "elastic-training", "dump"),
    "chip-network": ("recover", "elastic-training", "dump"),
    "process": _AFTER_RETRY,
    "pod": ("recover", "elastic-training", "dump"),
    "node": ("recover", "elastic-training", "dump"),
    "rank0-node": (),
}
FAULTS: tuple[str, ...] = tuple(_CHOICE)

_OTHERWISE = {
    "retry": "where MindIO does not report `retry`, clusterd goes straight on to `dump` or the end; where the repair "
    "itself fails, to the next attempt",
    "recover-in-place": "to the next attempt",
    "recover": "to `dump` or the end",
    "elastic-training": "to `dump` or the end",
    "dump": "to the end",
}


def _retries(request: Request, fault: str) -> bool:
    """Whether the hardware lets this fault be repaired without restarting anything; assumed without a product."""
    if "retry" not in request.strategies:
        return False
    product = request.product
    if fault == "chip-memory":
        return product is None or product.repairs_memory
    return fault == "chip-network" and (product is None or product.repairs_network)


def _order(request: Request, fault: str) -> list[str]:
    names = ("retry",) + _AFTER_RETRY if _retries(request, fault) else _CHOICE[fault]
    return [name for name in names if name in request.strategies]


def _flags(request: Request, row: Strategy) -> list[str]:
    if request.suite != "mindspeed-llm":
        return []
    known = mindspeed_llm(request.suite_version).flags
    lost = [flag for flag in row.mindspeed_args if flag not in known]
    needs = ["%s on the start command of each replica type" % " ".join(f for f in row.mindspeed_args if f in known)]
    if lost:
        needs.append("MindSpeed-LLM 2.2.0 or newer: %s has no %s" % (request.suite_version, " and no ".join(lost)))
    return needs


def _tokens(row: Strategy, fault: str) -> list[str]:
    if row.name == "retry":
        return ["HCCE:1" if fault == "chip-network" else "UCE:1"]
    return list(row.tft)


def _hardware(request: Request, fault: str) -> str:
    if fault == "chip-network":
        return "A3 hardware, and HCCL_OP_RETRY_ENABLE in the start script"
    return "Atlas 800T A2, Atlas 900 A2 PoD or A3 hardware"


def _own_needs(request: Request, row: Strategy, fault: str) -> list[str]:
    """What a strategy needs besides the switches in the framework."""
    if row.name == "retry":
        return [_hardware(request, fault), "MindIO reports `retry`", "no other fault at the same time", "watchdog off"]
    if row.name == "recover-in-place":
        return ["a fault that goes away when the process starts again", "label fault-retry-times"]
    if row.name == "recover":
        return [
            "a spare node within wait-reschedule-timeout (30 to 270 s, 270 by default)", "at least two nodes",
            "label fault-retry-times",
        ]  # fmt: skip
    if row.name == "elastic-training":
        return _elastic_needs(request)
    return ["a complete copy of the optimizer's state on the healthy ranks"]


def _elastic_needs(request: Request) -> list[str]:
    needs = ["more than one data-parallel rank, expert and context parallelism 1"]
    if "recover" in request.strategies:
        return needs + ["no spare node within wait-reschedule-timeout (270 s by default)"]
    return needs + ["no spare node within MINDIO_WAIT_MINDX_TIME less 10 s (50 s with this plan)"]


def _attempt(request: Request, row: Strategy, fault: str) -> dict[str, t.Any]:
    if request.framework == "mindspore":
        switches = ["MS_ENABLE_TFT with %s" % " and ".join(_tokens(row, fault))]
    else:
        switches = _flags(request, row)
    return {
        "strategy": row.name,
        "needs": switches + _own_needs(request, row, fault),
        "otherwise": _OTHERWISE[row.name],
    }


def _end(request: Request, attempts: list[dict[str, t.Any]], labels: t.Mapping[str, str]) -> str:
    dumped = any(attempt["strategy"] == "dump" for attempt in attempts)
    checkpoint = "the dying checkpoint, or the last one before it" if dumped else "the last checkpoint"
    pods = "only the faulty Pods first (pod-rescheduling), and then " if request.pod_rescheduling else ""
    times = labels.get("fault-retry-times")
    limit = ", at most %s times (fault-retry-times)" % times if times else ""
    how = "gracefully" if request.fault_scheduling == "grace" else "by force"
    return (
        "the processes exit; the scheduler deletes %sall Pods %s (fault-scheduling: %s) and starts the job again "
        "from %s%s" % (pods, how, request.fault_scheduling, checkpoint, limit)
    )


def explain(request: Request, labels: t.Mapping[str, str]) -> dict[str, t.Any]:
    """For each class of fault the attempts in their order, and what happens where none has helped.

    :param labels: the job's labels in the plan.
    :returns: fault class to C(attempts) (each C(strategy), C(needs), C(otherwise)) and C(end).
    """
    rows = {row.name: row for row in STRATEGIES}
    explained = {}
    for fault in FAULTS:
        attempts = [_attempt(request, rows[name], fault) for name in _order(request, fault)]
        explained[fault] = {"attempts": attempts, "end": _end(request, attempts, labels)}
    return explained
