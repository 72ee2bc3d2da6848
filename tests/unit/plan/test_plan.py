# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The plan says what the vendor's page of 7.2.RC1 says, line by line."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Refused
from ansible_collections.mindcluster.recovery.plugins.module_utils._plan import build_plan
from ansible_collections.mindcluster.recovery.plugins.module_utils._products import PRODUCT_NAMES
from ansible_collections.mindcluster.recovery.plugins.module_utils._releases import RELEASE_NAMES

SIX = ("retry", "recover-in-place", "recover", "elastic-training", "dump", "exit")
SETS = [list(chosen) for size in range(1, 7) for chosen in itertools.combinations(SIX, size)]


def codes(refused: Refused) -> list[str]:
    return [finding.code for finding in refused.findings]


def refusal(**request: object) -> Refused:
    with pytest.raises(Refused) as caught:
        build_plan(request)
    return caught.value


def warning_codes(plan: dict) -> list[str]:
    return [warning["code"] for warning in plan["warnings"]]


class TestVendorPage:
    """The page that the collection implements: retry, PyTorch with MindSpeed-LLM, MindSpore with MindFormers."""

    def test_labels_and_annotation(self) -> None:
        job = build_plan({"strategies": "retry"})["job"]
        assert job["labels"] == {"framework": "pytorch", "process-recover-enable": "on", "fault-scheduling": "grace"}
        assert job["annotations"] == {"recover-strategy": "retry"}

    def test_environment_on_each_replica_type(self) -> None:
        job = build_plan({"strategies": "retry"})["job"]
        assert job["replica_types"] == ["Master", "Worker"]
        assert {"name": "PROCESS_RECOVER", "value": "on"} in job["env"]

    def test_environment_that_the_page_omits_but_taskd_needs(self) -> None:
        names = [entry["name"] for entry in build_plan({"strategies": "retry"})["job"]["env"]]
        assert names == ["PROCESS_RECOVER", "TTP_PORT", "POD_IP"]

    def test_exports_and_flags_of_the_start_command(self) -> None:
        job = build_plan({"strategies": "retry"})["job"]
        assert job["exports"] == {"ELASTIC_PROCESS_RECOVER_ENABLE": "1"}
        assert job["args"] == ["--enable-high-availability", "--enable-hbmfault-repair"]

    def test_image(self) -> None:
        assert build_plan({"strategies": "retry", "torch_version": "2.6.0"})["image"] == {
            "wheels": ["mindx_elastic", "mindio_ttp"],
            "imports": ["mindx_elastic.api", "mindio_ttp"],
            "run_py_import": "mindx_elastic.api",
            "rendezvous": "patch",
            "wheel_patterns": {
                "mindx_elastic": ["mindx_elastic-*-py3*-none-linux_*.whl"],
                "mindio_ttp": ["mindio_ttp-*-py3-none-linux_*.whl"],
            },
        }

    def test_image_of_mindspore(self) -> None:
        assert build_plan({"strategies": "retry", "framework": "mindspore"})["image"] == {
            "wheels": ["taskd", "mindio_ttp"],
            "imports": ["taskd", "mindio_ttp"],
            "run_py_import": None,
            "rendezvous": "none",
            "wheel_patterns": {
                "taskd": ["taskd-7.2rc1*-py3-none-linux_*.whl", "taskd-7.2.RC1*-py3-none-linux_*.whl"],
                "mindio_ttp": ["mindio_ttp-*-py3-none-linux_*.whl"],
            },
        }

    def test_start_script_of_mindspeed(self) -> None:
        assert build_plan({"strategies": "retry"})["script"] == {
            "torchrun_args": {"--max_restarts": "5", "--monitor_interval": "10"},
            "exports": {"HCCL_OP_RETRY_ENABLE": "L0:0, L1:1, L2:1", "HCCL_ASYNC_ERROR_HANDLING": "0"},
            "unset": ["PYTORCH_NO_NPU_MEMORY_CACHING"],
            "ttp_port": "8000",
            "taskd_manager": False,
        }

    def test_start_script_of_mindformers(self) -> None:
        script = build_plan({"strategies": "retry", "framework": "mindspore"})["script"]
        assert script["torchrun_args"] == {}
        assert script["exports"]["MS_ENABLE_TFT"] == "{UCE:1, HCCE:1}"
        assert script["exports"]["HCCL_OP_RETRY_ENABLE"] == "L0:0, L1:1, L2:1"


