# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""A folder that keeps, by digest, what was read once: indexes of layers, and small documents of images.

What is kept under a digest never changes, so nothing here can be out of date. A file that is damaged, of another
version or not there is as good as none, and a folder that cannot be written costs time only.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile

from ansible_collections.mindcluster.recovery.plugins.module_utils._layer_index import VERSION, Index

_DIGEST = hashlib.sha256().digest_size


def default_folder() -> str:
    """The folder of the user who runs the module."""
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(home, "mindcluster-recovery", "layers")


class Cache:
    """What was read before.

    :param folder: where; made, for its owner only, when something is kept.
    """

    def __init__(self, folder: str) -> None:
        self.folder = os.path.abspath(os.path.expanduser(folder))

    def index(self, layer: str) -> Index | None:
        """The index of a layer; None where it has to be read."""
        data = self._read(self._index_path(layer))
        return Index.from_bytes(data) if data is not None else None

    def has_index(self, layer: str) -> bool:
        return os.path.isfile(self._index_path(layer))

    def keep_index(self, layer: str, index: Index) -> None:
        self._write(self._index_path(layer), index.to_bytes())

    def document(self, digest: str) -> bytes | None:
        """A manifest or configuration that was kept; what is read is what has this digest, or nothing."""
        data = self._read(self._document_path(digest))
        if data is None or "sha256:" + hashlib.sha256(data).hexdigest() != digest:
            return None
        return data

    def keep_document(self, digest: str, data: bytes) -> None:
        self._write(self._document_path(digest), data)

    def _index_path(self, layer: str) -> str:
        return os.path.join(self.folder, "index-%d-%s" % (VERSION, _plain(layer)))

    def _document_path(self, digest: str) -> str:
        return os.path.join(self.folder, "document-%s" % _plain(digest))

    def _read(self, path: str) -> bytes | None:
        try:
            with open(path, "rb") as stream:
                data = stream.read()
        except OSError:
            return None
        checksum, content = data[:_DIGEST], data[_DIGEST:]
        return content if hashlib.sha256(content).digest() == checksum else None

    def _write(self, path: str, content: bytes) -> None:
        with contextlib.suppress(OSError):
            os.makedirs(self.folder, mode=0o700, exist_ok=True)
            handle, temporary = tempfile.mkstemp(prefix=".", suffix=".tmp", dir=self.folder)
            try:
                with os.fdopen(handle, "wb") as stream:
                    stream.write(hashlib.sha256(content).digest() + content)
                os.replace(temporary, path)
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(temporary)
                raise


def _plain(digest: str) -> str:
    """A digest as a file's name; anything else becomes the digest of itself."""
    algorithm, dummy, value = digest.partition(":")
    if algorithm == "sha256" and len(value) == 64 and all(letter in "0123456789abcdef" for letter in value):
        return value
    return "other-" + hashlib.sha256(digest.encode("utf-8", "surrogateescape")).hexdigest()
