# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A certificate authority of its own and a server certificate for loopback."""

from __future__ import annotations

import typing as t
from pathlib import Path

from . import commands

CONFIGURATION = """\
[req]
distinguished_name = name
prompt = no
[name]
CN = ${ENV::SANDBOX_CN}
[authority]
basicConstraints = critical, CA:true
keyUsage = critical, keyCertSign, cRLSign
subjectKeyIdentifier = hash
[server]
basicConstraints = critical, CA:false
keyUsage = critical, digitalSignature, keyEncipherment
extendedKeyUsage = serverAuth
subjectKeyIdentifier = hash
authorityKeyIdentifier = keyid
subjectAltName = IP:127.0.0.1, DNS:localhost, DNS:kubernetes.default.svc
"""


class Issued(t.NamedTuple):
    """The three files that a server and its clients need."""

    authority: Path
    certificate: Path
    key: Path


def issue(folder: Path) -> Issued:
    """The certificate of a folder, made there when missing."""
    files = Issued(folder / "ca.pem", folder / "server.pem", folder / "server.key")
    if all(path.exists() for path in files):
        return files
    (folder / "openssl.cnf").write_text(CONFIGURATION, encoding="ascii")
    authority_key = folder / "ca.key"
    _request(folder, "authority", "mindcluster sandbox CA", authority_key, files.authority)
    _request(folder, "server", "mindcluster sandbox", files.key, files.certificate, files.authority, authority_key)
    return files


def signing_key(path: Path) -> Path:
    """A key for signing tokens, made when missing."""
    if not path.exists():
        commands.output_of(["openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", str(path)])
        path.chmod(0o600)
    return path


def _request(
    folder: Path, section: str, name: str, key: Path, certificate: Path, issuer: Path | None = None,
    issuer_key: Path | None = None,
) -> None:  # fmt: skip
    command = [
        "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-sha256",
        "-days", "3650", "-config", str(folder / "openssl.cnf"), "-extensions", section,
        "-keyout", str(key), "-out", str(certificate),
    ]  # fmt: skip
    if issuer and issuer_key:
        command += ["-CA", str(issuer), "-CAkey", str(issuer_key)]
    commands.output_of(command, env={"PATH": "/usr/bin:/bin", "SANDBOX_CN": name})
