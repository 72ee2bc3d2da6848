# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a registry may answer, and what comes of it."""

from __future__ import annotations

import base64
import hashlib
import itertools
import json
import traceback
import typing as t

import pytest
from registry_fake_server import Asked, FakeServer, Reply

from ansible_collections.mindcluster.recovery.plugins.module_utils import _registry_client as client
from ansible_collections.mindcluster.recovery.plugins.module_utils._registry_client import Registry, RegistryError
from ansible_collections.mindcluster.recovery.plugins.module_utils._registry_http import number_of

Serve = t.Callable[[t.Callable[[Asked], Reply]], FakeServer]

BODY = json.dumps({"schemaVersion": 2, "layers": []}).encode()
BLOB = bytes(range(256)) * 9000


def digest(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()


def registry(server: FakeServer, **options: t.Any) -> Registry:
    return Registry(server.host, insecure=True, **options)


def basic(user: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


# --- manifests


@pytest.mark.parametrize(
    ("content_type", "document", "media_type"),
    [
        (client.OCI_INDEX, {}, client.OCI_INDEX),
        (client.DOCKER_MANIFEST + "; charset=utf-8", {}, client.DOCKER_MANIFEST),
        ("application/json", {"schemaVersion": 2, "mediaType": client.DOCKER_LIST}, client.DOCKER_LIST),
        ("text/plain", {"schemaVersion": 2, "manifests": []}, client.OCI_INDEX),
        ("text/plain", {"schemaVersion": 2, "layers": []}, client.OCI_MANIFEST),
    ],
)
def test_kind_of_a_manifest(serve: Serve, content_type: str, document: t.Any, media_type: str) -> None:
    body = json.dumps(document).encode()
    server = serve(lambda asked: Reply(200, {"Content-Type": content_type}, body))
    manifest = registry(server).manifest("team/base", "latest")
    assert manifest == (digest(body), media_type, body)
    assert all(kind in server.asked[0].headers["Accept"] for kind in client.ALL)


@pytest.mark.parametrize(
    "body", [b"<html>", b"[]", b"{}", b'{"schemaVersion": 1, "fsLayers": []}', b'{"mediaType": [5]}', b"[" * 100000]
)
def test_no_manifest_that_can_be_read(serve: Serve, body: bytes) -> None:
    server = serve(lambda asked: Reply(200, {"Content-Type": "text/html"}, body))
    with pytest.raises(RegistryError, match="is of the kind"):
        registry(server).manifest("team/base", "latest")


def test_manifest_that_is_not_what_was_asked_for(serve: Serve) -> None:
    server = serve(lambda asked: Reply(200, {"Content-Type": client.OCI_MANIFEST}, BODY))
    with pytest.raises(RegistryError) as refused:
        registry(server).manifest("team/base", digest(b"other"))
    assert refused.value.kind == "digest"
    server.answer = lambda asked: Reply(200, {"Docker-Content-Digest": digest(b"other")}, BODY)
    with pytest.raises(RegistryError) as refused:
        registry(server).manifest("team/base", "latest")
    assert refused.value.kind == "digest"


def test_missing_manifest(serve: Serve) -> None:
    words = {"errors": [{"code": "MANIFEST_UNKNOWN", "message": "manifest unknown", "detail": {"Tag": "x"}}]}
    server = serve(lambda asked: Reply(404, {}, json.dumps(words).encode()))
    with pytest.raises(RegistryError, match=r"team/base:latest` .HTTP 404.: manifest unknown") as refused:
        registry(server).manifest("team/base", "latest")
    assert (refused.value.kind, refused.value.status, len(server.asked)) == ("missing", 404, 1)
    assert refused.value.findings[0].code == "image-missing"


def test_endless_manifest(serve: Serve) -> None:
    server = serve(lambda asked: Reply(200, {}, itertools.repeat(b"x" * 65536)))
    with pytest.raises(RegistryError, match="more than 8388608 bytes"):
        registry(server).manifest("team/base", "latest")


def test_registry_confirms_the_digest(serve: Serve) -> None:
    server = serve(lambda asked: Reply(201, {"Docker-Content-Digest": digest(BODY)}))
    assert registry(server).put_manifest("team/new", "t", client.OCI_MANIFEST, BODY) == digest(BODY)
    server.answer = lambda asked: Reply(201, {"Docker-Content-Digest": digest(b"other")})
    with pytest.raises(RegistryError, match="was sent") as refused:
        registry(server).put_manifest("team/new", "t", client.OCI_MANIFEST, BODY)
    assert refused.value.kind == "digest"


def test_registry_that_names_no_digest_is_asked_for_the_manifest(serve: Serve) -> None:
    server = serve(lambda asked: Reply(201) if asked.method == "PUT" else Reply(200, {}, BODY))
    assert registry(server).put_manifest("team/new", "t", client.OCI_MANIFEST, BODY) == digest(BODY)
    assert server.paths() == ["/v2/team/new/manifests/t"]


# --- repetitions


def replies(*answers: Reply) -> t.Callable[[Asked], Reply]:
    left = list(answers)
    return lambda asked: left.pop(0) if len(left) > 1 else left[0]


def test_what_passes_is_waited_for(serve: Serve, pauses: list[tuple[int, str | None]]) -> None:
    server = serve(replies(Reply(429, {"Retry-After": "7"}), Reply(503), Reply(200, {}, BODY)))
    assert registry(server).manifest("team/base", "latest").body == BODY
    assert pauses == [(1, "7"), (2, None)]


@pytest.mark.parametrize("status", [400, 403, 405, 416, 501])
def test_what_stays_is_not_repeated(serve: Serve, status: int) -> None:
    server = serve(lambda asked: Reply(status))
    with pytest.raises(RegistryError, match=f"HTTP {status}"):
        registry(server).manifest("team/base", "latest")
    assert len(server.asked) == 1


def test_repetitions_end(serve: Serve) -> None:
    server = serve(lambda asked: Reply(502, {}, b"<html><h1>Bad\x1b[31m Gateway</h1>"))
    with pytest.raises(RegistryError, match=r"HTTP 502.: Bad \[31m Gateway \(4 attempts\)") as refused:
        registry(server, retries=3).manifest("team/base", "latest")
    assert (refused.value.kind, refused.value.passing, len(server.asked)) == ("server", False, 4)


def test_a_wait_of_hours_is_told_at_once(serve: Serve, pauses: list[tuple[int, str | None]]) -> None:
    server = serve(lambda asked: Reply(429, {"Retry-After": "21600"}))
    with pytest.raises(RegistryError, match="asks to wait 21600 s") as refused:
        registry(server).manifest("team/base", "latest")
    assert (refused.value.kind, pauses) == ("throttled", [])


@pytest.mark.parametrize("asked", ["inf", "nan", "1e999", "Fri, 31 Dec 99999 23:59:59 GMT"])
def test_a_wait_of_no_length_is_none(serve: Serve, asked: str) -> None:
    server = serve(lambda _request: Reply(429, {"Retry-After": asked}))
    with pytest.raises(RegistryError, match=r"HTTP 429.(?! asks)") as refused:
        registry(server, retries=1).manifest("team/base", "latest")
    assert (refused.value.kind, len(server.asked)) == ("throttled", 2)


@pytest.mark.parametrize(
    ("text", "number"), [("12", 12), ("0", 0), ("", None), ("-1", None), ("\u00b2", None), ("9" * 5000, None)]
)
def test_a_count_in_a_header_is_a_number_or_none(text: str, number: int | None) -> None:
    assert number_of(text) == number


def test_broken_connections_are_tried_again(serve: Serve) -> None:
    short = Reply(200, {"Content-Length": "100000"}, BODY)
    server = serve(replies(short, Reply(200, {}, BODY)))
    assert registry(server).manifest("team/base", "latest").body == BODY


# --- other addresses


def test_login_does_not_follow_to_the_storage(serve: Serve) -> None:
    storage = serve(lambda asked: Reply(200, {}, BLOB))

    def answer(asked: Asked) -> Reply:
        if "Authorization" not in asked.headers:
            return Reply(401, {"WWW-Authenticate": "Basic"})
        return Reply(307, {"Location": f"http://{storage.host}/bucket/blob?signature=s1gn4tur3"})

    server = serve(answer)
    reading = registry(server, username="anna", password="s3cr3t")
    with reading.open_blob("team/base", digest(BLOB), len(BLOB)) as blob:
        assert blob.read() == BLOB
    assert server.asked[-1].headers["Authorization"] == basic("anna", "s3cr3t")
    assert [(asked.path, asked.headers.get("Authorization")) for asked in storage.asked] == [
        ("/bucket/blob?signature=s1gn4tur3", None)
    ]


def test_signed_address_of_the_storage_is_in_no_message(serve: Serve) -> None:
    storage = serve(lambda asked: Reply(403, {}, b"<Code>AccessDenied</Code> for /blob?signature=s1gn4tur3"))
    server = serve(lambda asked: Reply(307, {"Location": f"http://{storage.host}/blob?signature=s1gn4tur3"}))
    with pytest.raises(RegistryError, match="AccessDenied for /blob") as refused:
        registry(server).open_blob("team/base", digest(BLOB), len(BLOB)).read()
    assert "not logged in" not in str(refused.value), "that would be a wrong trail"
    assert "s1gn4tur3" not in "".join(traceback.format_exception(refused.value))


def test_login_stays_with_redirects_of_the_registry_itself(serve: Serve) -> None:
    def answer(asked: Asked) -> Reply:
        if "Authorization" not in asked.headers:
            return Reply(401, {"WWW-Authenticate": "Basic"})
        if asked.path.startswith("/v2/"):
            return Reply(302, {"Location": "/elsewhere"})
        return Reply(200, {}, BODY)

    server = serve(answer)
    assert registry(server, username="anna", password="s3cr3t").manifest("team/base", "latest").body == BODY


@pytest.mark.parametrize(
    ("location", "match"),
    [
        ("/v2/again", "sends on more than 5 times"),
        ("file:///etc/passwd", "other address"),
        ("ftp://storage.example/blob", "other address"),
        ("http://anna:pass@storage.example/", "other address"),
        ("http://storage.example:99999/", "other address"),
        ("http://storage.example/blob", "to plain HTTP"),
    ],
)
def test_redirects_that_are_not_followed(serve: Serve, location: str, match: str) -> None:
    server = serve(lambda asked: Reply(302, {"Location": location}))
    with pytest.raises(RegistryError, match=match) as refused:
        registry(server).manifest("team/base", "latest")
    assert refused.value.kind == "trust"
    assert len(server.asked) <= 6
    assert "pass@" not in str(refused.value)


@pytest.mark.parametrize(
    "location", ["http://127.0.0.1:1/v2/x", "https://127.0.0.1/v2/x", "http://attacker.example/v2/x", "file:///x"]
)
def test_upload_at_another_address(serve: Serve, location: str) -> None:
    def answer(asked: Asked) -> Reply:
        return Reply(404) if asked.method == "HEAD" else Reply(202, {"Location": location})

    server = serve(answer)
    with pytest.raises(RegistryError, match=r"address for uploads|wants the upload at") as refused:
        registry(server).upload_blob("team/new", b"data", digest(b"data"), 4)
    assert refused.value.kind == "trust"
    assert server.paths("PUT") == server.paths("PATCH") == []


def test_huge_answer_of_a_token_server(serve: Serve) -> None:
    def answer(asked: Asked) -> Reply:
        if asked.path.startswith("/token"):
            return Reply(200, {}, itertools.repeat(b"x" * 65536))
        return Reply(401, {"WWW-Authenticate": f'Bearer realm="http://{asked.headers["Host"]}/token"'})

    with pytest.raises(RegistryError, match="more than 1048576 bytes"):
        registry(serve(answer)).manifest("team/base", "latest")


def test_token_server_in_trouble_is_waited_for(serve: Serve, pauses: list[tuple[int, str | None]]) -> None:
    answers = [Reply(503), Reply(429, {"Retry-After": "3"}), Reply(200, {}, b'{"token": "t0k3n"}')]

    def answer(asked: Asked) -> Reply:
        if asked.path.startswith("/token"):
            return answers.pop(0)
        if asked.headers.get("Authorization") == "Bearer t0k3n":
            return Reply(200, {}, BODY)
        return Reply(401, {"WWW-Authenticate": f'Bearer realm="http://{asked.headers["Host"]}/token"'})

    assert registry(serve(answer)).manifest("team/base", "latest").body == BODY
    assert pauses == [(1, None), (2, "3")]


# --- blobs


def parts_of(data: bytes, *lengths: int) -> t.Callable[[Asked], Reply]:
    """Serves a blob by ranges, the first answers cut off after so many bytes each."""
    left = list(lengths)

    def answer(asked: Asked) -> Reply:
        start = int(asked.headers.get("Range", "bytes=0-")[6:-1])
        body = data[start:]
        headers = {"Content-Length": str(len(body))}
        if start:
            headers["Content-Range"] = f"bytes {start}-{len(data) - 1}/{len(data)}"
        return Reply(206 if start else 200, headers, body[: left.pop(0)] if left else body)

    return answer


def test_reading_goes_on_where_it_broke_off(serve: Serve) -> None:
    server = serve(parts_of(BLOB, 700000, 100, 0, 1000000))
    reading = registry(server)
    with reading.open_blob("team/base", digest(BLOB), len(BLOB)) as blob:
        assert blob.read() == BLOB
    assert [asked.headers.get("Range") for asked in server.asked] == [
        None, "bytes=700000-", "bytes=700100-", "bytes=700100-", "bytes=1700100-",
    ]  # fmt: skip
    assert reading.statistics.bytes_down == len(BLOB)


def test_a_server_without_ranges_is_read_from_the_start(serve: Serve) -> None:
    cut = [500000, len(BLOB)]
    server = serve(lambda asked: Reply(200, {"Content-Length": str(len(BLOB))}, BLOB[: cut.pop(0)]))
    with registry(server).open_blob("team/base", digest(BLOB), len(BLOB)) as blob:
        assert blob.read() == BLOB


def test_a_server_that_always_breaks_off(serve: Serve) -> None:
    server = serve(parts_of(BLOB, *[10] * 100))
    with pytest.raises(RegistryError) as refused, registry(server).open_blob("a", digest(BLOB), len(BLOB)) as blob:
        blob.read()
    assert (refused.value.kind, len(server.asked)) == ("network", 6)


def changed(data: bytes, place: int) -> bytes:
    return data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]


def test_damaged_blob_is_never_given_out_whole(serve: Serve) -> None:
    server = serve(parts_of(changed(BLOB, len(BLOB) - 5)))
    got = 0
    with pytest.raises(RegistryError) as refused, registry(server).open_blob("a", digest(BLOB), len(BLOB)) as blob:
        while data := blob.read(65536):
            got += len(data)
    assert refused.value.kind == "digest"
    assert got < len(BLOB)


@pytest.mark.parametrize("served", [BLOB[:-1], BLOB + b"x", b""])
def test_blob_of_another_size(serve: Serve, served: bytes) -> None:
    server = serve(lambda asked: Reply(200, {}, served))
    with pytest.raises(RegistryError) as refused, registry(server).open_blob("a", digest(BLOB), len(BLOB)) as blob:
        blob.read()
    assert refused.value.kind == "digest"


def test_blob_that_never_ends(serve: Serve) -> None:
    server = serve(lambda asked: Reply(200, {}, itertools.chain([BLOB], itertools.repeat(b"x" * 65536))))
    with pytest.raises(RegistryError, match="more bytes follow"):
        registry(server).open_blob("a", digest(BLOB), len(BLOB)).read()


def test_wrong_part(serve: Serve) -> None:
    first = [True]

    def answer(asked: Asked) -> Reply:
        if first.pop() if first else False:
            return Reply(200, {"Content-Length": str(len(BLOB))}, BLOB[:1000])
        return Reply(206, {"Content-Range": f"bytes 0-{len(BLOB) - 1}/{len(BLOB)}"}, BLOB)

    with pytest.raises(RegistryError, match="sent another part"):
        registry(serve(answer)).open_blob("a", digest(BLOB), len(BLOB)).read()


@pytest.mark.parametrize(("status", "there"), [(200, True), (404, False)])
def test_looking_for_a_blob(serve: Serve, status: int, there: bool) -> None:
    server = serve(lambda asked: Reply(status, {}, BLOB))
    reading = registry(server)
    assert reading.has_blob("team/base", digest(BLOB)) is there
    assert (len(server.asked), reading.statistics.bytes_down) == (1, 0)


def test_empty_blob(serve: Serve) -> None:
    server = serve(lambda asked: Reply(200))
    with registry(server).open_blob("a", digest(b""), 0) as blob:
        assert blob.read() == b""
    with pytest.raises(RegistryError), registry(server).open_blob("a", digest(BLOB), 0) as blob:
        blob.read()


def test_gzip_layer_is_not_unpacked_on_the_way(serve: Serve) -> None:
    server = serve(lambda asked: Reply(200, {"Content-Encoding": "gzip"}, BLOB))
    with registry(server).open_blob("a", digest(BLOB), len(BLOB)) as blob:
        assert blob.read() == BLOB


# --- mounting


@pytest.mark.parametrize(("status", "mounted"), [(201, True), (202, False), (404, False), (405, False)])
def test_mount(serve: Serve, status: int, mounted: bool) -> None:
    def answer(asked: Asked) -> Reply:
        return Reply(204) if asked.method == "DELETE" else Reply(status, {"Location": "/v2/team/new/blobs/uploads/1"})

    server = serve(answer)
    assert registry(server).mount_blob("team/new", digest(BLOB), "team/base") is mounted
    assert server.paths("POST") == [f"/v2/team/new/blobs/uploads/?mount={digest(BLOB)}&from=team/base"]
    assert server.paths("DELETE") == (["/v2/team/new/blobs/uploads/1"] if status == 202 else [])


# --- surroundings


def test_proxy_is_not_asked_for_this_machine(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("all_proxy", "http://127.0.0.1:1")
    server = serve(lambda asked: Reply(200, {}, BODY))
    assert registry(server).manifest("team/base", "latest").body == BODY


def test_proxy_is_asked_for_others(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    proxy = serve(lambda asked: Reply(200, {}, BODY))
    monkeypatch.setenv("http_proxy", f"http://{proxy.host}")
    assert Registry("registry.example", insecure=True).manifest("team/base", "latest").body == BODY
    assert proxy.paths() == ["http://registry.example/v2/team/base/manifests/latest"]
    monkeypatch.setenv("no_proxy", "registry.example")
    with pytest.raises(RegistryError):
        Registry("registry.example", insecure=True, retries=0).manifest("team/base", "latest")
    assert len(proxy.asked) == 1


def test_netrc_is_not_sent(serve: Serve, monkeypatch: pytest.MonkeyPatch, tmp_path: t.Any) -> None:
    (tmp_path / "netrc").write_text("default login anna password s3cr3t\n", encoding="ascii")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    server = serve(lambda asked: Reply(200, {}, BODY))
    registry(server).manifest("team/base", "latest")
    assert "Authorization" not in server.asked[0].headers


def test_registry_of_this_machine_that_speaks_plain_http_needs_no_option(serve: Serve) -> None:
    server = serve(lambda asked: Reply(200, {}, BODY))
    assert Registry(server.host).manifest("team/base", "latest").body == BODY


@pytest.mark.parametrize(
    ("host", "options", "base"),
    [
        ("registry.example:5000", {}, "https://registry.example:5000/v2/"),
        ("registry.example:5000", {"insecure": True}, "http://registry.example:5000/v2/"),
        ("docker.io", {}, "https://registry-1.docker.io/v2/"),
        ("[::1]:1", {"insecure": True}, "http://[::1]:1/v2/"),
    ],
)
def test_address_of_a_registry(host: str, options: t.Any, base: str) -> None:
    assert Registry(host, **options)._session.base == base


def test_secrets_are_in_no_representation() -> None:
    made = Registry("registry.example", username="anna", password="s3cr3t")
    assert "s3cr3t" not in f"{made!r} {made} {made.statistics!r}"
