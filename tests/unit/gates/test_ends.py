# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the plugins need is said with both ends, so that both can be tested."""

from __future__ import annotations

import pytest
from checks import ends
from checks.step import CHECKOUT


def test_the_oldest_that_is_allowed() -> None:
    assert ends.lowest(["# why", "-r other.txt", "docker>=7.1,<8", "ruamel.yaml>=0.18,<0.20"]) == [
        "docker==7.1",
        "ruamel.yaml==0.18",
    ]


@pytest.mark.parametrize("line", ["docker", "docker>=7.1", "docker==7.1", "docker<8"])
def test_a_range_without_an_end_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match="from which version to which"):
        ends.lowest([line])


@pytest.mark.parametrize("name", ["python", "controller", "unit"])
def test_every_range_of_the_requirements_has_both_ends(name: str) -> None:
    assert ends.lowest((CHECKOUT / "requirements" / f"{name}.txt").read_text(encoding="utf-8").splitlines())
