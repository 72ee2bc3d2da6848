# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""What the job manifest and the start script of a request have to say."""

from __future__ import annotations

import typing as t

from ansible_collections.mindcluster.recovery.plugins.module_utils._node_rules import SCHEDULE_POLICY, node_selector
from ansible_collections.mindcluster.recovery.plugins.module_utils._operator_env import operator_env, operator_env_note
from ansible_collections.mindcluster.recovery.plugins.module_utils._plan_former import former
from ansible_collections.mindcluster.recovery.plugins.module_utils._request import Request
from ansible_collections.mindcluster.recovery.plugins.module_utils._strategies import STRATEGIES, Strategy
from ansible_collections.mindcluster.recovery.plugins.module_utils._suites import RECOVERY_FLAGS, mindspeed_llm

REPLICA_TYPES = {"pytorch": ["Master", "Worker"], "mindspore": ["Scheduler", "Worker"]}
TTP_PORT = 8000
JOB_PORT = 2222
FAULT_RETRY_TIMES = "10"
# MindIO waits 30 s by default for a decision; the vendor's sample asks for 60 or more where elastic training stands
# without recover.
ELASTIC_WAIT = "60"
OP_RETRY = "L0:0, L1:1, L2:1"
# torch_npu tells where a memory fault lies (check_uce_in_memory) only while this variable is not set at all.
NO_CACHING = "PYTORCH_NO_NPU_MEMORY_CACHING"


def rows(request: Request) -> list[Strategy]:
    return [row for row in STRATEGIES if row.name in request.strategies]


def suite_flags(request: Request) -> frozenset[str]:
    """The flags that the suite's version parses; the newest known row where the version is newer or not given."""
    return mindspeed_llm(request.suite_version).flags


def wanted_flags(request: Request) -> list[str]:
    """Flags of the strategies asked for, each once, in the order of the table."""
    if request.suite != "mindspeed-llm":
        return []
    return list(dict.fromkeys(flag for row in rows(request) for flag in row.mindspeed_args))


def tft_tokens(request: Request) -> list[str]:
    tokens = [token for row in rows(request) for token in row.tft]
    if request.pod_rescheduling:
        tokens.append("RSC:1")
    return list(dict.fromkeys(tokens))


def tft_value(request: Request) -> str:
    """The whole set for MS_ENABLE_TFT: a script's export overrules what the operator injects."""
    return "{%s}" % ", ".join(tft_tokens(request))


def _labels(request: Request) -> dict[str, str]:
    labels = {
        "framework": request.framework,
        "process-recover-enable": "on",
        "fault-scheduling": request.fault_scheduling,
    }
    if any(row.reschedules for row in rows(request)):
        labels["fault-retry-times"] = FAULT_RETRY_TIMES
    if request.pod_rescheduling:
        labels["pod-rescheduling"] = "on"
    return labels


def _annotations(request: Request) -> dict[str, str]:
    annotations = {"recover-strategy": ",".join(request.strategies)}
    product = request.product
    if product is not None and not request.release.product_labels and product.schedule_policy is not None:
        annotations[SCHEDULE_POLICY] = product.schedule_policy
    return annotations


def _waits_for_elastic(request: Request) -> bool:
    """Elastic training alone waits for MindIO's own time limit, which is too short by default."""
    return "elastic-training" in request.strategies and "recover" not in request.strategies


