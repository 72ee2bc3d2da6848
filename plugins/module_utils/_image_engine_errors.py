# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""What the Docker engine's error texts mean. The engine passes the registry's words on, so words are all there is."""

from __future__ import annotations

import re

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Finding

# Code, pattern, why, remedy; the first that matches counts.
_KNOWN = (
    (
        "registry-plain-http",
        r"server gave HTTP response to HTTPS client",
        "The registry speaks plain HTTP, and the engine expects TLS of every address that is not loopback",
        "Give the registry TLS, or add it to insecure-registries in the engine's daemon.json and restart the engine",
    ),
    (
        "registry-untrusted",
        r"x509|certificate",
        "The engine does not trust the registry's certificate",
        "Name the certificate of its authority in training_image_registry_ca; check the host name in the certificate",
    ),
    (
        "registry-auth",
        r"no basic auth credentials|unauthorized|authentication required|incorrect username or password|"
        r"insufficient_scope|denied: |access to the resource is denied|forbidden",
        "The registry does not let this user do that",
        "Check training_image_registry_username and training_image_registry_password, and the user's right to push",
    ),
    (
        "registry-unreachable",
        r"connection refused|no such host|i/o timeout|Client\.Timeout|deadline exceeded|no route to host|"
        r"network is unreachable|server misbehaving|TLS handshake timeout|connection reset|\bEOF\b|"
        r"proxyconnect|dial tcp",
        "The engine cannot speak to the registry",
        "Check the name and the port, that the registry runs, and the proxy settings of the engine itself",
    ),
    (
        "image-missing",
        r"manifest unknown|manifest for .* not found|No such image|repository .* not found|name unknown|not found: ",
        "There is no such image",
        "Check the spelling of name, tag and digest; a locally built image needs no registry in its name",
    ),
    (
        "platform-missing",
        r"no matching manifest|does not match the specified platform|was found but does not match",
        "The image does not exist for this platform",
        "Name a platform that the base image has in training_image_platforms, or leave it out",
    ),
    (
        "platform-cannot-run",
        r"exec format error|exec user process caused",
        "The image is for another architecture, and this host cannot run its programs",
        "Build on a host of that architecture, or install the emulation (qemu-user-static, binfmt) on the builder",
    ),
    (
        "base-without-python",
        r"executable file not found|no such file or directory|stat .*: permission denied",
        "Wheels are installed and torch is patched by the Python inside the image",
        "Name the interpreter by its full path in training_image_python, or take a base image that has one",
    ),
    (
        "disk-full",
        r"no space left on device",
        "The engine's disk is full",
        "Make room (`docker system df`, `docker image prune`), or move its data-root",
    ),
    (
        "registry-trouble",
        r"toomanyrequests|too many requests|\b(?:429|500|502|503|504)\b|received unexpected HTTP status",
        "The registry does not answer as it should",
        "Run again later; look at the registry's log",
    ),
)


def explain(text: str, status: int | None, doing: str, where: str = "") -> Finding:
    """One finding for what the engine said.

    :param doing: what was tried, to fill C(could not …).
    :param where: the registry or the variable that it was about, empty where there is none.
    """
    words = " ".join(text.split())
    for code, pattern, why, remedy in _KNOWN:
        if re.search(pattern, words, re.IGNORECASE):
            return Finding(code, "could not %s: %s" % (doing, words), why, remedy, where)
    answer = " (HTTP %d)" % status if status else ""
    return Finding(
        "engine-refused",
        "could not %s: %s%s" % (doing, words, answer),
        "The engine gave a reason that the collection does not know",
        "Look at the engine's log (`journalctl -u docker`)",
        where,
    )
