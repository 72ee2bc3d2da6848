# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the plan says will be tried at a fault, and the operator's own variables."""

from __future__ import annotations

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.mindcluster.recovery.plugins.filter.recovery_table import recovery_table
from ansible_collections.mindcluster.recovery.plugins.module_utils._plan import build_plan
from ansible_collections.mindcluster.recovery.plugins.module_utils._products import PRODUCTS
from ansible_collections.mindcluster.recovery.plugins.module_utils._releases import RELEASES
from ansible_collections.mindcluster.recovery.plugins.module_utils._strategies import STRATEGIES
from ansible_collections.mindcluster.recovery.plugins.module_utils._suites import MINDSPEED_LLM

FAULTS = ["chip-memory", "chip-network", "process", "pod", "node", "rank0-node"]


def order(fault: str, strategies: str, **request: object) -> list[str]:
    explained = build_plan({"strategies": strategies, **request})["explain"][fault]
    return [attempt["strategy"] for attempt in explained["attempts"]]


ALL = "retry,recover-in-place,recover,elastic-training,dump,exit"


def test_each_fault_class_is_explained() -> None:
    assert list(build_plan({"strategies": ALL})["explain"]) == FAULTS


def test_memory_fault_goes_through_all_of_them() -> None:
    assert order("chip-memory", ALL) == ["retry", "recover-in-place", "recover", "elastic-training", "dump"]


def test_memory_fault_without_retry_is_no_fault_of_a_process() -> None:
    assert order("chip-memory", "recover-in-place,recover,dump") == ["recover", "dump"]


def test_network_fault_is_retried_on_a3_only() -> None:
    assert order("chip-network", ALL, product="atlas-900-a3-superpod")[0] == "retry"
    assert "retry" not in order("chip-network", ALL, product="atlas-800t-a2")


def test_memory_fault_is_not_retried_on_hardware_that_cannot() -> None:
    assert "retry" not in order("chip-memory", ALL, product="atlas-800")


def test_process_fault_is_never_retried_but_repaired_in_place() -> None:
    assert order("process", ALL) == ["recover-in-place", "recover", "elastic-training", "dump"]


@pytest.mark.parametrize("fault", ["pod", "node"])
def test_lost_pod_cannot_be_repaired_in_place(fault: str) -> None:
    assert order(fault, ALL) == ["recover", "elastic-training", "dump"]


def test_rank_0_goes_straight_to_the_job() -> None:
    explained = build_plan({"strategies": ALL})["explain"]["rank0-node"]
    assert explained["attempts"] == []
    assert "starts the job again" in explained["end"]


def test_needs_name_flags_label_and_version() -> None:
    plan = build_plan({"strategies": "recover", "suite_version": "2.1.0"})
    needs = " ".join(plan["explain"]["node"]["attempts"][0]["needs"])
    assert "--enable-high-availability" in needs
    assert "2.2.0 or newer" in needs
    assert "fault-retry-times" in needs


def test_needs_of_mindspore_are_tokens() -> None:
    explained = build_plan({"strategies": "retry", "framework": "mindspore"})["explain"]
    assert any("UCE:1" in need for need in explained["chip-memory"]["attempts"][0]["needs"])
    assert any("HCCE:1" in need for need in explained["chip-network"]["attempts"][0]["needs"])


def test_elastic_training_waits_for_another_limit_without_recover() -> None:
    def needs(strategies: str) -> str:
        return " ".join(build_plan({"strategies": strategies})["explain"]["node"]["attempts"][-1]["needs"])

    assert "MINDIO_WAIT_MINDX_TIME" in needs("elastic-training")
    assert "wait-reschedule-timeout" in needs("recover,elastic-training")


def test_agent_that_does_not_report_retry_skips_the_rest() -> None:
    attempt = build_plan({"strategies": "retry,recover,dump"})["explain"]["chip-memory"]["attempts"][0]
    assert "straight" in attempt["otherwise"] and "`dump`" in attempt["otherwise"]


def test_end_says_grace_or_force_pods_and_times() -> None:
    explained = build_plan({"strategies": "recover", "pod_rescheduling": True, "fault_scheduling": "force"})["explain"]
    assert all(word in explained["node"]["end"] for word in ("force", "pod-rescheduling", "10 times"))


def test_note_for_each_variable_that_the_operator_injects() -> None:
    for framework in ("pytorch", "mindspore"):
        job = build_plan({"strategies": "retry,dump", "framework": framework})["job"]
        assert set(job["operator_env_note"]) == set(job["operator_env"])
        assert all("no effect" in note for note in job["operator_env_note"].values())
    assert "full set" in job["operator_env_note"]["MS_ENABLE_TFT"]


class TestTable:
    def test_one_row_for_each_fault(self) -> None:
        lines = recovery_table({"strategies": "retry,recover"}).splitlines()
        assert len(lines) == 2 + len(FAULTS)
        assert all(line.startswith("| ") or line.startswith("|-") for line in lines)
        assert len({line.count("|") for line in lines}) == 1

    def test_takes_a_plan_as_well_as_a_request(self) -> None:
        request = {"strategies": "retry,recover"}
        assert recovery_table(build_plan(request)) == recovery_table(request)

    def test_refuses_with_every_mistake(self) -> None:
        with pytest.raises(AnsibleFilterError) as caught:
            recovery_table({"strategies": "Retry,recovr"})
        assert "`retry`" in str(caught.value) and "`recover`" in str(caught.value)

    def test_refuses_a_plan_that_is_cut(self) -> None:
        plan = build_plan({"strategies": "retry"})
        del plan["explain"]
        with pytest.raises(AnsibleFilterError, match="not whole"):
            recovery_table(plan)


def test_each_row_of_the_tables_names_its_source() -> None:
    for row in (*RELEASES, *STRATEGIES, *PRODUCTS, *MINDSPEED_LLM.values()):
        assert row.source
