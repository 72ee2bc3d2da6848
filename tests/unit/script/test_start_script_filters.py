# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The filters, as templates use them."""

from __future__ import annotations

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.mindcluster.recovery.plugins.filter import start_script as plain
from ansible_collections.mindcluster.recovery.plugins.filter import start_script_report as report

TEXT = "export HCCL_ASYNC_ERROR_HANDLING=1\ntorchrun train.py\n"


def test_the_text_is_adapted_and_corrections_are_shown(pytorch_plan, monkeypatch):
    shown = []
    monkeypatch.setattr(plain.display, "warning", shown.append)
    (adapt,) = plain.FilterModule().filters().values()
    text = adapt(TEXT, pytorch_plan)
    assert "torchrun --max_restarts 5 --monitor_interval 10 train.py" in text
    assert len(shown) == 1
    assert "script line 1" in shown[0]
    assert adapt(text, pytorch_plan) == text


def test_the_report_has_text_and_corrections(pytorch_plan):
    (adapt,) = report.FilterModule().filters().values()
    first = adapt(TEXT, pytorch_plan, max_restarts=None)
    assert first["changed"] is True
    assert [item["code"] for item in first["corrections"]] == ["value-corrected"]
    second = adapt(first["text"], pytorch_plan)
    assert (second["changed"], second["corrections"], second["warnings"]) == (False, [], [])


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        ("echo\n", {}, "No command in it starts PyTorch training"),
        (None, {}, "not the text of a script"),
        (TEXT, {"strickt": True}, "Did you mean `strict`"),
        (TEXT, {"strict": True}, "HCCL_ASYNC_ERROR_HANDLING is 1"),
    ],
)
def test_refusals_name_the_filter(text, options, said, pytorch_plan):
    for module, name in ((plain, "start_script"), (report, "start_script_report")):
        with pytest.raises(AnsibleFilterError) as caught:
            module.FilterModule().filters()[name](text, pytorch_plan, **options)
        assert said in str(caught.value)
        assert str(caught.value).startswith(name + ": ")


def test_a_plan_that_is_none_is_refused():
    with pytest.raises(AnsibleFilterError, match="give what recovery_plan returns"):
        plain.start_script(TEXT, "retry")
