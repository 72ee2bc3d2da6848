# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""What can go wrong with a registry, in words; none of them holds a password, a token or a signed address."""

from __future__ import annotations

import json
import re
import ssl
import typing as t

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Finding, Refused
from ansible_collections.mindcluster.recovery.plugins.module_utils._retries import RETRIED_STATUSES, seconds_of

_LONGEST_WORDS = 300

# Kind: code of the finding, why it matters, remedy.
_KINDS = {
    "auth": (
        "registry-auth",
        "The registry does not let this user do that",
        "Check training_image_registry_username and training_image_registry_password, or the Docker configuration of "
        "the user who runs the module, and the user's rights",
    ),
    "missing": (
        "image-missing",
        "There is no such thing in the registry",
        "Check the spelling of name, tag and digest",
    ),
    "trust": (
        "registry-untrusted",
        "Nothing is sent to where it could be read or changed on the way",
        "Name the certificate of its authority in training_image_registry_ca; check the host name in the certificate",
    ),
    "digest": (
        "digest-mismatch",
        "What the registry serves or was sent is not what its name says; an image of it would be broken",
        "Run again; if it stays, the registry's storage or something between damages data: push the image anew",
    ),
    "network": (
        "registry-unreachable",
        "The connection to the registry does not hold",
        "Check the name and the port, that the registry runs, and HTTPS_PROXY and NO_PROXY; then run again",
    ),
    "throttled": (
        "registry-trouble",
        "The registry limits how much may be asked",
        "Run again later, or give a user with a higher limit",
    ),
    "server": ("registry-trouble", "The registry does not answer as it should", "Look at its log; run again later"),
}

# What registries name their errors by, see the distribution specification.
_KIND_OF_CODE = {
    "UNAUTHORIZED": "auth",
    "DENIED": "auth",
    "NAME_UNKNOWN": "missing",
    "MANIFEST_UNKNOWN": "missing",
    "BLOB_UNKNOWN": "missing",
    "MANIFEST_BLOB_UNKNOWN": "missing",
    "DIGEST_INVALID": "digest",
    "SIZE_INVALID": "digest",
    "TOOMANYREQUESTS": "throttled",
}
_KIND_OF_STATUS = {401: "auth", 403: "auth", 404: "missing", 429: "throttled"}


class RegistryError(Refused):
    """A registry refused, cannot be reached, or is not to be trusted.

    :ivar kind: C(auth), C(missing), C(trust), C(digest), C(network), C(throttled) or C(server).
    :ivar status: the HTTP status; 0 where there was no answer.
    :ivar passing: whether the same request may do better a little later.
    :ivar retry_after: the header of that name.
    """

    def __init__(
        self, finding: Finding, kind: str, status: int = 0, passing: bool = False, retry_after: str | None = None
    ) -> None:
        super().__init__(finding)
        self.kind = kind
        self.status = status
        self.passing = passing
        self.retry_after = retry_after

    def final(self, attempts: int) -> RegistryError:
        """The same error after the last attempt."""
        finding = self.findings[0]
        if attempts > 1:
            finding.what = "%s (%d attempts)" % (finding.what, attempts)
        return RegistryError(finding, self.kind, self.status, False, self.retry_after)


def error(
    kind: str, what: str, host: str, *, status: int = 0, passing: bool = False, why: str = "", remedy: str = "",
    code: str = "", retry_after: str | None = None,
) -> RegistryError:  # fmt: skip
    """An error of a kind, with that kind's own sentences where none are given.

    :param what: what is wrong.
    :param host: the registry or the server that it is about.
    """
    usual = _KINDS[kind]
    finding = Finding(code or usual[0], what, why or usual[1], remedy or usual[2], host)
    return RegistryError(finding, kind, status, passing, retry_after)


