# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""Table of the training suites: which recovery flags each version of MindSpeed-LLM parses.

A flag that a version does not know ends the training at its start with "unrecognized arguments", so the plan leaves
it out and says so.
"""

from __future__ import annotations

import typing as t

from ansible_collections.mindcluster.recovery.plugins.module_utils._versions import release_tuple

SUITES: tuple[str, ...] = ("mindspeed-llm", "mindformers", "none")
DEFAULT_SUITE: dict[str, str] = {"pytorch": "mindspeed-llm", "mindspore": "mindformers"}
SUITE_FRAMEWORK: dict[str, str] = {"mindspeed-llm": "pytorch", "mindformers": "mindspore"}

_BASE = frozenset({"--enable-high-availability", "--enable-hbmfault-repair", "--use-distributed-optimizer"})
_REBOOT = _BASE | {"--enable-worker-reboot"}
_FULL = _REBOOT | {"--enable-elastic-training"}


class MindSpeedLlm(t.NamedTuple):
    """One version of MindSpeed-LLM.

    :ivar flags: recovery flags that its argument parser knows.
    :ivar forbidden: flags that it refuses together with C(--enable-high-availability).
    :ivar reads_environment: it sets its flags from the operator's C(HIGH_AVAILABILITY) by itself.
    :ivar source: where the row comes from.
    """

    flags: frozenset[str]
    forbidden: tuple[str, ...]
    reads_environment: bool
    source: str


_PARSER = "MindSpeed-LLM branch %s: mindspeed_llm/training/arguments.py and the high-availability feature's assertions"

_FORBIDDEN = ("--use-dist-ckpt", "--swap-optimizer", "--swap-attention")

# Oldest first. A version newer than the last row is taken to be as the last row.
MINDSPEED_LLM: dict[str, MindSpeedLlm] = {
    "1.0.0": MindSpeedLlm(_REBOOT, ("--use-dist-ckpt",), False, _PARSER % "1.0.0"),
    "2.0.0": MindSpeedLlm(_BASE, ("--use-dist-ckpt",), False, _PARSER % "2.0.0"),
    "2.1.0": MindSpeedLlm(_BASE, ("--use-dist-ckpt",), False, _PARSER % "2.1.0"),
    "2.2.0": MindSpeedLlm(_FULL, ("--use-dist-ckpt", "--swap-optimizer"), True, _PARSER % "2.2.0"),
    "2.3.0": MindSpeedLlm(_FULL, _FORBIDDEN, True, _PARSER % "2.3.0"),
    "26.1.0": MindSpeedLlm(_FULL, _FORBIDDEN, True, _PARSER % "master"),
}

# Every flag that switches a recovery feature on: in a user's job a flag of a strategy not asked for is warned about.
RECOVERY_FLAGS: tuple[str, ...] = (
    "--enable-high-availability",
    "--enable-hbmfault-repair",
    "--enable-worker-reboot",
    "--enable-elastic-training",
)

# What MindSpeed-LLM's elastic training refuses (assertions of its feature): flags, and options whose value must be 1.
ELASTIC_FORBIDDEN: tuple[str, ...] = ("--use-custom-fsdp", "--reuse-fp32-param")
ELASTIC_ONE: tuple[str, ...] = ("--expert-model-parallel-size", "--context-parallel-size")


def mindspeed_llm(version: str | None) -> MindSpeedLlm:
    """The row of a version: its own, else the next older one, and the newest where no version is given."""
    names = list(MINDSPEED_LLM)
    if version is None:
        return MINDSPEED_LLM[names[-1]]
    wanted = release_tuple(version) or (0,)
    fitting = [name for name in names if (release_tuple(name) or (0,)) <= wanted]
    return MINDSPEED_LLM[fitting[-1] if fitting else names[0]]
