# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""Names of images: registry, repository, tag and digest, as the distribution specification writes them."""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import urlsplit

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Finding, Refused

DEFAULT_REGISTRY = "docker.io"

_COMPONENT = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_PATH = re.compile(r"\A%s(?:/%s)*\Z" % (_COMPONENT, _COMPONENT))
_HOST = re.compile(r"\A(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9a-fA-F:]+\])(?::[0-9]{1,5})?\Z")
_TAG = re.compile(r"\A[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}\Z")
_DIGEST = re.compile(r"\Asha256:[0-9a-f]{64}\Z")


class Reference:
    """An image's name.

    :ivar registry: host and port; C(docker.io) where the name has none.
    :ivar repository: the name up to the tag, as the user wrote it.
    :ivar tag: empty where the name has none.
    :ivar digest: empty where the name has none.
    """

    __slots__ = ("registry", "repository", "tag", "digest")

    def __init__(self, registry: str, repository: str, tag: str = "", digest: str = "") -> None:
        self.registry = registry
        self.repository = repository
        self.tag = tag
        self.digest = digest

    def __str__(self) -> str:
        return self.repository + (":" + self.tag if self.tag else "") + ("@" + self.digest if self.digest else "")

    @property
    def host(self) -> str:
        """The registry without its port."""
        host = re.sub(r":[0-9]+\Z", "", self.registry)
        return host.strip("[]")

    @property
    def is_loopback(self) -> bool:
        """Engines speak plain HTTP with registries on these addresses without being told."""
        return is_loopback(self.host)

    @property
    def path(self) -> str:
        """The repository as the registry itself names it; the Docker Hub keeps names of one part under C(library/)."""
        if self.registry != DEFAULT_REGISTRY:
            return self.repository.partition("/")[2]
        path = re.sub(r"\Adocker\.io/", "", self.repository)
        return path if "/" in path else "library/" + path


def is_loopback(host: str) -> bool:
    """Whether a host without port, named or by address, is this machine itself."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_digest(text: object) -> bool:
    """Whether it is a digest, of which nothing else can become when it stands in an address."""
    return isinstance(text, str) and _DIGEST.match(text) is not None


def parse_reference(text: str, where: str) -> Reference:
    """An image's name with or without tag and digest.

    :param where: the option that it stands in, for the message.
    :raises Refused: where it is no such name.
    """
    name, at, digest = text.partition("@")
    if at and not _DIGEST.match(digest):
        raise Refused(_bad(text, where, "what follows the @ is not sha256: and 64 digits"))
    head, slash, last = name.rpartition("/")
    last, colon, tag = last.partition(":")
    if colon and not _TAG.match(tag):
        raise Refused(_bad(text, where, "`%s` is not a tag" % tag))
    repository = head + slash + last
    return Reference(_registry_of(repository, text, where), repository, tag, digest)


def parse_repository(text: str, where: str = "training_image_repository") -> Reference:
    """A repository: an image's name that must have neither tag nor digest.

    :raises Refused: where it is not one.
    """
    reference = parse_reference(text, where)
    if reference.tag or reference.digest:
        raise Refused(
            Finding(
                "repository-with-tag",
                "`%s` names more than a repository" % text,
                "The tag has an option of its own, and the digest is what the build returns",
                "Write `%s` here and the tag in `training_image_tag`" % reference.repository,
                where,
            )
        )
    return reference


def check_tag(text: str, where: str = "training_image_tag") -> list[Finding]:
    """What is wrong with a tag; empty where nothing is."""
    if _TAG.match(text):
        return []
    return [
        Finding(
            "tag-invalid",
            "`%s` is not a tag" % text,
            "A registry takes letters, digits, _, . and -, at most 128, and none of . and - in front",
            "Choose a tag such as `7.2.rc1-1`",
            where,
        )
    ]


def _registry_of(repository: str, text: str, where: str) -> str:
    first, slash, rest = repository.partition("/")
    has_host = bool(slash) and ("." in first or ":" in first or first == "localhost")
    path = rest if has_host else repository
    if has_host and not (_HOST.match(first) and _is_address(first)):
        raise Refused(_bad(text, where, "`%s` is not a host with an optional port" % first))
    if not _PATH.match(path):
        capitals = path != path.lower()
        raise Refused(_bad(text, where, "it has capital letters" if capitals else "`%s` is not a path" % path))
    return first if has_host else DEFAULT_REGISTRY


def _is_address(host: str) -> bool:
    """Whether port and address are within their limits, which the pattern cannot say."""
    try:
        parts = urlsplit("//" + host)
        return parts.port != 0 and (host[0] != "[" or bool(ipaddress.ip_address(parts.hostname or "")))
    except ValueError:
        return False


def _bad(text: str, where: str, why: str) -> Finding:
    return Finding(
        "reference-invalid",
        "`%s` is not the name of an image: %s" % (text, why),
        "Neither engine nor registry would take it",
        "Write it as `registry.example:5000/team/name`, in small letters and without https://",
        where,
    )
