# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""Reading a blob: as a stream that goes on where a connection broke off, and that proves itself at its end."""

from __future__ import annotations

import hashlib
import re
import typing as t

from ansible_collections.mindcluster.recovery.plugins.module_utils import _registry_errors as errors
from ansible_collections.mindcluster.recovery.plugins.module_utils._registry_auth import rights
from ansible_collections.mindcluster.recovery.plugins.module_utils._registry_http import Answer, number_of
from ansible_collections.mindcluster.recovery.plugins.module_utils._registry_session import Session

PIECE = 1 << 20


class BlobReader:
    """A blob as a file that can only be read forwards.

    The piece that ends it is given out only after size and digest have proved right.

    :param start: where to begin. Only what is read from 0 on can prove its digest.
    """

    def __init__(self, session: Session, repository: str, digest: str, size: int, start: int = 0) -> None:
        self._session = session
        self._repository = repository
        self._digest = digest
        self._size = size
        self._hash = hashlib.sha256() if start == 0 else None
        self._answer: Answer | None = None
        self._failures = 0
        self._failed_at = start
        self.position = start

    def __enter__(self) -> BlobReader:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def close(self) -> None:
        if self._answer is not None:
            self._answer.close()
            self._answer = None

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        return self.position

    def read(self, amount: int = -1) -> bytes:
        """At most that many bytes, fewer only at the end or where the line has no more yet; all without a number.

        :raises RegistryError: where the rest cannot be had, or is not what the digest says.
        """
        if amount is None or amount < 0:
            return b"".join(iter(lambda: self.read(PIECE), b""))
        wanted = min(amount, self._size - self.position)
        if wanted <= 0:
            if self._size == 0 and amount:
                self._prove()
            return b""
        while True:
            data = self._read_once(wanted)
            if data:
                break
        self.position += len(data)
        if self._hash is not None:
            self._hash.update(data)
        if self.position == self._size:
            self._prove()
            self.close()
        return data

    def _read_once(self, wanted: int) -> bytes:
        """Some bytes; none where the connection broke off and a new one is to be tried."""
        try:
            if self._answer is None:
                self._answer = self._open()
            data = self._answer.read(wanted)
            if not data:
                raise self._error("network", "the connection ended after %d of %d bytes", passing=True)
        except errors.RegistryError as exc:
            self.close()
            self._pause(exc)
            return b""
        return data

    def _pause(self, exc: errors.RegistryError) -> None:
        """Wait before the next attempt; attempts that got nowhere are counted."""
        if self.position - self._failed_at >= PIECE:
            self._failures = 0
        self._failures += 1
        self._failed_at = self.position
        if not self._session.worth_another(exc) or self._failures >= self._session.policy.attempts:
            raise exc.final(self._failures)
        self._session.policy.pause(self._failures, exc.retry_after)

    def _open(self) -> Answer:
        headers = {"Range": "bytes=%d-" % self.position} if self.position else {}
        answer = self._session.call(
            "GET",
            "%s/blobs/%s" % (self._repository, self._digest),
            "read the blob %s of %s" % (self._digest, self._repository),
            rights((self._repository, "pull")),
            headers=headers,
            expect=(200, 206),
            stream=True,
        )
        try:
            self._go_to_position(answer)
        except errors.RegistryError:
            answer.close()
            raise
        return answer

    def _go_to_position(self, answer: Answer) -> None:
        """Check that the answer is this blob's, and read away what is known of it already."""
        begin, stated = 0, answer.headers.get("Content-Length", "")
        if answer.status == 206:
            match = re.match(r"bytes (\d{1,18})-\d+/(\d+|\*)\Z", answer.headers.get("Content-Range", ""))
            if match is None or int(match.group(1)) != self.position:
                raise self._error("server", "the registry sent another part than the one after %d of %d bytes")
            begin, stated = self.position, match.group(2)
        total = number_of(stated)
        if total is not None and total != self._size:
            raise self._error("digest", "the registry has %s bytes of it where %%d of %%d are read" % total)
        while begin < self.position:
            data = answer.read(min(PIECE, self.position - begin))
            if not data:
                raise self._error(
                    "network", "the connection ended before the %d of %d bytes that were read", passing=True
                )
            begin += len(data)

    def _prove(self) -> None:
        """The last byte is there: nothing may follow, and all of it has to be what the digest says."""
        if self._answer is not None and self._answer.read(1):
            raise self._error("digest", "more bytes follow after %d of %d bytes")
        if self._hash is not None and "sha256:" + self._hash.hexdigest() != self._digest:
            raise self._error("digest", "its %%d of %%d bytes have the digest sha256:%s" % self._hash.hexdigest())

    @property
    def _name(self) -> str:
        return "the blob %s of %s" % (self._digest, self._repository)

    def _error(self, kind: str, what: str, passing: bool = False) -> errors.RegistryError:
        return errors.error(
            kind, "%s: %s" % (self._name, what % (self.position, self._size)), self._session.host, passing=passing
        )


def pieces(reader: BlobReader) -> t.Iterator[bytes]:
    """All of a blob, piece by piece; closes it."""
    with reader:
        while True:
            data = reader.read(PIECE)
            if not data:
                return
            yield data
