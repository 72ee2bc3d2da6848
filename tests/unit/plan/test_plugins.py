# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The filter and the test plugin give the same answers as the rules."""

from __future__ import annotations

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.mindcluster.recovery.plugins.filter.recovery_plan import recovery_plan
from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Finding, Refused, nearest
from ansible_collections.mindcluster.recovery.plugins.test.recover_strategy import recover_strategy


@pytest.mark.parametrize(
    ("value", "legal"),
    [
        ("retry", True), ("retry,recover,dump", True), ("retry, recover", False), ("Retry", False), ("", False),
        ("retry,retry", False), (None, False), (["retry"], False), (5, False),
    ],
)  # fmt: skip
def test_recover_strategy(value: object, legal: bool) -> None:
    assert recover_strategy(value) is legal


def test_filter_plans() -> None:
    assert recovery_plan({"strategies": "retry"})["job"]["args"][-1] == "--enable-hbmfault-repair"


def test_filter_lists_every_mistake_without_a_traceback() -> None:
    with pytest.raises(AnsibleFilterError) as caught:
        recovery_plan({"strategies": "Retry,recovr"})
    assert "`retry`" in str(caught.value) and "`recover`" in str(caught.value)


def test_a_refusal_says_where_what_why_and_remedy() -> None:
    finding = Finding("code", "It is wrong", "It matters", "Do that.", "there")
    assert str(Refused(finding)) == "there: It is wrong. It matters. Do that."


@pytest.mark.parametrize(
    ("word", "match"), [("RETRY", "retry"), ("recover_in_place", "recover-in-place"), ("xyz", None)]
)
def test_nearest(word: str, match: str | None) -> None:
    assert nearest(word, ["retry", "recover", "recover-in-place"]) == match
