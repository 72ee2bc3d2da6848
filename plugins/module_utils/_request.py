# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""The request: every key checked, every mistake collected, nothing guessed in silence."""

from __future__ import annotations

import typing as t

from ansible_collections.mindcluster.recovery.plugins.module_utils._compatibility_rules import Versions, excluded
from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Finding, Refused, suggestion
from ansible_collections.mindcluster.recovery.plugins.module_utils._products import (
    PRODUCT_NAMES,
    Product,
    product_named,
)
from ansible_collections.mindcluster.recovery.plugins.module_utils._releases import (
    DEFAULT_RELEASE,
    RELEASE_NAMES,
    Release,
    release_named,
)
from ansible_collections.mindcluster.recovery.plugins.module_utils._strategy_rules import check_strategies
from ansible_collections.mindcluster.recovery.plugins.module_utils._suites import (
    DEFAULT_SUITE,
    SUITE_FRAMEWORK,
    SUITES,
)
from ansible_collections.mindcluster.recovery.plugins.module_utils._versions import (
    is_extension_release,
    release_tuple,
    vendor_key,
)

FRAMEWORKS = ("pytorch", "mindspore")
ARCHS = ("aarch64", "x86_64")
FAULT_SCHEDULING = ("grace", "force")
KEYS = (
    "strategies", "release", "framework", "torch_version", "torch_npu_version", "cann_version", "python_version",
    "suite", "suite_version", "product", "arch", "fault_scheduling", "pod_rescheduling",
)  # fmt: skip

_TRUE = ("true", "yes", "on", "1", "y", "t")
_FALSE = ("false", "no", "off", "0", "n", "f", "")


class Request(t.NamedTuple):
    """A checked request. Versions are texts as given; an absent optional value is None."""

    strategies: tuple[str, ...]
    release: Release
    framework: str
    torch_version: str | None
    torch_npu_version: str | None
    cann_version: str | None
    python_version: str | None
    suite: str
    suite_version: str | None
    product: Product | None
    arch: str | None
    fault_scheduling: str
    pod_rescheduling: bool
    given: Versions


class _Reader:
    """Reads single keys of a raw request and collects what is wrong with them."""

    def __init__(self, raw: t.Mapping[str, t.Any]) -> None:
        self._raw = raw
        self.findings: list[Finding] = []

    def refuse(self, code: str, where: str, what: str, why: str, remedy: str) -> None:
        self.findings.append(Finding(code, what, why, remedy, where))

    def text(self, key: str) -> str | None:
        """A text, or None where the key is absent or empty; a number is refused, because YAML reads 2.10 as 2.1."""
        value = self._raw.get(key)
        if value is None or value == "":
            return None
        if isinstance(value, str):
            return value
        self.refuse(
            key.replace("_", "-") + "-type",
            key,
            "%r is no text" % (value,),
            "YAML reads an unquoted 2.10 as the number 2.1, so another version would be planned for",
            "Put the value in quotes",
        )
        return None

    def choice(self, key: str, legal: t.Sequence[str], why: str) -> str | None:
        value = self.text(key)
        if value is None or value in legal:
            return value
        self.refuse(
            key.replace("_", "-") + "-unknown", key, "%r is not a known value" % value, why, suggestion(value, legal)
        )
        return None

    def choice_or_wrong(self, key: str, legal: t.Sequence[str], why: str) -> tuple[str | None, bool]:
        """The value, and whether one was given that is not legal."""
        value = self.choice(key, legal, why)
        return value, value is None and self._raw.get(key) not in (None, "")

    def version(self, key: str, example: str) -> str | None:
        value = self.text(key)
        if value is None or release_tuple(value) is not None:
            return value
        self._no_version(key, value, example)
        return None

    def vendor(self, key: str, example: str) -> str | None:
        """A version in the vendor's own numbering, such as CANN's 8.3.RC1."""
        value = self.text(key)
        if value is None or vendor_key(value) is not None:
            return value
        self._no_version(key, value, example)
        return None

    def extension(self, key: str) -> str | None:
        """A version of torch_npu: one that follows torch (2.6.0.post3), or the number of its release (7.2.0)."""
        value = self.text(key)
        if value is None or release_tuple(value) is not None or is_extension_release(value):
            return value
        self._no_version(key, value, "2.6.0.post3")
        return None

    def _no_version(self, key: str, value: str, example: str) -> None:
        self.refuse(
            key.replace("_", "-") + "-invalid",
            key,
            "%r is not a version" % value,
            "The plan compares versions as numbers to decide which patches and flags are needed",
            "Write it as %s" % example,
        )

    def boolean(self, key: str) -> bool:
        value = self._raw.get(key)
        if value is None or isinstance(value, bool):
            return bool(value)
        word = str(value).lower()
        if word in _TRUE + _FALSE:
            return word in _TRUE
        self.refuse(
            key.replace("_", "-") + "-type",
            key,
            "%r is neither true nor false" % (value,),
            "It decides whether the label pod-rescheduling is set",
            "Write true or false",
        )
        return False


