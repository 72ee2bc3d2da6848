# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""Table of the versions that the vendor pairs with each other: torch, torch_npu, CANN, Python, MindSpeed-LLM.

What a release of MindCluster is paired with stands in the table of the releases.
"""

from __future__ import annotations

import typing as t

# CANN to the torch_npu versions that were built for it, oldest first. The torch of a torch_npu is its own number
# without C(.postN).
# Source: torch_npu's README, table "Ascend auxiliary software" (CANN version, supported PyTorch version, extension).
CANN_TORCH_NPU: dict[str, tuple[str, ...]] = {
    "8.0.0": ("2.1.0.post10", "2.3.1.post4", "2.4.0.post2"),
    "8.1.RC1": ("2.1.0.post12", "2.3.1.post6", "2.4.0.post4", "2.5.1"),
    "8.2.RC1": ("2.1.0.post13", "2.5.1.post1", "2.6.0"),
    "8.3.RC1": ("2.1.0.post17", "2.6.0.post3", "2.7.1", "2.8.0"),
    "8.5.0": ("2.6.0.post5", "2.7.1.post2", "2.8.0.post2", "2.9.0"),
    "9.0.0": ("2.7.1.post4", "2.8.0.post4", "2.9.0.post2", "2.10.0"),
}


class PythonRange(t.NamedTuple):
    """Python versions for a range of torch versions; both ends belong to it."""

    torch_from: tuple[int, int]
    torch_to: tuple[int, int]
    oldest: tuple[int, int]
    newest: tuple[int, int]


# Source: torch_npu's README, table "PyTorch and Python version". torch 2.10 is the newest that it speaks of.
TORCH_PYTHON: tuple[PythonRange, ...] = (
    PythonRange((2, 1), (2, 4), (3, 8), (3, 11)),
    PythonRange((2, 5), (2, 10), (3, 9), (3, 11)),
)

# Source: MindIO's documentation of 26.1.0, "supported software". Older pages name no Python.
MINDIO_PYTHON: tuple[tuple[int, int], tuple[int, int]] = ((3, 7), (3, 11))
MINDIO_PYTHON_SINCE = "26.1.0"


class SuitePair(t.NamedTuple):
    """What a version of MindSpeed-LLM is released with.

    :ivar torch: torch versions.
    :ivar torch_npu: release number of the torch extension, or None where the vendor names none.
    :ivar cann: CANN version.
    """

    torch: tuple[str, ...]
    torch_npu: str | None
    cann: str


# Source: MindSpeed-LLM's README of each branch, table of versions.
MINDSPEED_LLM_PAIRS: dict[str, SuitePair] = {
    "2.1.0": SuitePair(("2.1.0", "2.6.0"), "7.1.0", "8.2.RC1"),
    "2.2.0": SuitePair(("2.7.1",), "7.2.0", "8.3.RC1"),
    "2.3.0": SuitePair(("2.7.1",), "7.3.0", "8.5.0"),
    "26.1.0": SuitePair(("2.7.1",), None, "9.1.0"),
}

# Source: the page "configuring elastic training" (7.2.RC1), constraints: TorchNPU from 7.1.RC1, CANN from 8.2.RC1.
ELASTIC_OLDEST_CANN = "8.2.RC1"
ELASTIC_OLDEST_TORCH_NPU = "7.1.RC1"
