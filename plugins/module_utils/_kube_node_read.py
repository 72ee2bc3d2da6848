# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""Read what the cluster says about its nodes, page by page, so that memory does not grow with the cluster."""

from __future__ import annotations

import re
import typing as t
from concurrent.futures import Future, ThreadPoolExecutor

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Refused
from ansible_collections.mindcluster.recovery.plugins.module_utils._kube import (
    ApiError,
    RetryPolicy,
    call,
    explain_api_error,
    parsed,
)
from ansible_collections.mindcluster.recovery.plugins.module_utils._kube_node_plan import NodeState, state_of
from ansible_collections.mindcluster.recovery.plugins.module_utils._node_hardware import Offer

PAGE = 500
# A whole Node is many times its metadata, since its status lists every image.
PAGE_OF_WHOLE = 100
# Bytes of such a page whose nodes have hardly a status: the next one can be as long as those of metadata.
_SMALL = 400_000
# So many nodes are asked for one by one: shorter than to read all of a large cluster.
FEW = 20
NODES = "/api/v1/nodes"
METADATA_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
# The position in a paginated list is kept for some minutes only.
_GONE = 410
# Where the next page begins, as API servers write it: ahead of the items. Another order is found when all is parsed.
_POSITION = re.compile(
    rb'\s*\{(?:\s*"(?:kind|apiVersion)":\s*"[^"]*",)*\s*"metadata":\s*\{[^{}]*"continue":\s*"([\w=-]+)"'
)
_RESTARTS = 3


class NodeList:
    """What one paginated list has shown.

    :ivar states: the state of each node that was asked for and is there.
    :ivar names: the names of all nodes of the cluster.
    """

    def __init__(self) -> None:
        self.states: dict[str, NodeState] = {}
        self.names: set[str] = set()


def list_nodes(api_client: t.Any, wanted: t.Container[str], policy: RetryPolicy | None = None) -> NodeList:
    """The labels of the nodes.

    :param wanted: the names whose labels are kept.
    :raises Refused: the list cannot be read.
    """

    def read() -> NodeList:
        found = NodeList()
        for node in _pages(api_client, {"limit": PAGE}, METADATA_LIST, policy):
            name = node["metadata"]["name"]
            found.names.add(name)
            if name in wanted:
                found.states[name] = state_of(node["metadata"])
        return found

    return _from_the_start(read)


def list_offers(
    api_client: t.Any, wanted: t.Collection[str], resource: str | None = None, policy: RetryPolicy | None = None
) -> dict[str, Offer]:
    """What each node offers to Pods; this reads whole Node objects.

    A few nodes are asked for by a list each, which needs no other right than the list of all.

    :param resource: kept besides the resources of vendors.
    :raises Refused: the list cannot be read.
    """
    if not wanted:
        return {}
    queries: list[dict[str, t.Any]] = [{"limit": PAGE_OF_WHOLE}]
    if len(wanted) <= FEW:
        queries = [{"fieldSelector": "metadata.name=%s" % name} for name in wanted]

    def read() -> dict[str, Offer]:
        return {
            node["metadata"]["name"]: _offer_of(node.get("status") or {}, resource)
            for query in queries
            for node in _pages(api_client, query, "application/json", policy)
            if node["metadata"]["name"] in wanted
        }

    return _from_the_start(read)


def _offer_of(status: t.Mapping[str, t.Any], resource: str | None) -> Offer:
    # Only vendors' resources have a slash in their name.
    kept = [
        {name: quantity for name, quantity in (status.get(field) or {}).items() if "/" in name or name == resource}
        for field in Offer._fields
    ]
    return Offer(*kept)


Found = t.TypeVar("Found")


def _from_the_start(read: t.Callable[[], Found]) -> Found:
    """Read, and begin again where the position in the list has expired on the way."""
    for attempt in range(1, _RESTARTS + 1):
        try:
            return read()
        except ApiError as exc:
            if exc.status != _GONE or attempt == _RESTARTS:
                raise Refused(explain_api_error(exc, "list the nodes")) from exc
    raise AssertionError("the loop either returns or raises")


def _pages(
    api_client: t.Any, query: t.Mapping[str, t.Any], accept: str, policy: RetryPolicy | None
) -> t.Iterator[dict[str, t.Any]]:
    """The items page by page; the server makes the next page while this one is looked at."""

    def fetch(position: str, limit: int) -> bytes:
        more = {"limit": limit, "continue": position} if position else {}
        headers = {"Accept": accept}
        answer = call(api_client, "GET", NODES, query={**query, **more}, headers=headers, policy=policy, parse=False)
        return t.cast("bytes", answer[1])

    with ThreadPoolExecutor(max_workers=1) as ahead:
        limit = short = query.get("limit", PAGE)
        coming: Future[bytes] | None = ahead.submit(fetch, "", limit)
        while coming is not None:
            text = coming.result()
            limit = PAGE if len(text) * PAGE_OF_WHOLE < _SMALL * limit else short
            early = _POSITION.match(text)
            coming = ahead.submit(fetch, early.group(1).decode("ascii"), limit) if early else None
            page = _list_in(text, api_client.configuration.host + NODES)
            position = (page.get("metadata") or {}).get("continue")
            if position and coming is None:
                coming = ahead.submit(fetch, position, limit)
            yield from page.get("items") or ()


def _list_in(text: bytes, url: str) -> dict[str, t.Any]:
    """A page of the list; what stands behind a wrong address may answer any JSON."""
    page = parsed(text, "GET", url)
    if isinstance(page, dict) and isinstance(page.get("items") or [], list):
        return page
    raise ApiError("GET", url, status=200, reason="NotJSON", message="the answer is no list of nodes")
