# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""Table of the recovery strategies, the values of the annotation C(recover-strategy).

The order is that of clusterd's C(recoverStrategyPriorityMap) (C(pkg/domain/common/utils.go)). Each row names where
the rest of it comes from.
"""

from __future__ import annotations

import typing as t


class Strategy(t.NamedTuple):
    """One recovery strategy.

    :ivar name: the word in the annotation; clusterd compares it letter by letter.
    :ivar since: first MindCluster release of the table that knows it.
    :ivar mindspeed_args: flags that MindSpeed-LLM wants for it.
    :ivar tft: tokens that MindSpore wants in C(MS_ENABLE_TFT) for it.
    :ivar frameworks: frameworks that have it.
    :ivar reschedules: it counts restarts, so the label C(fault-retry-times) is required.
    :ivar high_availability: word that the operator adds to C(HIGH_AVAILABILITY) for it.
    :ivar elastic_agent: the operator sets C(ELASTIC_PROCESS_RECOVER_ENABLE) for it.
    :ivar meaning: one line for people.
    :ivar source: where the row comes from.
    """

    name: str
    since: str
    mindspeed_args: tuple[str, ...]
    tft: tuple[str, ...]
    frameworks: tuple[str, ...]
    reschedules: bool
    high_availability: str
    elastic_agent: bool
    meaning: str
    source: str


_BOTH = ("pytorch", "mindspore")

# In clusterd's order of preference: what stands first is tried first, whatever the order in the annotation.
STRATEGIES: tuple[Strategy, ...] = (
    Strategy(
        name="retry",
        since="7.1.RC1",
        mindspeed_args=("--enable-high-availability", "--enable-hbmfault-repair"),
        tft=("UCE:1", "HCCE:1"),
        frameworks=_BOTH,
        reschedules=False,
        high_availability="retry",
        elastic_agent=True,
        meaning="process-level online recovery: the step is computed again in place",
        source='page "configuring process-level online recovery"; env.go doAddProcessRecoverEnv; MindSpeed-LLM',
    ),
    Strategy(
        name="recover-in-place",
        since="7.1.RC1",
        mindspeed_args=("--enable-high-availability", "--enable-worker-reboot"),
        tft=("ARF:1",),
        frameworks=_BOTH,
        reschedules=True,
        high_availability="recover",
        elastic_agent=True,
        meaning="process-level recovery in place: only the faulty process starts again, in the same Pod",
        source='page "configuring process-level recovery in place" (7.1.RC1); env.go; MindSpeed-LLM arguments',
    ),
    Strategy(
        name="recover",
        since="7.1.RC1",
        mindspeed_args=("--enable-high-availability", "--enable-worker-reboot"),
        tft=("ARF:1",),
        frameworks=_BOTH,
        reschedules=True,
        high_availability="recover",
        elastic_agent=True,
        meaning="process-level rescheduling: the faulty Pod is replaced, the other processes stay",
        source='page "configuring process-level rescheduling" (fault-retry-times required); env.go; MindSpeed-LLM',
    ),
    Strategy(
        name="elastic-training",
        since="7.2.RC1",
        mindspeed_args=("--enable-high-availability", "--enable-elastic-training", "--use-distributed-optimizer"),
        tft=(),
        frameworks=("pytorch",),
        reschedules=False,
        high_availability="elastic-training",
        elastic_agent=False,
        meaning="elastic training: goes on with fewer data-parallel ranks",
        source='page "configuring elastic training" (7.2.RC1); env.go (a warning only for MindSpore); MindSpeed-LLM',
    ),
    Strategy(
        name="dump",
        since="7.1.RC1",
        mindspeed_args=("--enable-high-availability",),
        tft=("TTP:1",),
        frameworks=_BOTH,
        reschedules=False,
        high_availability="dump",
        elastic_agent=True,
        meaning="dying checkpoint: saved before the job ends",
        source='page "configuring the dying checkpoint"; env.go; MindSpeed-LLM arguments',
    ),
    Strategy(
        name="exit",
        since="7.1.RC1",
        mindspeed_args=(),
        tft=("ARF:1",),
        frameworks=_BOTH,
        reschedules=False,
        high_availability="recover",
        elastic_agent=True,
        meaning="the training ends",
        source="clusterd GetRecoverBaseInfo appends it always; env.go injects the switches of recover for it",
    ),
)

STRATEGY_NAMES: tuple[str, ...] = tuple(strategy.name for strategy in STRATEGIES)
_BY_NAME = {strategy.name: strategy for strategy in STRATEGIES}


def strategy_named(name: str) -> Strategy | None:
    """The row of a strategy, or None where clusterd knows no such word."""
    return _BY_NAME.get(name)
