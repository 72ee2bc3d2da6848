# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""Variables and ports of a container, and the values of recovery variables wherever they stand.

Sources: TaskD (its controller needs TTP_PORT and POD_IP), MindIO's environment variables, HCCL's environment
variables, MindSpore's C(MS_ENABLE_TFT), ascend-operator C(env.go) for what wins over a user's own value.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.mindcluster.recovery.plugins.module_utils._job_check_report import (
    ERROR,
    MISSING,
    WARNING,
    Path,
    Replica,
    Report,
    mapping,
    sequence,
    shown,
)
from ansible_collections.mindcluster.recovery.plugins.module_utils._products import product_named

TTP_VARIABLE = "TTP_PORT"
TTP_NAME = "ttp-port"
ELASTIC_WAIT = "MINDIO_WAIT_MINDX_TIME"
_TOKEN = re.compile(r"[A-Z]+:[01]")
_PAGE = "This release's operator sets it by itself; the vendor's page wants it all the same"
_WHY = {
    "PROCESS_RECOVER": "The recovery controller starts only where it is exactly on",
    TTP_VARIABLE: "Without it the recovery controller ends in a thread of its own; training goes on without recovery",
    "POD_IP": "Without it the recovery controller ends in a thread of its own; training goes on without recovery",
    ELASTIC_WAIT: "With the default of 30 s MindIO gives up before clusterd decides for elastic training",
}


# --- values, in the environment and in exports -----------------------------------------------------------------------


def check_value(report: Report, path: Path, name: str, value: str, exported: bool) -> None:
    """A value of one recovery variable, whether it stands under C(env) or is exported in C(args)."""
    rule = _RULES.get(name)
    if rule is not None:
        rule(report, path, name, value, exported)


def _found(name: str, value: str, exported: bool) -> str:
    return "%s=%s" % (name, value) if exported else value


def _level(report: Report, name: str, exported: bool) -> str:
    """A wrong value under C(env) does nothing where the operator appends its own; an export wins over it."""
    return WARNING if not exported and name in report.plan["job"]["operator_env"] else ERROR


def _watchdog(report: Report, path: Path, name: str, value: str, exported: bool) -> None:
    on = value != "0" if name == "HCCL_ASYNC_ERROR_HANDLING" else "HCCL_WATCHDOG:1" in value.replace(" ", "")
    if on and not value.startswith("$"):
        report.add(
            "watchdog-on", path, _found(name, value, exported),
            "0" if name == "HCCL_ASYNC_ERROR_HANDLING" else "{HCCL_WATCHDOG:0}",
            "The watchdog ends the process before it can be repaired", _level(report, name, exported),
        )  # fmt: skip


def _memory_caching(report: Report, path: Path, name: str, value: str, exported: bool) -> None:
    report.add(
        "memory-caching", path, _found(name, value, exported), "%s is not set" % name,
        "On-chip memory faults are repaired in torch_npu's caching allocator, which this switches off",
    )  # fmt: skip


def _operator_retry(report: Report, path: Path, name: str, value: str, exported: bool) -> None:
    product = product_named(report.plan["product"] or "")
    if product is not None and not product.repairs_network and ":1" in value:
        report.add(
            "operator-retry-product", path, _found(name, value, exported), "%s is not set" % name,
            "Only A3 hardware retries communication operators, %s does not" % product.name, WARNING,
        )  # fmt: skip


def tft_wanted(plan: t.Mapping[str, t.Any]) -> str:
    """The full set of MS_ENABLE_TFT for a plan, from wherever the plan has it."""
    injected = plan["job"]["operator_env"].get("MS_ENABLE_TFT")
    if injected is not None:
        return str(injected).strip("'")
    by_hand = [entry["value"] for entry in plan["job"]["env"] if entry["name"] == "MS_ENABLE_TFT"]
    return str(by_hand[0]) if by_hand else ""


