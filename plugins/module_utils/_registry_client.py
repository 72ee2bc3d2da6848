# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""An image registry, by the distribution specification: manifests and blobs, read, mounted, copied and written.

Why no client of others: oras-py 0.2 was tried for it. It keeps one token for all rights, knows no identity tokens,
reads a file to be sent into memory, neither mounts blobs nor goes on with what broke off, checks no digest of what it
gets, repeats what can only fail again, and holds neither to Retry-After nor to the limits that a foreign server needs.
What remained of it was less than what had to be put around it. Connections are those of C(requests); the Docker
configuration with its credential helpers is read by the Python package C(docker).
"""

from __future__ import annotations

import hashlib
import json
import os
import typing as t

from ansible_collections.mindcluster.recovery.plugins.module_utils import _registry_errors as errors
from ansible_collections.mindcluster.recovery.plugins.module_utils import _registry_upload as uploads
from ansible_collections.mindcluster.recovery.plugins.module_utils._registry_ahead import ReadAhead
from ansible_collections.mindcluster.recovery.plugins.module_utils._registry_auth import rights
from ansible_collections.mindcluster.recovery.plugins.module_utils._registry_blobs import BlobReader, pieces
from ansible_collections.mindcluster.recovery.plugins.module_utils._registry_errors import RegistryError
from ansible_collections.mindcluster.recovery.plugins.module_utils._registry_http import (
    REQUESTS_IMPORT_ERROR,
    Statistics,
)
from ansible_collections.mindcluster.recovery.plugins.module_utils._registry_session import Session

__all__ = ["ALL", "INDEXES", "REQUESTS_IMPORT_ERROR", "Manifest", "Registry", "RegistryError"]

DOCKER_MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
DOCKER_LIST = "application/vnd.docker.distribution.manifest.list.v2+json"
OCI_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
OCI_INDEX = "application/vnd.oci.image.index.v1+json"
#: What is asked for unless something else is named.
ALL = (OCI_INDEX, DOCKER_LIST, OCI_MANIFEST, DOCKER_MANIFEST)
#: The kinds of manifest that name one manifest for each platform.
INDEXES = frozenset((OCI_INDEX, DOCKER_LIST))

_WORTH_A_THREAD = 2 << 20


class Manifest(t.NamedTuple):
    """A manifest as the registry has it.

    :ivar digest: of O(body), reckoned here.
    """

    digest: str
    media_type: str
    body: bytes


class Registry:
    """A registry.

    :param host: host with an optional port; C(docker.io) for the Docker Hub.
    :param username: wins over the Docker configuration.
    :param ca_file: certificates to trust besides those of the system; says that the registry speaks TLS.
    :param insecure: it speaks plain HTTP. Registries on this machine are asked how they speak.
    :param docker_config: file or folder of the Docker configuration, instead of the user's own.
    :param retries: how many times a request is repeated that may do better the next time.
    """

    def __init__(
        self,
        host: str,
        *,
        username: str | None = None,
        password: str | None = None,
        ca_file: str | None = None,
        insecure: bool = False,
        docker_config: str | None = None,
        retries: int = 5,
    ) -> None:
        self.host = host
        self._session = Session(host, username, password, ca_file, insecure, docker_config, retries)

    def __repr__(self) -> str:
        return "Registry(%r)" % self.host

    @property
    def statistics(self) -> Statistics:
        """Requests and bytes so far."""
        return self._session.http.statistics

    def manifest(self, repository: str, reference: str, accept: t.Sequence[str] = ALL) -> Manifest:
        """The manifest under a tag or a digest.

        :raises RegistryError: of kind C(missing) where there is none, of kind C(digest) where it is another one.
        """
        answer = self._session.call(
            "GET",
            "%s/manifests/%s" % (repository, reference),
            "read the manifest of `%s`" % self._name(repository, reference),
            rights((repository, "pull")),
            headers={"Accept": ", ".join(accept)},
        )
        body = answer.content
        digest = _digest_of(body)
        promised = reference if ":" in reference else answer.headers.get("Docker-Content-Digest", digest)
        if promised != digest:
            what = "the manifest of `%s` has the digest %s, and is served as %s"
            raise errors.error(
                "digest",
                what % (self._name(repository, reference), digest, errors.clean(promised)),
                self.host,
            )
        return Manifest(digest, self._media_type(answer.headers, body, self._name(repository, reference)), body)

    def has_blob(self, repository: str, digest: str) -> bool:
        """Whether a blob is in a repository."""
        return uploads.has_blob(self._session, repository, digest)

    def open_blob(self, repository: str, digest: str, size: int) -> BlobReader | ReadAhead:
        """A blob as a stream. Use it in a C(with) statement; it may be left before its end."""
        reader = BlobReader(self._session, repository, digest, size)
        return ReadAhead(reader) if size > _WORTH_A_THREAD else reader

    def mount_blob(self, repository: str, digest: str, from_repository: str) -> bool:
        """Let a repository have a blob that another one of this registry has, without sending it.

        :returns: whether the registry did so. Where not, the blob has to be sent.
        """
        needed = rights((repository, "pull,push"), (from_repository, "pull"))
        doing = "mount the blob %s of %s in %s" % (digest, from_repository, repository)
        answer = self._session.call(
            "POST",
            "%s/blobs/uploads/?mount=%s&from=%s" % (repository, digest, from_repository),
            doing,
            needed,
            body=b"",
            expect=(201, 202, 401, 403, 404, 405),
        )
        if answer.status == 202 and answer.headers.get("Location"):
            # An upload was begun instead.
            self._session.call(
                "DELETE", self._session.location(answer), doing, needed, expect=range(200, 500), attempts=1
            )
        return answer.status == 201

    def copy_blob(self, digest: str, size: int, source: Registry, source_repository: str, repository: str) -> None:
        """Let a repository have a blob of another registry; it is streamed through this machine.

        :param source: the other registry.
        :raises RegistryError: where it cannot be read or sent, or is not what the digest says.
        """
        if self.has_blob(repository, digest):
            return

        def parts(start: int) -> t.Iterator[bytes]:
            return pieces(BlobReader(source._session, source_repository, digest, size, start))

        uploads.Upload(self._session, repository, digest, size, parts).run()

    def upload_blob(self, repository: str, data: bytes | str | os.PathLike[str], digest: str, size: int) -> None:
        """Let a repository have a blob of this machine, unless it has it.

        :param data: the blob itself, or the path of its file.
        :raises RegistryError: where the registry does not take it, or what it got is not what the digest says.
        """
        if self.has_blob(repository, digest):
            return
        source = uploads.from_bytes(data) if isinstance(data, bytes) else uploads.from_file(os.fspath(data))
        uploads.Upload(self._session, repository, digest, size, source).run()

    def put_manifest(self, repository: str, reference: str, media_type: str, body: bytes) -> str:
        """Store a manifest under a tag or its digest; what it names has to be there already.

        :returns: its digest, which the registry confirmed.
        :raises RegistryError: where the registry does not take it, or calls it by another digest.
        """
        name = self._name(repository, reference)
        answer = self._session.call(
            "PUT",
            "%s/manifests/%s" % (repository, reference),
            "store the manifest of `%s`" % name,
            rights((repository, "pull,push")),
            headers={"Content-Type": media_type},
            body=body,
            expect=(200, 201, 202),
        )
        digest = _digest_of(body)
        stored = answer.headers.get("Docker-Content-Digest") or self.manifest(repository, reference).digest
        if stored != digest:
            raise errors.error(
                "digest",
                "the registry has %s under `%s`, and was sent %s" % (errors.clean(stored), name, digest),
                self.host,
                why="What it serves is not what was built; somebody else may have pushed the same tag",
                remedy="Run again; give each pipeline a tag of its own",
                code="push-unconfirmed",
            )
        return digest

    def _name(self, repository: str, reference: str) -> str:
        return "%s/%s%s%s" % (self.host, repository, "@" if ":" in reference else ":", reference)

    def _media_type(self, headers: t.Mapping[str, str], body: bytes, name: str) -> str:
        """What kind of manifest it is, by the header or by its own words."""
        named = headers.get("Content-Type", "").partition(";")[0].strip().lower()
        if named in ALL:
            return named
        try:
            document = json.loads(body)
            named = document.get("mediaType") or named
            if document.get("schemaVersion") == 2 and named not in ALL:
                named = OCI_INDEX if "manifests" in document else OCI_MANIFEST if "layers" in document else named
        except (ValueError, AttributeError, RecursionError):
            named = ""
        if named in ALL:
            return str(named)
        raise errors.error(
            "server",
            "the manifest of `%s` is of the kind `%s`" % (name, errors.clean(str(named)) or "unknown"),
            self.host,
            code="manifest-unsupported",
            why="Only OCI images and Docker images of schema 2, and their indexes, can be read",
            remedy="Push the image anew with a current engine",
        )


def _digest_of(body: bytes) -> str:
    return "sha256:" + hashlib.sha256(body).hexdigest()
