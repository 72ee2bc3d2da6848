# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""OCI registries on loopback: an open one, one that asks for a password, one behind TLS, one that asks for tokens."""

from __future__ import annotations

import json
import secrets
import ssl
import subprocess
import sys
import typing as t
import urllib.error
import urllib.request
from pathlib import Path

from . import certificates, services
from .console import SandboxError
from .home import Home, write_private
from .token_server import Settings

PACKAGES = ("docker-registry", "openssl")
USERNAME = "sandbox"
ADDRESSES = ("SANDBOX_REGISTRY", "SANDBOX_REGISTRY_AUTH", "SANDBOX_REGISTRY_TLS", "SANDBOX_REGISTRY_TOKEN")


def start(home: Home) -> dict[str, str]:
    """Start the registries of this home.

    :returns: the variables that name them.
    """
    password = _secret(home, "registry-password.json")
    issued = certificates.issue(home.part("registry-tls"))
    auth = {"auth": {"htpasswd": {"realm": "sandbox", "path": str(_htpasswd(home, password))}}}
    tls = {"tls": {"certificate": str(issued.certificate), "key": str(issued.key)}}
    settings = _start_token_server(home, password, issued)
    token = {
        "realm": f"http://127.0.0.1:{settings.port}/token",
        "service": settings.service,
        "issuer": settings.issuer,
        "rootcertbundle": str(issued.authority),
    }
    return {
        "SANDBOX_REGISTRY": _serve(home, "registry", {}, {}),
        "SANDBOX_REGISTRY_AUTH": _serve(home, "registry-auth", auth, {}),
        "SANDBOX_REGISTRY_TLS": _serve(home, "registry-tls", {}, tls, str(issued.authority)),
        "SANDBOX_REGISTRY_TOKEN": _serve(home, "registry-token", {"auth": {"token": token}}, {}),
        "SANDBOX_REGISTRY_IDENTITY_TOKEN": settings.identity_token,
        "SANDBOX_REGISTRY_CA": str(issued.authority),
        "SANDBOX_REGISTRY_USERNAME": USERNAME,
        "SANDBOX_REGISTRY_PASSWORD": password,
    }


def _serve(
    home: Home, name: str, extra: t.Mapping[str, t.Any], http: t.Mapping[str, t.Any], authority: str = ""
) -> str:
    address = f"127.0.0.1:{home.port(name)}"
    folder = home.part(name)
    configuration = {
        "version": "0.1",
        "log": {"level": "warn"},
        "storage": {"filesystem": {"rootdirectory": str(folder / "data")}, "delete": {"enabled": True}},
        "http": {"addr": address, **http},
        **extra,
    }
    path = folder / "config.yml"
    write_private(path, json.dumps(configuration, indent=1))
    services.start(home, name, ["docker-registry", "serve", path], lambda: _answers(address, authority))
    return address


def _start_token_server(home: Home, password: str, issued: certificates.Issued) -> Settings:
    """Start the server that the registry with tokens sends everybody to."""
    port = home.port("registry-token-server")
    settings = Settings(
        port=port,
        issuer="sandbox token server",
        service="sandbox registry",
        certificate=str(issued.certificate),
        key=str(issued.key),
        username=USERNAME,
        password=password,
        identity_token=_secret(home, "registry-identity-token.json"),
        life=300,
    )
    path = home.part("registry-token") / "server.json"
    write_private(path, json.dumps(settings._asdict()))
    program = Path(__file__).with_name("token_server.py")
    services.start(home, "registry-token-server", [sys.executable, program, path], lambda: _listens(port))
    return settings


def _listens(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/token", timeout=2) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def _answers(address: str, authority: str) -> bool:
    scheme = "https" if authority else "http"
    context = ssl.create_default_context(cafile=authority) if authority else None
    try:
        with urllib.request.urlopen(f"{scheme}://{address}/v2/", timeout=2, context=context) as answer:
            return bool(answer.status == 200)
    except urllib.error.HTTPError as exc:
        return exc.code == 401
    except OSError:
        return False


def _secret(home: Home, record_name: str) -> str:
    """A secret of this home: random, so that a search for it in any output finds only leaks."""
    record = home.read(record_name)
    if not record:
        record = {"password": secrets.token_urlsafe(18)}
        home.write(record_name, record)
    return str(record["password"])


def _htpasswd(home: Home, password: str) -> Path:
    """The registry reads bcrypt only, which Python's library lacks and the Perl of every Debian has."""
    program = 'chomp(my $word = <STDIN>); print crypt($word, "\\$2y\\$05\\$" . $ARGV[0])'
    salt = secrets.token_hex(11)
    made = subprocess.run(
        ["perl", "-e", program, salt], input=password + "\n", capture_output=True, text=True, check=False
    )
    if not made.stdout.startswith("$2y$"):
        raise SandboxError("This system's Perl cannot make a bcrypt hash, which the registry with a password needs")
    path = home.part("registry-auth") / "htpasswd"
    write_private(path, f"{USERNAME}:{made.stdout}\n")
    return path
