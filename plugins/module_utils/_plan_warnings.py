# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""What works, but deserves a word: the warnings of a plan."""

from __future__ import annotations

from ansible_collections.mindcluster.recovery.plugins.module_utils._compatibility_warnings import not_used, unlisted
from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Finding
from ansible_collections.mindcluster.recovery.plugins.module_utils._plan_job import suite_flags, wanted_flags
from ansible_collections.mindcluster.recovery.plugins.module_utils._releases import is_before
from ansible_collections.mindcluster.recovery.plugins.module_utils._request import Request
from ansible_collections.mindcluster.recovery.plugins.module_utils._suites import MINDSPEED_LLM
from ansible_collections.mindcluster.recovery.plugins.module_utils._versions import release_tuple


def _strategy_warnings(request: Request) -> list[Finding]:
    if request.strategies == ("exit",):
        return [
            Finding(
                "only-exit",
                "The only strategy is `exit`",
                "clusterd would end the training at a fault instead of recovering it",
                "Add `retry`, or another strategy that keeps the training going",
                "strategies",
            )
        ]
    reboots = {"recover", "recover-in-place"} & set(request.strategies)
    if "exit" in request.strategies and request.release.operator_injects and not reboots:
        return [
            Finding(
                "exit-injects-recover",
                "`exit` is named without `recover`",
                "The operator switches the recovery of restarted processes on in the framework for it, although "
                "clusterd never asks for that; and clusterd adds `exit` to every set by itself",
                "Take `exit` out; the training ends all the same where nothing else helps",
                "strategies",
            )
        ]
    return []


def _suite_warnings(request: Request) -> list[Finding]:
    if request.suite_version is None:
        return []
    if request.suite != "mindspeed-llm":
        return [] if request.suite == "mindformers" else [not_used("suite_version", "suite here", request.framework)]
    findings = []
    known = list(MINDSPEED_LLM)
    if release_tuple(request.suite_version) not in [release_tuple(name) for name in known]:
        findings.append(
            Finding(
                "suite-version-unlisted",
                "MindSpeed-LLM %s is not in the table" % request.suite_version,
                "Flags of the nearest older row are used",
                "Check that its argument parser knows the flags. Listed: %s" % ", ".join(known),
                "suite_version",
            )
        )
    missing = [flag for flag in wanted_flags(request) if flag not in suite_flags(request)]
    if missing:
        findings.append(
            Finding(
                "suite-flag-missing",
                "MindSpeed-LLM %s does not know %s" % (request.suite_version, ", ".join(missing)),
                "With the flag the training ends at its start, so it is left out and these do nothing: %s"
                % ", ".join(name for name in request.strategies if name not in ("retry", "dump", "exit")),
                "Use MindSpeed-LLM 2.2.0 or newer",
                "suite_version",
            )
        )
    return findings


def _product_warnings(request: Request) -> list[Finding]:
    product = request.product
    if product is None:
        return [
            Finding(
                "product-not-given",
                "No product is given",
                "Jobs get no node selector, and HCCL_OP_RETRY_ENABLE is set as on the vendor's page although only A3 "
                "hardware has operator retry",
                "Name the product, for instance atlas-800t-a2",
                "product",
            )
        ]
    findings = []
    if request.arch is None and len(product.archs) > 1 and request.release.product_labels:
        findings.append(
            Finding(
                "arch-assumed",
                "%s is sold with %s hosts and no arch is given" % (product.name, " and ".join(product.archs)),
                "%s is assumed for host-arch; on other hosts the Pods would stay Pending" % product.archs[0],
                "Say arch: %s" % " or ".join(product.archs),
                "arch",
            )
        )
    if "retry" in request.strategies and not product.repairs_memory:
        findings.append(
            Finding(
                "product-no-retry",
                "The vendor does not name %s for process-level online recovery" % product.name,
                "On-chip memory faults are repaired in place on Atlas 800T A2, Atlas 900 A2 PoD and A3 training "
                "servers only",
                "Add `recover` or `dump`, which do not need it",
                "product",
            )
        )
    return findings


def _scheduling_warnings(request: Request) -> list[Finding]:
    if request.fault_scheduling != "force" or is_before(request.release.name, "7.2.RC1"):
        return []
    return [
        Finding(
            "fault-scheduling-force",
            "fault-scheduling is `force`",
            "From 7.2.RC1 on the vendor's pages want `grace` for process-level recovery; `force` together with "
            "hostNetwork can reschedule again and again",
            "Leave fault_scheduling out, or make sure that the Pods do not use hostNetwork",
            "fault_scheduling",
        )
    ]


def plan_warnings(request: Request) -> list[Finding]:
    """Everything that works but may not do what the user hopes for."""
    return (
        _strategy_warnings(request)
        + unlisted(request.release, request.framework, request.given)
        + _suite_warnings(request)
        + _product_warnings(request)
        + _scheduling_warnings(request)
    )
