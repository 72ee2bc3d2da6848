# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Challenges of registries, tokens, and to whom a login may go."""

from __future__ import annotations

import base64
import concurrent.futures
import json
import typing as t
from urllib.parse import parse_qs, urlsplit

import pytest

from ansible_collections.mindcluster.recovery.plugins.module_utils._registry_auth import (
    Authorizer,
    Challenge,
    parse_challenge,
    rights,
)
from ansible_collections.mindcluster.recovery.plugins.module_utils._registry_errors import RegistryError
from ansible_collections.mindcluster.recovery.plugins.module_utils._registry_login import Login

URL = "https://registry.example/v2/"
PULL = rights(("team/base", "pull"))
PUSH = rights(("team/base", "pull,push"))
USER = Login("anna", "s3cr3t", "", "the options")
BEARER = {"WWW-Authenticate": 'Bearer realm="https://auth.example/token?x=1",service="r e",scope="repository:x:pull"'}


@pytest.mark.parametrize(
    ("header", "challenge"),
    [
        ('Basic realm="sandbox"', Challenge("basic", "sandbox", "")),
        ("basic", Challenge("basic", "", "")),
        ('Bearer realm="https://a/t",service="r"', Challenge("bearer", "https://a/t", "r")),
        ('bearer service=r, realm="https://a/t"', Challenge("bearer", "https://a/t", "r")),
        ('Basic realm="x", Bearer realm="https://a/t"', Challenge("bearer", "https://a/t", "")),
        ('Bearer realm="https://a/\\"t"', Challenge("bearer", 'https://a/"t', "")),
        ('Bearer service="r"', None),
        ("Negotiate", None),
        ("", None),
        ('Bearer realm="never ends' + "a" * 100000, None),
    ],
)
def test_challenges(header: str, challenge: Challenge | None) -> None:
    assert parse_challenge(header) == challenge


class FakeAnswer:
    def __init__(self, status: int, body: bytes) -> None:
        self.status = status
        self.headers: dict[str, str] = {}
        self.content = body

    def load(self, longest: int) -> None:
        assert longest <= 1 << 20


class FakeHttp:
    """Gives tokens, and keeps what it was asked."""

    def __init__(self, *replies: tuple[int, t.Any]) -> None:
        self.replies = list(replies)
        self.asked: list[tuple[str, str, t.Mapping[str, str], bytes]] = []

    def exchange(
        self, method: str, url: str, headers: t.Mapping[str, str], doing: str, body: bytes = b""
    ) -> FakeAnswer:
        self.asked.append((method, url, headers, body))
        status, document = self.replies.pop(0) if self.replies else (200, {"token": f"t{len(self.asked)}"})
        return FakeAnswer(status, document if isinstance(document, bytes) else json.dumps(document).encode())


def authorizer(http: FakeHttp, login: Login | None = None) -> Authorizer:
    return Authorizer(http, "registry.example", lambda: login)  # type: ignore[arg-type]


def test_nothing_is_sent_before_the_registry_asks() -> None:
    assert authorizer(FakeHttp(), USER).header(URL, PULL) == {}


def test_password_after_a_basic_challenge() -> None:
    asker = authorizer(FakeHttp(), USER)
    assert asker.challenged({"WWW-Authenticate": "Basic"}, PULL, {})
    assert asker.header(URL, PULL) == {"Authorization": "Basic " + base64.b64encode(b"anna:s3cr3t").decode()}
    sent = asker.header(URL, PULL)
    assert not asker.challenged({"WWW-Authenticate": "Basic"}, PULL, sent), "the same password would be refused again"
    assert asker.challenged({"WWW-Authenticate": "Basic"}, PULL, {}), "it was not sent with this request"


def test_no_password_to_send() -> None:
    assert not authorizer(FakeHttp()).challenged({"WWW-Authenticate": "Basic"}, PULL, {})


def test_token_is_asked_for_once_and_for_what_is_needed() -> None:
    http = FakeHttp()
    asker = authorizer(http, USER)
    assert asker.challenged(BEARER, PULL, {})
    assert asker.header(URL, PUSH) == {"Authorization": "Bearer t1"}
    assert asker.header(URL, PUSH) == asker.header(URL, PULL) == {"Authorization": "Bearer t1"}
    method, url, headers, _body = http.asked[0]
    assert (method, len(http.asked)) == ("GET", 1)
    assert parse_qs(urlsplit(url).query) == {
        "x": ["1"],
        "service": ["r e"],
        "scope": ["repository:team/base:pull,push"],
    }
    assert base64.b64decode(headers["Authorization"].partition(" ")[2]) == b"anna:s3cr3t"


