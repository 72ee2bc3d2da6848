# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""One request to the Kubernetes API, with bounded retries.

Retried, with growing pauses: 429 (the server's Retry-After is kept to), 500, 502, 503, 504 and broken connections.
The server sends 429 from its priority and fairness queues and 503 while it starts, see
U(https://kubernetes.io/docs/concepts/cluster-administration/flow-control/).
"""

from __future__ import annotations

import json
import time
import typing as t
from urllib.parse import urlencode

from ansible_collections.mindcluster.recovery.plugins.module_utils._retries import RETRIED_STATUSES, RetryPolicy

try:
    import urllib3
    from urllib3 import exceptions as urllib3_errors
except ImportError:  # comes with the Python package kubernetes, whose absence is reported by _kube_config
    urllib3 = None
    urllib3_errors = None

#: A body that was not accepted at all, so that sending it again cannot do the work twice.
RETRIED_STATUSES_OF_POST = frozenset((429, 503))

#: Seconds.
_CREDENTIALS_KEPT = 1.0

PATCH_TYPE = "application/merge-patch+json"


class ApiError(Exception):
    """The API refused, or could not be reached, also after the retries.

    :ivar status: the HTTP status; 0 where there was no answer.
    :ivar reason: the C(reason) of the server's Status object, such as C(Forbidden) or C(Conflict).
    :ivar message: the server's own sentence.
    :ivar details: the C(details) of the Status object.
    :ivar attempts: how many times the request was sent.
    :ivar cause: the exception behind a request without an answer.
    """

    def __init__(
        self,
        method: str,
        url: str,
        status: int = 0,
        reason: str = "",
        message: str = "",
        details: dict[str, t.Any] | None = None,
        attempts: int = 1,
        cause: BaseException | None = None,
    ) -> None:
        super().__init__("%s %s: %s" % (method, url, message or reason or status or type(cause).__name__))
        self.method = method
        self.url = url
        self.status = status
        self.reason = reason
        self.message = message
        self.details = details or {}
        self.attempts = attempts
        self.cause = cause


DEFAULT_POLICY = RetryPolicy()


def call(
    api_client: t.Any,
    method: str,
    path: str,
    *,
    query: t.Mapping[str, t.Any] | None = None,
    body: t.Any = None,
    headers: t.Mapping[str, str] | None = None,
    accept_statuses: t.Collection[int] = (),
    retry_statuses: t.Collection[int] = (),
    policy: RetryPolicy | None = None,
    timeout: float = 60.0,
    parse: bool = True,
) -> tuple[int, t.Any]:
    """Send one request and return its answer.

    :param api_client: from C(connect).
    :param path: below the server's address, beginning with a slash, already quoted.
    :param body: what is sent as JSON. A PATCH is a JSON merge patch unless O(headers) say another Content-Type.
    :param accept_statuses: refusals that the caller wants to see as an answer, such as 404.
    :param retry_statuses: statuses to retry besides the usual ones, such as 409.
    :param parse: without it a success is returned as bytes, for C(parsed).
    :returns: the status and the parsed JSON.
    :raises ApiError: any other status than 2xx or O(accept_statuses), or no answer.
    """
    policy = policy or DEFAULT_POLICY
    method = method.upper()
    url = api_client.configuration.host + path
    retried = (RETRIED_STATUSES_OF_POST if method == "POST" else RETRIED_STATUSES).union(retry_statuses)
    data = None if body is None else json.dumps(body, separators=(",", ":")).encode("utf-8")
    attempt = 0
    while True:
        attempt += 1
        retry_after = None
        try:
            response = _send(api_client, method, url, query, data, headers, timeout)
        except urllib3_errors.HTTPError as exc:
            error = ApiError(method, url, message=str(exc), attempts=attempt, cause=exc)
            again = _worth_another(exc, method)
        else:
            if 200 <= response.status < 300:
                return response.status, parsed(response.data, method, url, attempt) if parse else response.data
            if response.status in accept_statuses:
                return response.status, _status_of(response)
            error = _refusal(response, method, url, attempt)
            again = response.status in retried
            retry_after = response.headers.get("Retry-After")
        if not again or attempt >= policy.attempts:
            raise error
        policy.pause(attempt, retry_after)


def _send(
    api_client: t.Any,
    method: str,
    url: str,
    query: t.Mapping[str, t.Any] | None,
    data: bytes | None,
    headers: t.Mapping[str, str] | None,
    timeout: float,
) -> t.Any:
    # The API server takes the agent for the field manager where a request names none; only node_labels may own labels.
    sent = {"Accept": "application/json", "User-Agent": "mindcluster-recovery"}
    sent.update(_credentials(api_client))
    if data is not None:
        sent["Content-Type"] = PATCH_TYPE if method == "PATCH" else "application/json"
    sent.update(headers or {})
    if query:
        url = "%s?%s" % (url, urlencode(query))
    return api_client.rest_client.pool_manager.request(
        method,
        url,
        body=data,
        headers=sent,
        retries=False,
        redirect=False,
        timeout=urllib3.Timeout(connect=10.0, read=timeout),
    )


def _credentials(api_client: t.Any) -> dict[str, str]:
    """The headers that say who asks, at most a second old.

    Each question to the configuration reads the environment and looks whether a token has to be renewed, which costs
    more than a request itself where thousands follow each other.
    """
    now = time.monotonic()
    kept: tuple[float, dict[str, str]] | None = getattr(api_client, "_mindcluster_credentials", None)
    if kept is not None and now - kept[0] < _CREDENTIALS_KEPT:
        return kept[1]
    found = {}
    for setting in api_client.configuration.auth_settings().values():
        if setting["in"] == "header" and setting["value"]:
            found[setting["key"]] = setting["value"]
    api_client._mindcluster_credentials = (now, found)
    return found


def _worth_another(exc: BaseException, method: str) -> bool:
    if isinstance(exc, urllib3_errors.SSLError):
        return False
    if isinstance(exc, urllib3_errors.NewConnectionError):
        return True
    # Whether a POST whose answer was lost has done its work is not known.
    return method != "POST"


def parsed(data: bytes, method: str, url: str, attempts: int = 1) -> t.Any:
    """The JSON of a success; None where there is none.

    :raises ApiError: what came is no JSON.
    """
    if not data:
        return None
    try:
        return json.loads(data)
    except ValueError as exc:
        raise ApiError(
            method,
            url,
            status=200,
            reason="NotJSON",
            message="the answer is not JSON; is `%s` an API server?" % url,
            attempts=attempts,
            cause=exc,
        ) from exc


def _status_of(response: t.Any) -> dict[str, t.Any]:
    """The Status object of a refusal; a server that does not know the path at all answers plain text."""
    try:
        status = json.loads(response.data)
    except ValueError:
        status = None
    if isinstance(status, dict):
        return status
    return {"message": response.data[:200].decode("utf-8", "replace").strip()}


def _refusal(response: t.Any, method: str, url: str, attempt: int) -> ApiError:
    status = _status_of(response)
    return ApiError(
        method,
        url,
        status=response.status,
        reason=str(status.get("reason") or response.reason or ""),
        message=str(status.get("message") or ""),
        details=status.get("details") if isinstance(status.get("details"), dict) else None,
        attempts=attempt,
    )
