# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is said about a request that failed."""

from __future__ import annotations

import contextlib
import json
import socket
import ssl
import subprocess
import threading
import typing as t
from pathlib import Path

import kubernetes
import pytest

from ansible_collections.mindcluster.recovery.plugins.module_utils._kube import (
    ApiError,
    RetryPolicy,
    call,
    connect,
    explain_api_error,
)

FORBIDDEN = 'nodes is forbidden: User "recovery" cannot list resource "nodes" in API group "" at the cluster scope'
FORBIDDEN_JOB = (
    'ascendjobs.mindxdl.gitee.com is forbidden: User "ci" cannot patch resource "ascendjobs" in API group '
    '"mindxdl.gitee.com" in the namespace "train"'
)


def refused(status: int, message: str = "", **more: t.Any) -> ApiError:
    return ApiError("GET", "https://10.0.0.1:6443/api/v1/nodes", status, message=message, **more)


def explained(params: dict[str, t.Any], timeout: float = 60):
    with pytest.raises(ApiError) as caught:
        call(
            connect(params),
            "GET",
            "/api/v1/nodes",
            policy=RetryPolicy(attempts=2, sleep=lambda seconds: None),
            timeout=timeout,
        )
    return explain_api_error(caught.value, "list the nodes")


def test_forbidden_names_verb_resource_and_manifest():
    finding = explain_api_error(refused(403, FORBIDDEN), "list the nodes")
    assert finding.code == "kube-forbidden"
    assert "`recovery` lacks the verb `list` on `nodes` cluster-wide" in finding.what
    assert "docs/rbac/nodes.yaml" in finding.remedy


def test_forbidden_in_a_namespace():
    finding = explain_api_error(refused(403, FORBIDDEN_JOB), "apply the job")
    assert "the verb `patch` on `ascendjobs.mindxdl.gitee.com` in the namespace `train`" in finding.what
    assert "docs/rbac/jobs.yaml" in finding.remedy


def test_the_right_to_delete_a_config_map_is_in_the_manifest_for_removing():
    words = 'User "ci" cannot delete resource "configmaps" in API group "" in the namespace "a"'
    assert "docs/rbac/uninstall.yaml" in explain_api_error(refused(403, words), "delete the ConfigMap").remedy


def test_forbidden_by_a_webhook_keeps_the_servers_words():
    finding = explain_api_error(refused(403, 'admission webhook "x" denied the request: no'), "apply the job")
    assert 'admission webhook "x" denied' in finding.what


def test_exceptions_of_the_python_client_are_explained_too():
    exc = kubernetes.client.ApiException(status=403, reason="Forbidden")
    exc.body = json.dumps({"kind": "Status", "message": FORBIDDEN})
    assert "lacks the verb `list` on `nodes`" in explain_api_error(exc, "list the nodes").what


@pytest.mark.parametrize(
    ("exc", "code", "said"),
    [
        (refused(401, "Unauthorized"), "kube-unauthorized", "expired"),
        (refused(404, "the server could not find the requested resource"), "kube-kind-unknown", "ascend-operator"),
        (refused(404, 'nodes "x" not found'), "kube-not-found", 'nodes "x" not found'),
        (refused(409, "the object has been modified"), "kube-conflict", "the object has been modified"),
        (refused(429, "slow down", attempts=6), "kube-throttled", "after 6 attempts"),
        (refused(500, "etcdserver: leader changed", attempts=6), "kube-server-error", "etcdserver: leader changed"),
        (refused(422, "metadata.labels: Invalid value"), "kube-refused", "metadata.labels: Invalid value"),
        (refused(200, reason="NotJSON"), "kube-not-an-api-server", "no_proxy"),
    ],
)
def test_statuses(exc: ApiError, code: str, said: str):
    finding = explain_api_error(exc, "list the nodes")
    assert finding.code == code
    assert said in finding.line()
    assert "list the nodes" in finding.what


@pytest.fixture
def closed_port() -> t.Iterator[int]:
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        yield reserved.getsockname()[1]


def test_connection_refused(closed_port: int):
    finding = explained({"host": "https://127.0.0.1:%d" % closed_port})
    assert finding.code == "kube-connection-refused"
    assert str(closed_port) in finding.what


def test_unknown_name():
    finding = explained({"host": "https://no-such-server.invalid:6443"})
    assert finding.code == "kube-name-unknown"


def test_server_that_says_nothing():
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        finding = explained({"host": "http://127.0.0.1:%d" % silent.getsockname()[1]}, timeout=0.3)
    assert finding.code == "kube-timeout"


@pytest.fixture
def tls_port(tmp_path: Path) -> t.Iterator[int]:
    """A TLS server with a certificate that nobody has signed."""
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=other", "-days", "2"]
        + ["-keyout", str(key), "-out", str(certificate)],
        check=True,
        capture_output=True,
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                peer, _address = listener.accept()
            except OSError:
                return
            with peer, contextlib.suppress(OSError):
                context.wrap_socket(peer, server_side=True).close()

    threading.Thread(target=serve, daemon=True).start()
    yield listener.getsockname()[1]
    listener.close()


def test_certificate_of_an_unknown_authority(tls_port: int):
    finding = explained({"host": "https://127.0.0.1:%d" % tls_port})
    assert finding.code == "kube-tls"
    assert "certificate verify failed" in finding.what
    assert "ca_cert" in finding.remedy


def test_https_to_a_server_without_tls(api):
    finding = explained({"host": api.url.replace("http:", "https:")})
    assert finding.code == "kube-tls"
    assert "scheme and port" in finding.remedy