def _tft(report: Report, path: Path, name: str, value: str, exported: bool) -> None:
    wanted = tft_wanted(report.plan)
    if not wanted or "$" in value:
        return
    tokens, needed = set(_TOKEN.findall(value)), set(_TOKEN.findall(wanted))
    level = _level(report, name, exported)
    if "TRE:1" in tokens and tokens & {"UCE:1", "ARF:1"}:
        report.add(
            "tft-tre", path, _found(name, value, exported), "TRE without UCE and ARF",
            "MindSpore does not combine TRE with UCE or ARF", level,
        )  # fmt: skip
    if needed - tokens:
        why = "An export runs after the environment and takes %s away" % ", ".join(sorted(needed - tokens))
        if not exported:
            why = "%s is missing" % ", ".join(sorted(needed - tokens))
            if level == WARNING:
                why += "; the operator appends its own entry, which wins"
        report.add("tft-incomplete", path, _found(name, value, exported), wanted, why, level)


def _overruled(report: Report, path: Path, name: str, value: str, exported: bool) -> None:
    injected = report.plan["job"]["operator_env"].get(name)
    if injected is None or value == injected or value.startswith("$"):
        return
    if exported:
        report.add(
            "export-overrules", path, _found(name, value, exported), injected,
            "An export runs after the operator's environment and wins over it",
        )  # fmt: skip
    else:
        report.add(
            "env-overruled", path, value, injected,
            "The operator appends its own entry, which wins: this one does nothing", WARNING,
        )  # fmt: skip


_Rule = t.Callable[[Report, Path, str, str, bool], None]
_RULES: dict[str, _Rule] = {
    "HCCL_ASYNC_ERROR_HANDLING": _watchdog,
    "MS_ENABLE_THM": _watchdog,
    "MS_ENABLE_TFT": _tft,
    "PYTORCH_NO_NPU_MEMORY_CACHING": _memory_caching,
    "HCCL_OP_RETRY_ENABLE": _operator_retry,
    "HIGH_AVAILABILITY": _overruled,
    "MINDIO_FOR_MINDSPORE": _overruled,
}


# --- the environment -------------------------------------------------------------------------------------------------


def read_env(report: Report, replica: Replica) -> dict[str, t.Any]:
    """Variables of a container, name to value (the mapping itself where it is C(valueFrom))."""
    env = replica.container.get("env")
    path = replica.container_path + ("env",)
    if env is not None and not isinstance(env, list):
        report.add("shape", path, shown(env), "a list", "The API server refuses it")
    found: dict[str, t.Any] = {}
    for index, entry in enumerate(sequence(env)):
        if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
            report.add("shape", path + (index,), shown(entry), "an entry with a name", "The API server refuses it")
            continue
        name = entry["name"]
        value = entry.get("valueFrom") if "valueFrom" in entry else entry.get("value", "")
        if "valueFrom" not in entry:
            _text(report, path + (index, "value"), name, value)
        if name in found and found[name] != value:
            report.add(
                "env-twice", path + (index,), "%s: %s" % (name, shown(value)), "one entry",
                "It stands twice with different values; the later one wins", WARNING,
            )  # fmt: skip
        found[name] = value
    return found


def _text(report: Report, path: Path, name: str, value: t.Any) -> None:
    if not isinstance(value, str):
        report.add(
            "env-type", path, "%s: %s" % (name, shown(value)), "text, in quotes",
            "YAML reads it as something else than text where it has no quotes, and the API server refuses the job",
        )  # fmt: skip
        return
    if name in report.plan["job"]["operator_env"] or name in _RULES or name in _WHY:
        if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
            report.add(
                "env-quotes", path, "%s: %s" % (name, value), value[1:-1],
                "The quotes are part of the value: nothing takes them off, as a shell would",
            )  # fmt: skip
        check_value(report, path, name, value, exported=False)


def check_env(report: Report, replica: Replica, env: t.Mapping[str, t.Any]) -> None:
    """The plan's variables in one container, and those that no strategy asks for."""
    job = report.plan["job"]
    path = replica.container_path + ("env",)
    for entry in job["env"]:
        name = entry["name"]
        if name not in env:
            wanted = entry.get("value", "the field status.podIP")
            injected = job["operator_env"].get(name) == wanted
            report.add(
                "env-missing", path, MISSING, "%s: %s" % (name, wanted),
                _PAGE if injected else _WHY.get(name, "The plan needs it"), WARNING if injected else ERROR,
            )  # fmt: skip
        elif not fits(entry, env[name]):
            report.add(
                "env-value", path, "%s: %s" % (name, shown(env[name])),
                str(entry.get("value", "the field status.podIP")), _WHY.get(name, "The plan needs this value"),
            )  # fmt: skip
    for name in job["surplus"]["env"]:
        if name in env:
            report.add(
                "env-surplus", path, "%s: %s" % (name, shown(env[name])), "%s is not set" % name,
                "It switches on a recovery whose strategy the plan does not have", WARNING,
            )  # fmt: skip


