# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""Requests to one registry: with login, redirects and repetitions."""

from __future__ import annotations

import contextlib
import typing as t
from urllib.parse import urljoin

from ansible_collections.mindcluster.recovery.plugins.module_utils import _registry_errors as errors
from ansible_collections.mindcluster.recovery.plugins.module_utils._image_refs import is_loopback
from ansible_collections.mindcluster.recovery.plugins.module_utils._registry_auth import Authorizer, Rights
from ansible_collections.mindcluster.recovery.plugins.module_utils._registry_http import (
    Answer,
    Http,
    absolute,
    host_of,
    hostname_of,
    is_private,
    origin_of,
    speaks_tls,
)
from ansible_collections.mindcluster.recovery.plugins.module_utils._registry_login import HUB_HOSTS, find_login
from ansible_collections.mindcluster.recovery.plugins.module_utils._retries import RetryPolicy, seconds_of

_REDIRECTS = frozenset((301, 302, 303, 307, 308))
_MOST_REDIRECTS = 5
_LONGEST_PAUSE = 60.0


class Session:
    """One registry.

    :param host: host with an optional port.
    :param ca_file: certificates to trust besides those of the system; says that the registry speaks TLS.
    :param insecure: speak plain HTTP. Without it only registries on this machine are asked how they speak.
    :param retries: how many times a request is repeated.
    """

    def __init__(
        self,
        host: str,
        username: str | None,
        password: str | None,
        ca_file: str | None,
        insecure: bool,
        docker_config: str | None,
        retries: int,
    ) -> None:
        self.host = host
        self.http = Http(ca_file)
        self.policy = RetryPolicy(attempts=retries + 1, first=0.5, longest=_LONGEST_PAUSE)
        self._authorizer = Authorizer(self.http, host, lambda: find_login(host, username, password, docker_config))
        self._tls: bool | None = True if ca_file else False if insecure else None
        self._base = ""

    @property
    def base(self) -> str:
        """Address of the registry's interface, with a slash at its end."""
        if not self._base:
            address = HUB_HOSTS[-1] if self.host in HUB_HOSTS else self.host
            tls = self._tls
            if tls is None:
                name = hostname_of("//" + address)
                tls = not is_loopback(name) or speaks_tls(name, origin_of("https://" + address)[2])
            self._base = "%s://%s/v2/" % ("https" if tls else "http", address)
        return self._base

    def call(
        self,
        method: str,
        url: str,
        doing: str,
        rights: Rights,
        *,
        headers: t.Mapping[str, str] | None = None,
        body: t.Any = None,
        expect: t.Container[int] = (200,),
        attempts: int = 0,
        stream: bool = False,
        **options: t.Any,
    ) -> Answer:
        """Send a request until it is answered as hoped for, or nothing better is to be expected.

        :param url: below C(base), or an address that C(location) gave.
        :param doing: what it is for, to fill C(could not …).
        :param rights: what a token has to allow.
        :param attempts: how many times at most; 0 for the usual number.
        :param stream: leave the body to be read by the caller, who has to close the answer.
        :returns: an answer with one of the expected statuses.
        :raises RegistryError: any other answer, or none.
        """
        attempts = attempts or self.policy.attempts
        attempt = 0
        while True:
            attempt += 1
            try:
                answer = self._followed(method, urljoin(self.base, url), doing, rights, headers or {}, body, options)
                if answer.status in expect:
                    if not stream:
                        answer.load()
                    return answer
                error = self._refusal(answer, doing)
            except errors.RegistryError as exc:
                error = exc
            if not self.worth_another(error) or attempt >= attempts:
                raise error.final(attempt) if attempts > 1 else error
            self.policy.pause(attempt, error.retry_after)

    @staticmethod
    def worth_another(error: errors.RegistryError) -> bool:
        """Whether a repetition may do better, and soon enough."""
        return error.passing and (seconds_of(error.retry_after) or 0) <= _LONGEST_PAUSE

    def location(self, answer: Answer) -> str:
        """The address for the rest of an upload, which has to be this registry's own.

        :raises RegistryError: where it is another server's, to which neither login nor data may go.
        """
        url = absolute(answer.url, answer.headers.get("Location", ""), "address for uploads")
        if origin_of(url) != origin_of(self.base):
            raise errors.error(
                "trust",
                "%s wants the upload at %s://%s" % (self.host, origin_of(url)[0], host_of(url)),
                self.host,
                code="registry-address-refused",
                why="Image and login would go to another server, or over a connection that anybody can read",
                remedy="Let the registry name its own address: http.host or http.relativeurls in its configuration, "
                "X-Forwarded-Proto and X-Forwarded-Host in the proxy before it",
            )
        return url

    def _followed(
        self, method: str, url: str, doing: str, rights: Rights, headers: t.Mapping[str, str], body: t.Any,
        options: dict[str, t.Any],
    ) -> Answer:  # fmt: skip
        answer = self._authorised(method, url, doing, rights, headers, body, options)
        hops = 0
        while answer.status in _REDIRECTS and method in ("GET", "HEAD"):
            hops += 1
            answer.discard()
            target = self._target(answer, hops, doing)
            if origin_of(target) == origin_of(self.base):
                answer = self._authorised(method, target, doing, rights, headers, body, options)
            else:
                # Storage of others knows nothing of this login, and must not: the address itself is signed.
                answer = self.http.exchange(method, target, headers, doing, body, **options)
        return answer

    def _authorised(
        self, method: str, url: str, doing: str, rights: Rights, headers: t.Mapping[str, str], body: t.Any,
        options: dict[str, t.Any],
    ) -> Answer:  # fmt: skip
        for again in (False, True):
            sent = {**headers, **self._authorizer.header(url, rights)}
            answer = self.http.exchange(method, url, sent, doing, body, **options)
            if answer.status != 401 or again or not self._authorizer.challenged(answer.headers, rights, sent):
                break
            answer.discard()
        return answer

    def _target(self, answer: Answer, hops: int, doing: str) -> str:
        target = absolute(answer.url, answer.headers.get("Location", ""), "other address")
        if hops > _MOST_REDIRECTS:
            why = "it sends on more than %d times" % _MOST_REDIRECTS
        elif is_private(answer.url) and not is_private(target):
            why = "it sends on from TLS to plain HTTP at %s" % host_of(target)
        elif is_loopback(hostname_of(target)) and not is_loopback(hostname_of(answer.url)):
            why = "it sends on to this machine itself"
        else:
            return target
        raise errors.error(
            "trust",
            "could not %s: %s" % (doing, why),
            self.host,
            code="registry-address-refused",
            remedy="Correct the registry's storage settings; do not use it where it is not yours",
        )

    def _refusal(self, answer: Answer, doing: str) -> errors.RegistryError:
        """What an answer means that is not as hoped for."""
        # That the words cannot be read must not hide the refusal.
        with contextlib.suppress(errors.RegistryError):
            answer.load()
        own = origin_of(answer.url) == origin_of(self.base)
        error = errors.refusal(answer.status, answer.headers, answer.content, doing, host_of(answer.url))
        return self._authorizer.explained(error) if own and error.kind == "auth" else error
