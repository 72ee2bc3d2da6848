# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""Looking for a blob and sending it: in one stream, which goes on at the registry's count where a connection broke off.

See U(https://github.com/opencontainers/distribution-spec/blob/main/spec.md#pushing-blobs).
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.mindcluster.recovery.plugins.module_utils import _registry_errors as errors
from ansible_collections.mindcluster.recovery.plugins.module_utils._registry_auth import rights
from ansible_collections.mindcluster.recovery.plugins.module_utils._registry_blobs import PIECE
from ansible_collections.mindcluster.recovery.plugins.module_utils._registry_http import (
    TIMEOUT_COMMIT,
    Answer,
    number_of,
)
from ansible_collections.mindcluster.recovery.plugins.module_utils._registry_session import Session

#: Up to here a blob goes in the request that ends the upload.
SMALL = 1 << 20
#: How much goes in one request where something on the way takes no more.
CHUNK = 8 << 20

Source = t.Callable[[int], t.Iterator[bytes]]


class _Part:
    """A part of a blob, as a body that can be sent."""

    def __init__(self, source: Source, start: int, length: int) -> None:
        self._source = source
        self._start = start
        self._length = length

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> t.Iterator[bytes]:
        left = self._length
        for data in self._source(self._start):
            yield data[:left]
            left -= len(data)
            if left <= 0:
                return
        raise errors.error(
            "digest",
            "what is to be sent ended after %d of %d bytes" % (self._length - left, self._length),
            "",
            remedy="Run again; leave the files alone that are being sent",
        )


class Upload:
    """One blob on its way to a registry.

    :param source: gives the blob from an offset on.
    """

    def __init__(self, session: Session, repository: str, digest: str, size: int, source: Source) -> None:
        self._session = session
        self._repository = repository
        self._digest = digest
        self._size = size
        self._source = source
        self._rights = rights((repository, "pull,push"))
        self._doing = "send the blob %s to %s" % (digest, repository)
        self._location = ""
        self._sent = 0
        self._resumed = False
        self._committed = False
        self._longest_part = size

    def run(self) -> None:
        """Send it.

        :raises RegistryError: where the registry does not take it, or what it got is not what the digest says.
        """
        failures = 0
        while True:
            before = self._sent
            try:
                self._send()
                self._commit()
                return
            except errors.RegistryError as exc:
                failures += 1
                if failures >= self._session.policy.attempts or not self._recover(exc, failures):
                    raise exc.final(failures) from None
            if self._committed and has_blob(self._session, self._repository, self._digest):
                # Only the answer was lost.
                return
            if self._sent - before >= PIECE:
                failures = 0

    def _send(self) -> None:
        """Everything that the last request of the upload will not carry."""
        if not self._location:
            self._begin()
        while self._size > SMALL and self._sent < self._size:
            length = min(self._longest_part, self._size - self._sent)
            headers = {"Content-Type": "application/octet-stream"}
            if length < self._size:
                headers["Content-Range"] = "%d-%d" % (self._sent, self._sent + length - 1)
            answer = self._call(
                "PATCH",
                self._location,
                headers=headers,
                body=_Part(self._source, self._sent, length),
                expect=(201, 202, 204),
                attempts=1,
            )
            before, self._sent = self._sent, self._sent + length
            self._learn(answer)
            if self._sent <= before:
                raise self._error("server", "the registry took nothing of it")

    def _commit(self) -> None:
        joint = "&" if "?" in self._location else "?"
        self._committed = True
        body = b"".join(self._source(0)) if self._size <= SMALL else b""
        answer = self._call(
            "PUT",
            "%s%sdigest=%s" % (self._location, joint, self._digest),
            headers={"Content-Type": "application/octet-stream"},
            body=body,
            expect=(201, 202, 204),
            attempts=1,
            timeout=TIMEOUT_COMMIT,
        )
        stored = answer.headers.get("Docker-Content-Digest", self._digest)
        if stored != self._digest:
            raise self._error("digest", "the registry calls it %s" % errors.clean(stored))

    def _begin(self) -> None:
        answer = self._call("POST", "%s/blobs/uploads/" % self._repository, body=b"", expect=(202,))
        self._sent = 0
        self._resumed = False
        least = number_of(answer.headers.get("OCI-Chunk-Min-Length", ""))
        if self._longest_part < self._size and least is not None:
            self._longest_part = max(self._longest_part, least)
        self._location = self._session.location(answer)

    def _recover(self, exc: errors.RegistryError, failures: int) -> bool:
        """Prepare the next attempt.

        :returns: whether there is to be one.
        """
        if exc.status == 413 and self._longest_part > CHUNK and self._size > SMALL:
            self._longest_part = CHUNK
            self._location = ""
            return True
        # What broke off may have been miscounted, and an upload that is unknown be known to another server of it.
        lost = exc.kind == "missing" and self._location
        if lost or (exc.kind == "digest" and self._resumed):
            self._session.policy.pause(failures, None)
            self._location = ""
            return True
        if not self._session.worth_another(exc):
            return False
        self._session.policy.pause(failures, exc.retry_after)
        self._ask()
        return True

    def _ask(self) -> None:
        """Learn how far the registry got; begin anew where it does not say."""
        if not self._location:
            return
        try:
            answer = self._call("GET", self._location, expect=(204, 200, 202))
        except errors.RegistryError as exc:
            if exc.kind not in ("missing", "server"):
                raise
            self._location = ""
            return
        self._sent = 0
        self._learn(answer)
        self._resumed = True

    def _learn(self, answer: Answer) -> None:
        """Take the next address and the size so far from an answer."""
        if answer.headers.get("Location"):
            self._location = self._session.location(answer)
        match = re.match(r"(?:bytes=)?0-(\d{1,18})\Z", answer.headers.get("Range", ""))
        if match is not None:
            # Registries say 0-0 both for one byte and for none.
            self._sent = int(match.group(1)) + 1 if int(match.group(1)) else 0
        self._sent = min(self._sent, self._size)

    def _error(self, kind: str, what: str) -> errors.RegistryError:
        return errors.error(kind, "could not %s: %s" % (self._doing, what), self._session.host)

    def _call(self, method: str, url: str, **options: t.Any) -> Answer:
        return self._session.call(method, url, self._doing, self._rights, **options)


def has_blob(session: Session, repository: str, digest: str) -> bool:
    """Whether a blob is in a repository."""
    answer = session.call(
        "HEAD",
        "%s/blobs/%s" % (repository, digest),
        "look for the blob %s of %s" % (digest, repository),
        rights((repository, "pull")),
        expect=(200, 404),
    )
    return answer.status == 200


def from_bytes(data: bytes) -> Source:
    """A blob in memory."""

    def source(start: int) -> t.Iterator[bytes]:
        for begin in range(start, len(data), PIECE):
            yield data[begin : begin + PIECE]

    return source


def from_file(path: str) -> Source:
    """A blob in a file."""

    def source(start: int) -> t.Iterator[bytes]:
        with open(path, "rb") as stream:
            stream.seek(start)
            while True:
                data = stream.read(PIECE)
                if not data:
                    return
                yield data

    return source
