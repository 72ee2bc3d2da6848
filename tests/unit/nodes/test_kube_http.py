# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One request: what is repeated, how long is waited, what is given up."""

from __future__ import annotations

import email.utils
import time

import pytest
from kube_fake_api import FakeApi, Fault

from ansible_collections.mindcluster.recovery.plugins.module_utils import _kube_http
from ansible_collections.mindcluster.recovery.plugins.module_utils._kube import ApiError, call, connect
from ansible_collections.mindcluster.recovery.plugins.module_utils._retries import seconds_of

NODES = "/api/v1/nodes"


def first(count: int, fault: Fault):
    """The fault for the first requests, then none."""
    return lambda method, path, number: fault if number <= count else None


def test_answer_is_parsed(api: FakeApi):
    status, body = call(connect(api.params), "GET", NODES)
    assert status == 200
    assert [item["metadata"]["name"] for item in body["items"]] == ["master-1", "worker-1", "worker-2"]


def test_token_is_sent_as_bearer(api: FakeApi):
    call(connect(api.params), "GET", NODES)
    assert api.requests[0][3]["authorization"] == "Bearer s3cr3t-token"


def test_a_token_that_was_renewed_is_sent_from_the_next_second_on(api: FakeApi, monkeypatch: pytest.MonkeyPatch):
    now = [100.0]
    monkeypatch.setattr(_kube_http.time, "monotonic", lambda: now[0])
    client = connect(api.params)
    call(client, "GET", NODES)
    client.configuration.api_key["authorization"] = "Bearer renewed"
    now[0] += 1.0
    call(client, "GET", NODES)
    assert [request[3]["authorization"] for request in api.requests] == ["Bearer s3cr3t-token", "Bearer renewed"]


def test_throttled_request_waits_as_long_as_the_server_says(api: FakeApi, pauses: list[float]):
    api.fault = first(2, Fault(429, {"Retry-After": "7"}))
    assert call(connect(api.params), "GET", NODES)[0] == 200
    assert pauses == [7.0, 7.0]


def test_no_pause_is_longer_than_the_limit(api: FakeApi, pauses: list[float]):
    api.fault = first(1, Fault(429, {"Retry-After": "86400"}))
    call(connect(api.params), "GET", NODES)
    assert pauses == [20.0]


@pytest.mark.parametrize("status", [500, 502, 503, 504])
def test_server_errors_are_repeated_with_growing_pauses(api: FakeApi, pauses: list[float], status: int):
    api.fault = first(4, Fault(status))
    assert call(connect(api.params), "PATCH", NODES + "/worker-1?fieldManager=x", body={"metadata": {"labels": {}}})
    assert len(pauses) == 4
    assert pauses == sorted(pauses)


def test_broken_connections_are_repeated(api: FakeApi, pauses: list[float]):
    api.fault = first(3, Fault(0))
    assert call(connect(api.params), "GET", NODES)[0] == 200
    assert len(pauses) == 3


def test_retries_are_bounded(api: FakeApi, pauses: list[float]):
    api.fault = first(1000, Fault(503))
    with pytest.raises(ApiError) as caught:
        call(connect(api.params), "GET", NODES)
    assert (caught.value.status, caught.value.attempts, len(api.requests)) == (503, 6, 6)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 422])
def test_refusals_are_not_repeated(api: FakeApi, pauses: list[float], status: int):
    api.fault = first(1000, Fault(status))
    with pytest.raises(ApiError) as caught:
        call(connect(api.params), "GET", NODES)
    assert caught.value.status == status
    assert (len(api.requests), pauses) == (1, [])


@pytest.mark.parametrize("fault", [Fault(0), Fault(500), Fault(504)])
def test_a_post_that_may_have_worked_is_not_sent_again(api: FakeApi, pauses: list[float], fault: Fault):
    api.fault = first(1, fault)
    with pytest.raises(ApiError):
        call(connect(api.params), "POST", NODES, body={})
    assert len(api.requests) == 1


def test_a_throttled_post_is_sent_again(api: FakeApi, pauses: list[float]):
    api.fault = first(1, Fault(429))
    assert call(connect(api.params), "POST", NODES, body={})[0] == 201


def test_a_refusal_can_be_asked_for_as_an_answer(api: FakeApi):
    status, body = call(connect(api.params), "GET", NODES + "/other", accept_statuses=(404,))
    assert (status, body["reason"]) == (404, "NotFound")


def test_connections_are_kept_alive(api: FakeApi):
    client = connect(api.params)
    for _number in range(20):
        call(client, "GET", NODES)
    assert api.connections == 1


def test_a_proxy_that_answers_with_a_page_is_recognised(api: FakeApi):
    api.fault = first(1, Fault(200, {"Content-Type": "text/html"}, b"<html>login</html>"))
    with pytest.raises(ApiError, match="not JSON"):
        call(connect(api.params), "GET", NODES)


def test_token_is_in_no_error(api: FakeApi, pauses: list[float]):
    api.fault = first(1000, Fault(500))
    with pytest.raises(ApiError) as caught:
        call(connect(api.params), "GET", NODES)
    assert "s3cr3t-token" not in "%s %r %s" % (caught.value, caught.value, vars(caught.value))


def test_retry_after_as_a_date():
    soon = email.utils.formatdate(time.time() + 30, usegmt=True)
    assert seconds_of(soon) == pytest.approx(30, abs=2)


@pytest.mark.parametrize("header", [None, "", "soon", "Mon, 99 Foo"])
def test_illegal_retry_after_is_ignored(header: str):
    assert seconds_of(header) is None
