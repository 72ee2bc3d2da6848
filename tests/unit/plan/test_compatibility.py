# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which versions are refused, which are warned about: one named test for each of the vendor's rules."""

from __future__ import annotations

import fnmatch

import pytest

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Refused
from ansible_collections.mindcluster.recovery.plugins.module_utils._plan import build_plan
from ansible_collections.mindcluster.recovery.plugins.module_utils._versions import (
    is_extension_release,
    post_number,
    release_tuple,
    vendor_key,
)


def refused(**request: str) -> list[str]:
    try:
        build_plan({"strategies": "retry", **request})
    except Refused as exc:
        assert all(f.what and f.why and f.remedy and f.where for f in exc.findings)
        return [finding.code for finding in exc.findings]
    return []


def warned(**request: str) -> list[str]:
    """Codes of the warnings about versions."""
    codes = [item["code"] for item in build_plan({"strategies": "retry", **request})["warnings"]]
    return [code for code in codes if code != "product-not-given"]


class TestVersionStrings:
    @pytest.mark.parametrize(
        ("text", "numbers"),
        [
            ("2.6.0+cpu", (2, 6, 0)), ("2.1.0.post17", (2, 1, 0)), ("2.7.1a0+git1a2b3c4", (2, 7, 1)),
            ("2.10.0", (2, 10, 0)), ("2.10", (2, 10, 0)), ("2.5.1.post1.dev20250722", (2, 5, 1)), ("2.x", None),
        ],
    )  # fmt: skip
    def test_torch(self, text: str, numbers: tuple[int, ...] | None) -> None:
        assert release_tuple(text) == numbers

    def test_post_releases_compare_as_numbers(self) -> None:
        assert post_number("2.1.0.post17") > post_number("2.1.0.post4+git1") > post_number("2.1.0")

    def test_cann_sorts(self) -> None:
        ordered = [
            "8.0.RC2.2",
            "8.0.0",
            "8.1.RC1",
            "8.2.RC1.alpha003",
            "8.2.RC1",
            "8.3.RC1",
            "8.5.0",
            "8.10.RC1",
            "9.0.0",
        ]
        assert sorted(ordered, key=lambda text: vendor_key(text) or ()) == ordered

    def test_lower_case_rc_is_the_same_cann(self) -> None:
        assert vendor_key("8.3.rc1") == vendor_key("8.3.RC1")

    @pytest.mark.parametrize(("text", "is_one"), [("7.2.0", True), ("7.1.RC1", True), ("2.6.0.post3", False)])
    def test_torch_npu_has_two_numberings(self, text: str, is_one: bool) -> None:
        assert is_extension_release(text) is is_one

    @pytest.mark.parametrize("text", ["CANN 8.3", "8.3.RC", "8", "8.3-RC1", "8.3.RC1 ", "latest"])
    def test_cann_that_is_no_version(self, text: str) -> None:
        assert refused(cann_version=text) == ["cann-version-invalid"]

    @pytest.mark.parametrize("text", ["abc", "2", "2.6.0 "])
    def test_torch_npu_that_is_no_version(self, text: str) -> None:
        assert refused(torch_npu_version=text) == ["torch-npu-version-invalid"]


