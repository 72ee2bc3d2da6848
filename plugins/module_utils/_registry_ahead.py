# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.
"""Reading ahead: the line and the digest are worked on beside whoever unpacks."""

from __future__ import annotations

from ansible_collections.mindcluster.recovery.plugins.module_utils._beside import Beside
from ansible_collections.mindcluster.recovery.plugins.module_utils._registry_blobs import PIECE, BlobReader, pieces


class ReadAhead:
    """A blob as a file that can only be read forwards, which a thread of its own fills."""

    def __init__(self, reader: BlobReader) -> None:
        self._reader = reader
        self._pieces: Beside | None = None
        self._piece = b""
        self._offset = 0
        self.position = 0

    def __enter__(self) -> ReadAhead:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def close(self) -> None:
        if self._pieces is not None:
            self._pieces.close()
        self._reader.close()

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        return self.position

    def read(self, amount: int = -1) -> bytes:
        """At most that many bytes, none only at the end; all of the rest without a number.

        :raises RegistryError: where the rest cannot be had, or is not what the digest says.
        """
        if amount is None or amount < 0:
            return b"".join(iter(lambda: self.read(PIECE), b""))
        if self._offset >= len(self._piece):
            if self._pieces is None:
                self._pieces = Beside(pieces(self._reader))
            self._piece, self._offset = next(self._pieces, b""), 0
        data = self._piece[self._offset : self._offset + amount]
        self._offset += len(data)
        self.position += len(data)
        return data