def fits(entry: t.Mapping[str, t.Any], value: t.Any) -> bool:
    """Whether a value is the plan's, or one that the user may choose. What is no text is told elsewhere."""
    name = entry["name"]
    if "valueFrom" in entry:
        return bool(
            mapping(mapping(value).get("fieldRef")).get("fieldPath") == entry["valueFrom"]["fieldRef"]["fieldPath"]
        )
    if isinstance(value, dict):
        return False
    if not isinstance(value, str) or name in ("MS_ENABLE_TFT", "MS_ENABLE_THM"):
        return True
    if name == TTP_VARIABLE:
        return _port(value)
    if name == ELASTIC_WAIT:
        return value.isdigit() and value.isascii() and 60 <= int(value) <= 3600
    return value.strip("'\"") == str(entry["value"])


def _port(value: t.Any) -> bool:
    text = str(value)
    return not isinstance(value, bool) and text.isdigit() and text.isascii() and 0 < int(text) < 65536


# --- ports -----------------------------------------------------------------------------------------------------------


def check_ports(report: Report, replica: Replica, env: t.Mapping[str, t.Any]) -> None:
    """Names and numbers of the container's ports."""
    ports = replica.container.get("ports")
    path = replica.container_path + ("ports",)
    if ports is not None and not isinstance(ports, list):
        report.add("shape", path, shown(ports), "a list", "The API server refuses it")
    items = [item for item in sequence(ports) if isinstance(item, dict)]
    for wanted in report.plan["job"]["ports"]:
        index = next((n for n, item in enumerate(items) if item.get("name") == wanted["name"]), None)
        if index is None:
            _no_port(report, path, wanted, items)
            continue
        number = items[index].get("containerPort")
        if isinstance(number, str) or not _port(number):
            report.add(
                "port-value", path + (index, "containerPort"), str(number), str(wanted["containerPort"]),
                "The API server takes a number from 1 to 65535, without quotes",
            )  # fmt: skip
        elif wanted["name"] == TTP_NAME and _port(env.get(TTP_VARIABLE, "")) and str(number) != str(env[TTP_VARIABLE]):
            report.add(
                "ttp-port-differs", path + (index, "containerPort"), str(number), str(env[TTP_VARIABLE]),
                "The port %s and the variable %s are one connection of MindIO's" % (TTP_NAME, TTP_VARIABLE),
            )  # fmt: skip


def _no_port(report: Report, path: Path, wanted: t.Mapping[str, t.Any], items: list[dict[str, t.Any]]) -> None:
    name, number = wanted["name"], wanted["containerPort"]
    for index, item in enumerate(items):
        if item.get("containerPort") == number:
            report.add(
                "port-name", path + (index, "name"), shown(item.get("name")) if item.get("name") else MISSING, name,
                "The operator and the vendor's components look for the port by this name, which must not be changed",
            )  # fmt: skip
            return
    report.add(
        "port-missing", path, MISSING, "%s: %d" % (name, number), "The vendor's jobs declare it", WARNING
    )  # fmt: skip


def check_same_port(report: Report, ports: t.Mapping[str, tuple[Path, t.Any]]) -> None:
    """C(TTP_PORT) is one number in all replica types.

    :param ports: replica type to the path and the value of its variable.
    """
    legal = {name: (path, value) for name, (path, value) in ports.items() if _port(value)}
    if len({str(value) for _path, value in legal.values()}) < 2:
        return
    first = next(iter(legal))
    for path, value in legal.values():
        if str(value) != str(legal[first][1]):
            report.add(
                "ttp-port-differs", path, "%s: %s" % (TTP_VARIABLE, value), str(legal[first][1]),
                "%s has another number; MindIO's processes would not find each other" % first,
            )  # fmt: skip
