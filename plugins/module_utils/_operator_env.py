# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""What the operator puts into the container C(ascend) by itself, and what a user's own value would do there.

Source: ascend-operator C(pkg/controllers/v1/env.go), C(doAddProcessRecoverEnv), compared between the tags v7.1.RC1
(nothing), v7.2.RC1, v7.3.0 (the same) and v26.0.0 (no quotes around C(MS_ENABLE_TFT)).
"""

from __future__ import annotations

from ansible_collections.mindcluster.recovery.plugins.module_utils._request import Request
from ansible_collections.mindcluster.recovery.plugins.module_utils._strategies import STRATEGIES, Strategy

# The operator appends its entries behind the user's, and Kubernetes takes the last of one name.
_OVERRULED = "the operator appends its own entry behind a user's, so another value in `env` has no effect"
_NOTES: dict[str, str] = {
    "ELASTIC_PROCESS_RECOVER_ENABLE": "an `export` in `args` runs later and wins",
    "HCCL_ASYNC_ERROR_HANDLING": "an `export` in `args` or in the start script runs later and wins; with 1 or 2 the "
    "watchdog ends the process before it can be repaired",
    "HIGH_AVAILABILITY": "an `export` in `args` or in the start script runs later and wins, and takes strategies away "
    "from MindSpeed-LLM 2.2.0 and newer",
    "MS_ENABLE_TFT": "an `export` in `args` or in the start script runs later and wins: it has to be the full set",
    "MS_ENABLE_THM": "an `export` in `args` or in the start script runs later and wins; with HCCL_WATCHDOG:1 the "
    "watchdog ends the process before it can be repaired",
}


def _rows(request: Request) -> list[Strategy]:
    return [row for row in STRATEGIES if row.name in request.strategies]


def _tft(request: Request) -> str:
    tokens = {token for row in _rows(request) for token in row.tft}
    if request.pod_rescheduling:
        tokens.add("RSC:1")
    value = "{%s}" % ",".join(sorted(tokens))
    return "'%s'" % value if request.release.tft_quoted else value


def operator_env(request: Request) -> dict[str, str]:
    """Name and value of each variable that the operator of the release injects for the strategies asked for."""
    if not request.release.operator_injects:
        return {}
    rows = _rows(request)
    env = {"PROCESS_RECOVER": "on"}
    if any(row.elastic_agent for row in rows):
        env["ELASTIC_PROCESS_RECOVER_ENABLE"] = "1"
    if "recover-in-place" in request.strategies:
        env["ENABLE_RESTART_FAULT_PROCESS"] = "on"
    if request.framework == "mindspore":
        env["MINDIO_FOR_MINDSPORE"] = "1"
        env["MS_ENABLE_THM"] = "{HCCL_WATCHDOG:0}"
        env["MS_ENABLE_TFT"] = _tft(request)
    else:
        env["HCCL_ASYNC_ERROR_HANDLING"] = "0"
        env["HIGH_AVAILABILITY"] = ",".join(sorted({row.high_availability for row in rows}))
    return env


def operator_env_note(request: Request) -> dict[str, str]:
    """What a different value of the user's does, for each variable that the operator injects."""
    notes = {}
    for name in operator_env(request):
        notes[name] = "; ".join(part for part in (_OVERRULED, _NOTES.get(name)) if part)
    return notes