class TestExcluded:
    """What the vendor's tables leave no room for is refused."""

    def test_torch_npu_of_another_torch(self) -> None:
        assert refused(torch_version="2.6.0", torch_npu_version="2.5.1") == ["torch-npu-torch"]
        assert refused(torch_version="2.6.0+cpu", torch_npu_version="2.6.0.post3") == []
        assert refused(torch_version="2.1.0", torch_npu_version="2.10.0") == ["torch-npu-torch"]

    def test_number_of_the_extensions_release_is_not_compared_with_torch(self) -> None:
        assert refused(torch_version="2.7.1", torch_npu_version="7.2.0") == []

    @pytest.mark.parametrize(
        ("torch_npu", "cann", "ok"),
        [
            ("2.1.0.post10", "8.0.0", True), ("2.4.0.post4", "8.0.0", False), ("2.4.0.post4", "8.1.RC1", True),
            ("2.6.0", "8.1.RC1", False), ("2.6.0", "8.2.RC1", True), ("2.6.0.post3", "8.2.RC1", False),
            ("2.1.0.post17", "8.3.RC1", True), ("2.1.0.post17", "8.2.RC1", False), ("2.7.1.post2", "8.5.0", True),
            ("2.10.0", "8.5.0", False), ("2.10.0", "9.0.0", True), ("2.8.0", "8.3.RC1.alpha001", True),
            ("2.6.0.post4", "8.2.RC1", False),
        ],
    )  # fmt: skip
    def test_cann_older_than_torch_npu_was_built_for(self, torch_npu: str, cann: str, ok: bool) -> None:
        assert refused(torch_npu_version=torch_npu, cann_version=cann) == ([] if ok else ["cann-too-old"])

    @pytest.mark.parametrize(
        ("torch", "cann", "ok"),
        [
            ("2.6.0", "8.1.RC1", False),
            ("2.6.0", "8.2.RC1", True),
            ("2.7.1", "8.2.RC1", False),
            ("2.10.0", "8.5.0", False),
        ],
    )
    def test_cann_older_than_any_torch_npu_of_this_torch(self, torch: str, cann: str, ok: bool) -> None:
        assert refused(torch_version=torch, cann_version=cann) == ([] if ok else ["cann-too-old"])

    @pytest.mark.parametrize(
        ("torch", "python", "ok"),
        [
            ("2.1.0", "3.8", True), ("2.4.0", "3.8", True), ("2.4.0", "3.7", False), ("2.5.1", "3.8", False),
            ("2.6.0", "3.9.18", True), ("2.6.0", "3.11.4", True), ("2.6.0", "3.12", False), ("2.6.0", "3.13", False),
            ("2.10.0", "3.10", True),
        ],
    )  # fmt: skip
    def test_python_without_a_torch_npu(self, torch: str, python: str, ok: bool) -> None:
        assert refused(torch_version=torch, python_version=python) == ([] if ok else ["python-torch"])

    def test_python_is_judged_only_where_it_is_given(self) -> None:
        assert refused(torch_version="2.6.0") == refused(torch_version="1.13.1") == []

    def test_python_that_mindio_of_26_1_does_not_name(self) -> None:
        assert refused(release="26.1.0", python_version="3.12") == ["python-mindio"]
        assert refused(release="26.1.0", framework="mindspore", python_version="3.12") == ["python-mindio"]
        assert refused(release="7.3.0", python_version="3.12") == []

    def test_elastic_training_needs_cann_from_8_2(self) -> None:
        assert refused(strategies="elastic-training", cann_version="8.1.RC1") == ["elastic-cann"]
        assert refused(strategies="elastic-training", cann_version="8.2.RC1") == []

    def test_elastic_training_needs_torch_npu_from_7_1(self) -> None:
        assert refused(strategies="elastic-training", torch_npu_version="7.0.0") == ["elastic-torch-npu"]
        assert refused(strategies="elastic-training", torch_npu_version="7.1.RC1") == []
        assert refused(strategies="elastic-training", torch_npu_version="2.1.0.post12") == ["elastic-torch-npu"]
        assert refused(strategies="elastic-training", torch_npu_version="2.1.0.post13") == []

    def test_elastic_training_with_mindspeed_llm_2_2_needs_7_2(self) -> None:
        assert refused(strategies="elastic-training", release="26.0.0", suite_version="2.2.0") == ["elastic-suite"]
        assert refused(strategies="elastic-training", release="7.2.RC1", suite_version="2.2.0") == []

    def test_all_mistakes_at_once_with_those_of_the_strategies(self) -> None:
        found = refused(strategies="Retry", torch_version="2.6.0", torch_npu_version="2.5.1", python_version="3.13")
        assert found == ["strategy-unknown", "torch-npu-torch", "python-torch"]

    def test_versions_of_torch_do_not_touch_mindspore(self) -> None:
        assert refused(framework="mindspore", torch_version="2.6.0", torch_npu_version="2.5.1") == []


