# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""What a new layer changes in an image: files put in, paths taken away, each where links in the image really lead."""

from __future__ import annotations

import posixpath
import typing as t

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Finding, Refused
from ansible_collections.mindcluster.recovery.plugins.module_utils._layer_index import Entry
from ansible_collections.mindcluster.recovery.plugins.module_utils._layer_pack import InWheel
from ansible_collections.mindcluster.recovery.plugins.module_utils._layer_tar import FILE, FOLDER
from ansible_collections.mindcluster.recovery.plugins.module_utils._layer_tree import Tree


class Put(t.NamedTuple):
    """A file of the new layer: its attributes, and its bytes or the file of a wheel that has them."""

    entry: Entry
    data: bytes | InWheel


class Changes:
    """The changes, collected.

    :param tree: the base image.
    :param mtime: of everything new, in seconds, so that one input makes one layer.
    """

    def __init__(self, tree: Tree, mtime: int) -> None:
        self.tree = tree
        self.mtime = mtime
        self.files: dict[str, Put] = {}
        self.folders: dict[str, Entry] = {}
        self.removed: set[str] = set()
        self.emptied: set[str] = set()

    def put(self, path: str, data: bytes | InWheel, mode: int, size: int) -> None:
        """A file of root's.

        :raises Refused: a folder of the image is in its place.
        """
        real = self._place(path)
        if self.tree.is_folder(real) and real not in self.removed:
            raise Refused(_in_the_way(path))
        self.files[real] = Put(Entry(FILE, mode, 0, 0, self.mtime, size), data)
        self.removed.discard(real)

    def replace(self, path: str, data: bytes) -> None:
        """New bytes for a file that is there; owner, mode and attributes stay."""
        real = self._place(path)
        old = self.tree.own_entry(real) or self.tree.entry(real) or Entry(FILE, 0o644)
        entry = Entry(FILE, old.mode, old.uid, old.gid, self.mtime, len(data), "", old.xattrs)
        self.files[real] = Put(entry, data)

    def remove(self, path: str, recorded: bool = False) -> None:
        """Take a path away, where there is something.

        :param recorded: an installation's record says that there is; an index need not have a file that lies deep.
        """
        folder = self.tree.real(posixpath.dirname(path))
        real = posixpath.join(folder, posixpath.basename(path)) if folder else ""
        if real and (recorded or self.tree.own_entry(real) is not None) and real not in self.files:
            self._keep_parents(real)
            self.removed.add(real)

    def empty(self, path: str) -> None:
        """Take away everything that is in a folder; what is put into it afterwards stays."""
        real = self.tree.real(path)
        if real and self.tree.is_folder(real):
            self._keep_parents(posixpath.join(real, "x"))
            self.emptied.add(real)

    def in_emptied(self, path: str) -> bool:
        return any(path.startswith(folder + "/") for folder in self.emptied)

    def settle(self) -> None:
        """Folders that were emptied, and into which nothing came, go away as a whole."""
        for folder in sorted(self.emptied):
            if not any(path.startswith(folder + "/") for path in self.files):
                self.emptied.discard(folder)
                self.removed.add(folder)

    def is_bare(self, folder: str) -> bool:
        """Whether everything that is in a folder is taken away."""
        real = self.tree.real(folder) or folder
        names = [posixpath.join(real, name) for name in self.tree.children(real)]
        return all(name in self.removed for name in names)

    def is_gone(self, path: str) -> bool:
        """Whether a path is below a folder that is taken away as a whole."""
        folder = posixpath.dirname(path)
        while folder != "/":
            if folder in self.removed:
                return True
            folder = posixpath.dirname(folder)
        return False

    @property
    def is_empty(self) -> bool:
        return not (self.files or self.removed or self.emptied)

    def _place(self, path: str) -> str:
        """Where a path leads, its folders made where they are not there."""
        parts = posixpath.dirname(path).strip("/").split("/")
        place = "/"
        for part in parts:
            if not part:
                continue
            step = posixpath.join(place, part)
            real = self.tree.real(step)
            if real in self.removed:
                # A folder that was taken away comes again, without what was in it.
                self.removed.discard(real)
                self.emptied.add(real)
                self.folders[real] = Entry(FOLDER, 0o755, 0, 0, self.mtime)
            if real is None or (self.in_emptied(real) and real not in self.folders):
                real = step
                self.folders.setdefault(step, Entry(FOLDER, 0o755, 0, 0, self.mtime))
            elif real not in self.folders:
                entry = self.tree.entry(real)
                if entry is None or entry.kind != FOLDER:
                    raise Refused(_in_the_way(real))
            place = real
        real = posixpath.join(place, posixpath.basename(path))
        self._keep_parents(real)
        return real

    def _keep_parents(self, path: str) -> None:
        """The folders before a path go into the layer as they are, or an engine would make them with its own modes."""
        folder = posixpath.dirname(path)
        while folder != "/":
            if folder not in self.folders:
                entry = self.tree.entry(folder)
                self.folders[folder] = entry or Entry(FOLDER, 0o755, 0, 0, self.mtime)
            folder = posixpath.dirname(folder)


def _in_the_way(path: str) -> Finding:
    return Finding(
        "path-taken",
        "the base image has something else at `%s` than what a wheel puts there" % path,
        "A file can take the place of a folder, or the other way round, only by breaking what is there",
        "Remove it from the base image, or take another base image",
        "training_image_base",
    )