def _env(request: Request) -> list[dict[str, t.Any]]:
    pairs = [("PROCESS_RECOVER", "on")]
    if not request.release.operator_injects:
        pairs += _env_by_hand(request)
    pairs.append(("TTP_PORT", str(TTP_PORT)))
    if _waits_for_elastic(request):
        pairs.append(("MINDIO_WAIT_MINDX_TIME", ELASTIC_WAIT))
    entries: list[dict[str, t.Any]] = [{"name": name, "value": value} for name, value in pairs]
    # TaskD's controller needs POD_IP and TTP_PORT; without them it dies in a thread and training goes on unrecovered.
    entries.append({"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}})
    return entries


def _env_by_hand(request: Request) -> list[tuple[str, str]]:
    """What the operator of 7.2.RC1 and newer injects by itself, and older ones leave to the user."""
    pairs = []
    if "recover-in-place" in request.strategies:
        pairs.append(("ENABLE_RESTART_FAULT_PROCESS", "on"))
    if request.framework == "mindspore":
        pairs += [
            ("MINDIO_FOR_MINDSPORE", "1"),
            ("MS_ENABLE_THM", "{HCCL_WATCHDOG:0}"),
            ("MS_ENABLE_TFT", tft_value(request)),
        ]
    return pairs


def _ports(request: Request) -> list[dict[str, t.Any]]:
    ports = [
        {"name": "ascendjob-port", "containerPort": JOB_PORT},
        {"name": "ttp-port", "containerPort": TTP_PORT},
    ]
    if request.release.taskd_port is not None:
        ports.append({"name": "taskd-port", "containerPort": request.release.taskd_port})
    return ports


def _surplus(request: Request, args: list[str]) -> dict[str, list[str]]:
    env = [] if "recover-in-place" in request.strategies else ["ENABLE_RESTART_FAULT_PROCESS"]
    flags = [flag for flag in RECOVERY_FLAGS if flag not in args] if request.framework == "pytorch" else []
    return {"args": flags, "env": env, "exports": []}


def _exports(request: Request) -> dict[str, str]:
    elastic = request.framework == "pytorch" and request.release.elastic_agent
    return {"ELASTIC_PROCESS_RECOVER_ENABLE": "1"} if elastic else {}


def _owned(request: Request) -> dict[str, dict[str, t.Any]]:
    """What differs between releases, by kind and name."""
    return {
        "annotations": _annotations(request),
        "env": {entry["name"]: entry["value"] for entry in _env(request) if "value" in entry},
        "exports": _exports(request),
        "ports": {port["name"]: port["containerPort"] for port in _ports(request)},
        "node_selector": _node_selector(request),
    }


def _node_selector(request: Request) -> dict[str, str]:
    product = request.product
    return node_selector(request.release, product, request.arch) if product else {}


def job_plan(request: Request) -> dict[str, t.Any]:
    """The job's part of the plan; see the module documentation of recovery_plan."""
    product = request.product
    known = suite_flags(request)
    args = [flag for flag in wanted_flags(request) if flag in known]
    return {
        "api_version": "mindxdl.gitee.com/v1",
        "kind": "AscendJob",
        "replica_types": list(REPLICA_TYPES[request.framework]),
        "container": "ascend",
        "labels": _labels(request),
        "annotations": _annotations(request),
        "template_labels": {"ring-controller.atlas": product.ring_controller} if product else {},
        "env": _env(request),
        "exports": _exports(request),
        "args": args,
        "ports": _ports(request),
        "node_selector": _node_selector(request),
        "resource": product.resource if product else "huawei.com/Ascend910",
        "npus_per_node": product.npus if product else None,
        "operator_env": operator_env(request),
        "operator_env_note": operator_env_note(request),
        "adjustable": {
            "labels": ["fault-retry-times"],
            "annotations": [],
            "env": ["TTP_PORT"] + (["MINDIO_WAIT_MINDX_TIME"] if _waits_for_elastic(request) else []),
            "ports": [port["name"] for port in _ports(request)],
        },
        "surplus": _surplus(request, args),
        "former": former(request, _owned),
    }


def has_operator_retry(request: Request) -> bool:
    """HCCL retries operators on A3 only. Without a product the vendor's page is followed, which sets it."""
    return request.product is None or request.product.repairs_network


def _torchrun_args(request: Request) -> dict[str, str]:
    if request.framework != "pytorch":
        return {}
    args = {"--max_restarts": request.release.max_restarts}
    if request.release.monitor_interval is not None:
        args["--monitor_interval"] = request.release.monitor_interval
    return args


def _script_exports(request: Request) -> dict[str, str]:
    exports: dict[str, str] = {}
    if request.suite == "mindformers":
        exports["MS_ENABLE_TFT"] = tft_value(request)
    if request.suite != "none" and has_operator_retry(request):
        exports["HCCL_OP_RETRY_ENABLE"] = OP_RETRY
    if request.suite == "mindspeed-llm":
        exports["HCCL_ASYNC_ERROR_HANDLING"] = "0"
    if request.suite == "mindformers":
        # MindIO's controller listens at the scheduler; neither has a default, and the operator sets neither.
        exports["MS_TFT_IP"] = "$MS_SCHED_HOST"
        exports["MS_TFT_PORT"] = str(TTP_PORT)
    if starts_taskd(request):
        # TaskD takes anything but `off` for on; the vendor's pages write it out.
        exports["TASKD_PROCESS_ENABLE"] = "on"
    return exports


def starts_taskd(request: Request) -> bool:
    """Whether the start script has to start TaskD's manager: TaskD has taken over from Elastic Agent in 7.3.0."""
    return request.release.taskd_port is not None


def _ttp_port(request: Request) -> str | None:
    """Port of MindIO's controller, where MindSpeed-LLM starts one: it reads TTP_ADDR and TTP_PORT."""
    return str(TTP_PORT) if wanted_flags(request) else None


def script_plan(request: Request) -> dict[str, t.Any]:
    """The start script's part of the plan; see the module documentation of recovery_plan."""
    return {
        "torchrun_args": _torchrun_args(request),
        "exports": _script_exports(request),
        "unset": [NO_CACHING] if request.framework == "pytorch" else [],
        "ttp_port": _ttp_port(request),
        "taskd_manager": starts_taskd(request),
    }
