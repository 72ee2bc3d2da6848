# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The fault proxy hands everything on untouched, except for what it was told to spoil."""

from __future__ import annotations

import http.client
import http.server
import itertools
import threading
import time
import typing as t

import pytest

from parts.fault_proxy import Fault, FaultProxy, Seen
from parts.faults import Action

BIG = bytes(range(256)) * 4096


class Echo(http.server.BaseHTTPRequestHandler):
    """Answers with the request's body, in chunks where the path asks for it, and counts its work."""

    protocol_version = "HTTP/1.1"
    work: t.ClassVar[list[bytes]] = []

    def do_PUT(self) -> None:
        length = self.headers.get("Content-Length")
        try:
            body = self.rfile.read(int(length)) if length else b"".join(iter(self._chunk, b""))
        except ValueError:
            self.close_connection = True
            return
        if length and len(body) < int(length):
            return
        Echo.work.append(body)
        self.send_response(200)
        if "chunked" in self.path:
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for start in range(0, len(body), 100_000):
                piece = body[start : start + 100_000]
                self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            self.wfile.write(b"0\r\n\r\n")
        else:
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    do_GET = do_HEAD = do_PUT

    def _chunk(self) -> bytes:
        if "chunked" not in self.headers.get("Transfer-Encoding", ""):
            return b""
        piece = self.rfile.read(int(self.rfile.readline(), 16))
        self.rfile.readline()
        return piece

    def log_message(self, format: str, *args: t.Any) -> None:
        """Quiet."""


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: t.Any, client_address: t.Any) -> None:
        """Connections that break are what is tested."""


@pytest.fixture
def proxy() -> t.Iterator[FaultProxy]:
    Echo.work.clear()
    server = Server(("127.0.0.1", 0), Echo)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    with FaultProxy("http://127.0.0.1:%d" % server.server_address[1]) as proxy:
        yield proxy
    server.shutdown()
    server.server_close()


@pytest.fixture
def client(proxy: FaultProxy) -> t.Iterator[http.client.HTTPConnection]:
    connection = http.client.HTTPConnection(proxy.address, timeout=300)
    yield connection
    connection.close()


def put(client: http.client.HTTPConnection, path: str, body: t.Any, **options: t.Any) -> tuple[int, bytes]:
    client.request("PUT", path, body=body, **options)
    answer = client.getresponse()
    return answer.status, answer.read()


def test_bodies_pass_as_they_are_on_one_connection(proxy: FaultProxy, client: http.client.HTTPConnection) -> None:
    pieces = [BIG[start : start + 70_000] for start in range(0, len(BIG), 70_000)]
    assert put(client, "/a?x=1", BIG) == (200, BIG)
    first = client.sock
    assert put(client, "/chunked", BIG) == (200, BIG)
    assert put(client, "/b", iter(pieces), encode_chunked=True, headers={"Transfer-Encoding": "chunked"}) == (200, BIG)
    client.request("HEAD", "/head")
    assert client.getresponse().read() == b""
    assert put(client, "/empty", b"") == (200, b"")
    assert client.sock is first
    assert proxy.seen[:2] == [Seen("PUT", "/a?x=1", 200, 200), Seen("PUT", "/chunked", 200, 200)]


def test_an_answer_of_its_own_before_and_after_the_work(proxy: FaultProxy, client: http.client.HTTPConnection) -> None:
    before = proxy.add(Fault("PUT", "/a", "answer", status=429, headers={"Retry-After": "1"}, body="{}", times=2))
    proxy.add(Fault("*", "/a", "answer_after", status=500, skip=1))
    client.request("PUT", "/a", body=b"1")
    answer = client.getresponse()
    assert (answer.status, answer.getheader("Retry-After"), answer.read()) == (429, "1", b"{}")
    assert put(client, "/a", b"2")[0] == 429
    assert Echo.work == []
    assert put(client, "/a", b"3") == (200, b"3")
    assert put(client, "/a", b"4")[0] == 500
    assert put(client, "/a", b"5") == (200, b"5")
    assert Echo.work == [b"3", b"4", b"5"]
    assert before.hits == 2
    assert proxy.statuses("PUT", "/a") == [429, 429, 200, 500, 200]


@pytest.mark.parametrize(
    ("action", "work", "upstream"), [("drop", [], 0), ("drop_after", [b"1"], 200), ("drop_request", [], 0)]
)
def test_a_connection_that_drops(
    proxy: FaultProxy, client: http.client.HTTPConnection, action: Action, work: list[bytes], upstream: int
) -> None:
    proxy.add(Fault("PUT", "/a", action))
    with pytest.raises((http.client.HTTPException, OSError)):
        put(client, "/a", b"1")
    client.close()
    assert Echo.work == work
    assert proxy.seen == [Seen("PUT", "/a", 0, upstream)]
    assert put(client, "/a", b"2") == (200, b"2")


@pytest.mark.parametrize("path", ["/a", "/chunked"])
def test_a_body_that_breaks_off(proxy: FaultProxy, client: http.client.HTTPConnection, path: str) -> None:
    proxy.add(Fault("PUT", path, "drop_body", after_bytes=150_000))
    client.request("PUT", path, body=BIG)
    with pytest.raises(http.client.IncompleteRead) as caught:
        client.getresponse().read()
    assert caught.value.partial == BIG[:150_000]


@pytest.mark.parametrize("path", ["/a", "/chunked"])
def test_a_body_that_is_cut_without_a_sign(proxy: FaultProxy, client: http.client.HTTPConnection, path: str) -> None:
    proxy.add(Fault("PUT", path, "truncate", after_bytes=150_000))
    assert put(client, path, BIG) == (200, BIG[:150_000])
    assert put(client, path, b"next") == (200, b"next")


def test_bytes_that_flip(proxy: FaultProxy, client: http.client.HTTPConnection) -> None:
    proxy.add(Fault("PUT", "/a", "corrupt", after_bytes=65_535, body=b"ab"))
    proxy.add(Fault("PUT", "/b", "corrupt_request", after_bytes=1))
    spoiled = put(client, "/a", BIG)[1]
    assert [index for index, (one, other) in enumerate(zip(BIG, spoiled, strict=True)) if one != other] == [
        65535,
        65536,
    ]
    assert put(client, "/b", b"abc") == (200, b"a\x9dc")


@pytest.mark.parametrize("action", ["delay", "delay_after"])
def test_an_answer_that_comes_late(proxy: FaultProxy, client: http.client.HTTPConnection, action: Action) -> None:
    proxy.add(Fault("PUT", "/a", action, delay=0.3))
    started = time.monotonic()
    assert put(client, "/a", b"1") == (200, b"1")
    assert time.monotonic() - started >= 0.3


def test_somebody_else_acts_in_between(proxy: FaultProxy, client: http.client.HTTPConnection) -> None:
    counted = itertools.count(1)
    proxy.add(Fault("PUT", "/a", "call", times=0, before=lambda: next(counted)))
    put(client, "/a", b"1")
    put(client, "/a", b"2")
    assert next(counted) == 3
    proxy.clear()
    put(client, "/a", b"3")
    assert next(counted) == 4


def test_a_server_that_is_not_there_is_a_dropped_connection() -> None:
    with FaultProxy("http://127.0.0.1:9") as proxy:
        client = http.client.HTTPConnection(proxy.address, timeout=300)
        with pytest.raises((http.client.HTTPException, OSError)):
            put(client, "/a", b"1")


def test_an_unknown_action_is_refused() -> None:
    with pytest.raises(ValueError, match="no such action"):
        Fault("GET", "/", t.cast(t.Any, "explode"))
