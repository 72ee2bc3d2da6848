# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""Installs wheels into the files of an image with PyPA's installer, as the image's own pip would do it."""

from __future__ import annotations

import base64
import contextlib
import csv
import hashlib
import io
import os
import posixpath
import re
import traceback
import typing as t
import warnings
import zipfile

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Finding, Refused
from ansible_collections.mindcluster.recovery.plugins.module_utils._layer_changes import Changes
from ansible_collections.mindcluster.recovery.plugins.module_utils._layer_distributions import Distributions
from ansible_collections.mindcluster.recovery.plugins.module_utils._layer_imports import Sources
from ansible_collections.mindcluster.recovery.plugins.module_utils._layer_pack import InWheel
from ansible_collections.mindcluster.recovery.plugins.module_utils._layer_python import Interpreter
from ansible_collections.mindcluster.recovery.plugins.module_utils._wheels import UNREADABLE, installable_name

INSTALLER_IMPORT_ERROR: str | None
_Destination: t.Any = object
_WheelFile: t.Any = object
try:
    from installer import install
    from installer.destinations import WheelDestination
    from installer.records import Hash, RecordEntry
    from installer.scripts import Script
    from installer.sources import WheelFile
    from installer.utils import fix_shebang

    _Destination, _WheelFile = WheelDestination, WheelFile
    INSTALLER_IMPORT_ERROR = None
except ImportError:
    INSTALLER_IMPORT_ERROR = traceback.format_exc()

INSTALLER_NAME = b"mindcluster.recovery\n"
_LARGEST_SOURCE = 4 * 1024 * 1024

Json = t.Dict[str, t.Any]


class _Source(_WheelFile):
    """A wheel whose folder of data is named as its folder of metadata is, whatever its file is called."""

    @property
    def data_dir(self) -> str:
        return str(self.dist_info_dir)[: -len(".dist-info")] + ".data"


class _Layer(_Destination):
    """Where installer writes: nothing is unpacked, the changes note which file of the wheel goes where."""

    def __init__(self, changes: Changes, python: Interpreter, distribution: str, wheel: str) -> None:
        self._changes = changes
        self._python = python
        self._scheme = dict(python.scheme)
        self._scheme["headers"] = posixpath.join(self._scheme["headers"], distribution)
        self._wheel = wheel

    def write_script(self, name: str, module: str, attr: str, section: t.Any) -> t.Any:
        script_name, data = Script(name, module, attr, section).generate(self._python.path, "posix")
        return self._write("scripts", script_name, io.BytesIO(data), True)

    def write_file(self, scheme: t.Any, path: t.Any, stream: t.Any, is_executable: bool) -> t.Any:
        if scheme == "scripts":
            with fix_shebang(stream, self._python.path) as fixed:
                return self._write(scheme, os.fspath(path), fixed, is_executable)
        return self._write(scheme, os.fspath(path), stream, is_executable)

    def finalize_installation(self, scheme: t.Any, record_file_path: t.Any, records: t.Any) -> None:
        """The record as pip writes it: sorted, every path as seen from the site folder."""
        site = self._scheme[scheme]
        rows = []
        for owner, record in records:
            path = posixpath.join(self._scheme[owner], record.path)
            inside = path.startswith(site + "/")
            shown = path[len(site) + 1 :] if inside else posixpath.relpath(path, site)
            rows.append((shown, str(record.hash_ or ""), "" if record.size is None else str(record.size)))
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(sorted(rows))
        data = text.getvalue().encode()
        self._changes.put(posixpath.join(site, record_file_path), data, 0o644, len(data))

    def _write(self, scheme: str, path: str, stream: t.Any, is_executable: bool) -> t.Any:
        folder = self._scheme[scheme]
        target = posixpath.normpath(posixpath.join(folder, path))
        if not target.startswith(folder.rstrip("/") + "/"):
            raise ValueError("it would write outside of its folder: %s" % path)
        digest, size = hashlib.sha256(), 0
        changed: list[bytes] | None = None if isinstance(stream, zipfile.ZipExtFile) else []
        for piece in iter(lambda: stream.read(1024 * 1024), b""):
            digest.update(piece)
            size += len(piece)
            if changed is not None:
                changed.append(piece)
        data = InWheel(self._wheel, stream.name) if changed is None else b"".join(changed)
        self._changes.put(target, data, 0o755 if is_executable else 0o644, size)
        text = base64.urlsafe_b64encode(digest.digest()).decode("ascii").rstrip("=")
        return RecordEntry(path, Hash("sha256", text), size)


