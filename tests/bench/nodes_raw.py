# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The barest client that can do the work: what any other can be measured by."""

from __future__ import annotations

import base64
import http.client
import json
import ssl
import threading
import time
import typing as t
from urllib.parse import urlencode, urlsplit

import yaml

NODES = "/api/v1/nodes"
METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
METADATA_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
PAGE = 500


class RawCluster:
    """Requests over kept-alive connections of http.client, one thread for each.

    :param kubeconfig: a kubeconfig with a token, as the sandbox writes it.
    :param images: images in the status of the nodes that are made.
    """

    def __init__(self, kubeconfig: str, connections: int, images: int = 0) -> None:
        with open(kubeconfig, encoding="utf-8") as stream:
            config = yaml.safe_load(stream)
        cluster = config["clusters"][0]["cluster"]
        self._address = urlsplit(cluster["server"]).netloc
        self._tls = ssl.create_default_context(cafile=cluster.get("certificate-authority"), cadata=_inline(cluster))
        self._headers = {"Authorization": "Bearer " + config["users"][0]["user"]["token"]}
        self._connections = connections
        self._images = images

    def create(self, count: int) -> list[str]:
        """Make the nodes that are missing, with the labels and status of real ones."""
        names = ["node-%05d" % number for number in range(count)]
        there = self._names()
        missing = [name for name in names if name not in there]
        self._all("POST", [(NODES, _node(name, self._images)) for name in missing], "application/json", 201)
        return names

    def delete_all(self) -> None:
        self._all("DELETE", [(NODES + "/" + name, None) for name in self._names()], "application/json", 200)

    def patch_all(self, patches: t.Mapping[str, t.Mapping[str, str]]) -> float:
        """Seconds for one merge patch for each node."""
        work = [
            (NODES + "/" + name + "?fieldManager=raw", {"metadata": {"labels": labels}})
            for name, labels in patches.items()
        ]
        started = time.monotonic()
        self._all("PATCH", work, "application/merge-patch+json", 200, METADATA)
        return time.monotonic() - started

    def list_all(self) -> float:
        """Seconds for one metadata-only, paginated list, parsed and nothing else."""
        started = time.monotonic()
        self._names()
        return time.monotonic() - started

    def _names(self) -> set[str]:
        connection = self._connect()
        names: set[str] = set()
        position = ""
        while True:
            query = urlencode({"limit": PAGE, "continue": position} if position else {"limit": PAGE})
            connection.request("GET", NODES + "?" + query, headers={**self._headers, "Accept": METADATA_LIST})
            page = json.loads(connection.getresponse().read())
            names.update(item["metadata"]["name"] for item in page["items"] or ())
            position = page["metadata"].get("continue", "")
            if not position:
                connection.close()
                return names

    def _all(
        self, method: str, work: list[t.Any], content: str, expected: int, accept: str = "application/json"
    ) -> None:
        parts = [work[number :: self._connections] for number in range(self._connections)]
        failures: list[str] = []
        headers = {**self._headers, "Content-Type": content, "Accept": accept}
        threads = [
            threading.Thread(target=self._some, args=(method, part, headers, expected, failures))
            for part in parts
            if part
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failures:
            raise SystemExit("the raw client failed: %s" % failures[0])

    def _some(
        self, method: str, work: list[t.Any], headers: dict[str, str], expected: int, failures: list[str]
    ) -> None:
        connection = self._connect()
        for path, body in work:
            connection.request(method, path, body=json.dumps(body) if body else None, headers=headers)
            answer = connection.getresponse()
            text = answer.read()
            if answer.status != expected:
                failures.append("%s %s: %d %r" % (method, path, answer.status, text[:300]))
                return
        connection.close()

    def _connect(self) -> http.client.HTTPSConnection:
        return http.client.HTTPSConnection(self._address, context=self._tls, timeout=60)


def _inline(cluster: t.Mapping[str, str]) -> str | None:
    data = cluster.get("certificate-authority-data")
    return base64.b64decode(data).decode() if data else None


def _node(name: str, images: int) -> dict[str, t.Any]:
    labels = {
        "kubernetes.io/arch": "arm64",
        "kubernetes.io/os": "linux",
        "kubernetes.io/hostname": name,
        "beta.kubernetes.io/arch": "arm64",
        "topology.kubernetes.io/zone": "zone-1",
    }
    resources = {"cpu": "192", "memory": "1Ti", "pods": "110", "huawei.com/Ascend910": "8"}
    names = ["registry.example.com/team/image-%d@sha256:%064x" % (number, number) for number in range(images)]
    status = {
        "capacity": resources,
        "allocatable": resources,
        "images": [{"names": [image, image.partition("@")[0] + ":1.0"], "sizeBytes": 10**9} for image in names],
    }
    return {
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}, "status": status,
    }  # fmt: skip
