# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""Applies the two patches of torch to files read out of an image, with the very patcher that runs in images."""

from __future__ import annotations

import os
import posixpath
import shutil
import tempfile
import typing as t

from ansible_collections.mindcluster.recovery.plugins.module_utils import _torch_patcher as patcher
from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Finding, Refused
from ansible_collections.mindcluster.recovery.plugins.module_utils._layer_tree import Tree

Json = t.Dict[str, t.Any]

_SOURCES = ("version.py", "distributed/run.py", "distributed/rendezvous.py")
_CODE = "distributed/__pycache__"
_LONGEST_NAME = 255
#: A syntax tree takes up to a thousand times the room of its source; torch's largest file here has 40 KB.
LARGEST_PARSED = 256 * 1024


class Torch:
    """The torch of an image.

    :ivar path: its folder as Python would name it.
    :ivar version: as its C(version.py) states it.
    :ivar error: why it can be neither patched nor trusted.
    """

    def __init__(self, path: str, version: str = "", error: str = "") -> None:
        self.path = path
        self.version = version
        self.error = error

    def as_facts(self) -> dict[str, str]:
        """The same keys as the inspector inside an image tells."""
        facts = {"version": self.version, "path": "" if self.error else self.path}
        return dict(facts, error=self.error) if self.error else facts


class Patched:
    """What the patcher did.

    :ivar result: what it says, with the image's paths.
    :ivar files: new bytes by path, only of changed files.
    :ivar removed: byte code that has to go.
    """

    def __init__(self, result: Json, files: dict[str, bytes], removed: list[str]) -> None:
        self.result = result
        self.files = files
        self.removed = removed


def find_torch(tree: Tree, search: t.Sequence[str]) -> Torch | None:
    """The torch that an interpreter with this search path imports; None where it finds none."""
    for folder in search:
        path = posixpath.join(folder, "torch")
        if tree.is_file(posixpath.join(path, "__init__.py")) or tree.is_file(posixpath.join(path, "__init__.pyc")):
            break
    else:
        return None
    with _Copy(tree, path) as copy:
        try:
            found = patcher.find_torch(copy.folder)
        except patcher.Refusal as exc:
            return Torch(path, "", copy.renamed(str(exc)))
        return Torch(path, found.version)


def inspect(tree: Tree, torch: str, module: str, rendezvous: str) -> Json:
    """What M(mindcluster.recovery.torch_patch_info) tells of a torch, the import left out."""
    with _Copy(tree, torch) as copy:
        seen: Json = copy.renamed(patcher.inspect(copy.folder, module, rendezvous, prove=False))
        return seen


def apply(tree: Tree, torch: str, module: str, rendezvous: str) -> Patched:
    """Bring both files to what is wanted.

    :raises Refused: with the patcher's reasons.
    """
    with _Copy(tree, torch) as copy:
        result = patcher.apply("present", copy.folder, module, rendezvous, prove=False)
        if not result["ok"]:
            raise Refused([Finding(**finding) for finding in copy.renamed(result["errors"])])
        removed = copy.renamed(list(result["byte_code_removed"]))
        return Patched(copy.renamed(result), copy.changed(), removed)


class _Copy:
    """A folder with the few files of torch that the patcher looks at, and their installation records."""

    def __init__(self, tree: Tree, torch: str) -> None:
        self._tree = tree
        self._torch = torch
        self._place = ""
        self._before: dict[str, bytes] = {}

    @property
    def folder(self) -> str:
        return os.path.join(self._place, "torch")

    def __enter__(self) -> _Copy:
        self._place = os.path.realpath(tempfile.mkdtemp(prefix="mindcluster-torch-"))
        try:
            self._fill()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _fill(self) -> None:
        os.makedirs(os.path.join(self.folder, "distributed", "__pycache__"))
        for name in _SOURCES:
            data = self._tree.content(posixpath.join(self._torch, name))
            if data is not None and len(data) > LARGEST_PARSED:
                raise Refused(_too_large(posixpath.join(self._torch, name), len(data)))
            if data is not None:
                self._before[name] = data
                self._write("torch/" + name, data)
            elif self._tree.is_file(posixpath.join(self._torch, name + "c")):
                self._write("torch/" + name + "c", b"")
        for name in self._tree.children(posixpath.join(self._torch, _CODE)):
            if name.endswith(".pyc") and name.startswith(("run.", "rendezvous.")) and _is_name(name):
                data = self._tree.content(posixpath.join(self._torch, _CODE, name)) or b""
                self._write("torch/%s/%s" % (_CODE, name), data)
        self._copy_records()

    def __exit__(self, *dummy: t.Any) -> None:
        shutil.rmtree(self._place, ignore_errors=True)

    def _copy_records(self) -> None:
        beside = posixpath.dirname(self._torch)
        for name in self._tree.children(beside):
            if not name.startswith(("torch-", "torch.")) or not name.endswith((".dist-info", ".egg-info")):
                continue
            if not _is_name(name):
                continue
            for inner in ("METADATA", "PKG-INFO", ""):
                data = self._tree.content(
                    posixpath.join(beside, name, inner) if inner else posixpath.join(beside, name)
                )
                if data is not None:
                    self._write(posixpath.join(name, inner) if inner else name, data)
                    break

    def _write(self, name: str, data: bytes) -> None:
        path = os.path.join(self._place, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as stream:
            stream.write(data)

    def changed(self) -> dict[str, bytes]:
        files = {}
        for name, before in self._before.items():
            with open(os.path.join(self.folder, name), "rb") as stream:
                after = stream.read()
            if after != before:
                files[posixpath.join(self._torch, name)] = after
        return files

    def renamed(self, value: t.Any) -> t.Any:
        """The same value with the image's paths in place of the copy's."""
        if isinstance(value, str):
            return value.replace(self.folder, self._torch).replace(self._place, posixpath.dirname(self._torch))
        if isinstance(value, dict):
            return {key: self.renamed(one) for key, one in value.items()}
        if isinstance(value, list):
            return [self.renamed(one) for one in value]
        return value


def _is_name(name: str) -> bool:
    """Whether a file system takes it as the name of a file; an archive may have others."""
    return "/" not in name and len(os.fsencode(name)) <= _LONGEST_NAME


def _too_large(path: str, size: int) -> Finding:
    return Finding(
        "torch-file-too-large",
        "`%s` of the base image has %d bytes" % (path, size),
        "No release of torch has such a file, and reading its syntax could take all memory",
        "Take a base image with a torch that nobody has changed",
        "training_image_base",
    )
