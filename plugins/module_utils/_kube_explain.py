# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""A failed request to the Kubernetes API in the words of the person who has to put it right."""

from __future__ import annotations

import re
import socket
import ssl
import typing as t
from urllib.parse import urlsplit

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Finding

# The sentence of the API server's authorizer, the same in all releases since 1.8.
FORBIDDEN = re.compile(
    r'User "(?P<user>[^"]*)" cannot (?P<verb>\w+) resource "(?P<resource>[^"]+)"'
    r' in API group "(?P<group>[^"]*)"(?: in the namespace "(?P<namespace>[^"]*)")?'
)


def explain_api_error(exc: BaseException, doing_what: str) -> Finding:
    """What went wrong, why, and what to do about it.

    :param exc: an C(ApiError) of C(_kube_http), a C(kubernetes.client.ApiException) or an error of the HTTP library.
    :param doing_what: what was being done, such as "list the nodes"; it is put into the sentence.
    :returns: a finding; its code begins with C(kube-).
    """
    status = int(getattr(exc, "status", 0) or 0)
    if status == 0:
        return _no_answer(exc, doing_what)
    explained = {401: _unauthorized, 403: _forbidden, 404: _not_found, 409: _conflict, 429: _throttled}
    if status in explained:
        return explained[status](exc, doing_what)
    if getattr(exc, "reason", "") == "NotJSON":
        return _not_an_api(exc, doing_what)
    return _other(exc, doing_what, status)


def message_of(exc: BaseException) -> str:
    """The server's own sentence, on one line; never a header, so that no token is in it."""
    message = getattr(exc, "message", "") or getattr(exc, "reason", "") or str(exc)
    return " ".join(str(message).split())


def server_of(exc: BaseException) -> str:
    """Address of the server that was asked, without path and query."""
    parts = urlsplit(getattr(exc, "url", "") or "")
    return "%s://%s" % (parts.scheme, parts.netloc.rpartition("@")[2]) if parts.netloc else "the API server"


def _chain(exc: BaseException | None) -> t.Iterator[BaseException]:
    seen: set[int] = set()
    pending: list[t.Any] = [exc]
    while pending:
        current = pending.pop(0)
        if not isinstance(current, BaseException) or id(current) in seen:
            continue
        seen.add(id(current))
        yield current
        pending += [getattr(current, "cause", None), getattr(current, "reason", None)]
        pending += [current.__cause__, current.__context__]
        pending += list(current.args)


def _no_answer(exc: BaseException, doing_what: str) -> Finding:
    causes = list(_chain(exc))
    text = " ".join(str(cause) for cause in causes)
    server = server_of(exc)
    if any(isinstance(cause, ssl.SSLError) or type(cause).__name__ == "SSLError" for cause in causes):
        return _tls(text, doing_what, server)
    if any(isinstance(cause, ConnectionRefusedError) for cause in causes) or "Connection refused" in text:
        return Finding(
            "kube-connection-refused",
            "Cannot %s: `%s` refuses the connection" % (doing_what, server),
            "No API server listens at that address and port",
            "Check the server's address in the kubeconfig and that the control plane is up (`kubectl cluster-info`)",
            server,
        )
    if any(isinstance(cause, socket.gaierror) or type(cause).__name__ == "NameResolutionError" for cause in causes):
        return Finding(
            "kube-name-unknown",
            "Cannot %s: the name in `%s` cannot be resolved" % (doing_what, server),
            "The API server's address is not known to DNS on this machine",
            "Check the server's address in the kubeconfig, the resolver, and a proxy that may be needed",
            server,
        )
    if "timed out" in text.lower() or any("Timeout" in type(cause).__name__ for cause in causes):
        return Finding(
            "kube-timeout",
            "Cannot %s: `%s` does not answer in time" % (doing_what, server),
            "A firewall drops the packets, or the server is overloaded",
            "Try `kubectl get --raw /readyz` from this machine; then run again, finished work is not done twice",
            server,
        )
    return Finding(
        "kube-connection-broken",
        "Cannot %s: the connection to `%s` breaks (%s)" % (doing_what, server, message_of(exc)[:200]),
        "The server, a load balancer or a proxy in between closed it, also after several attempts",
        "Check the control plane and the proxy settings; then run again, finished work is not done twice",
        server,
    )


def _tls(text: str, doing_what: str, server: str) -> Finding:
    found = re.search(
        r"(certificate verify failed[^()]*|WRONG_VERSION_NUMBER|wrong version number|\[SSL[^\]]*\][^()]*)", text
    )
    what = "Cannot %s: no TLS connection to `%s` (%s)" % (
        doing_what,
        server,
        found.group(1).strip() if found else "TLS",
    )
    if "version number" in text.lower() or "WRONG_VERSION" in text:
        return Finding(
            "kube-tls",
            what,
            "What listens there does not speak TLS, or a proxy stands in between",
            "Check the scheme and port of the server's address in the kubeconfig",
            server,
        )
    return Finding(
        "kube-tls",
        what,
        "The server's certificate is not signed by the authority that the kubeconfig names, or is for another name",
        "Give the cluster's CA (`certificate-authority` in the kubeconfig, or the option `ca_cert`)",
        server,
    )