@pytest.mark.parametrize(
    ("torch", "answer"),
    [
        ("1.13.1", "native"), ("2.5.1+cu124", "native"), ("2.6.0", "patch"), ("2.6.0+cpu", "patch"),
        ("2.6.0+debian", "patch"), ("2.7.1a0+git1a2b3c4", "patch"), ("2.1.0.post17", "native"), ("2.10.0", "patch"),
        (None, "auto"),
    ],
)  # fmt: skip
def test_rendezvous_by_torch_version_compared_as_numbers(torch: str | None, answer: str) -> None:
    assert build_plan({"strategies": "retry", "torch_version": torch})["image"]["rendezvous"] == answer


def test_taskd_of_7_3_supplies_the_prefix_at_run_time() -> None:
    image = build_plan({"strategies": "retry", "release": "7.3.0", "torch_version": "2.7.1"})["image"]
    assert (image["rendezvous"], image["run_py_import"]) == ("runtime", "taskd.python.adaptor.patch")


def test_elastic_training_needs_the_taskd_wheel_on_7_2() -> None:
    image = build_plan({"strategies": "elastic-training"})["image"]
    assert image["wheels"] == ["mindx_elastic", "mindio_ttp", "taskd"]
    assert "taskd.python.adaptor.elastic_training" in image["imports"]


@pytest.mark.parametrize(("release", "value"), [("7.1.RC1", "force"), ("7.2.RC1", "grace"), ("26.1.0", "grace")])
def test_fault_scheduling_by_release(release: str, value: str) -> None:
    assert build_plan({"strategies": "retry", "release": release})["job"]["labels"]["fault-scheduling"] == value


def test_mindspore_tft_is_the_full_set_of_the_strategies() -> None:
    script = build_plan({"strategies": "retry,recover,dump", "framework": "mindspore"})["script"]
    assert script["exports"]["MS_ENABLE_TFT"] == "{UCE:1, HCCE:1, ARF:1, TTP:1}"


@pytest.mark.parametrize("strategy", ["recover", "recover-in-place"])
def test_rescheduling_strategies_need_fault_retry_times(strategy: str) -> None:
    job = build_plan({"strategies": strategy})["job"]
    assert int(job["labels"]["fault-retry-times"]) > 0
    assert "fault-retry-times" in job["adjustable"]["labels"]
    assert "fault-retry-times" not in build_plan({"strategies": "retry"})["job"]["labels"]


@pytest.mark.parametrize(
    ("product", "has_it"), [("atlas-800t-a2", False), ("atlas-900-a3-superpod", True), (None, True)]
)
def test_operator_retry_only_where_the_hardware_has_it(product: str | None, has_it: bool) -> None:
    exports = build_plan({"strategies": "retry", "product": product})["script"]["exports"]
    assert ("HCCL_OP_RETRY_ENABLE" in exports) is has_it


def test_only_what_starts_mindio_needs_its_address() -> None:
    assert build_plan({"strategies": "exit"})["script"]["ttp_port"] is None
    assert build_plan({"strategies": "dump", "release": "7.1.RC1"})["script"]["ttp_port"] == "8000"


@pytest.mark.parametrize("framework", ["pytorch", "mindspore"])
@pytest.mark.parametrize(("release", "starts"), [("7.1.RC1", False), ("7.2.RC1", False), ("7.3.0", True)])
def test_taskd_is_started_from_7_3_on(release: str, starts: bool, framework: str) -> None:
    script = build_plan({"strategies": "recover", "release": release, "framework": framework})["script"]
    assert script["taskd_manager"] is starts
    assert ("TASKD_PROCESS_ENABLE" in script["exports"]) is starts


def test_older_operator_injects_nothing_so_the_plan_does() -> None:
    request = {"strategies": "retry,recover-in-place", "framework": "mindspore", "release": "7.1.RC1"}
    by_hand = {entry["name"] for entry in build_plan(request)["job"]["env"]}
    assert {"MS_ENABLE_TFT", "MS_ENABLE_THM", "MINDIO_FOR_MINDSPORE", "ENABLE_RESTART_FAULT_PROCESS"} <= by_hand


