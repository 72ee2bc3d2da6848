# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A bad day of networks and servers before a real registry: no broken tag, clear words, and the next run completes.

This registry forgets an upload of which a request broke off in the middle (`upload resumed at wrong offset` in its
log), so such an upload begins anew here; going on in the middle is tested with the unit tests' registry.
"""

from __future__ import annotations

import typing as t

import pytest
from registry_images import Blob, noise, push, read, refused, send

from ansible_collections.mindcluster.recovery.plugins.module_utils._registry_client import Registry
from parts.fault_proxy import Fault, FaultProxy

UPLOADS, BLOBS, MANIFESTS = "/blobs/uploads/", "/blobs/sha256:", "/manifests/"
SMALL = noise(50_000, "small")
BIG = noise(9 << 20, "big")


# --- sending


def test_upload_survives_broken_connections(
    proxy: FaultProxy, faulty: Registry, open_registry: Registry, fresh_name: str
) -> None:
    proxy.add(Fault("PATCH", UPLOADS, "drop_request", after_bytes=5 << 20))
    proxy.add(Fault("PATCH", UPLOADS, "drop_request", after_bytes=2 << 20))
    send(faulty, fresh_name, BIG)
    assert read(open_registry, fresh_name, BIG) == BIG.data
    assert proxy.statuses("PATCH", UPLOADS) == [0, 0, 202]


@pytest.mark.parametrize("method", ["POST", "PATCH", "PUT", "HEAD"])
@pytest.mark.parametrize(
    "fault",
    [{"status": 429, "headers": {"Retry-After": "0"}}, {"status": 500}, {"status": 503}],
    ids=lambda fault: str(fault["status"]),
)
def test_upload_waits_for_a_registry_in_trouble(
    proxy: FaultProxy, faulty: Registry, open_registry: Registry, fresh_name: str, method: str, fault: dict[str, t.Any]
) -> None:
    proxy.add(Fault(method, "/blobs/", "answer", times=2, **fault))
    send(faulty, fresh_name, BIG)
    assert read(open_registry, fresh_name, BIG) == BIG.data


@pytest.mark.parametrize("method", ["POST", "PATCH", "PUT"])
@pytest.mark.parametrize("action", ["drop", "drop_after", "answer_after"])
def test_upload_survives_a_lost_request_or_answer(
    proxy: FaultProxy, faulty: Registry, open_registry: Registry, fresh_name: str, method: str, action: t.Any
) -> None:
    proxy.add(Fault(method, UPLOADS, action, status=502))
    send(faulty, fresh_name, BIG)
    assert read(open_registry, fresh_name, BIG) == BIG.data
    if method != "PATCH":
        assert faulty.statistics.bytes_up == BIG.size, "what had arrived was not sent again"


def test_small_blob_survives_too(proxy: FaultProxy, faulty: Registry, open_registry: Registry, fresh_name: str) -> None:
    proxy.add(Fault("PUT", UPLOADS, "drop_request", after_bytes=1000))
    proxy.add(Fault("PUT", UPLOADS, "drop_after"))
    send(faulty, fresh_name, SMALL)
    assert read(open_registry, fresh_name, SMALL) == SMALL.data


def test_upload_in_parts_where_a_proxy_takes_no_more(
    proxy: FaultProxy, faulty: Registry, open_registry: Registry, fresh_name: str
) -> None:
    proxy.add(Fault("PATCH", UPLOADS, "answer", status=413))
    send(faulty, fresh_name, BIG)
    assert read(open_registry, fresh_name, BIG) == BIG.data
    assert proxy.statuses("PATCH", UPLOADS) == [413, 202, 202]


def test_upload_that_another_server_of_the_registry_does_not_know(
    proxy: FaultProxy, faulty: Registry, open_registry: Registry, fresh_name: str
) -> None:
    unknown = b'{"errors": [{"code": "BLOB_UPLOAD_UNKNOWN", "message": "blob upload unknown to registry"}]}'
    proxy.add(Fault("PUT", UPLOADS, "answer", status=404, body=unknown))
    send(faulty, fresh_name, BIG)
    assert read(open_registry, fresh_name, BIG) == BIG.data


def test_layer_damaged_on_its_way_up_is_not_stored(
    proxy: FaultProxy, faulty: Registry, open_registry: Registry, fresh_name: str
) -> None:
    push(open_registry, fresh_name, "stable", SMALL)
    before = open_registry.manifest(fresh_name, "stable")
    proxy.add(Fault("PATCH", UPLOADS, "corrupt_request", after_bytes=5 << 20, times=0))
    error = refused(push, faulty, fresh_name, "stable", BIG)
    assert (error.kind, error.findings[0].code) == ("digest", "digest-mismatch")
    assert BIG.digest in str(error)
    assert not open_registry.has_blob(fresh_name, BIG.digest)
    assert open_registry.manifest(fresh_name, "stable") == before
    proxy.clear()
    push(faulty, fresh_name, "stable", BIG)
    assert open_registry.manifest(fresh_name, "stable") != before


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (Fault("PATCH", UPLOADS, "drop_request", after_bytes=100, times=0), "network"),
        (Fault("PUT", UPLOADS, "answer", status=500, times=0), "server"),
        (Fault("POST", UPLOADS, "answer", status=429, headers={"Retry-After": "3600"}, times=0), "throttled"),
        (Fault("PUT", MANIFESTS, "answer", status=503, times=0), "server"),
        (Fault("PUT", MANIFESTS, "drop", times=0), "network"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_tag_stays_as_it_was_until_all_is_there(
    proxy: FaultProxy, faulty: Registry, open_registry: Registry, fresh_name: str, fault: Fault, kind: str
) -> None:
    push(open_registry, fresh_name, "stable", SMALL)
    before = open_registry.manifest(fresh_name, "stable")
    proxy.add(fault)
    error = refused(push, faulty, fresh_name, "stable", BIG)
    assert error.kind == kind
    assert open_registry.manifest(fresh_name, "stable") == before
    proxy.clear()
    digest = push(faulty, fresh_name, "stable", BIG)
    assert open_registry.manifest(fresh_name, "stable").digest == digest
    assert read(open_registry, fresh_name, BIG) == BIG.data


@pytest.mark.parametrize("action", ["drop", "drop_after", "answer_after"])
def test_manifest_survives_a_lost_request_or_answer(
    proxy: FaultProxy, faulty: Registry, open_registry: Registry, fresh_name: str, action: t.Any
) -> None:
    proxy.add(Fault("PUT", MANIFESTS, action))
    digest = push(faulty, fresh_name, "x", SMALL)
    assert open_registry.manifest(fresh_name, "x").digest == digest


# --- reading


@pytest.fixture
def stored(open_registry: Registry, fresh_name: str) -> Blob:
    send(open_registry, fresh_name, BIG)
    return BIG


def test_reading_goes_on_where_the_connection_broke(
    proxy: FaultProxy, faulty: Registry, stored: Blob, fresh_name: str
) -> None:
    for after in (5 << 20, 100, 0):
        proxy.add(Fault("GET", BLOBS, "drop_body", after_bytes=after))
    assert read(faulty, fresh_name, stored) == stored.data
    assert proxy.statuses("GET", BLOBS) == [200, 206, 206, 206]
    assert faulty.statistics.bytes_down == stored.size, "nothing was read twice"


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_reading_waits_for_a_registry_in_trouble(
    proxy: FaultProxy, faulty: Registry, stored: Blob, fresh_name: str, status: int
) -> None:
    proxy.add(Fault("GET", BLOBS, "answer", status=status, times=2))
    proxy.add(Fault("GET", BLOBS, "drop_body", after_bytes=1 << 20))
    proxy.add(Fault("GET", BLOBS, "answer", status=status))
    assert read(faulty, fresh_name, stored) == stored.data


@pytest.mark.parametrize("action", ["truncate", "corrupt"])
@pytest.mark.parametrize("after", [0, 1, (9 << 20) - 1])
def test_damaged_layer_is_told_and_the_next_run_completes(
    proxy: FaultProxy, faulty: Registry, stored: Blob, fresh_name: str, action: t.Any, after: int
) -> None:
    proxy.add(Fault("GET", BLOBS, action, after_bytes=after, times=0))
    error = refused(read, faulty, fresh_name, stored)
    assert (error.kind, error.findings[0].code) == ("digest", "digest-mismatch")
    assert stored.digest in str(error)
    proxy.clear()
    assert read(faulty, fresh_name, stored) == stored.data


def test_damaged_manifest_is_told(
    proxy: FaultProxy, faulty: Registry, open_registry: Registry, fresh_name: str
) -> None:
    digest = push(open_registry, fresh_name, "x", SMALL)
    proxy.add(Fault("GET", MANIFESTS, "corrupt", after_bytes=20, times=0))
    for reference in ("x", digest):
        assert refused(faulty.manifest, fresh_name, reference).kind == "digest"


# --- from registry to registry


def test_copy_goes_on_where_both_sides_break(
    proxy: FaultProxy, faulty: Registry, open_registry: Registry, stored: Blob, fresh_name: str
) -> None:
    proxy.add(Fault("GET", BLOBS, "drop_body", after_bytes=3 << 20))
    proxy.add(Fault("PATCH", UPLOADS, "drop_request", after_bytes=4 << 20))
    proxy.add(Fault("GET", BLOBS, "drop_body", after_bytes=1 << 20, skip=1))
    target = f"{fresh_name}-copy"
    faulty.copy_blob(stored.digest, stored.size, faulty, fresh_name, target)
    assert read(open_registry, target, stored) == stored.data


@pytest.mark.parametrize("action", ["truncate", "corrupt"])
def test_damaged_layer_is_not_copied(
    proxy: FaultProxy, faulty: Registry, open_registry: Registry, stored: Blob, fresh_name: str, action: t.Any
) -> None:
    proxy.add(Fault("GET", BLOBS, action, after_bytes=5 << 20, times=0))
    target = f"{fresh_name}-copy"
    error = refused(open_registry.copy_blob, stored.digest, stored.size, faulty, fresh_name, target)
    assert error.kind == "digest"
    assert not open_registry.has_blob(target, stored.digest)
    proxy.clear()
    open_registry.copy_blob(stored.digest, stored.size, faulty, fresh_name, target)
    assert read(open_registry, target, stored) == stored.data
