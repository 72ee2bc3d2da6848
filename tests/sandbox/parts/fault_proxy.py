# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A proxy in front of a real server that does to chosen requests what networks and servers do on a bad day.

It listens without TLS on loopback and hands everything on as it is: bodies of any size as streams, chunked or not, the
client's headers (Host and Authorization too, so that the addresses in a registry's answers lead back here).

    with FaultProxy("https://127.0.0.1:6443", ca_file=authority) as proxy:
        proxy.add(Fault("PATCH", "/configmaps/", "answer", status=429, headers={"Retry-After": "1"}, times=2))
        …
        assert [seen.status for seen in proxy.seen] == [429, 429, 200]
"""

from __future__ import annotations

import contextlib
import http.client
import http.server
import re
import socket
import ssl
import threading
import time
import typing as t
from urllib.parse import urlsplit

from .faults import AFTER_THE_WORK, Fault, Seen, corrupted, first

__all__ = ["Fault", "FaultProxy", "Seen"]

PIECE = 64 * 1024
IDLE = 10.0  # an upstream connection that rested longer may be closed already; it is not used again
#: Of one connection only, or written anew here.
HOP_BY_HOP = frozenset(("connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "expect"))


class FaultProxy:
    """The proxy, as a context manager.

    :param upstream: address of the server, with scheme and port.
    :param ca_file: certificate authority of a server behind TLS.
    :param client_cert: file with the client's certificate for the server, and its key in O(client_key).
    :ivar seen: every request, in the order of the answers.
    """

    def __init__(
        self, upstream: str, ca_file: str | None = None, client_cert: str | None = None, client_key: str | None = None
    ) -> None:
        parts = urlsplit(upstream)
        self._host, self._port = parts.hostname or "", parts.port
        self._context: ssl.SSLContext | None = None
        if parts.scheme == "https":
            self._context = ssl.create_default_context(cafile=ca_file)
            if client_cert:
                self._context.load_cert_chain(client_cert, client_key)
        self.seen: list[Seen] = []
        self.failed_calls: list[Exception] = []
        self._faults: list[Fault] = []
        self._lock = threading.Lock()
        self._server = _Server(self)

    def __enter__(self) -> FaultProxy:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_exc: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        # Else a test would go on without what it has arranged.
        if self.failed_calls:
            raise self.failed_calls[0]

    @property
    def address(self) -> str:
        """Host and port, as a registry is named."""
        return "127.0.0.1:%d" % self._server.server_address[1]

    @property
    def url(self) -> str:
        return f"http://{self.address}"

    def add(self, fault: Fault) -> Fault:
        """Have a fault from now on; of several that match a request the first one hits."""
        with self._lock:
            self._faults.append(fault)
        return fault

    def clear(self) -> None:
        """Forget all faults and what was seen."""
        with self._lock:
            self._faults.clear()
            self.seen.clear()

    def statuses(self, method: str, path: str) -> list[int]:
        """What the clients were told about the matching requests, in order."""
        with self._lock:
            return [seen.status for seen in self.seen if method in ("*", seen.method) and re.search(path, seen.path)]

    def fault_for(self, method: str, path: str) -> Fault | None:
        with self._lock:
            return next((fault for fault in self._faults if fault.takes(method, path)), None)

    def note(self, seen: Seen) -> None:
        with self._lock:
            self.seen.append(seen)

    def connection(self) -> http.client.HTTPConnection:
        """A new connection to the server."""
        if self._context:
            return http.client.HTTPSConnection(self._host, self._port, timeout=600, context=self._context)
        return http.client.HTTPConnection(self._host, self._port, timeout=600)


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, proxy: FaultProxy) -> None:
        self.proxy = proxy
        super().__init__(("127.0.0.1", 0), _Handler)

    def handle_error(self, request: t.Any, client_address: t.Any) -> None:
        """A client that went away is part of what is tested, not news."""


class _Handler(http.server.BaseHTTPRequestHandler):
    """One connection of a client, with one connection to the server behind it."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def setup(self) -> None:
        super().setup()
        self._upstream: http.client.HTTPConnection | None = None
        self._used = 0.0

    def finish(self) -> None:
        self._hang_up()
        super().finish()

    def log_message(self, format: str, *args: t.Any) -> None:
        """Nothing: what was asked is in `seen`."""

    def handle_one_request(self) -> None:
        self.raw_requestline = self.rfile.readline(65537)
        if not self.raw_requestline:
            self.close_connection = True
        elif self.parse_request():
            self._serve(self.server.proxy.fault_for(self.command, self.path))

    def _serve(self, fault: Fault | None) -> None:
        if fault and fault.before:
            self._call(fault.before)
        if fault and not fault.is_("delay_after"):
            time.sleep(fault.delay)
        if fault and fault.is_("drop"):
            self._drop(0)
        elif fault and fault.is_("answer"):
            for _piece in self._request_body():
                pass
            self._answer(fault, 0)
        else:
            self._forward(fault)

    def _call(self, before: t.Callable[[], object]) -> None:
        try:
            before()
        except Exception as exc:
            self.server.proxy.failed_calls.append(exc)

    # --- to the server -------------------------------------------------------------------------------------------

    def _forward(self, fault: Fault | None) -> None:
        response = self._ask(fault)
        if response is None:
            self._drop(0)
            return
        if fault and fault.is_(*AFTER_THE_WORK):
            response.read()
            if fault.is_("drop_after"):
                self._drop(response.status)
            else:
                self._answer(fault, response.status)
            return
        if fault and fault.is_("delay_after"):
            time.sleep(fault.delay)
        self._hand_back(response, fault)

    def _ask(self, fault: Fault | None) -> http.client.HTTPResponse | None:
        """Hand the request on; nothing comes back where it is cut off on the way, or where the server hangs up."""
        upstream = self._connected()
        try:
            upstream.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():
                if name.lower() not in HOP_BY_HOP:
                    upstream.putheader(name, value)
            if self._is_chunked():
                upstream.putheader("Transfer-Encoding", "chunked")
            upstream.endheaders()
            # A server that refuses early may stop reading; its answer counts.
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                if not self._send_body(upstream, fault):
                    return None
            return upstream.getresponse()
        except (OSError, http.client.HTTPException):
            return None

    def _send_body(self, upstream: http.client.HTTPConnection, fault: Fault | None) -> bool:
        """Stream the request's body; false where the fault cuts it off."""
        pieces: t.Iterable[bytes] = self._request_body()
        if fault and fault.is_("corrupt_request"):
            pieces = corrupted(pieces, fault)
        cut = fault is not None and fault.is_("drop_request")
        for piece in first(pieces, fault.after_bytes) if fault and cut else pieces:
            upstream.send(b"%x\r\n%s\r\n" % (len(piece), piece) if self._is_chunked() else piece)
        if not cut and self._is_chunked():
            upstream.send(b"0\r\n\r\n")
        return not cut

    def _connected(self) -> http.client.HTTPConnection:
        if self._upstream is None or time.monotonic() - self._used > IDLE:
            self._hang_up()
            self._upstream = self.server.proxy.connection()
        self._used = time.monotonic()
        return self._upstream

    def _hang_up(self) -> None:
        if self._upstream is not None:
            self._upstream.close()
        self._upstream = None

    def _is_chunked(self) -> bool:
        return "chunked" in self.headers.get("Transfer-Encoding", "").lower()

    def _request_body(self) -> t.Iterator[bytes]:
        if self._is_chunked():
            while size := int(self.rfile.readline().split(b";")[0], 16):
                yield from self._pieces(size)
                self.rfile.readline()
            while self.rfile.readline().strip():
                pass
        else:
            yield from self._pieces(int(self.headers.get("Content-Length", 0)))

    def _pieces(self, size: int) -> t.Iterator[bytes]:
        while size > 0:
            piece = self.rfile.read(min(PIECE, size))
            if not piece:
                raise ConnectionResetError("the client went away")
            size -= len(piece)
            yield piece

    # --- to the client -------------------------------------------------------------------------------------------

    def _answer(self, fault: Fault, upstream: int) -> None:
        """The fault's own answer; a body is said to be what the Kubernetes API and registries send: JSON."""
        self._note(fault.status, upstream)
        self.send_response_only(fault.status)
        headers = {"Content-Type": "application/json", **fault.headers, "Content-Length": str(len(fault.body))}
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(fault.body)

    def _hand_back(self, response: http.client.HTTPResponse, fault: Fault | None) -> None:
        self._note(response.status, response.status)
        length = response.getheader("Content-Length")
        if self.command == "HEAD" or response.status in (204, 304):
            self._head(response, length, chunked=False)
            response.read()
            return
        pieces: t.Iterable[bytes] = iter(lambda: response.read1(PIECE), b"")
        if fault and fault.is_("corrupt"):
            pieces = corrupted(pieces, fault)
        if fault and fault.is_("truncate", "drop_body"):
            pieces = first(pieces, fault.after_bytes)
        if fault and fault.is_("truncate") and length is not None:
            length = str(min(int(length), fault.after_bytes))
        self._head(response, length, chunked=length is None)
        sent = self._stream(pieces, length is None)
        response.close()
        if (fault and fault.is_("drop_body")) or sent < int(length or 0):
            self._close()
        elif length is None:
            self.wfile.write(b"0\r\n\r\n")
        if fault and fault.is_("truncate"):
            # What is left of the server's answer would be taken for its next one.
            self._hang_up()

    def _head(self, response: http.client.HTTPResponse, length: str | None, chunked: bool) -> None:
        self.send_response_only(response.status, response.reason)
        for name, value in response.getheaders():
            if name.lower() not in HOP_BY_HOP and name.lower() != "content-length":
                self.send_header(name, value)
        if length is not None:
            self.send_header("Content-Length", length)
        if chunked:
            self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def _stream(self, pieces: t.Iterable[bytes], chunked: bool) -> int:
        sent = 0
        with contextlib.suppress(http.client.HTTPException):  # the server hung up; seen from the count
            for piece in pieces:
                self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece) if chunked else piece)
                sent += len(piece)
        return sent

    def _drop(self, upstream: int) -> None:
        self._note(0, upstream)
        self._close()

    def _close(self) -> None:
        self._hang_up()
        self.close_connection = True
        self.wfile.flush()
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)

    def _note(self, status: int, upstream: int) -> None:
        self.server.proxy.note(Seen(self.command, self.path, status, upstream))