def refusal(status: int, headers: t.Mapping[str, str], body: bytes, doing: str, host: str) -> RegistryError:
    """What an answer that was not hoped for means.

    :param doing: what was tried, to fill C(could not …).
    """
    code, words = _registry_words(body)
    if status == 400 and re.search(r"HTTPS (?:server|port)", words):
        return error(
            "trust",
            "could not %s: it speaks TLS, and was asked in plain HTTP" % doing,
            host,
            status=status,
            remedy="Leave training_image_registry_insecure out; name its authority in training_image_registry_ca",
        )
    kind = _KIND_OF_CODE.get(code) or _KIND_OF_STATUS.get(status, "server")
    said = ": %s" % words if words else ""
    wait = seconds_of(headers.get("Retry-After"))
    if wait:
        said += "; it asks to wait %d s" % wait
    remedy = ""
    if status == 413:
        remedy = "Raise the limit of the proxy before the registry (client_max_body_size in nginx)"
    return error(
        kind,
        "could not %s (HTTP %d)%s" % (doing, status, said),
        host,
        status=status,
        passing=status in RETRIED_STATUSES,
        remedy=remedy,
        retry_after=headers.get("Retry-After"),
    )


def no_answer(exc: BaseException, doing: str, host: str) -> RegistryError:
    """What an exception of the connection means."""
    words = clean(_innermost(exc))
    lower = words.lower()
    bottom = _bottom(exc)
    # The second one is urllib3's own, before its release 2.
    if isinstance(bottom, ssl.SSLCertVerificationError) or type(bottom).__name__ == "CertificateError":
        return error("trust", "could not %s: its certificate is not trusted: %s" % (doing, words), host)
    if re.search(r"wrong.version.number|record layer|http.request|unknown.protocol|packet length", lower):
        return error(
            "trust",
            "could not %s: it does not speak TLS" % doing,
            host,
            code="registry-plain-http",
            remedy="Give the registry TLS, or set training_image_registry_insecure where the network may be trusted",
        )
    # A name that does not exist will not exist a second later; a name server that is silent may answer.
    unknown = "name or service not known" in lower or "nodename nor servname" in lower
    return error("network", "could not %s: %s" % (doing, words), host, passing=not unknown)


def _bottom(exc: BaseException) -> BaseException:
    """The reason at the bottom of what is wrapped several times over."""
    for _depth in range(8):
        inner = getattr(exc, "reason", None) or next(
            (part for part in reversed(exc.args) if isinstance(part, BaseException)), None
        )
        if not isinstance(inner, BaseException):
            break
        exc = inner
    return exc


def _innermost(exc: BaseException) -> str:
    """What happened, without the words of the wrappings."""
    bottom = _bottom(exc)
    words = getattr(bottom, "verify_message", None) or getattr(bottom, "strerror", None)
    if not isinstance(words, str):
        words = re.sub(r"\A\w*Connection(?:Pool)?\([^()]*\):\s*", "", str(bottom))
    return words or type(bottom).__name__


def clean(text: str) -> str:
    """Words of others for a message: one line, not long, without what signs an address or logs in by it."""
    text = re.sub(r"\?[^\s'\"<>)]*", "", text)
    text = re.sub(r"//[^/\s@]*@", "//", text)
    text = re.sub(r"(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]+", r"\1 …", text)
    text = re.sub(r"<[^<>]* object at 0x[0-9a-f]+>:?\s*", "", text)
    text = " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())
    return text if len(text) <= _LONGEST_WORDS else text[:_LONGEST_WORDS] + "…"


def _registry_words(body: bytes) -> tuple[str, str]:
    """Code and message of the first error in the answer of a registry; both empty where it has another form."""
    try:
        first = json.loads(body)["errors"][0]
        code, message = str(first.get("code", "")), str(first.get("message", ""))
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError):
        # Servers before the registry write a line of text, or a page for people.
        text = body[:2000].decode("utf-8", "replace")
        return "", clean(re.sub(r"<[^<>]*>", " ", text))
    return code, clean(": ".join(filter(None, (message, _detail(first.get("detail"))))))


def _detail(detail: t.Any) -> str:
    return "" if not detail or isinstance(detail, (dict, list)) else str(detail)
