# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""One request and its answer: connection, trust in the other side, limits, counts. No login, no second attempt."""

from __future__ import annotations

import contextlib
import http.cookiejar
import re
import socket
import ssl
import threading
import traceback
import typing as t
from urllib.parse import urljoin, urlsplit

from ansible_collections.mindcluster.recovery.plugins.module_utils import _registry_errors as errors
from ansible_collections.mindcluster.recovery.plugins.module_utils._image_refs import is_loopback

REQUESTS_IMPORT_ERROR: str | None
try:
    import requests
    from requests.adapters import HTTPAdapter
    from urllib3.exceptions import HTTPError
    from urllib3.util.ssl_ import create_urllib3_context

    REQUESTS_IMPORT_ERROR = None
except ImportError:
    REQUESTS_IMPORT_ERROR = traceback.format_exc()
    HTTPAdapter = object  # so that the class below can be defined

#: No manifest, token or error page is longer; registries themselves refuse manifests of more than 4 MB.
LONGEST_BODY = 8 << 20
_TIMEOUT_CONNECT = 15.0
_TIMEOUT_READ = 60.0
#: A registry answers the end of an upload after it has read the whole blob once more.
TIMEOUT_COMMIT = 900.0
_NO_PROXY = {"http": "", "https": "", "all": ""}


class Statistics:
    """What went over the line: requests with their repetitions, and bytes of bodies."""

    def __init__(self) -> None:
        self.requests = 0
        self.bytes_down = 0
        self.bytes_up = 0
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return "%d requests, %d bytes down, %d bytes up" % (self.requests, self.bytes_down, self.bytes_up)

    def add(self, requests: int = 0, down: int = 0, up: int = 0) -> None:
        with self._lock:
            self.requests += requests
            self.bytes_down += down
            self.bytes_up += up


class Answer:
    """An answer, whose body is still to be read.

    :ivar url: what was asked.
    :ivar content: the body, after C(load).
    """

    def __init__(self, response: t.Any, method: str, url: str, statistics: Statistics) -> None:
        self._response = response
        self._statistics = statistics
        self._host = host_of(url)
        self._has_body = method != "HEAD" and response.status_code != 204
        self._few = 16
        self.url = url
        self.content = b""
        self.status: int = response.status_code
        self.headers: t.Mapping[str, str] = response.headers

    def read(self, amount: int) -> bytes:
        """At most that many bytes as they came over the line; empty at the end.

        :raises RegistryError: where the connection does not hold.
        """
        try:
            data: bytes = self._response.raw.read(amount, decode_content=False)
        except (HTTPError, OSError, ValueError) as exc:
            self.close()
            raise errors.no_answer(exc, "read from %s" % self._host, self._host) from None
        self._statistics.add(down=len(data))
        return data

    def load(self, longest: int = LONGEST_BODY) -> None:
        """Read the whole body into O(content).

        :raises RegistryError: where it is longer than anything sensible, or ends early.
        """
        parts, total = [], 0
        while True:
            part = self.read(65536)
            if not part:
                break
            total += len(part)
            if total > longest:
                self.close()
                raise errors.error(
                    "server",
                    "%s answered with more than %d bytes where a small document belongs" % (self._host, longest),
                    self._host,
                    status=self.status,
                    why="A registry that does so is broken or means harm",
                )
            parts.append(part)
        promised = number_of(self.headers.get("Content-Length", ""))
        if promised is not None and promised > total and self._has_body:
            self.close()
            raise errors.error("network", "the answer of %s ended early" % self._host, self._host, passing=True)
        self.content = b"".join(parts)

    def discard(self) -> None:
        """Close it, but keep the connection where only a little is left to read."""
        with contextlib.suppress(errors.RegistryError):
            while self.read(65536) and self._few:
                self._few -= 1
        self.close()

    def close(self) -> None:
        """Give the connection back, or close it where the body was not read to its end."""
        self._response.close()


