# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""Table of the training suites: which recovery flags each version of MindSpeed-LLM parses.

Source: the argument parsers in MindSpeed-LLM's branches. A flag that a version does not know ends the training
at its start with "unrecognized arguments", so the plan leaves it out and says so.
"""

from __future__ import annotations

SUITES: tuple[str, ...] = ("mindspeed-llm", "mindformers", "none")
DEFAULT_SUITE: dict[str, str] = {"pytorch": "mindspeed-llm", "mindspore": "mindformers"}
SUITE_FRAMEWORK: dict[str, str] = {"mindspeed-llm": "pytorch", "mindformers": "mindspore"}

_BASE = frozenset({"--enable-high-availability", "--enable-hbmfault-repair", "--use-distributed-optimizer"})
_FULL = _BASE | {"--enable-worker-reboot", "--enable-elastic-training"}

# Oldest first. A version newer than the last row has the last row's flags.
MINDSPEED_LLM_FLAGS: dict[str, frozenset[str]] = {
    "1.0.0": _BASE | {"--enable-worker-reboot"},
    "2.0.0": _BASE,
    "2.1.0": _BASE,
    "2.2.0": _FULL,
    "2.3.0": _FULL,
    "26.1.0": _FULL,
}

# Every flag that switches a recovery feature on: in a user's job a flag of a strategy not asked for is warned about.
RECOVERY_FLAGS: tuple[str, ...] = (
    "--enable-high-availability",
    "--enable-hbmfault-repair",
    "--enable-worker-reboot",
    "--enable-elastic-training",
)