def test_token_for_pulling_does_not_push() -> None:
    http = FakeHttp()
    asker = authorizer(http)
    asker.challenged(BEARER, PULL, {})
    assert asker.header(URL, PULL) != asker.header(URL, PUSH)
    assert all("Authorization" not in headers for _method, _url, headers, _body in http.asked)


def test_rights_on_two_repositories_are_two_scopes() -> None:
    http = FakeHttp()
    asker = authorizer(http)
    asker.challenged(BEARER, PULL, {})
    asker.header(URL, rights(("team/new", "pull,push"), ("team/base", "pull")))
    scopes = parse_qs(urlsplit(http.asked[0][1]).query)["scope"]
    assert scopes == ["repository:team/base:pull", "repository:team/new:pull,push"]


def test_refused_token_is_replaced() -> None:
    asker = authorizer(FakeHttp())
    asker.challenged(BEARER, PULL, {})
    first = asker.header(URL, PULL)
    assert asker.challenged(BEARER, PULL, first)
    assert asker.header(URL, PULL) != first


def test_identity_token_goes_in_a_form() -> None:
    http = FakeHttp((200, {"access_token": "t", "expires_in": 900}))
    asker = authorizer(http, Login("", "", "1d3nt1ty", "config.json"))
    asker.challenged(BEARER, PULL, {})
    assert asker.header(URL, PULL) == {"Authorization": "Bearer t"}
    method, url, headers, body = http.asked[0]
    form = parse_qs(body.decode())
    assert (method, form["grant_type"], form["refresh_token"]) == ("POST", ["refresh_token"], ["1d3nt1ty"])
    assert "1d3nt1ty" not in url and "Authorization" not in headers


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"[]",
        b"{}",
        b'{"token": 5}',
        b'{"token": "a\\r\\nX: y"}',
        b"[" * 100000,
        b'{"token": "a", "expires_in": "x"}',
        b'{"token": "a", "expires_in": 1' + b"0" * 400 + b"}",
    ],
)
def test_answers_without_a_token(answer: bytes) -> None:
    asker = authorizer(FakeHttp((200, answer)))
    asker.challenged(BEARER, PULL, {})
    with pytest.raises(RegistryError, match=r"auth\.example gave no token"):
        asker.header(URL, PULL)


@pytest.mark.parametrize(
    ("realm", "login", "match"),
    [
        ("file:///etc/passwd", None, "token server"),
        ("gopher://auth.example/", None, "token server"),
        ("//user:pass@auth.example/token", None, "token server"),
        ("http://auth.example/token", USER, "plain HTTP"),
        ("http://127.0.0.1/token", None, "this machine itself"),
        ("https://localhost:8443/token", USER, "this machine itself"),
    ],
)
def test_token_servers_that_are_not_trusted(realm: str, login: Login | None, match: str) -> None:
    http = FakeHttp()
    asker = authorizer(http, login)
    asker.challenged({"WWW-Authenticate": f'Bearer realm="{realm}"'}, PULL, {})
    with pytest.raises(RegistryError, match=match) as refused:
        asker.header(URL, PULL)
    assert (refused.value.kind, http.asked) == ("trust", [])
    assert "pass@" not in str(refused.value)


@pytest.mark.parametrize("challenge", ["Basic", BEARER["WWW-Authenticate"]])
def test_no_login_over_plain_http(challenge: str) -> None:
    asker = authorizer(FakeHttp(), USER)
    asker.challenged({"WWW-Authenticate": challenge}, PULL, {})
    with pytest.raises(RegistryError, match="over plain HTTP") as refused:
        asker.header("http://registry.example/v2/", PULL)
    assert refused.value.kind == "trust"


def test_wrong_password_is_told_without_the_password() -> None:
    words = {"errors": [{"code": "UNAUTHORIZED", "message": "incorrect username or password"}]}
    asker = authorizer(FakeHttp((401, words)), USER)
    asker.challenged(BEARER, PULL, {})
    with pytest.raises(RegistryError) as refused:
        asker.header(URL, PULL)
    assert "incorrect username or password; logged in as `anna` of the options" in str(refused.value)
    assert "s3cr3t" not in f"{refused.value!s} {refused.value!r} {USER!r} {USER}"


def test_several_threads_need_one_token() -> None:
    http = FakeHttp()
    asker = authorizer(http, USER)
    asker.challenged(BEARER, PULL, {})
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        headers = list(pool.map(lambda _number: asker.header(URL, PUSH)["Authorization"], range(40)))
    assert (set(headers), len(http.asked)) == ({"Bearer t1"}, 1)
