# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""Patch the nodes that differ."""

from __future__ import annotations

import collections
import threading
import typing as t
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Finding
from ansible_collections.mindcluster.recovery.plugins.module_utils._kube import (
    ApiError,
    RetryPolicy,
    call,
    explain_api_error,
)
from ansible_collections.mindcluster.recovery.plugins.module_utils._kube_node_plan import (
    FIELD_MANAGER,
    NodeChange,
)
from ansible_collections.mindcluster.recovery.plugins.module_utils._kube_node_read import NODES
from ansible_collections.mindcluster.recovery.plugins.module_utils._kube_progress import ProgressFile

METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"


class Patcher:
    """Patches nodes over a bounded number of connections and goes on when one of them fails.

    :param workers: how many patches are under way at once.
    :param dry_run: let the server do everything but store.
    :param progress: is told of each node that is done.
    """

    def __init__(
        self,
        api_client: t.Any,
        workers: int,
        dry_run: bool = False,
        policy: RetryPolicy | None = None,
        progress: ProgressFile | None = None,
    ) -> None:
        self._client = api_client
        self._workers = workers
        self._query = {"fieldManager": FIELD_MANAGER}
        if dry_run:
            self._query["dryRun"] = "All"
        self._policy = policy
        self._progress = progress or ProgressFile(None)
        self._breaker = _Breaker(2 * workers)

    def run(self, changes: t.Sequence[NodeChange]) -> list[tuple[NodeChange, Finding | None]]:
        """Each change with what went wrong, or None, in the order in which they were given."""
        pending = collections.deque(enumerate(changes))
        findings: dict[int, Finding | None] = {}
        workers = min(self._workers, len(changes))
        if workers:
            with ThreadPoolExecutor(max_workers=workers) as pool:
                for worker in [pool.submit(self._work, pending, findings, len(changes)) for _number in range(workers)]:
                    worker.result()
        return [(change, findings[number]) for number, change in enumerate(changes)]

    def _work(self, pending: t.Any, findings: dict[int, Finding | None], total: int) -> None:
        # One future for each thread, not for each node: thousands of futures cost as much as the requests.
        while True:
            try:
                number, change = pending.popleft()
            except IndexError:
                return
            findings[number] = self._one(change)
            self._progress.step(total)

    def _one(self, change: NodeChange) -> Finding | None:
        stopped = self._breaker.reason
        if stopped is not None:
            return _not_tried(change.name, stopped)
        try:
            answer = self._send(change)
        except ApiError as exc:
            finding = _failure(exc, change.name)
            self._breaker.failed(exc, finding)
            return finding
        self._breaker.worked()
        return _not_as_sent(change, answer)

    def _send(self, change: NodeChange) -> t.Any:
        return call(
            self._client,
            "PATCH",
            "%s/%s" % (NODES, quote(change.name, safe="")),
            query=self._query,
            body=change.patch(),
            headers={"Accept": METADATA},
            retry_statuses=(409,),
            policy=self._policy,
        )[1]


class _Breaker:
    """Stops a run whose every request fails in the same way, so that thousands of retries do not follow.

    :param limit: how many such failures without any success in between are enough.
    """

    #: Failures that are about the server or the user, not about one node.
    GENERAL = frozenset((0, 401, 403, 429, 500, 502, 503, 504))

    def __init__(self, limit: int) -> None:
        self.reason: Finding | None = None
        self._limit = limit
        self._count = 0
        self._lock = threading.Lock()

    def worked(self) -> None:
        with self._lock:
            self._count = 0

    def failed(self, exc: ApiError, finding: Finding) -> None:
        if exc.status not in self.GENERAL:
            return
        with self._lock:
            self._count += 1
            if self._count >= self._limit:
                self.reason = finding


def _failure(exc: ApiError, name: str) -> Finding:
    if exc.status == 404:
        return Finding(
            "node-gone",
            "The node was deleted while the labels were being set",
            "It was in the list of nodes a moment before",
            "Take it out of the inventory, or run again once it is back",
            name,
        )
    finding = explain_api_error(exc, "label the node")
    return Finding(finding.code, finding.what, finding.why, finding.remedy, name)


def _not_tried(name: str, reason: Finding) -> Finding:
    return Finding("node-not-tried", "Not tried, since all before it failed", reason.what, reason.remedy, name)


def _not_as_sent(change: NodeChange, answer: t.Any) -> Finding | None:
    """A webhook of the cluster can change what was sent, with a success as its answer."""
    labels = ((answer or {}).get("metadata") or {}).get("labels") or {}
    wrong = sorted(key for key, value in change.after.items() if labels.get(key) != value)
    if not wrong:
        return None
    return Finding(
        "node-label-not-kept",
        "The API server answered with success, but `%s` is not as asked for" % "`, `".join(wrong),
        "An admission webhook of the cluster changes the labels of nodes",
        "Look through `kubectl get mutatingwebhookconfigurations`",
        change.name,
    )
