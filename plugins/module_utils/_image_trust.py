# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""How the engine comes to trust a registry: a certificate of its own for it, or plain HTTP where it allows that."""

from __future__ import annotations

import ipaddress
import os
import typing as t

from ansible_collections.mindcluster.recovery.plugins.module_utils._atomic_file import replace_text
from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Finding, Refused
from ansible_collections.mindcluster.recovery.plugins.module_utils._image_refs import Reference

# The engine reads this folder anew for each request, so it needs no restart.
CERTIFICATES = "/etc/docker/certs.d"


def install_authority(registry: str, pem: str, check: bool, root: str = CERTIFICATES) -> bool:
    """Let the engine on this host trust a registry whose certificate an authority of the site signed.

    :param pem: the authority's certificate.
    :param check: only say whether something would change.
    :returns: whether something changed.
    :raises Refused: where the text is no certificate or the file cannot be written.
    """
    if "-----BEGIN CERTIFICATE-----" not in pem:
        raise Refused(
            Finding(
                "registry-ca-invalid",
                "the file holds no certificate in PEM form",
                "The engine would trust nothing by it",
                "Give the certificate of the authority that signed the registry's, with its BEGIN CERTIFICATE line",
                "training_image_registry_ca",
            )
        )
    path = os.path.join(root, registry, "ca.crt")
    try:
        if _read(path) == pem:
            return False
        if not check:
            replace_text(path, pem, new_mode=0o644)
    except OSError as exc:
        raise Refused(
            Finding(
                "registry-ca-unwritable",
                "%s cannot be written: %s" % (path, exc.strerror),
                "The engine reads a registry's authority from there",
                "Run with become, or put the certificate there by hand and leave training_image_registry_ca out",
                "training_image_registry_ca",
            )
        ) from exc
    return True


def check_insecure(target: Reference, allowed: t.Iterable[str]) -> list[Finding]:
    """Whether the engine would speak plain HTTP with a registry; this is decided in the engine's own file."""
    if target.is_loopback or any(_covers(entry, target) for entry in allowed):
        return []
    return [
        Finding(
            "registry-insecure-refused",
            "the engine does not allow plain HTTP with %s" % target.registry,
            "Only the engine's own configuration can allow it, and only loopback addresses are allowed from the start",
            'Add {"insecure-registries": ["%s"]} to /etc/docker/daemon.json and restart the engine, or give the '
            "registry TLS and set training_image_registry_insecure to false" % target.registry,
            "training_image_registry_insecure",
        )
    ]


def _covers(entry: str, target: Reference) -> bool:
    if entry in (target.registry, target.host):
        return True
    try:
        return ipaddress.ip_address(target.host) in ipaddress.ip_network(entry, strict=False)
    except ValueError:
        return False


def _read(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8", newline="") as stream:
            return stream.read()
    except FileNotFoundError:
        return None