class Http:
    """Connections that are kept open, with one idea of whom to trust.

    :param ca_file: certificates to trust besides those of the system.
    """

    def __init__(self, ca_file: str | None = None) -> None:
        self.statistics = Statistics()
        self._verify: bool | str = ca_file or True
        self._session = requests.Session()
        # Neither ~/.netrc nor an address may log in, and no cookie makes a registry take this for a browser.
        self._session.auth = _as_it_is
        self._session.cookies.set_policy(http.cookiejar.DefaultCookiePolicy(allowed_domains=[]))
        self._session.mount("https://", _SystemTrust())

    def exchange(
        self,
        method: str,
        url: str,
        headers: t.Mapping[str, str],
        doing: str,
        body: t.Any = None,
        timeout: float = _TIMEOUT_READ,
    ) -> Answer:
        """Send one request; redirects are not followed.

        :param body: bytes, or something that gives them each time it is iterated over and knows its length.
        :raises RegistryError: where there is no answer.
        """
        host = host_of(url)
        sent = {"User-Agent": "mindcluster-recovery", "Accept-Encoding": "identity"}
        sent.update(headers)
        if body is not None:
            sent["Content-Length"] = str(len(body))
        self.statistics.add(requests=1)
        try:
            response = self._session.request(
                method,
                url,
                headers=sent,
                data=_Counted(body, self.statistics) if body else body,
                stream=True,
                allow_redirects=False,
                verify=self._verify,
                timeout=(_TIMEOUT_CONNECT, timeout),
                # The engine never asks a proxy for this machine itself either.
                proxies=dict(_NO_PROXY) if is_loopback(hostname_of(url)) else None,
            )
        except (requests.exceptions.RequestException, HTTPError, OSError, ValueError) as exc:
            raise errors.no_answer(exc, doing, host) from None
        return Answer(response, method, url, self.statistics)


class _Counted:
    """A body that counts what is sent of it."""

    def __init__(self, body: t.Any, statistics: Statistics) -> None:
        self._body = body
        self._statistics = statistics

    def __len__(self) -> int:
        return len(self._body)

    def __iter__(self) -> t.Iterator[bytes]:
        for part in (self._body,) if isinstance(self._body, bytes) else self._body:
            yield part
            self._statistics.add(up=len(part))


class _SystemTrust(HTTPAdapter):
    """Trusts what the system trusts, as the engine does, besides what requests brings along."""

    def init_poolmanager(self, *args: t.Any, **kwargs: t.Any) -> None:
        super().init_poolmanager(*args, ssl_context=_system_context(), **kwargs)

    def proxy_manager_for(self, *args: t.Any, **kwargs: t.Any) -> t.Any:
        return super().proxy_manager_for(*args, ssl_context=_system_context(), **kwargs)


def _system_context() -> ssl.SSLContext:
    # Of urllib3's own making: releases before 2 check host names, and addresses, only by themselves.
    context: ssl.SSLContext = create_urllib3_context()
    context.load_default_certs()
    return context


def _as_it_is(request: t.Any) -> t.Any:
    return request


def number_of(text: str) -> int | None:
    """A count in a header; None where it is none, or longer than any."""
    return int(text) if re.match(r"\A[0-9]{1,18}\Z", text) else None


def host_of(url: str) -> str:
    """Host and port of an address, as they stand in it."""
    return urlsplit(url).netloc.rpartition("@")[2]


def hostname_of(url: str) -> str:
    return urlsplit(url).hostname or ""


def origin_of(url: str) -> tuple[str, str, int]:
    """Scheme, host and port: what two addresses share when they are the same server's."""
    parts = urlsplit(url)
    return parts.scheme, parts.hostname or "", parts.port or (80 if parts.scheme == "http" else 443)


def is_private(url: str) -> bool:
    """Whether nobody on the way can read what is sent there."""
    return urlsplit(url).scheme == "https" or is_loopback(hostname_of(url))


def absolute(url: str, relative: str, what: str) -> str:
    """The address that an answer names, joined with the one that was asked.

    :param what: what it is, for the message.
    :raises RegistryError: where it is no address of a web server.
    """
    try:
        joined = urljoin(url, relative)
        parts = urlsplit(joined)
        legal = parts.scheme in ("http", "https") and bool(parts.hostname) and "@" not in parts.netloc
        legal = legal and (parts.port is None or parts.port > 0)
    except ValueError:
        legal = False
    if not legal:
        raise errors.error(
            "trust",
            "%s names `%s` as its %s" % (host_of(url), errors.clean(relative), what),
            host_of(url),
            code="registry-address-refused",
            why="Only http and https addresses without a login in them are legal there",
            remedy="Correct the registry's configuration; do not use it where it is not yours",
        )
    return joined


def speaks_tls(host: str, port: int) -> bool:
    """Whether a server on this machine speaks TLS; its certificate is checked by the requests that follow."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    try:
        with socket.create_connection((host, port), timeout=5) as plain, context.wrap_socket(plain):
            return True
    except OSError:
        return False
