# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""Versions that cannot work together are refused, versions of which the vendor says nothing are warned about.

Excluded is what the vendor's tables leave no room for: a torch_npu of another torch, a CANN older than the one that a
torch_npu was built for, a Python without a torch_npu. A CANN newer than the listed one is warned about only, since the
tables do not say that it fails. Only what is given is judged.
"""

from __future__ import annotations

import typing as t

from ansible_collections.mindcluster.recovery.plugins.module_utils._compatibility import (
    CANN_TORCH_NPU,
    ELASTIC_OLDEST_CANN,
    ELASTIC_OLDEST_TORCH_NPU,
    MINDIO_PYTHON,
    MINDIO_PYTHON_SINCE,
    TORCH_PYTHON,
)
from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Finding
from ansible_collections.mindcluster.recovery.plugins.module_utils._releases import Release, is_before
from ansible_collections.mindcluster.recovery.plugins.module_utils._versions import (
    is_extension_release,
    post_number,
    release_tuple,
    vendor_key,
)


class Versions(t.NamedTuple):
    """What a request says about versions; None for what it does not give, or gives wrongly."""

    release: Release | None
    framework: str | None
    strategies: tuple[str, ...]
    torch: str | None = None
    torch_npu: str | None = None
    cann: str | None = None
    python: str | None = None
    suite: str | None = None
    suite_version: str | None = None


def base(text: str) -> tuple[int, ...]:
    """A version of the vendor's numbering without alpha, beta or patch number: the key that tables are read by."""
    return (vendor_key(text) or (0, 0, 0, 0))[:4]


def listed_cann(cann: str) -> str | None:
    """The CANN of torch_npu's table that a version belongs to, or None."""
    return next((name for name in CANN_TORCH_NPU if base(name) == base(cann)), None)


def built_for(torch_npu: str) -> str | None:
    """The CANN that a torch_npu was built for: of the nearest listed one of the same torch that is not newer."""
    torch, post = release_tuple(torch_npu), post_number(torch_npu)
    found = None
    for cann, extensions in CANN_TORCH_NPU.items():
        for extension in extensions:
            if release_tuple(extension) == torch and post_number(extension) <= post:
                found = cann
    return found


def oldest_cann(torch: str) -> str | None:
    """The oldest listed CANN for which there is a torch_npu of this torch, or None where there is none at all."""
    wanted = release_tuple(torch)
    for cann, extensions in CANN_TORCH_NPU.items():
        if wanted in [release_tuple(extension) for extension in extensions]:
            return cann
    return None


def _minor(text: str) -> tuple[int, int]:
    numbers = release_tuple(text) or (0, 0)
    return numbers[0], numbers[1]


def _dotted(pair: tuple[int, int]) -> str:
    return "%d.%d" % pair


def follows_torch(torch_npu: str | None) -> bool:
    """Whether a torch_npu version is one that follows torch's numbers, not the number of its release."""
    return torch_npu is not None and not is_extension_release(torch_npu)


def _extension_of_another_torch(given: Versions) -> list[Finding]:
    if given.torch is None or given.torch_npu is None or not follows_torch(given.torch_npu):
        return []
    if release_tuple(given.torch) == release_tuple(given.torch_npu):
        return []
    return [
        Finding(
            "torch-npu-torch",
            "torch_npu %s is not made for torch %s" % (given.torch_npu, given.torch),
            "torch_npu is built against one torch, whose number it carries; with another one its import fails",
            "Install the torch_npu whose number begins with that of torch",
            "torch_npu_version",
        )
    ]


def _cann_too_old(given: Versions) -> list[Finding]:
    if given.cann is None:
        return []
    if given.torch_npu is not None and follows_torch(given.torch_npu):
        needed, what = built_for(given.torch_npu), "torch_npu %s" % given.torch_npu
    elif given.torch is not None:
        needed, what = oldest_cann(given.torch), "torch %s" % given.torch
    else:
        return []
    if needed is None or base(given.cann) >= base(needed):
        return []
    return [
        Finding(
            "cann-too-old",
            "CANN %s is too old for %s" % (given.cann, what),
            "torch_npu's table has it from CANN %s on" % needed,
            "Install CANN %s or newer, or an older torch with its torch_npu" % needed,
            "cann_version",
        )
    ]


