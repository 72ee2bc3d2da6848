# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: recover_strategy
short_description: Is this a legal value of the annotation recover-strategy?
version_added: 0.1.0
author:
  - mindcluster.recovery contributors (@mindcluster)
description:
  - True where each word between the commas is one of the six strategies, letter by letter and without blanks, and none
    stands twice.
options:
  _input:
    description: The text of the annotation.
    type: string
    required: true
"""

EXAMPLES = r"""
- name: Refuse a mistyped strategy early
  ansible.builtin.assert:
    that: my_strategies is mindcluster.recovery.recover_strategy
"""

RETURN = r"""
_value:
  description: Whether the text is legal.
  type: boolean
"""

import typing as t

from ansible_collections.mindcluster.recovery.plugins.module_utils._strategy_rules import check_strategies


def recover_strategy(value: t.Any) -> bool:
    """Whether a text is a legal value of the annotation; anything but a text is not."""
    return isinstance(value, str) and not check_strategies(value, None, None)[1]


class TestModule:
    """Tests on recovery strategies."""

    def tests(self) -> dict[str, t.Callable[..., bool]]:
        return {"recover_strategy": recover_strategy}
