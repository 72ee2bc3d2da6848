# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""How a registry is logged in to: by password, or by tokens that a token server gives for named rights.

See U(https://distribution.github.io/distribution/spec/auth/token/) and, for identity tokens,
U(https://distribution.github.io/distribution/spec/auth/oauth/).
"""

from __future__ import annotations

import base64
import json
import re
import threading
import time
import typing as t
from urllib.parse import urlencode, urlsplit

from ansible_collections.mindcluster.recovery.plugins.module_utils import _registry_errors as errors
from ansible_collections.mindcluster.recovery.plugins.module_utils._image_refs import is_loopback
from ansible_collections.mindcluster.recovery.plugins.module_utils._registry_http import (
    Http,
    absolute,
    host_of,
    hostname_of,
    is_private,
)
from ansible_collections.mindcluster.recovery.plugins.module_utils._registry_login import Login

#: Rights that a request needs: pairs of repository and action (C(pull), C(push)).
Rights = t.FrozenSet[t.Tuple[str, str]]

_LONGEST_TOKEN_ANSWER = 1 << 20
# The specification's value where the answer names none; servers that say less than this get asked too often.
_SHORTEST_LIFE = 60
_CHALLENGE = re.compile(
    r"(?P<name>[A-Za-z0-9!#$%&'*+.^_`|~-]+)(?:\s*=\s*(?:\"(?P<quoted>(?:[^\"\\]|\\.)*)\"|(?P<bare>[^\s,\"]+)))?"
)


class Challenge(t.NamedTuple):
    """How a registry wants to be logged in to."""

    scheme: str
    realm: str
    service: str


class _Token(t.NamedTuple):
    value: str
    ends: float


def rights(*needed: tuple[str, str]) -> Rights:
    """Rights from pairs of a repository and actions with commas between them."""
    return frozenset((repository, action) for repository, actions in needed for action in actions.split(","))


def parse_challenge(header: str) -> Challenge | None:
    """The challenge of a header C(WWW-Authenticate) that can be met; tokens before passwords."""
    found: dict[str, dict[str, str]] = {}
    scheme = ""
    for match in _CHALLENGE.finditer(header[:8192]):
        value = match.group("bare") if match.group("quoted") is None else match.group("quoted")
        if value is None:
            scheme = match.group("name").lower()
            found.setdefault(scheme, {})
        elif scheme:
            found[scheme].setdefault(match.group("name").lower(), re.sub(r"\\(.)", r"\1", value))
    for known in ("bearer", "basic"):
        if known in found and (known == "basic" or found[known].get("realm")):
            return Challenge(known, found[known].get("realm", ""), found[known].get("service", ""))
    return None


class Authorizer:
    """Answers the challenges of one registry, and remembers what it learnt.

    :param host: the registry, for messages.
    :param find_login: asked once, at the first challenge.
    """

    def __init__(self, http: Http, host: str, find_login: t.Callable[[], Login | None]) -> None:
        self._http = http
        self._host = host
        self._find_login = find_login
        self._login: Login | None = None
        self._asked = False
        self._challenge: Challenge | None = None
        self._tokens: dict[Rights, _Token] = {}
        # Several threads may send at once; one of them asks for what all of them need.
        self._lock = threading.RLock()

    def header(self, url: str, needed: Rights) -> dict[str, str]:
        """The header to send with a request; empty before the first challenge.

        :raises RegistryError: where the login would be sent in the clear, or no token is given.
        """
        with self._lock:
            challenge = self._challenge
            if challenge is None:
                return {}
            login = self._known_login()
            if login is not None and not is_private(url):
                raise _in_the_clear(host_of(url))
            if challenge.scheme == "basic":
                return {"Authorization": _basic(login)} if login else {}
            return {"Authorization": "Bearer " + self._token(challenge, url, needed)}

    def challenged(self, headers: t.Mapping[str, str], needed: Rights, sent: t.Mapping[str, str]) -> bool:
        """Learn from an answer of status 401.

        :param sent: the headers of the request.
        :returns: whether the request may do better now.
        """
        with self._lock:
            return self._learn(headers, needed, sent.get("Authorization", ""))

    def _learn(self, headers: t.Mapping[str, str], needed: Rights, sent: str) -> bool:
        challenge = parse_challenge(headers.get("WWW-Authenticate", ""))
        if challenge is None:
            return False
        if challenge.scheme == "basic":
            login = self._known_login()
            if login is None or login.identity_token or sent:
                return False
        self._challenge = challenge
        for known in [known for known, token in self._tokens.items() if sent == "Bearer " + token.value]:
            del self._tokens[known]
        return True

    def explained(self, refusal: errors.RegistryError) -> errors.RegistryError:
        """A refusal that says who was refused."""
        finding = refusal.findings[0]
        login = self._login
        nobody = "not logged in, since no user is given and the Docker configuration has none"
        who = "logged in %s" % login if login else nobody
        return errors.error(refusal.kind, "%s; %s" % (finding.what, who), finding.where, status=refusal.status)

    def _known_login(self) -> Login | None:
        if not self._asked:
            self._login = self._find_login()
            self._asked = True
        return self._login

    def _token(self, challenge: Challenge, url: str, needed: Rights) -> str:
        now = time.monotonic()
        for known, token in self._tokens.items():
            if known >= needed and token.ends > now:
                return token.value
        self._tokens[needed] = token = self._fetch(challenge, url, needed)
        return token.value

    def _fetch(self, challenge: Challenge, url: str, needed: Rights) -> _Token:
        """A token from the server that the registry named."""
        login = self._login
        realm = absolute(url, challenge.realm, "token server")
        self._check_realm(realm, url)
        doing = "get a token for %s" % self._host
        parameters = [("service", challenge.service)] if challenge.service else []
        parameters += [("scope", scope) for scope in _scopes(needed)]
        if login is not None and login.identity_token:
            parameters += [
                ("grant_type", "refresh_token"),
                ("client_id", "mindcluster-recovery"),
                ("refresh_token", login.identity_token),
            ]
            form = {"Content-Type": "application/x-www-form-urlencoded"}
            answer = self._http.exchange("POST", realm, form, doing, urlencode(parameters).encode("ascii"))
        else:
            sent = {"Authorization": _basic(login)} if login else {}
            joint = "&" if urlsplit(realm).query else "?"
            answer = self._http.exchange("GET", realm + joint + urlencode(parameters), sent, doing)
        answer.load(_LONGEST_TOKEN_ANSWER)
        if answer.status != 200:
            refusal = errors.refusal(answer.status, answer.headers, answer.content, doing, host_of(realm))
            raise self.explained(refusal) if refusal.kind == "auth" else refusal
        return _parsed(answer.content, host_of(realm))

    def _check_realm(self, realm: str, url: str) -> None:
        """Whether a login may go where the registry at an address says."""
        if self._login is not None and not is_private(realm):
            raise _in_the_clear(host_of(realm), self._host)
        if is_loopback(hostname_of(realm)) and not is_loopback(hostname_of(url)):
            raise errors.error(
                "trust",
                "%s names this machine itself (%s) as its token server" % (self._host, host_of(realm)),
                self._host,
                code="registry-address-refused",
                why="It would make this machine ask a service of its own in its name",
                remedy="Correct the registry's auth.token.realm; do not use it where it is not yours",
            )


def _basic(login: Login) -> str:
    pair = "%s:%s" % (login.username, login.password)
    return "Basic " + base64.b64encode(pair.encode("utf-8")).decode("ascii")


def _scopes(needed: Rights) -> list[str]:
    actions: dict[str, list[str]] = {}
    for repository, action in sorted(needed):
        actions.setdefault(repository, []).append(action)
    return ["repository:%s:%s" % (repository, ",".join(names)) for repository, names in actions.items()]


def _parsed(body: bytes, host: str) -> _Token:
    """The token of a token server's answer."""
    try:
        document = json.loads(body)
        value = document.get("token") or document.get("access_token")
        life = float(document.get("expires_in") or _SHORTEST_LIFE)
        legal = isinstance(value, str) and re.match(r"\A[\x21-\x7e]+\Z", value) is not None
    except (ValueError, TypeError, AttributeError, OverflowError, RecursionError):
        legal = False
    if not legal:
        raise errors.error("server", "the token server %s gave no token" % host, host)
    # Some seconds less than it lives, so that none ends on its way.
    return _Token(value, time.monotonic() + max(life, _SHORTEST_LIFE) * 0.9)


def _in_the_clear(host: str, registry: str = "") -> errors.RegistryError:
    named = ", which %s names as its token server," % registry if registry else ""
    return errors.error(
        "trust",
        "%s%s asks for a login over plain HTTP" % (host, named),
        host,
        code="registry-login-in-the-clear",
        why="Everybody on the way could read the password",
        remedy="Give it TLS (its certificate in training_image_registry_ca), or let it serve without a login",
    )
