# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A small API server for Nodes on a real socket, which can be told to fail in chosen ways.

It keeps managedFields, pages, dry runs and keep-alive connections as the real one does. What only the real one knows
(authentication, RBAC, validation) is tested against the real one, in molecule.
"""

from __future__ import annotations

import contextlib
import copy
import json
import threading
import typing as t
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit


class Fault(t.NamedTuple):
    """What to do instead of answering; status 0 drops the connection."""

    status: int
    headers: t.Mapping[str, str] = {}
    body: bytes | None = None


class FakeApi:
    """The server; use as a context manager."""

    def __init__(self, nodes: t.Mapping[str, dict[str, str]]) -> None:
        self.nodes: dict[str, dict[str, t.Any]] = {name: _node(name, labels) for name, labels in nodes.items()}
        #: Asked before each request; a Fault is carried out, None lets it pass.
        self.fault: t.Callable[[str, str, int], Fault | None] = lambda method, path, count: None
        #: Every request as (method, path, query, headers).
        self.requests: list[tuple[str, str, dict[str, str], dict[str, str]]] = []
        self.connections = 0
        self.lock = threading.RLock()

    def __enter__(self) -> FakeApi:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"api": self}))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self) -> str:
        return "http://127.0.0.1:%d" % self._server.server_address[1]

    @property
    def params(self) -> dict[str, t.Any]:
        return {"host": self.url, "api_key": "s3cr3t-token", "prune": False, "workers": 4, "release": "7.2.RC1"}

    def labels(self, name: str) -> dict[str, str]:
        return self.nodes[name]["metadata"]["labels"]

    def writes(self) -> list[str]:
        return [path for method, path, query, _headers in self.requests if method == "PATCH" and "dryRun" not in query]

    def patch(self, name: str, body: t.Mapping[str, t.Any], manager: str, dry_run: bool = False) -> dict[str, t.Any]:
        with self.lock:
            node = copy.deepcopy(self.nodes[name]) if dry_run else self.nodes[name]
            _merge_labels(node["metadata"], body["metadata"]["labels"], manager)
            return node


def _node(name: str, labels: dict[str, str]) -> dict[str, t.Any]:
    return {
        "metadata": {"name": name, "labels": dict(labels), "managedFields": []},
        "status": {"allocatable": {"cpu": "64"}},
    }


def _merge_labels(metadata: dict[str, t.Any], wanted: t.Mapping[str, str | None], manager: str) -> None:
    labels = metadata["labels"]
    changed = {key: value for key, value in wanted.items() if labels.get(key) != value}
    for key, value in changed.items():
        if value is None:
            labels.pop(key, None)
        else:
            labels[key] = value
    entries = {entry["manager"]: entry for entry in metadata["managedFields"]}
    own = entries.setdefault(manager, {"manager": manager, "operation": "Update", "fieldsType": "FieldsV1"})
    own.setdefault("fieldsV1", {"f:metadata": {"f:labels": {}}})
    for entry in entries.values():
        for key in changed:
            entry["fieldsV1"]["f:metadata"]["f:labels"].pop("f:" + key, None)
    own["fieldsV1"]["f:metadata"]["f:labels"].update({"f:" + k: {} for k, v in changed.items() if v is not None})
    metadata["managedFields"] = list(entries.values())


class _Handler(BaseHTTPRequestHandler):
    api: FakeApi
    protocol_version = "HTTP/1.1"
    # Without it every small answer waits for an acknowledgement.
    disable_nagle_algorithm = True

    def setup(self) -> None:
        super().setup()
        with self.api.lock:
            self.api.connections += 1

    def log_message(self, *args: object) -> None:
        pass

    def do_GET(self) -> None:
        self._answer("GET", None)

    def do_PATCH(self) -> None:
        self._answer("PATCH", json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self._answer("POST", None)

    def _answer(self, method: str, body: t.Any) -> None:
        parts = urlsplit(self.path)
        query = {key: values[0] for key, values in parse_qs(parts.query).items()}
        with self.api.lock:
            self.api.requests.append((method, parts.path, query, dict(self.headers)))
            fault = self.api.fault(method, parts.path, len(self.api.requests))
        if fault is not None:
            self._fail(fault)
            return
        self._serve(method, parts.path, query, body)

    def _fail(self, fault: Fault) -> None:
        if fault.status == 0:
            self.close_connection = True
            self.connection.close()
            return
        status = {"kind": "Status", "message": "fault %d" % fault.status, "reason": "Fault"}
        self._send(fault.status, fault.body or json.dumps(status).encode(), fault.headers)

    def _serve(self, method: str, path: str, query: dict[str, str], body: t.Any) -> None:
        name = unquote(path.rpartition("/")[2])
        if method == "GET" and path == "/api/v1/nodes":
            self._json(200, _page(self.api, query))
        elif method == "PATCH" and name in self.api.nodes:
            self._json(200, self.api.patch(name, body, query["fieldManager"], "dryRun" in query))
        elif method == "POST":
            self._json(201, {"kind": "Node"})
        else:
            self._json(404, {"kind": "Status", "reason": "NotFound", "message": 'nodes "%s" not found' % name})

    def _json(self, status: int, body: t.Any) -> None:
        with self.api.lock:
            data = json.dumps(body).encode()
        self._send(status, data, {})

    def _send(self, status: int, data: bytes, headers: t.Mapping[str, str]) -> None:
        self.send_response(status)
        for key, value in headers.items():
            self.send_header(key, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.wfile.write(data)


def _page(api: FakeApi, query: dict[str, str]) -> dict[str, t.Any]:
    with api.lock:
        wanted = query.get("fieldSelector", "").partition("metadata.name=")[2]
        names = sorted(name for name in api.nodes if wanted in ("", name))
        start, limit = int(query.get("continue", "0")), int(query.get("limit", "0")) or len(names)
        metadata = {"continue": str(start + limit)} if start + limit < len(names) else {}
        return {"metadata": metadata, "items": [api.nodes[name] for name in names[start : start + limit]]}
