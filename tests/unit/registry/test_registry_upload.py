# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Uploads to a registry that says how far it got, which not every real one does after a broken connection."""

from __future__ import annotations

import hashlib
import typing as t

import pytest
from registry_fake_server import Asked, FakeServer, Reply

from ansible_collections.mindcluster.recovery.plugins.module_utils._registry_client import Registry, RegistryError

Serve = t.Callable[[t.Callable[[Asked], Reply]], FakeServer]
BLOB = bytes(range(256)) * 40000
DIGEST = "sha256:" + hashlib.sha256(BLOB).hexdigest()
Fault = t.Callable[[Asked], Reply | None]


class Resumable:
    """Takes uploads, and after a failed request keeps a part of its body.

    :param keeps: how many bytes of the body each of the first PATCH requests leaves behind before it fails.
    :param miscounts: say one byte too few of what is there.
    """

    def __init__(self, *keeps: int, longest: int = 1 << 40, miscounts: bool = False) -> None:
        self.keeps = list(keeps)
        self.longest = longest
        self.miscounts = miscounts
        self.sessions = 0
        self.data = b""
        self.done: bytes | None = None
        self.ranges: list[str | None] = []

    def __call__(self, asked: Asked) -> Reply:
        return t.cast("Reply", getattr(self, "_" + asked.method.lower())(asked))

    def _where(self) -> dict[str, str]:
        there = len(self.data) - (1 if self.miscounts else 0)
        place = {"Location": f"/v2/team/new/blobs/uploads/{self.sessions}?state={there}"}
        return {**place, "Range": f"0-{max(there - 1, 0)}"}

    def _head(self, asked: Asked) -> Reply:
        return Reply(404 if self.done is None else 200)

    def _post(self, asked: Asked) -> Reply:
        self.sessions += 1
        self.data = b""
        return Reply(202, self._where())

    def _patch(self, asked: Asked) -> Reply:
        self.ranges.append(asked.headers.get("Content-Range"))
        if len(asked.body) > self.longest:
            return Reply(413)
        if self.keeps:
            self.data += asked.body[: self.keeps.pop(0)]
            return Reply(503)
        self.data += asked.body
        self.miscounts = False
        return Reply(202, self._where())

    def _get(self, asked: Asked) -> Reply:
        return Reply(204, self._where())

    def _put(self, asked: Asked) -> Reply:
        data = self.data + asked.body
        if "sha256:" + hashlib.sha256(data).hexdigest() != asked.path.partition("digest=")[2]:
            return Reply(400, {}, b'{"errors": [{"code": "DIGEST_INVALID", "message": "digest invalid"}]}')
        self.done = data
        return Reply(201, {"Docker-Content-Digest": DIGEST})


def send(server: FakeServer, **options: t.Any) -> Registry:
    registry = Registry(server.host, insecure=True, **options)
    registry.upload_blob("team/new", BLOB, DIGEST, len(BLOB))
    return registry


def test_one_stream_where_nothing_breaks(serve: Serve) -> None:
    there = Resumable()
    registry = send(serve(there))
    assert (there.done, there.ranges) == (BLOB, [None])
    assert (registry.statistics.requests, registry.statistics.bytes_up) == (4, len(BLOB))


def test_it_goes_on_with_what_is_missing(serve: Serve) -> None:
    there = Resumable(3_000_000, 1, 0, 2_000_000)
    send(serve(there))
    last = len(BLOB) - 1
    assert (there.done, there.sessions) == (BLOB, 1)
    assert there.ranges == [
        None, f"3000000-{last}", f"3000001-{last}", f"3000001-{last}", f"5000001-{last}",
    ]  # fmt: skip


def test_file_goes_on_too(serve: Serve, tmp_path: t.Any) -> None:
    there = Resumable(3_000_000)
    (tmp_path / "layer").write_bytes(BLOB)
    Registry(serve(there).host, insecure=True).upload_blob("team/new", tmp_path / "layer", DIGEST, len(BLOB))
    assert (there.done, there.sessions) == (BLOB, 1)


def test_progress_is_not_counted_as_failure(serve: Serve) -> None:
    there = Resumable(*[1_100_000] * 8)
    send(serve(there), retries=2)
    assert there.done == BLOB


def test_no_progress_ends(serve: Serve) -> None:
    there = Resumable(*[10] * 100)
    with pytest.raises(RegistryError, match=r"HTTP 503\) \(3 attempts\)"):
        send(serve(there), retries=2)
    assert there.done is None


def test_registry_that_miscounted_is_sent_all_of_it_again(serve: Serve) -> None:
    there = Resumable(3_000_000, miscounts=True)
    send(serve(there))
    assert (there.done, there.sessions) == (BLOB, 2)


def test_parts_where_something_takes_no_more(serve: Serve) -> None:
    there = Resumable(longest=9 << 20)
    send(serve(there))
    assert there.done == BLOB
    assert there.ranges == [None, f"0-{(8 << 20) - 1}", f"{8 << 20}-{len(BLOB) - 1}"]


def test_limit_that_nothing_fits_is_told(serve: Serve) -> None:
    with pytest.raises(RegistryError, match="client_max_body_size"):
        send(serve(Resumable(longest=1000)))


def test_file_that_became_shorter(serve: Serve, tmp_path: t.Any) -> None:
    there = Resumable()
    (tmp_path / "layer").write_bytes(BLOB[:-1])
    registry = Registry(serve(there).host, insecure=True, retries=0)
    with pytest.raises(RegistryError, match="ended after"):
        registry.upload_blob("team/new", tmp_path / "layer", DIGEST, len(BLOB))
    assert there.done is None