def _check_keys(raw: t.Mapping[str, t.Any], reader: _Reader) -> None:
    for key in raw:
        if key not in KEYS:
            reader.refuse(
                "request-key",
                str(key),
                "The plan has no option %r" % (key,),
                "A mistyped option would be left out in silence",
                suggestion(str(key), KEYS),
            )


def _check_suite(reader: _Reader, framework: str, suite: str) -> None:
    needed = SUITE_FRAMEWORK.get(suite)
    if needed is not None and needed != framework:
        reader.refuse(
            "suite-framework",
            "suite",
            "The suite %s trains with %s, the request says %s" % (suite, needed, framework),
            "Its flags and exports mean nothing to the other framework",
            "Set framework to %s, or suite to %s or none" % (needed, DEFAULT_SUITE[framework]),
        )


def _check_arch(reader: _Reader, product: Product | None, arch: str | None) -> None:
    if product is not None and arch is not None and arch not in product.archs:
        reader.refuse(
            "arch-product",
            "arch",
            "%s is not sold with %s hosts" % (product.name, arch),
            "The node selector would match no node and the Pods would stay Pending",
            "Set arch to %s, or name another product" % " or ".join(product.archs),
        )


def _read_versions(reader: _Reader) -> dict[str, str | None]:
    return {
        "torch_version": reader.version("torch_version", "2.6.0 or 2.6.0+cpu"),
        "torch_npu_version": reader.extension("torch_npu_version"),
        "cann_version": reader.vendor("cann_version", "8.3.RC1 or 8.5.0"),
        "python_version": reader.version("python_version", "3.11"),
        "suite_version": reader.version("suite_version", "2.2.0"),
    }


def _read_release(reader: _Reader) -> Release | None:
    name, wrong = reader.choice_or_wrong(
        "release", RELEASE_NAMES, "Each release wants other wheels, labels and flags, so nothing can be planned"
    )
    return None if wrong else release_named(name or DEFAULT_RELEASE)


def _read_framework(reader: _Reader) -> str | None:
    name, wrong = reader.choice_or_wrong(
        "framework", FRAMEWORKS, "Master and Worker, wheels and flags differ by framework"
    )
    return None if wrong else name or "pytorch"


def _read_product(reader: _Reader) -> tuple[Product | None, str | None]:
    name = reader.choice(
        "product", PRODUCT_NAMES, "Node labels and selectors follow the product; a wrong one leaves Pods Pending"
    )
    arch = reader.choice("arch", ARCHS, "The label host-arch follows it")
    product = product_named(name) if name else None
    _check_arch(reader, product, arch)
    return product, arch


def _read_suite(reader: _Reader, framework: str | None) -> str | None:
    suite = reader.choice("suite", SUITES, "The flags and exports of the start script depend on it")
    if framework is not None and suite is not None:
        _check_suite(reader, framework, suite)
    return suite


def _check_versions(
    reader: _Reader,
    release: Release | None,
    framework: str | None,
    strategies: tuple[str, ...],
    suite: str | None,
    versions: dict[str, str | None],
) -> Versions:
    given = Versions(
        release=release,
        framework=framework,
        strategies=strategies,
        torch=versions["torch_version"],
        torch_npu=versions["torch_npu_version"],
        cann=versions["cann_version"],
        python=versions["python_version"],
        suite=suite or DEFAULT_SUITE.get(framework or ""),
        suite_version=versions["suite_version"],
    )
    reader.findings += excluded(given)
    return given


def _mapping(raw: t.Any) -> t.Mapping[str, t.Any]:
    if isinstance(raw, t.Mapping):
        return raw
    raise Refused(
        Finding(
            "request-type",
            "The request is %s, not a mapping" % type(raw).__name__,
            "The plan is made from named options",
            "Give a mapping such as {strategies: [retry]}",
        )
    )


def read_request(raw: t.Any) -> Request:
    """Check a raw request.

    :param raw: mapping with the keys of KEYS; C(strategies) is required.
    :raises Refused: with every mistake.
    """
    reader = _Reader(_mapping(raw))
    _check_keys(raw, reader)
    release = _read_release(reader)
    framework = _read_framework(reader)
    strategies, findings = check_strategies(raw.get("strategies"), release, framework)
    reader.findings = findings + reader.findings
    suite = _read_suite(reader, framework)
    product, arch = _read_product(reader)
    scheduling = reader.choice(
        "fault_scheduling", FAULT_SCHEDULING, "With another value the scheduler does not reschedule the job at all"
    )
    versions = _read_versions(reader)
    given = _check_versions(reader, release, framework, strategies, suite, versions)
    pod_rescheduling = reader.boolean("pod_rescheduling")
    if reader.findings:
        raise Refused(reader.findings)
    if release is None or framework is None:
        raise AssertionError("a request without findings has a release and a framework")
    return Request(
        strategies=strategies,
        release=release,
        framework=framework,
        suite=suite or DEFAULT_SUITE[framework],
        product=product,
        arch=arch,
        fault_scheduling=scheduling or release.fault_scheduling,
        pod_rescheduling=pod_rescheduling,
        given=given,
        **versions,
    )
