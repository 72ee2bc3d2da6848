# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A cluster as somebody else sees it: who looks after what the collection did, or stands in for an operator."""

from __future__ import annotations

import base64
import contextlib
import json
import pathlib
import typing as t

import requests
import yaml

from parts.fault_proxy import FaultProxy

MERGE = "application/merge-patch+json"
APPLY = "application/apply-patch+yaml"


class KubeSite:
    """One user's way to one cluster.

    :param kubeconfig: a file with one current context; a token or a client certificate serves.
    """

    def __init__(self, kubeconfig: pathlib.Path) -> None:
        self.kubeconfig = kubeconfig
        self._data = yaml.safe_load(kubeconfig.read_text(encoding="utf-8"))
        context = self._entry("contexts", self._data["current-context"])["context"]
        self._cluster = self._entry("clusters", context["cluster"])["cluster"]
        self._user = self._entry("users", context["user"])["user"]
        self._session = requests.Session()
        # Else the machine's own certificate bundle and proxies would win over the kubeconfig.
        self._session.trust_env = False
        self._session.verify = self._file(self._cluster, "certificate-authority") or True
        if certificate := self._file(self._user, "client-certificate"):
            self._session.cert = (certificate, self._file(self._user, "client-key") or "")
        if "token" in self._user:
            self._session.headers["Authorization"] = f"Bearer {self._user['token']}"

    def _entry(self, kind: str, name: str) -> dict[str, t.Any]:
        return next(entry for entry in self._data[kind] if entry["name"] == name)

    def _file(self, holder: t.Mapping[str, t.Any], key: str) -> str | None:
        """The path of what a kubeconfig names by path or holds as data."""
        if f"{key}-data" in holder:
            path = self.kubeconfig.with_name(f"{self.kubeconfig.name}.{key}")
            path.write_bytes(base64.b64decode(holder[f"{key}-data"]))
            path.chmod(0o600)
            return str(path)
        return holder.get(key)

    @property
    def server(self) -> str:
        return str(self._cluster["server"])

    def call(self, method: str, path: str, body: t.Any = None, kind: str = "") -> tuple[int, t.Any]:
        """One request: the status and the decoded answer, whatever it is."""
        kind = kind or (MERGE if method == "PATCH" else "application/json")
        data = None if body is None else json.dumps(body).encode()
        answer = self._session.request(
            method, self.server + path, data=data, headers={"Content-Type": kind}, timeout=60
        )
        # A path that the server does not know at all is answered with plain text.
        return answer.status_code, answer.json() if "json" in answer.headers.get("Content-Type", "") else answer.text

    def done(self, method: str, path: str, body: t.Any = None, kind: str = "") -> t.Any:
        """One request that has to succeed."""
        status, answer = self.call(method, path, body, kind)
        assert 200 <= status < 300, f"{method} {path}: {status} {answer}"
        return answer

    def get(self, path: str) -> t.Any:
        """An object; None where there is none."""
        status, answer = self.call("GET", path)
        assert status in (200, 404), f"GET {path}: {status} {answer}"
        return answer if status == 200 else None

    def apply(self, path: str, body: t.Mapping[str, t.Any], manager: str) -> t.Any:
        """A server-side apply by a field manager of the given name."""
        return self.done("PATCH", f"{path}?fieldManager={manager}", body, APPLY)

    def create_namespace(self, name: str) -> None:
        self.done("POST", "/api/v1/namespaces", {"metadata": {"name": name}})

    @contextlib.contextmanager
    def behind_faults(self, folder: pathlib.Path) -> t.Iterator[tuple[FaultProxy, str]]:
        """A fault proxy in front of this cluster, and the path of a kubeconfig that leads through it."""
        authority = self._session.verify
        certificate, key = self._session.cert or (None, None)
        with FaultProxy(self.server, authority if isinstance(authority, str) else None, certificate, key) as proxy:
            user = {"token": self._user["token"]} if "token" in self._user else {}
            config = {
                "apiVersion": "v1",
                "kind": "Config",
                "clusters": [{"name": "faulty", "cluster": {"server": proxy.url}}],
                "users": [{"name": "user", "user": user}],
                "contexts": [{"name": "faulty", "context": {"cluster": "faulty", "user": "user"}}],
                "current-context": "faulty",
            }
            path = folder / f"kubeconfig-{proxy.address.rpartition(':')[2]}"
            path.write_text(json.dumps(config), encoding="utf-8")
            path.chmod(0o600)
            yield proxy, str(path)