def test_flag_unknown_to_the_suite_is_left_out_and_told() -> None:
    plan = build_plan({"strategies": "recover", "suite_version": "2.1.0"})
    assert plan["job"]["args"] == ["--enable-high-availability"]
    assert "suite-flag-missing" in warning_codes(plan)


def test_26_1_selects_nodes_by_policy_and_not_by_labels() -> None:
    plan = build_plan({"strategies": "retry", "release": "26.1.0", "product": "atlas-800t-a2"})
    assert plan["job"]["node_selector"] == {}
    assert plan["job"]["annotations"]["huawei.com/schedule_policy"] == "chip8-node8"
    assert plan["node_labels"]["worker"] == {
        "node-role.kubernetes.io/worker": "worker",
        "workerselector": "dls-worker-node",
    }


def test_worker_labels_of_an_a2_server() -> None:
    plan = build_plan({"strategies": "retry", "product": "atlas-800t-a2"})
    assert plan["node_labels"] == {
        "master": {"masterselector": "dls-master-node"},
        "worker": {
            "node-role.kubernetes.io/worker": "worker",
            "workerselector": "dls-worker-node",
            "host-arch": "huawei-arm",
            "accelerator": "huawei-Ascend910",
            "accelerator-type": "module-910b-8",
        },
    }


class TestRefusals:
    @pytest.mark.parametrize(
        ("value", "code", "remedy"),
        [
            ("Retry", "strategy-unknown", "`retry`"),
            ("recovr", "strategy-unknown", "`recover`"),
            ("retry, dump", "strategy-blank", "`dump`"),
            ("retry\t,dump", "strategy-blank", "`retry`"),
            ("retry\u00a0", "strategy-blank", "`retry`"),
            ("retry\uff0cdump", "strategy-unknown", "Legal values"),
            ("retry,", "strategy-blank", "comma"),
            ("retry,retry", "strategy-duplicate", "once"),
            ("", "strategies-empty", "retry"),
            ([], "strategies-empty", "retry"),
            (None, "strategies-empty", "retry"),
            ("hotswitch", "strategy-unknown", "Legal values"),
            (5, "strategies-type", "list"),
            ([1], "strategy-type", "quotes"),
            ({"retry": True}, "strategies-type", "list"),
        ],
    )
    def test_strategies(self, value: object, code: str, remedy: str) -> None:
        refused = refusal(strategies=value)
        assert code in codes(refused)
        assert remedy in str(refused)

    def test_every_mistake_is_told_at_once(self) -> None:
        refused = refusal(strategies="Retry, recovr", torch_version="two", framework="tensorflow", release="7.2")
        assert sorted(codes(refused)) == [
            "framework-unknown", "release-unknown", "strategy-unknown", "strategy-unknown", "torch-version-invalid",
        ]  # fmt: skip

    def test_strategy_newer_than_the_release(self) -> None:
        refused = refusal(strategies="retry,elastic-training", release="7.1.RC1")
        assert codes(refused) == ["strategy-newer"]
        assert "7.2.RC1" in str(refused)

    def test_elastic_training_with_mindspore(self) -> None:
        assert codes(refusal(strategies="elastic-training", framework="mindspore")) == ["strategy-framework"]

    @pytest.mark.parametrize("version", ["abc", "2", "2.x", "2.6.0 ", "v2.6.0", "2.6.0+", "\uff12.6.0", "2.6.0\n"])
    def test_torch_version_that_is_no_version(self, version: str) -> None:
        assert codes(refusal(strategies="retry", torch_version=version)) == ["torch-version-invalid"]

    def test_torch_version_that_yaml_made_a_number(self) -> None:
        refused = refusal(strategies="retry", torch_version=2.1)
        assert codes(refused) == ["torch-version-type"]
        assert "quotes" in str(refused)

    def test_mistyped_option_is_named(self) -> None:
        assert "`torch_version`" in str(refusal(strategies="retry", torch_verson="2.6.0"))

    def test_suite_of_the_other_framework(self) -> None:
        assert codes(refusal(strategies="retry", suite="mindformers")) == ["suite-framework"]

    def test_architecture_that_the_product_is_not_sold_with(self) -> None:
        assert codes(refusal(strategies="retry", product="atlas-800t-a2", arch="x86_64")) == ["arch-product"]

    def test_elastic_training_that_newer_taskd_cannot_do(self) -> None:
        refused = refusal(strategies="elastic-training", release="7.3.0", suite_version="2.2.0")
        assert codes(refused) == ["elastic-suite"]

    @pytest.mark.parametrize("request_", [None, "retry", 5, ["retry"]])
    def test_request_that_is_no_mapping(self, request_: object) -> None:
        with pytest.raises(Refused):
            build_plan(request_)