def _unauthorized(exc: BaseException, doing_what: str) -> Finding:
    return Finding(
        "kube-unauthorized",
        "Cannot %s: the API server does not accept the credentials (401)" % doing_what,
        "The token or certificate is wrong, expired, or of another cluster",
        "Fetch a fresh kubeconfig; `kubectl auth whoami` or `kubectl get --raw /version` shows whether it is accepted",
        server_of(exc),
    )


def _forbidden(exc: BaseException, doing_what: str) -> Finding:
    match = FORBIDDEN.search(_body_text(exc))
    if not match:
        return Finding(
            "kube-forbidden",
            "Cannot %s: the API server forbids it (403): %s" % (doing_what, message_of(exc)),
            "The user lacks a right, or an admission controller refuses the change",
            "Compare the user's rights with the manifests under docs/rbac of this collection",
            server_of(exc),
        )
    group, resource, namespace = match.group("group"), match.group("resource"), match.group("namespace")
    full = "%s.%s" % (resource, group) if group else resource
    scope = "in the namespace `%s`" % namespace if namespace else "cluster-wide"
    manifest = "docs/rbac/%s.yaml" % _rbac(resource.split("/")[0], match.group("verb"))
    return Finding(
        "kube-forbidden",
        "Cannot %s: the user `%s` lacks the verb `%s` on `%s` %s (403)"
        % (doing_what, match.group("user"), match.group("verb"), full, scope),
        "The rights that this needs are not bound to the user",
        "Let an administrator apply %s of this collection and bind it to the user; "
        "`kubectl auth can-i %s %s` must then say yes" % (manifest, match.group("verb"), full),
        server_of(exc),
    )


def _rbac(resource: str, verb: str) -> str:
    """The manifest that has the right."""
    if resource in ("nodes", "namespaces"):
        return resource
    return "uninstall" if (resource, verb) == ("configmaps", "delete") else "jobs"


def _body_text(exc: BaseException) -> str:
    body = getattr(exc, "body", None)
    if isinstance(body, bytes):
        body = body.decode("utf-8", "replace")
    # In a body the sentence stands as JSON, with its quotes escaped.
    return "%s %s" % (getattr(exc, "message", ""), (body or "").replace('\\"', '"'))


def _not_found(exc: BaseException, doing_what: str) -> Finding:
    message = message_of(exc)
    if "could not find the requested resource" in message or "page not found" in message:
        return Finding(
            "kube-kind-unknown",
            "Cannot %s: the cluster does not know that kind of object (404)" % doing_what,
            "The custom resource definition is not installed, or the address is not that of an API server",
            "Install MindCluster's ascend-operator, which brings the AscendJob definition, and check the address",
            server_of(exc),
        )
    return Finding(
        "kube-not-found",
        "Cannot %s: %s (404)" % (doing_what, message or "there is no such object"),
        "It was deleted in the meantime, or the name or namespace is misspelt",
        "Check the name with `kubectl get`",
        server_of(exc),
    )


def _conflict(exc: BaseException, doing_what: str) -> Finding:
    return Finding(
        "kube-conflict",
        "Cannot %s: it was changed by somebody else at the same time (409): %s" % (doing_what, message_of(exc)),
        "Two writers want the same object",
        "Run again; if it happens every time, see who else writes it (`kubectl get --show-managed-fields -o yaml`)",
        server_of(exc),
    )


def _throttled(exc: BaseException, doing_what: str) -> Finding:
    return Finding(
        "kube-throttled",
        "Cannot %s: the API server asks to wait, also after %d attempts (429)"
        % (doing_what, getattr(exc, "attempts", 1)),
        "It has more requests than it can serve",
        "Run again later or with fewer `workers`; finished work is not done twice",
        server_of(exc),
    )


def _not_an_api(exc: BaseException, doing_what: str) -> Finding:
    return Finding(
        "kube-not-an-api-server",
        "Cannot %s: `%s` answers something else than an API's JSON" % (doing_what, server_of(exc)),
        "The address is not that of a Kubernetes API server, or a proxy answers in its place",
        "Check the server's address in the kubeconfig and the proxy variables (no_proxy)",
        server_of(exc),
    )


def _other(exc: BaseException, doing_what: str, status: int) -> Finding:
    attempts = getattr(exc, "attempts", 1)
    again = ", also after %d attempts" % attempts if attempts > 1 else ""
    if status >= 500:
        return Finding(
            "kube-server-error",
            "Cannot %s: the API server fails (%d%s): %s" % (doing_what, status, again, message_of(exc)),
            "The fault lies with the control plane, not with the request",
            "See the API server's and etcd's logs; then run again, finished work is not done twice",
            server_of(exc),
        )
    return Finding(
        "kube-refused",
        "Cannot %s: the API server refuses it (%d): %s" % (doing_what, status, message_of(exc)),
        "The request is not legal for this cluster",
        "Correct what the message names",
        server_of(exc),
    )
