# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""Versions of which the vendor's tables say nothing: they may work, but nobody has said so."""

from __future__ import annotations

from ansible_collections.mindcluster.recovery.plugins.module_utils._compatibility import (
    CANN_TORCH_NPU,
    MINDIO_PYTHON,
    MINDSPEED_LLM_PAIRS,
    SuitePair,
)
from ansible_collections.mindcluster.recovery.plugins.module_utils._compatibility_rules import (
    Versions,
    base,
    follows_torch,
    listed_cann,
    python_of_mindio,
    torch_python,
)
from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Finding
from ansible_collections.mindcluster.recovery.plugins.module_utils._releases import Release
from ansible_collections.mindcluster.recovery.plugins.module_utils._versions import (
    post_number,
    public_part,
    release_tuple,
)

_UNTRIED = "Nobody has said that recovery works with it"


def not_used(key: str, what: str, framework: str) -> Finding:
    """An option is given that does nothing with this framework."""
    return Finding(
        "not-used",
        "%s is given, but %s has no %s" % (key, framework, what),
        "The option does nothing here",
        "Take it out",
        key,
    )


def _torch(release: Release, given: Versions) -> list[Finding]:
    if given.torch is None:
        return []
    plain = public_part(given.torch).split(".post")[0]
    if plain not in release.torch_listed:
        return [
            Finding(
                "torch-unlisted",
                "The vendor's tables do not list torch %s for MindCluster %s" % (given.torch, release.name),
                _UNTRIED,
                "Try it before you rely on it, or use one of %s" % ", ".join(release.torch_listed),
                "torch_version",
            )
        ]
    if "retry" in given.strategies and release.retry_torch and plain not in release.retry_torch:
        return [
            Finding(
                "torch-retry",
                "The page on online recovery of MindCluster %s does not name torch %s" % (release.name, given.torch),
                "It names %s; others are named for TaskD in general only" % ", ".join(release.retry_torch),
                "Try `retry` before you rely on it, or use torch %s" % ", ".join(release.retry_torch),
                "torch_version",
            )
        ]
    return []


def _torch_npu(given: Versions) -> list[Finding]:
    if given.torch_npu is None or not follows_torch(given.torch_npu):
        return []
    wanted = (release_tuple(given.torch_npu), post_number(given.torch_npu))
    for cann, extensions in CANN_TORCH_NPU.items():
        if wanted in [(release_tuple(name), post_number(name)) for name in extensions]:
            return _newer_cann(given, cann)
    return [
        Finding(
            "torch-npu-unlisted",
            "torch_npu's table does not list %s" % given.torch_npu,
            _UNTRIED,
            "Use a listed one: %s" % ", ".join(name for names in CANN_TORCH_NPU.values() for name in names),
            "torch_npu_version",
        )
    ]


def _newer_cann(given: Versions, cann: str) -> list[Finding]:
    if given.cann is None or base(given.cann) <= base(cann):
        return []
    fitting = CANN_TORCH_NPU.get(listed_cann(given.cann) or "", ())
    torch = release_tuple(given.torch_npu or "")
    better = [name for name in fitting if release_tuple(name) == torch]
    return [
        Finding(
            "cann-torch-npu",
            "torch_npu %s was made for CANN %s, not for %s" % (given.torch_npu, cann, given.cann),
            "The vendor's table pairs CANN %s with %s" % (given.cann, ", ".join(fitting) or "none that it lists"),
            "Use torch_npu %s" % better[0] if better else "Use CANN %s, or try the pair before you rely on it" % cann,
            "torch_npu_version",
        )
    ]


def _cann(release: Release, given: Versions) -> list[Finding]:
    if given.cann is None:
        return []
    if release.cann is not None:
        if base(given.cann)[:2] == release.cann:
            return []
        pair = "It is paired with CANN %d.%d" % release.cann
    elif listed_cann(given.cann) is not None:
        return []
    else:
        pair = "Listed for torch_npu: %s" % ", ".join(CANN_TORCH_NPU)
    return [
        Finding(
            "cann-unlisted",
            "The vendor's tables do not list CANN %s for MindCluster %s" % (given.cann, release.name),
            pair,
            "Try it before you rely on it",
            "cann_version",
        )
    ]


def _python(given: Versions) -> list[Finding]:
    if given.python is None or python_of_mindio(given):
        return []
    if given.framework == "pytorch" and given.torch is not None and torch_python(given.torch) is not None:
        return []
    numbers = release_tuple(given.python) or (0, 0)
    if MINDIO_PYTHON[0] <= numbers[:2] <= MINDIO_PYTHON[1]:
        return []
    return [
        Finding(
            "python-unlisted",
            "The vendor's tables do not list Python %s" % given.python,
            "MindIO's newest documentation names 3.7 to 3.11",
            "Use a base image with one of them, or try it before you rely on it",
            "python_version",
        )
    ]


def _pair(given: Versions) -> SuitePair | None:
    if given.suite != "mindspeed-llm" or given.suite_version is None:
        return None
    wanted = release_tuple(given.suite_version)
    return next((row for name, row in MINDSPEED_LLM_PAIRS.items() if release_tuple(name) == wanted), None)


def _suite_pairs(given: Versions) -> list[Finding]:
    pair = _pair(given)
    if pair is None:
        return []
    wrong = []
    if given.torch is not None and release_tuple(given.torch) not in [release_tuple(name) for name in pair.torch]:
        wrong.append(("torch", given.torch, ", ".join(pair.torch), "torch_version"))
    if given.cann is not None and base(given.cann) != base(pair.cann):
        wrong.append(("CANN", given.cann, pair.cann, "cann_version"))
    if given.torch_npu is not None and pair.torch_npu is not None and not follows_torch(given.torch_npu):
        if base(given.torch_npu) != base(pair.torch_npu):
            wrong.append(("torch_npu", given.torch_npu, pair.torch_npu, "torch_npu_version"))
    return [
        Finding(
            "suite-pair",
            "MindSpeed-LLM %s is not listed with %s %s" % (given.suite_version, what, version),
            "Its table of versions names %s %s" % (what, listed),
            "Use %s %s, or try the pair before you rely on it" % (what, listed),
            where,
        )
        for what, version, listed, where in wrong
    ]


def _suite_page(release: Release, given: Versions) -> list[Finding]:
    if given.suite != "mindspeed-llm" or given.suite_version is None or "retry" not in given.strategies:
        return []
    if release.retry_suite is None:
        return []
    lowest, highest = release.retry_suite
    numbers = release_tuple(given.suite_version) or (0,)
    if numbers >= (release_tuple(lowest) or ()) and (highest is None or numbers <= (release_tuple(highest) or ())):
        return []
    return [
        Finding(
            "suite-retry",
            "The page on online recovery of MindCluster %s does not name MindSpeed-LLM %s"
            % (release.name, given.suite_version),
            "It names %s%s" % (lowest, " and newer" if highest is None else ""),
            "Try `retry` before you rely on it, or use that version",
            "suite_version",
        )
    ]


def unlisted(release: Release, framework: str, given: Versions) -> list[Finding]:
    """Everything that the vendor's tables do not list."""
    findings = []
    if framework != "pytorch":
        if given.torch is not None:
            findings.append(not_used("torch_version", "torch", framework))
        if given.torch_npu is not None:
            findings.append(not_used("torch_npu_version", "torch_npu", framework))
        return findings + _cann(release, given) + _python(given)
    findings += _torch(release, given) + _torch_npu(given) + _cann(release, given) + _python(given)
    return findings + _suite_pairs(given) + _suite_page(release, given)
