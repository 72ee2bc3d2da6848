# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A server that answers what a test says, for what no real registry would do."""

from __future__ import annotations

import http.server
import threading
import typing as t


class Asked(t.NamedTuple):
    """One request."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


class Reply(t.NamedTuple):
    """One answer. A length that is not the body's own is said all the same."""

    status: int = 200
    headers: t.Mapping[str, str] = {}
    body: bytes | t.Iterable[bytes] = b""


class FakeServer:
    """A server on loopback, as a context manager.

    :param answer: gives the reply to a request.
    :ivar asked: every request so far.
    """

    def __init__(self, answer: t.Callable[[Asked], Reply]) -> None:
        self.answer = answer
        self.asked: list[Asked] = []
        self._server = _Server(("127.0.0.1", 0), _handler(self))

    def __enter__(self) -> FakeServer:
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_exc: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    def paths(self, method: str = "GET") -> list[str]:
        return [asked.path for asked in self.asked if asked.method == method]


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: t.Any, client_address: t.Any) -> None:
        """A client that went away is part of what is tested, not news."""


def _handler(fake: FakeServer) -> type[http.server.BaseHTTPRequestHandler]:
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: t.Any) -> None:
            """Nothing: the test looks at what was asked."""

        def _serve(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            asked = Asked(self.command, self.path, dict(self.headers.items()), body)
            fake.asked.append(asked)
            reply = fake.answer(asked)
            self.send_response(reply.status)
            headers = dict(reply.headers)
            if isinstance(reply.body, bytes):
                headers.setdefault("Content-Length", str(len(reply.body)))
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command == "HEAD":
                return
            try:
                for piece in [reply.body] if isinstance(reply.body, bytes) else reply.body:
                    self.wfile.write(piece)
            except OSError:
                self.close_connection = True
            if int(headers.get("Content-Length", -1)) != (len(reply.body) if isinstance(reply.body, bytes) else -1):
                self.close_connection = True

        do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = _serve

    return Handler
