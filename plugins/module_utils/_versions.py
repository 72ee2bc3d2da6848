# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""Version strings of torch and its like, as they really come, compared as numbers."""

from __future__ import annotations

import re

# 2.6.0, 2.6.0+cpu, 2.1.0.post17, 2.7.1a0+git1a2b3c4, 2.10, 2.6.0+debian
_VERSION = re.compile(
    r"(?P<release>\d{1,9}(?:\.\d{1,9}){1,3})"
    r"(?:(?:a|b|rc)\d{1,9})?(?:\.?post\d{1,9})?(?:\.dev\d{1,12})?(?:\+[A-Za-z0-9]+(?:[._-][A-Za-z0-9]+)*)?",
    re.ASCII,
)


def release_tuple(text: str) -> tuple[int, ...] | None:
    """The numeric part of a version, at least three numbers long, or None where the text is no version.

    The local part (C(+cpu)) and the pre-release part are left aside: the wheels of one torch release carry
    different ones on different machines.
    """
    match = _VERSION.fullmatch(text)
    if match is None:
        return None
    numbers = [int(part) for part in match.group("release").split(".")]
    while len(numbers) < 3:
        numbers.append(0)
    return tuple(numbers)


def public_part(text: str) -> str:
    """The version without its local part: C(2.6.0) for C(2.6.0+cpu)."""
    return text.split("+", 1)[0]