class TestUnlisted:
    """What the vendor's tables say nothing about is warned about."""

    def test_torch_that_the_release_does_not_list(self) -> None:
        assert warned(torch_version="2.6.0+cpu") == []
        assert warned(torch_version="2.9.1") == ["torch-unlisted"]
        assert warned(release="7.1.RC1", torch_version="2.6.0") == ["torch-unlisted"]

    def test_torch_that_the_page_on_online_recovery_does_not_name(self) -> None:
        assert warned(release="7.3.0", torch_version="2.6.0") == ["torch-retry"]
        assert warned(release="7.3.0", torch_version="2.7.1") == []
        assert warned(release="7.3.0", torch_version="2.6.0", strategies="dump") == []

    def test_torch_npu_that_is_in_no_row(self) -> None:
        assert warned(torch_npu_version="2.2.0") == ["torch-npu-unlisted"]
        assert warned(torch_npu_version="2.6.0.post3") == []

    def test_cann_newer_than_torch_npu_was_built_for(self) -> None:
        plan = build_plan({"strategies": "retry", "torch_npu_version": "2.6.0", "cann_version": "8.3.RC1"})
        warning = next(item for item in plan["warnings"] if item["code"] == "cann-torch-npu")
        assert "2.6.0.post3" in warning["remedy"]

    @pytest.mark.parametrize(
        ("release", "cann"), [("7.1.RC1", "8.2.RC1"), ("7.2.RC1", "8.3.RC1"), ("7.3.0", "8.5.1"), ("26.1.0", "9.1.0")]
    )
    def test_cann_that_the_release_is_paired_with(self, release: str, cann: str) -> None:
        assert warned(release=release, cann_version=cann) == []
        assert warned(release=release, cann_version="9.9.9") == ["cann-unlisted"]

    def test_mindspeed_llm_with_what_it_is_not_listed_with(self) -> None:
        assert warned(suite_version="2.2.0", torch_version="2.7.1", cann_version="8.3.RC1") == []
        assert warned(suite_version="2.2.0", torch_version="2.6.0") == ["suite-pair"]
        assert warned(suite_version="2.2.0", torch_npu_version="7.3.0") == ["suite-pair"]
        assert warned(suite_version="2.1.0", torch_version="2.6.0") == []

    def test_mindspeed_llm_that_the_page_does_not_name(self) -> None:
        assert "suite-retry" in warned(release="7.3.0", suite_version="2.2.0")
        assert warned(release="7.3.0", suite_version="2.3.0") == []
        assert warned(release="7.1.RC1", suite_version="1.0.0") == []

    def test_python_that_nobody_names(self) -> None:
        assert warned(python_version="3.13") == ["python-unlisted"]
        assert warned(python_version="3.10") == []

    def test_options_that_do_nothing_for_mindspore(self) -> None:
        assert warned(framework="mindspore", torch_version="2.6.0", torch_npu_version="2.6.0") == [
            "not-used",
            "not-used",
        ]

    def test_exit_switches_recover_on_in_the_framework(self) -> None:
        assert "exit-injects-recover" in warned(strategies="dump,exit")
        assert "exit-injects-recover" not in warned(strategies="recover,exit")
        assert "exit-injects-recover" not in warned(strategies="dump,exit", release="7.1.RC1")


@pytest.mark.parametrize(
    ("request_", "name", "filename"),
    [
        ({}, "mindio_ttp", "mindio_ttp-1.0.0-py3-none-linux_aarch64.whl"),
        ({}, "mindx_elastic", "mindx_elastic-7.2rc1-py310-none-linux_x86_64.whl"),
        ({"framework": "mindspore"}, "taskd", "taskd-7.2rc1-py3-none-linux_aarch64.whl"),
        ({"framework": "mindspore"}, "taskd", "taskd-7.2rc1+spc1-py3-none-linux_aarch64.whl"),
        ({"framework": "mindspore"}, "taskd", "taskd-7.2.RC1-py3-none-linux_x86_64.whl"),
        ({"release": "7.3.0", "arch": "aarch64"}, "taskd", "taskd-7.3.0-py3-none-linux_aarch64.whl"),
        ({"release": "26.1.0"}, "taskd", "taskd-26.1.0-py3-none-linux_x86_64.whl"),
    ],
)
def test_wheel_names_as_the_vendor_writes_them(request_: dict[str, str], name: str, filename: str) -> None:
    patterns = build_plan({"strategies": "retry", **request_})["image"]["wheel_patterns"][name]
    assert any(fnmatch.fnmatchcase(filename, pattern) for pattern in patterns)


@pytest.mark.parametrize(
    ("request_", "filename"),
    [
        ({"release": "7.3.0"}, "taskd-0.0.0.1-py3-none-any.whl"),
        ({"release": "7.3.0"}, "taskd-7.2rc1-py3-none-linux_aarch64.whl"),
        ({"release": "7.3.0", "product": "atlas-800t-a2"}, "taskd-7.3.0-py3-none-linux_x86_64.whl"),
    ],
)
def test_wheels_of_strangers_other_releases_and_machines_do_not_fit(request_: dict[str, str], filename: str) -> None:
    patterns = build_plan({"strategies": "retry", **request_})["image"]["wheel_patterns"]["taskd"]
    assert not any(fnmatch.fnmatchcase(filename, pattern) for pattern in patterns)