def install_wheel(changes: Changes, python: Interpreter, installed: Distributions, wheel: Json) -> str | None:
    """Install one wheel; a version of it that is in the same place makes room first.

    :returns: the version that it replaced.
    :raises Refused: it is no wheel that can be installed.
    """
    old = installed.get(wheel["name"])
    if old is not None:
        _uninstall(changes, python, installed, old.name)
    distribution = re.sub(r"[-_.]+", "_", wheel["name"])
    try:
        with zipfile.ZipFile(wheel["path"]) as archive, warnings.catch_warnings():
            # Byte code that a wheel brings is left out, and installer says so.
            warnings.simplefilter("ignore")
            archive.filename = installable_name(wheel)
            destination = _Layer(changes, python, distribution, wheel["path"])
            install(_Source(archive), destination, {"INSTALLER": INSTALLER_NAME, "REQUESTED": b""})
    except (*UNREADABLE, AssertionError) as exc:
        raise Refused(_not_installable(wheel["filename"], exc)) from exc
    return old.version if old else None


def sources_of(wheel: Json, sources: Sources) -> None:
    """Tell a scan of imports what a wheel brings.

    :raises Refused: it cannot be read; a source that cannot says so when the scan comes to it.
    """
    with _opened(wheel) as archive:
        for item in archive.infolist():
            name = item.filename
            root, dummy, rest = name.partition("/")
            if root.endswith(".data"):
                kind, dummy, name = rest.partition("/")
                if kind not in ("purelib", "platlib"):
                    continue
            if root.endswith(".dist-info") or not name.endswith((".py", ".so")) or item.file_size > _LARGEST_SOURCE:
                if name.endswith(".so"):
                    sources.add(name, bytes)
                continue
            sources.add(name, _reader(wheel, item.filename))


def _reader(wheel: Json, member: str) -> t.Callable[[], bytes]:
    def read() -> bytes:
        with _opened(wheel) as archive:
            return archive.read(member)

    return read


@contextlib.contextmanager
def _opened(wheel: Json) -> t.Iterator[zipfile.ZipFile]:
    try:
        with zipfile.ZipFile(wheel["path"]) as archive:
            yield archive
    except UNREADABLE as exc:
        raise Refused(_not_installable(wheel["filename"], exc)) from exc


def _uninstall(changes: Changes, python: Interpreter, installed: Distributions, name: str) -> None:
    """Take away what an installed distribution's record names, as pip does.

    A distribution in another place than the one that wheels go to (the distributor's own folder, say) is left there,
    and what is installed comes before it on the search path.
    """
    old = installed.get(name)
    tree = changes.tree
    places = {tree.real(python.scheme[kind]) for kind in ("purelib", "platlib")}
    if old is None or tree.real(old.site) not in places:
        return
    recorded = installed.recorded(old)
    if recorded is None:
        return
    owned = _owned_folders(old.site, recorded)
    for folder in owned:
        changes.empty(folder)
    if tree.is_folder(old.info):
        changes.remove(old.info)
    for path in recorded:
        if not any(path.startswith(folder + "/") for folder in [*owned, old.info]):
            changes.remove(path, recorded=True)
            _remove_byte_code(changes, path)


def _owned_folders(site: str, recorded: t.Sequence[str]) -> list[str]:
    """The outermost packages that are this distribution's alone; a namespace such as C(google) may be shared."""
    files = set(recorded)
    owned = set()
    for path in recorded:
        parts = path[len(site) + 1 :].split("/")[:-1] if path.startswith(site + "/") else []
        folders = (posixpath.join(site, *parts[:end]) for end in range(1, len(parts) + 1))
        owned.update([folder for folder in folders if folder + "/__init__.py" in files][:1])
    return sorted(owned)


def _remove_byte_code(changes: Changes, path: str) -> None:
    """What was compiled from a source, and its folder where nothing else is in it."""
    folder, name = posixpath.split(path)
    if not name.endswith(".py"):
        return
    place = posixpath.join(folder, "__pycache__")
    names = changes.tree.children(place)
    for entry in names:
        if entry.startswith(name[: -len("py")]) and entry.endswith(".pyc"):
            changes.remove(posixpath.join(place, entry))
    if names and changes.is_bare(place):
        changes.remove(place)


def _not_installable(filename: str, reason: BaseException) -> Finding:
    return Finding(
        "wheel-unreadable",
        "`%s` cannot be installed: %s" % (filename, reason),
        "The image would lack what recovery needs",
        "Check that the file is whole; copy it again from the vendor's package",
        "training_image_wheels",
    )
