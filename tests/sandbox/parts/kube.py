# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""etcd and a real kube-apiserver with RBAC, and on demand a scheduler."""

from __future__ import annotations

import json
import secrets
import urllib.error
import urllib.request
from pathlib import Path

from . import apt, certificates, kube_build, paths, services
from .home import Home, write_private
from .kube_api import KubeApi

CRDS = paths.SANDBOX / "crd"
RBAC = paths.CHECKOUT / "docs" / "rbac"
ADMIN = "admin"
LIMITED = "recovery"


def packages() -> tuple[str, ...]:
    """What the machine needs besides the built binaries."""
    return ("openssl",) if "etcd" in kube_build.given() else ("openssl", "etcd-server")


def start(home: Home) -> dict[str, str]:
    """Start etcd and the API server of this home and give them the collection's CRD and RBAC rules.

    :returns: the variables with the kubeconfig of the administrator and of the limited user.
    """
    tokens = _tokens(home)
    issued = certificates.issue(home.part("kube"))
    server = f"https://127.0.0.1:{home.port('kube-apiserver')}"
    _start_etcd(home)
    _start_apiserver(home, issued, KubeApi(server, issued.authority, tokens[ADMIN]))
    _furnish(KubeApi(server, issued.authority, tokens[ADMIN]))
    configs = {user: _kubeconfig(home, user, server, issued.authority, tokens[user]) for user in (ADMIN, LIMITED)}
    return {"KUBECONFIG": str(configs[ADMIN]), "SANDBOX_KUBECONFIG_LIMITED": str(configs[LIMITED])}


def start_scheduler(home: Home, kubeconfig: str) -> None:
    """Start a scheduler for the API server of this home."""
    port = home.port("kube-scheduler")
    command: list[str | Path] = [
        _binary("kube-scheduler"), f"--kubeconfig={kubeconfig}", "--leader-elect=false", "--bind-address=127.0.0.1",
        f"--secure-port={port}", f"--cert-dir={home.part('scheduler')}", "--authentication-skip-lookup=true",
        f"--authentication-kubeconfig={kubeconfig}", f"--authorization-kubeconfig={kubeconfig}", "--port=0",
    ]  # fmt: skip
    services.start(home, "kube-scheduler", command, lambda: _tls_answers(port))


def _tls_answers(port: int) -> bool:
    """Whether a server with a certificate of its own making listens: a refused handshake is an answer too."""
    try:
        urllib.request.urlopen(f"https://127.0.0.1:{port}/healthz", timeout=2)
    except urllib.error.HTTPError:
        return True
    except urllib.error.URLError as exc:
        return "CERTIFICATE_VERIFY_FAILED" in str(exc)
    except OSError:
        return False
    return True


def _start_etcd(home: Home) -> None:
    client, peer = (f"http://127.0.0.1:{home.port(name)}" for name in ("etcd", "etcd-peer"))
    command: list[str | Path] = [
        kube_build.given().get("etcd", "etcd"), "--data-dir", home.part("etcd") / "data", "--name", "sandbox",
        "--listen-client-urls", client, "--advertise-client-urls", client,
        "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", f"sandbox={peer}",
    ]  # fmt: skip
    services.start(home, "etcd", command, lambda: _healthy(f"{client}/health"))


def _healthy(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2) as answer:
            return b"true" in answer.read()
    except OSError:
        return False


def _start_apiserver(home: Home, issued: certificates.Issued, api: KubeApi) -> None:
    folder = home.part("kube")
    key = certificates.signing_key(folder / "service-account.key")
    command: list[str | Path] = [
        _binary("kube-apiserver"), f"--etcd-servers=http://127.0.0.1:{home.port('etcd')}",
        "--bind-address=127.0.0.1", f"--secure-port={home.port('kube-apiserver')}",
        # A machine without a default route has no other address, and nothing here asks for the endpoint.
        "--advertise-address=127.0.0.1", "--endpoint-reconciler-type=none",
        f"--tls-cert-file={issued.certificate}", f"--tls-private-key-file={issued.key}", f"--cert-dir={folder}",
        f"--service-account-key-file={key}", f"--service-account-signing-key-file={key}",
        "--service-account-issuer=https://kubernetes.default", f"--token-auth-file={folder / 'tokens.csv'}",
        "--authorization-mode=RBAC", "--service-cluster-ip-range=10.0.0.0/24",
        "--disable-admission-plugins=ServiceAccount",
    ]  # fmt: skip
    services.start(home, "kube-apiserver", command, api.ready, timeout=120)


def _binary(name: str) -> Path:
    return kube_build.given().get(name) or kube_build.binaries() / name


def built() -> bool:
    """Whether both binaries are there already."""
    return kube_build.target().exists() or set(kube_build.BINARIES) <= set(kube_build.given())


def ensure_installed() -> None:
    """Install and build what this part needs."""
    apt.ensure(packages())
    for name in kube_build.BINARIES:
        _binary(name)


def _tokens(home: Home) -> dict[str, str]:
    """A token for each user; the server reads them from a file."""
    tokens = home.read("kube-tokens.json")
    if not tokens:
        tokens = {user: secrets.token_hex(16) for user in (ADMIN, LIMITED)}
        home.write("kube-tokens.json", tokens)
    groups = {ADMIN: '"system:masters"', LIMITED: '""'}
    lines = [f"{token},{user},{user},{groups[user]}" for user, token in tokens.items()]
    write_private(home.part("kube") / "tokens.csv", "\n".join(lines) + "\n")
    return tokens


def manifests() -> list[Path]:
    """What a cluster needs before the collection can be tried on it."""
    return [*sorted(CRDS.glob("*.yaml")), *sorted(RBAC.glob("*.yaml"))]


def _furnish(api: KubeApi) -> None:
    for path in manifests():
        api.apply_file(path)


def _kubeconfig(home: Home, user: str, server: str, authority: Path, token: str) -> Path:
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "sandbox", "cluster": {"server": server, "certificate-authority": str(authority)}}],
        "users": [{"name": user, "user": {"token": token}}],
        "contexts": [{"name": "sandbox", "context": {"cluster": "sandbox", "user": user}}],
        "current-context": "sandbox",
    }
    path = home.folder / f"kubeconfig-{user}"
    write_private(path, json.dumps(config, indent=1))
    return path