def torch_python(torch: str) -> tuple[tuple[int, int], tuple[int, int]] | None:
    """Oldest and newest Python for a torch, or None where the vendor says nothing."""
    for row in TORCH_PYTHON:
        if row.torch_from <= _minor(torch) <= row.torch_to:
            return row.oldest, row.newest
    return None


def _python_without_extension(given: Versions) -> list[Finding]:
    legal = torch_python(given.torch) if given.torch and given.python else None
    if given.python is None or legal is None or legal[0] <= _minor(given.python) <= legal[1]:
        return []
    return [
        Finding(
            "python-torch",
            "There is no torch_npu for torch %s on Python %s" % (given.torch, given.python),
            "torch_npu's table has torch %s with Python %s to %s" % ((given.torch,) + tuple(map(_dotted, legal))),
            "Use a base image with Python %s to %s" % tuple(map(_dotted, legal)),
            "python_version",
        )
    ]


def python_of_mindio(given: Versions) -> list[Finding]:
    """MindIO names its Python versions from one release on: an error there."""
    if given.python is None or given.release is None or is_before(given.release.name, MINDIO_PYTHON_SINCE):
        return []
    if MINDIO_PYTHON[0] <= _minor(given.python) <= MINDIO_PYTHON[1]:
        return []
    return [
        Finding(
            "python-mindio",
            "MindIO of MindCluster %s does not run on Python %s" % (given.release.name, given.python),
            "Its documentation names Python %s to %s" % tuple(map(_dotted, MINDIO_PYTHON)),
            "Use a base image with one of them",
            "python_version",
        )
    ]


def _elastic_too_old(given: Versions) -> list[Finding]:
    """Elastic training needs CANN from 8.2.RC1 and torch_npu from 7.1.RC1 on."""
    if "elastic-training" not in given.strategies:
        return []
    findings = []
    if given.cann is not None and base(given.cann) < base(ELASTIC_OLDEST_CANN):
        findings.append(_elastic("elastic-cann", "CANN", given.cann, ELASTIC_OLDEST_CANN, "cann_version"))
    if given.torch_npu is not None and _older_than_elastic(given.torch_npu):
        findings.append(
            _elastic("elastic-torch-npu", "torch_npu", given.torch_npu, ELASTIC_OLDEST_TORCH_NPU, "torch_npu_version")
        )
    return findings


def _older_than_elastic(torch_npu: str) -> bool:
    if not follows_torch(torch_npu):
        return base(torch_npu) < base(ELASTIC_OLDEST_TORCH_NPU)
    cann = built_for(torch_npu)
    return cann is not None and base(cann) < base(ELASTIC_OLDEST_CANN)


def _elastic(code: str, what: str, given: str, oldest: str, where: str) -> Finding:
    return Finding(
        code,
        "elastic-training does not work with %s %s" % (what, given),
        "The vendor's page on elastic training asks for %s %s or newer" % (what, oldest),
        "Upgrade %s, or take `elastic-training` out" % what,
        where,
    )


def _elastic_suite(given: Versions) -> list[Finding]:
    """MindSpeed-LLM 2.2.0 imports a module that TaskD lost when it took over from Elastic Agent."""
    if given.release is None or given.release.elastic_agent or "elastic-training" not in given.strategies:
        return []
    if given.suite != "mindspeed-llm" or release_tuple(given.suite_version or "") != (2, 2, 0):
        return []
    return [
        Finding(
            "elastic-suite",
            "MindSpeed-LLM 2.2.0 cannot do elastic-training on MindCluster %s" % given.release.name,
            "It imports taskd.python.adaptor.elastic_training, which TaskD no longer has from 7.3.0 on",
            "Use MindSpeed-LLM 2.3.0 or newer",
            "suite_version",
        )
    ]


def excluded(given: Versions) -> list[Finding]:
    """Everything that the vendor's tables exclude."""
    findings = python_of_mindio(given)
    if given.framework != "pytorch":
        return findings
    for rule in (
        _extension_of_another_torch, _cann_too_old, _python_without_extension, _elastic_too_old, _elastic_suite,
    ):  # fmt: skip
        findings += rule(given)
    return findings
