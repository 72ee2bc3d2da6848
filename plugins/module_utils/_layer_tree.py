# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""The file tree of an image, looked at through the indexes of its layers, the newest first."""

from __future__ import annotations

import typing as t

from ansible_collections.mindcluster.recovery.plugins.module_utils._layer_index import Entry, Index
from ansible_collections.mindcluster.recovery.plugins.module_utils._layer_tar import FILE, FOLDER, HARDLINK, SYMLINK

# As many as the kernel follows.
_MOST_LINKS = 40

Fetch = t.Callable[[int, t.Callable[[str], bool]], t.Dict[str, bytes]]


class Tree:
    """An image's files.

    Paths are absolute, as inside the image. A layer's index is asked for only when a question reaches that layer.

    :param count: number of layers.
    :param index: gives the index of a layer by its number, 0 for the newest.
    :param fetch: reads files of a layer that its index does not keep.
    """

    def __init__(self, count: int, index: t.Callable[[int], Index], fetch: Fetch) -> None:
        self._count = count
        self._load = index
        self._fetch = fetch
        self._loaded: dict[int, Index] = {}
        self._real: dict[str, str | None] = {"/": "/"}

    # --- single paths

    def real(self, path: str) -> str | None:
        """A path without any symbolic link in it; None where nothing is there or links lead in a circle."""
        if path not in self._real:
            self._real[path] = self._resolve(path)
        return self._real[path]

    def entry(self, path: str) -> Entry | None:
        """What a path leads to, links followed."""
        real = self.real(path)
        found = self._find(real.lstrip("/")) if real else None
        return found[1] if found else (Entry(FOLDER) if real == "/" else None)

    def is_file(self, path: str) -> bool:
        entry = self.entry(path)
        return entry is not None and entry.kind in (FILE, HARDLINK)

    def is_folder(self, path: str) -> bool:
        entry = self.entry(path)
        return entry is not None and entry.kind == FOLDER

    def own_entry(self, path: str) -> Entry | None:
        """What is at a path itself, a link not followed; the folders before it must be free of links."""
        found = self._find(path.lstrip("/"))
        return found[1] if found else None

    def _resolve(self, path: str) -> str | None:
        todo = [part for part in path.split("/") if part not in ("", ".")][::-1]
        done: list[str] = []
        links = 0
        while todo:
            part = todo.pop()
            if part == "..":
                # Above the root is the root.
                del done[-1:]
                continue
            found = self._find("/".join(done + [part]))
            if found is None:
                return None
            if found[1].kind != SYMLINK:
                done.append(part)
                continue
            links += 1
            if links > _MOST_LINKS:
                return None
            target = found[1].link
            if target.startswith("/"):
                done = []
            todo += [one for one in target.split("/") if one not in ("", ".")][::-1]
        return "/" + "/".join(done)

    def _find(self, path: str) -> tuple[int, Entry] | None:
        """The newest layer that has a path, and what it has; None where no layer has it or a newer one hides it."""
        parents = _parents(path)
        for number in range(self._count):
            layer = self._layer(number)
            entry = layer.get(path)
            if entry is not None:
                return number, entry
            if _hides(layer, path, parents):
                return None
        return None

    # --- folders

    def children(self, folder: str) -> list[str]:
        """Names of what is in a folder, links to it followed; empty where it is none."""
        real = self.real(folder)
        if real is None:
            return []
        path = real.lstrip("/")
        names: set[str] = set()
        gone: set[str] = set()
        prefix = path + "/" if path else ""
        parents = _parents(path) + [path]
        for number in range(self._count):
            layer = self._layer(number)
            names.update(name for name in layer.children(path) if name not in gone)
            if path in layer.opaque or (path and _hides(layer, path, parents[:-1])) or layer.is_folder(path) is False:
                break
            gone.update(
                one[len(prefix) :]
                for one in layer.whiteouts
                if one.startswith(prefix) and "/" not in one[len(prefix) :]
            )
        return sorted(names)

    # --- contents

    def content(self, path: str) -> bytes | None:
        """The bytes of a file; None where there is no such file.

        A file that no index keeps is read from its layer.
        """
        real = self.real(path)
        found = self._find(real.lstrip("/")) if real else None
        if real is None or found is None or found[1].kind not in (FILE, HARDLINK):
            return None
        number = found[0]
        name = self._linked(number, real.lstrip("/"), found[1])
        layer = self._layer(number)
        if name not in layer.contents:
            fetched = self._fetch(number, lambda one: one == name)
            if name not in fetched:
                return None
            layer.contents[name] = fetched[name]
        return layer.contents[name]

    def probes(self, path: str) -> list[str]:
        """What was found in a program when its layer was read."""
        real = self.real(path)
        found = self._find(real.lstrip("/")) if real else None
        if real is None or found is None:
            return []
        return self._layer(found[0]).probes.get(self._linked(found[0], real.lstrip("/"), found[1]), [])

    def sources_below(self, folders: t.Sequence[str], suffixes: tuple[str, ...]) -> dict[str, bytes]:
        """Every file with one of some suffixes below some folders; each layer that has any of them is read once."""
        found: dict[str, bytes] = {}
        starts = tuple(real.lstrip("/") + "/" for real in map(self.real, folders) if real and real != "/")
        for number in range(self._count):
            layer = self._layer(number)
            if not starts or not any(start[:-1] in layer for start in starts):
                continue
            fetched = self._fetch(number, lambda name: name.endswith(suffixes) and name.startswith(starts))
            for name, data in fetched.items():
                if name not in found and not self._hidden_above(name, number):
                    found[name] = data
        return {"/" + name: data for name, data in found.items()}

    def _hidden_above(self, path: str, number: int) -> bool:
        parents = _parents(path)
        return any(_hides(self._layer(newer), path, parents) for newer in range(number))

    def _linked(self, number: int, name: str, entry: Entry) -> str:
        """The name under which a layer's archive holds the bytes of a file that may be a hard link."""
        layer = self._layer(number)
        seen = {name}
        while entry.kind == HARDLINK and entry.link not in seen:
            name = entry.link
            seen.add(name)
            target = layer.get(name)
            if target is None:
                break
            entry = target
        return name

    def topped(self, index: Index, fetch: t.Callable[[t.Callable[[str], bool]], dict[str, bytes]]) -> Tree:
        """The same tree with one more layer on top.

        :param fetch: reads files of that layer.
        """

        def load(number: int) -> Index:
            return self._layer(number - 1) if number else index

        def read(number: int, is_wanted: t.Callable[[str], bool]) -> dict[str, bytes]:
            return self._fetch(number - 1, is_wanted) if number else fetch(is_wanted)

        return Tree(self._count + 1, load, read)

    def _layer(self, number: int) -> Index:
        if number not in self._loaded:
            self._loaded[number] = self._load(number)
        return self._loaded[number]


def _parents(path: str) -> list[str]:
    """The folders before a path, the outermost first, without the root."""
    parts = path.split("/")
    return ["/".join(parts[:end]) for end in range(1, len(parts))]


def _hides(layer: Index, path: str, parents: t.Sequence[str]) -> bool:
    """Whether a layer that has nothing at a path hides what layers below it have there."""
    if path in layer.whiteouts or "" in layer.opaque:
        return True
    return any(one in layer.whiteouts or one in layer.opaque or layer.is_folder(one) is False for one in parents)
