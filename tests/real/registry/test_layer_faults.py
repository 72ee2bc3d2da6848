# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A training image built on a bad day: the tag never points at something half there, and the next run completes."""

from __future__ import annotations

import json
import pathlib
import sys
import typing as t

import equality
import pytest
from run_module import run_module

from ansible_collections.mindcluster.recovery.plugins.module_utils import _layer_steps as steps
from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Refused
from ansible_collections.mindcluster.recovery.plugins.module_utils._registry_client import Registry
from ansible_collections.mindcluster.recovery.plugins.module_utils._retries import RetryPolicy
from ansible_collections.mindcluster.recovery.plugins.module_utils._wheel_inventory import collect
from parts.fault_proxy import Fault, FaultProxy

UPLOADS, BLOBS, MANIFESTS = "/blobs/uploads/", "/blobs/sha256:", "/manifests/"
MIDDLE = 50 << 20


class Site:
    """The base image in the open registry, and a repository of its own for a test.

    :ivar repository: the path of the image's repository.
    """

    def __init__(self, host: str, wheels: pathlib.Path, folder: pathlib.Path, repository: str) -> None:
        self._host = host
        self._folder = folder
        self.repository = repository
        self._plan = run_module("recovery_plan", strategies=["retry", "recover", "dump"], framework="mindspore")["plan"]
        named = json.loads((wheels / "wheels.json").read_text(encoding="utf-8"))
        self._inventory = collect(named, str(wheels / "wheelhouse"), self._plan["image"]["wheels"], str)

    def build(self, python: str = "python3", cache: str = "kept", **options: t.Any) -> str:
        """Both steps of the module; returns the image's digest.

        :param python: another one makes another image.
        """
        params: dict[str, t.Any] = {
            "base": f"{self._host}/faults/base:1", "repository": f"{self._host}/{self.repository}", "tag": "stable",
            "plan": self._plan, "python": python, "pull": "missing", "registry_username": None,
            "registry_password": None, "registry_insecure": True, "platforms": [], "cache": str(self._folder / cache),
            "_findings": [], "_wheels": self._inventory.wheels, "_wheelhouse": self._inventory.wheelhouse,
            "_ca_pem": "", "_look": None, **options,
        }  # fmt: skip
        look = steps.look(params)
        if look["next"] == "done":
            return str(look["look"]["digest"])
        return str(steps.build({**params, "_look": look["look"]}, False)["digest"])


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RetryPolicy, "pause", lambda _policy, _attempt, _asked: None)


@pytest.fixture(scope="module")
def base(need: t.Callable[[str], str]) -> str:
    name = need("SANDBOX_REGISTRY") + "/faults/base:1"
    program = str(equality.ROOT / "examples" / "demo" / "push_base.py")
    equality.run([sys.executable, program, need("SANDBOX_TAR_BARE"), name])
    return name


@pytest.fixture
def site(base: str, proxy: FaultProxy, need: t.Callable[[str], str], tmp_path: pathlib.Path, fresh_name: str) -> Site:
    return Site(proxy.address, pathlib.Path(need("SANDBOX_WHEELS")), tmp_path, f"faults/{fresh_name}")


def refusal(site: Site, **options: t.Any) -> Refused:
    with pytest.raises(Refused) as caught:
        site.build(**options)
    return caught.value


def digest_of(registry: Registry, site: Site) -> str:
    return registry.manifest(site.repository, "stable").digest


def test_image_comes_through_a_bad_day(site: Site, proxy: FaultProxy, open_registry: Registry) -> None:
    proxy.add(Fault("GET", BLOBS, "drop_body", after_bytes=MIDDLE, skip=1, times=2))
    proxy.add(Fault("GET", BLOBS, "answer", status=429, headers={"Retry-After": "1"}, times=2))
    proxy.add(Fault("POST", UPLOADS, "answer", status=503, times=2))
    proxy.add(Fault("PUT", UPLOADS, "drop_request", after_bytes=200))
    proxy.add(Fault("PUT", UPLOADS, "drop_after"))
    proxy.add(Fault("PUT", MANIFESTS, "answer", status=500))
    proxy.add(Fault("GET", MANIFESTS, "drop"))
    digest = site.build()
    assert digest_of(open_registry, site) == digest
    assert all(fault.hits for fault in proxy._faults), "every fault happened"
    proxy.clear()
    assert site.build() == digest
    assert {seen.method for seen in proxy.seen} == {"GET"}, "nothing was left to do"
    elsewhere = f"{proxy.address}/{site.repository}-again"
    assert site.build(repository=elsewhere, cache="other") == digest, "it is the image of a good day"


@pytest.mark.parametrize("action", ["truncate", "corrupt"])
def test_damaged_base_layer(site: Site, proxy: FaultProxy, open_registry: Registry, action: t.Any) -> None:
    proxy.add(Fault("GET", BLOBS, action, after_bytes=MIDDLE, skip=1, times=0))
    error = refusal(site)
    assert [finding.code for finding in error.findings] == ["digest-mismatch"]
    assert "sha256:" in str(error)
    with pytest.raises(Refused, match="could not read the manifest"):
        digest_of(open_registry, site)
    proxy.clear()
    digest = site.build()
    assert digest_of(open_registry, site) == digest
    assert 200 in proxy.statuses("GET", BLOBS), "what was damaged is read again, not remembered"


@pytest.mark.parametrize(
    "fault",
    [
        Fault("POST", UPLOADS + r"$", "answer", status=500, times=0),
        Fault("PUT", UPLOADS, "corrupt_request", after_bytes=10, times=0),
        Fault("PUT", UPLOADS, "drop", times=0),
        Fault("PUT", MANIFESTS, "answer", status=503, times=0),
        Fault("PUT", MANIFESTS, "drop", times=0),
        Fault("PUT", MANIFESTS, "corrupt_request", after_bytes=10, times=0),
    ],
    ids=["no uploads", "damaged upload", "uploads drop", "no manifests", "manifests drop", "damaged manifest"],
)
def test_tag_stays_until_the_new_image_is_whole(
    site: Site, proxy: FaultProxy, open_registry: Registry, fault: Fault
) -> None:
    before = site.build()
    proxy.add(fault)
    error = refusal(site, python="/usr/bin/python3")
    assert fault.hits and len(error.findings) == 1
    assert digest_of(open_registry, site) == before
    proxy.clear()
    after = site.build(python="/usr/bin/python3")
    assert after != before
    assert digest_of(open_registry, site) == after


def test_base_from_another_registry_that_breaks_off(
    site: Site, proxy: FaultProxy, need: t.Callable[[str], str]
) -> None:
    proxy.add(Fault("GET", BLOBS, "drop_body", after_bytes=MIDDLE, skip=1, times=3))
    authority = pathlib.Path(need("SANDBOX_REGISTRY_CA")).read_text(encoding="utf-8")
    target = f"{need('SANDBOX_REGISTRY_TLS')}/{site.repository}"
    digest = site.build(repository=target, registry_insecure=False, _ca_pem=authority)
    there = Registry(need("SANDBOX_REGISTRY_TLS"), ca_file=need("SANDBOX_REGISTRY_CA"))
    assert there.manifest(site.repository, "stable").digest == digest
