# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""Which distributions a Python of an image has, told from their folders of metadata."""

from __future__ import annotations

import csv
import posixpath
import re
import typing as t

from ansible_collections.mindcluster.recovery.plugins.module_utils._layer_tree import Tree
from ansible_collections.mindcluster.recovery.plugins.module_utils._wheels import normalise

_INFO = re.compile(r"\A([^-]+)(?:-([^-]+))?.*\.(dist|egg)-info\Z")
_FIELD = re.compile(rb"^(Name|Version):[ \t]*(\S+)", re.MULTILINE)


class Installed(t.NamedTuple):
    """One installed distribution.

    :ivar site: the folder that it was found in.
    :ivar info: its folder (or file) of metadata.
    """

    name: str
    version: str
    site: str
    info: str


class Distributions:
    """Everything that is installed for one interpreter, the first of each name on its search path."""

    def __init__(self, tree: Tree, search: t.Sequence[str]) -> None:
        self._tree = tree
        self._search = search
        self._found: dict[str, Installed] | None = None

    def get(self, name: str) -> Installed | None:
        return self.all().get(normalise(name))

    def version(self, name: str) -> str | None:
        found = self.get(name)
        return found.version if found else None

    def all(self) -> dict[str, Installed]:
        """By normalised name."""
        if self._found is None:
            self._found = {}
            for site in self._search:
                for entry in self._tree.children(site):
                    if entry.endswith((".dist-info", ".egg-info")):
                        one = self._read(site, entry)
                        self._found.setdefault(normalise(one.name), one)
        return self._found

    def _read(self, site: str, entry: str) -> Installed:
        info = posixpath.join(site, entry)
        match = _INFO.match(entry)
        fields = {"Name": match.group(1) if match else entry, "Version": (match.group(2) if match else "") or ""}
        for name in ("METADATA", "PKG-INFO", ""):
            data = self._tree.content(posixpath.join(info, name) if name else info)
            if data is not None:
                head = re.split(rb"\r?\n\r?\n", data, maxsplit=1)[0]
                for key, value in reversed(_FIELD.findall(head)):
                    fields[key.decode()] = value.decode("utf-8", "replace")
                break
        return Installed(fields["Name"], fields["Version"], site, info)

    def recorded(self, one: Installed) -> list[str] | None:
        """The files that a distribution's record names, as paths in the image; None where it has no record."""
        data = self._tree.content(posixpath.join(one.info, "RECORD"))
        if data is None:
            return None
        try:
            rows = list(csv.reader(data.decode("utf-8", "replace").splitlines()))
        except csv.Error:
            return None
        return [posixpath.normpath(posixpath.join(one.site, row[0])) for row in rows if row and row[0]]


def has_module(tree: Tree, search: t.Sequence[str], standard: t.Sequence[str], module: str) -> bool:
    """Whether a module can be found, as far as its files tell: a package's folder, a source, byte code, a library.

    Of a dotted name the first two parts are looked at, for an index keeps no more of what lies deeper.
    """
    parts = module.split(".")[:2]
    for folder in list(search) + list(standard):
        if parts[0] not in _modules_in(tree, folder):
            continue
        inner = posixpath.join(folder, parts[0])
        if len(parts) == 1 or not tree.is_folder(inner):
            return True
        if tree.is_file(posixpath.join(inner, "__init__.py")):
            # It may make the name in its own code, so that nothing can be said against it.
            return True
        if parts[1] in _modules_in(tree, inner):
            return True
    return False


def _modules_in(tree: Tree, folder: str) -> set[str]:
    names = set()
    for name in tree.children(folder):
        if name.endswith((".py", ".so", ".pyc")) or "." not in name:
            names.add(name.split(".", 1)[0])
    return names
