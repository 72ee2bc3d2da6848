# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""Version strings as they really come, compared as numbers: of torch and its like, and in the vendor's numbering."""

from __future__ import annotations

import re

# 2.6.0, 2.6.0+cpu, 2.1.0.post17, 2.7.1a0+git1a2b3c4, 2.10, 2.6.0+debian
_VERSION = re.compile(
    r"(?P<release>\d{1,9}(?:\.\d{1,9}){1,3})"
    r"(?:(?:a|b|rc)\d{1,9})?(?:\.?post\d{1,9})?(?:\.dev\d{1,12})?(?:\+[A-Za-z0-9]+(?:[._-][A-Za-z0-9]+)*)?",
    re.ASCII,
)
# 8.3.RC1, 8.2.RC1.alpha003, 8.0.RC2.2, 8.5.0, 26.1.0, 7.2.RC1.SPC1, 8.5: CANN, MindCluster and torch_npu's releases
_VENDOR = re.compile(
    r"(?P<major>\d{1,4})\.(?P<minor>\d{1,4})(?:\.(?P<rc>RC)?(?P<number>\d{1,4}))?"
    r"(?:\.(?P<kind>alpha|beta|SPC|B)?(?P<step>\d{1,9}))?",
    re.ASCII | re.IGNORECASE,
)
_STEPS = {"alpha": 0, "beta": 1, None: 3, "spc": 3, "b": 3}


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


def post_number(text: str) -> int:
    """The number behind C(post), 0 where there is none: 17 for C(2.1.0.post17)."""
    match = re.search(r"\.?post(\d+)", public_part(text))
    return int(match.group(1)) if match else 0


def vendor_key(text: str) -> tuple[int, ...] | None:
    """A version in the vendor's numbering as a key that sorts, or None where it is none.

    A release candidate (C(8.3.RC1)) comes before the release (C(8.3.0)), an alpha before what it is an alpha of.
    The first four numbers name the version without such a suffix.
    """
    match = _VENDOR.fullmatch(public_part(text))
    if match is None:
        return None
    kind = match.group("kind")
    step = (2, 0) if match.group("step") is None else (_STEPS[kind.lower() if kind else None], int(match.group("step")))
    return (
        int(match.group("major")), int(match.group("minor")), 0 if match.group("rc") else 1,
        int(match.group("number") or 0),
    ) + step  # fmt: skip


def is_extension_release(text: str) -> bool:
    """Whether a version of torch_npu is the number of its release (C(7.2.0)), not one that follows torch."""
    key = vendor_key(text)
    return key is not None and key[0] >= 5