class TestWarnings:
    def test_only_exit(self) -> None:
        assert "only-exit" in warning_codes(build_plan({"strategies": "exit"}))

    def test_torch_with_mindspore_does_not_apply(self) -> None:
        plan = build_plan({"strategies": "retry", "framework": "mindspore", "torch_version": "2.6.0"})
        assert "not-used" in warning_codes(plan)

    def test_torch_that_nobody_lists(self) -> None:
        assert "torch-unlisted" in warning_codes(build_plan({"strategies": "retry", "torch_version": "2.9.1"}))
        assert "torch-unlisted" not in warning_codes(build_plan({"strategies": "retry", "torch_version": "2.6.0+cpu"}))

    def test_force_on_7_2(self) -> None:
        plan = build_plan({"strategies": "retry", "fault_scheduling": "force"})
        assert "fault-scheduling-force" in warning_codes(plan)
        assert plan["job"]["labels"]["fault-scheduling"] == "force"

    def test_every_warning_says_what_why_and_remedy(self) -> None:
        for warning in build_plan({"strategies": "exit", "torch_version": "2.9.1"})["warnings"]:
            assert all(warning[key] for key in ("code", "what", "why", "remedy"))


@pytest.mark.parametrize("release", RELEASE_NAMES)
@pytest.mark.parametrize("framework", ["pytorch", "mindspore"])
@pytest.mark.parametrize("suite", ["mindspeed-llm", "mindformers", "none"])
def test_all_63_sets_give_a_plan_or_a_refusal(release: str, framework: str, suite: str) -> None:
    planned = 0
    for chosen in SETS:
        try:
            plan = build_plan({"strategies": chosen, "release": release, "framework": framework, "suite": suite})
        except Refused as refused:
            assert refused.findings
            continue
        planned += 1
        names = [entry["name"] for entry in plan["job"]["env"]]
        assert len(names) == len(set(names))
        assert sorted(plan["strategies"]) == sorted(chosen)
        assert plan["job"]["annotations"]["recover-strategy"] == ",".join(plan["strategies"])
        if release in ("7.1.RC1", "7.2.RC1"):
            assert "taskd-port" not in [port["name"] for port in plan["job"]["ports"]]
    fits = suite == "none" or (suite == "mindspeed-llm") == (framework == "pytorch")
    elastic = framework == "pytorch" and release != "7.1.RC1"
    assert planned == (0 if not fits else 63 if elastic else 31)


@given(st.lists(st.sampled_from(SIX), min_size=1, max_size=6, unique=True), st.randoms())
def test_order_of_the_request_does_not_matter(chosen: list[str], random: object) -> None:
    shuffled = list(chosen)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert build_plan({"strategies": chosen}) == build_plan({"strategies": ",".join(shuffled)})


@given(st.lists(st.sampled_from(SIX), min_size=1, max_size=6, unique=True))
def test_plan_of_the_plans_strategies_is_the_plan(chosen: list[str]) -> None:
    plan = build_plan({"strategies": chosen})
    assert build_plan({"strategies": plan["strategies"]}) == plan


_KEYS = st.sampled_from(
    ["strategies", "release", "framework", "torch_version", "suite", "suite_version", "product", "arch",
     "fault_scheduling", "pod_rescheduling", "cann_version", "nonsense"]
)  # fmt: skip
_LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(SIX + PRODUCT_NAMES)
_VALUES = st.recursive(_LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8)


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(_KEYS, _VALUES))
def test_any_input_gives_a_plan_or_clear_errors(raw: dict) -> None:
    try:
        build_plan(raw)
    except Refused as refused:
        for finding in refused.findings:
            assert finding.what and finding.why and finding.remedy


@pytest.mark.parametrize("product", PRODUCT_NAMES)
@pytest.mark.parametrize("release", RELEASE_NAMES)
def test_the_jobs_selector_meets_the_nodes_labels(release: str, product: str) -> None:
    plan = build_plan({"strategies": "dump", "release": release, "product": product})
    assert plan["job"]["node_selector"].items() <= plan["node_labels"]["worker"].items()
