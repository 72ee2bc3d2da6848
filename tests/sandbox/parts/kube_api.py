# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A few words of the Kubernetes API; the server reads YAML itself, so that no parser is needed here."""

from __future__ import annotations

import json
import re
import ssl
import time
import typing as t
import urllib.error
import urllib.request
from pathlib import Path

from .console import SandboxError

APPLY = "application/apply-patch+yaml"


class KubeApi:
    """A client for one server as one user.

    :param server: address with scheme and port.
    :param authority: file with the certificate authority.
    :param token: bearer token.
    """

    def __init__(self, server: str, authority: Path, token: str) -> None:
        self._server = server
        self._token = token
        self._context = ssl.create_default_context(cafile=str(authority))

    def call(self, method: str, path: str, body: bytes | None = None, kind: str = "application/json") -> t.Any:
        """One request; the decoded answer, or its text where it is no JSON.

        :raises urllib.error.HTTPError: for an answer of 400 and above.
        """
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": kind, "Accept": "application/json"}
        request = urllib.request.Request(self._server + path, data=body, method=method, headers=headers)
        with urllib.request.urlopen(request, timeout=30, context=self._context) as answer:
            text = answer.read().decode()
        try:
            return json.loads(text)
        except ValueError:
            return text

    def ready(self) -> bool:
        """Whether the server serves, its default namespace included."""
        try:
            self.call("GET", "/readyz")
            self.call("GET", "/api/v1/namespaces/default")
        except (OSError, ValueError):
            return False
        return True

    def apply_file(self, path: Path) -> None:
        """Apply every document of a YAML file, server-side.

        :raises SandboxError: naming the file and the server's reason.
        """
        for document in documents(path.read_text(encoding="utf-8")):
            try:
                self._apply(document)
            except urllib.error.HTTPError as exc:
                raise SandboxError(f"{path}: the server answered {exc.code}: {exc.read().decode()[:500]}") from exc

    def _apply(self, document: str) -> None:
        version, kind, name = (_field(document, pattern) for pattern in (r"apiVersion: *(\S+)", r"kind: *(\S+)", None))
        namespace = re.search(r"^  namespace: *(\S+)", document, re.MULTILINE)
        root = f"/apis/{version}" if "/" in version else f"/api/{version}"
        resource = self._resource(root, kind)
        middle = f"/namespaces/{namespace[1] if namespace else 'default'}" if resource["namespaced"] else ""
        path = f"{root}{middle}/{resource['name']}/{name}?fieldManager=sandbox&force=true"
        self.call("PATCH", path, document.encode(), APPLY)
        if kind == "CustomResourceDefinition":
            self._established(f"{root}/{resource['name']}/{name}")

    def _resource(self, root: str, kind: str) -> dict[str, t.Any]:
        for resource in self.call("GET", root)["resources"]:
            if resource["kind"] == kind and "/" not in resource["name"]:
                return dict(resource)
        raise SandboxError(f"The server knows no {kind} in {root}")

    def _established(self, path: str) -> None:
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            status = self.call("GET", path).get("status") or {}
            conditions = status.get("conditions") or []
            if any(entry["type"] == "Established" and entry["status"] == "True" for entry in conditions):
                return
            time.sleep(0.2)
        raise SandboxError(f"The server does not serve {path} after 30 s")


def documents(text: str) -> list[str]:
    """The documents of a YAML text that hold more than comments."""
    parts = re.split(r"^---.*$", text, flags=re.MULTILINE)
    return [part for part in parts if re.search(r"^[^#\s]", part, re.MULTILINE)]


def _field(document: str, pattern: str | None) -> str:
    """A field at the top of a document, or the name in its metadata; block style, as all files of the project have."""
    found = (
        re.search(rf"^{pattern}", document, re.MULTILINE)
        if pattern
        else re.search(r"^metadata:\n(?:  .*\n)*?  name: *(\S+)", document, re.MULTILINE)
    )
    if not found:
        raise SandboxError(f"A YAML document lacks {pattern or 'metadata.name'} where the sandbox looks for it")
    return found[1].strip("\"'")
