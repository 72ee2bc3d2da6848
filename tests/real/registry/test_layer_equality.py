# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An image that is built without an engine has the files of the one that an engine builds, and both run."""

from __future__ import annotations

import pathlib
import typing as t

import equality
import pytest


@pytest.mark.parametrize("case", equality.CASES, ids=lambda case: case.name)
def test_both_builders_make_the_same_file_system(
    case: equality.Case, need: t.Callable[[str], str], tmp_path: pathlib.Path
) -> None:
    for name in (
        "DOCKER_HOST",
        "SANDBOX_REGISTRY",
        "SANDBOX_WHEELS",
        "SANDBOX_BASE_BARE",
        case.tar or "SANDBOX_WHEELS",
    ):
        need(name)
    report = equality.compare(case, tmp_path)
    print("\n".join(equality.lines(report, case)))
    assert report.faults == []
    assert report.answers == (case.says, case.says)
