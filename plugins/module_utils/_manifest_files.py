# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""Manifests as files of a GitOps working tree: what would be written, and the writing."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import time
import typing as t

from ansible_collections.mindcluster.recovery.plugins.module_utils._atomic_file import replace_text
from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Finding, Refused
from ansible_collections.mindcluster.recovery.plugins.module_utils._kustomization import (
    KUSTOMIZATION_NAMES,
    new_kustomization,
    with_resources,
)

MARKER = "# Managed by mindcluster.recovery"
# The names stand in a kustomization as they are, without quotes.
_NAME = re.compile(r"[\w./][\w.+=/-]*( \w[\w.+=/-]*)*\Z")
_BOM = "\ufeff"


class Change(t.NamedTuple):
    """One file that has to be written.

    :ivar before: its text so far; None where it does not exist yet.
    """

    path: str
    before: str | None
    after: str


class Wish(t.NamedTuple):
    """One file as asked for.

    :ivar path: relative to the directory.
    :ivar source: the file that the content was made from; it may be written over although it has no marker.
    """

    path: str
    content: str
    source: str | None = None


def marked(content: str) -> str:
    """The content with the marker as its first line."""
    bare = content[1:] if content.startswith(_BOM) else content
    if bare.startswith(MARKER):
        return content
    newline = "\r\n" if "\r\n" in bare else "\n"
    return content[: len(content) - len(bare)] + MARKER + newline + bare


def is_ours(text: str) -> bool:
    """Whether this collection has written a file with this text."""
    return text.lstrip(_BOM).startswith(MARKER)


def plan_changes(directory: str, wishes: t.Sequence[Wish], kustomization: bool) -> list[Change]:
    """What has to be written so that the directory holds the files; nothing is touched.

    :param kustomization: also list the files in the directory's kustomization.
    :raises Refused: with every reason why the files cannot be written there.
    """
    directory = os.path.abspath(directory)
    findings = _directory_mistakes(directory)
    if findings:
        raise Refused(findings)
    findings = name_mistakes(directory, wishes)
    if findings:
        raise Refused(findings)
    changes = []
    for wish in wishes:
        full = os.path.join(directory, wish.path)
        try:
            change = _wanted_change(full, wish)
        except Refused as exc:
            findings.extend(exc.findings)
            continue
        if change is not None:
            changes.append(change)
    if kustomization:
        try:
            changes.extend(_kustomization_change(directory, [wish.path for wish in wishes]))
        except Refused as exc:
            findings.extend(exc.findings)
    findings.extend(unwritable(directory, changes))
    if findings:
        raise Refused(findings)
    return changes


@contextlib.contextmanager
def alone(directory: str, patience: float = 30) -> t.Iterator[None]:
    """Keep other runs from looking at the directory and writing into it at the same time.

    The kustomization is read and written again: of two runs at once, one would take the other's file out of the list.

    :param patience: how many seconds to wait for the other one.
    :raises Refused: the other one does not end.
    """
    # The directory itself may not exist yet; the one above it does. No lock file is left in the working tree.
    place = os.path.dirname(os.path.realpath(directory))
    try:
        handle = os.open(place, os.O_RDONLY)
    except OSError:
        # What is wrong with the place is told by the checks.
        yield
        return
    try:
        _lock(handle, directory, time.monotonic() + patience)
        yield
    finally:
        os.close(handle)


def _lock(handle: int, directory: str, until: float) -> None:
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() < until:
                time.sleep(0.05)
                continue
        except OSError:
            # A file system without locks, such as some network ones.
            return
        raise Refused(
            Finding(
                "directory-busy",
                "another run is writing here",
                "Two runs at once could take each other's files out of the kustomization",
                "Run again when the other one has ended",
                directory,
            )
        )


def write(change: Change) -> None:
    """Write one file at once: beside it first, then in its place; mode, owner and a symbolic link to it stay.

    :raises Refused: where the system does not let us.
    """
    try:
        replace_text(change.path, change.after)
    except OSError as exc:
        raise Refused(
            Finding(
                "file-unwritable",
                "cannot be written: %s" % (exc.strerror or exc),
                "The manifest is not in the working tree, or still has its old content",
                "Check the rights and the free space there, then run again",
                change.path,
            )
        ) from exc


def read(path: str) -> str | None:
    """The text of a file byte for byte; None where there is none.

    :raises Refused: it cannot be read, or is no UTF-8.
    """
    try:
        # Somebody's pipe would be waited at for ever.
        if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
            raise OSError("it is no file")
        with open(path, encoding="utf-8", newline="") as stream:
            return stream.read()
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as exc:
        raise Refused(
            Finding("file-encoding", "is not UTF-8", "Kubernetes manifests are UTF-8", "Save it as UTF-8", path)
        ) from exc
    except OSError as exc:
        raise Refused(
            Finding(
                "file-unreadable",
                "cannot be read: %s" % (exc.strerror or exc),
                "It is not known whether it may be written over",
                "Check its rights, and that it is a file",
                path,
            )
        ) from exc


def _wanted_change(full: str, wish: Wish) -> Change | None:
    before = read(full)
    is_source = before is not None and _same_file(wish.source, full)
    after = wish.content if is_source else marked(wish.content)
    if before == after:
        return None
    if before is not None and not is_source and not is_ours(before):
        raise Refused(
            Finding(
                "file-foreign",
                "exists and was not written by this collection (its first line is not `%s`)" % MARKER,
                "Somebody else's work would be lost",
                "Remove or rename it, choose another directory or job name, or put that line on top of it",
                full,
            )
        )
    return Change(full, before, after)


def _same_file(source: str | None, full: str) -> bool:
    return source is not None and os.path.exists(source) and os.path.samefile(source, full)


def _directory_mistakes(directory: str) -> list[Finding]:
    parent = os.path.dirname(os.path.abspath(directory))
    if os.path.isdir(directory):
        return []
    if os.path.lexists(directory):
        what, remedy = "is not a directory", "Name the directory of the working tree"
    elif os.path.isdir(parent):
        return []
    else:
        what, remedy = "does not exist, and neither does the directory above it", "Check the path, or clone the tree"
    return [Finding("directory-missing", what, "The manifests belong into a GitOps working tree", remedy, directory)]


def name_mistakes(directory: str, wishes: t.Sequence[Wish]) -> list[Finding]:
    findings = []
    seen: set[str] = set()
    root = os.path.realpath(directory)
    for wish in wishes:
        normal = os.path.normpath(wish.path)
        inside = os.path.realpath(os.path.join(root, normal)) if "\0" not in normal else ""
        if not wish.path or os.path.isabs(wish.path) or ".." in wish.path.split("/") or "\0" in wish.path:
            what = "`%s` is not a relative path below the directory" % wish.path
        elif not _NAME.match(wish.path):
            what = "`%s` holds a character that YAML or a shell reads in another way" % wish.path
        elif inside != root and not inside.startswith(root + os.sep):
            what = "`%s` leads out of the directory, through a symbolic link" % wish.path
        elif inside == root or os.path.basename(normal) in KUSTOMIZATION_NAMES:
            what = "`%s` is not a name for a manifest" % wish.path
        elif normal in seen:
            what = "`%s` is asked for twice" % wish.path
        else:
            seen.add(normal)
            continue
        findings.append(
            Finding(
                "file-name",
                what,
                "Nothing outside the directory is ever written, and no file twice",
                "Choose another file name; the names of generated files come from namespace and job",
                directory,
            )
        )
    return findings


def kustomization_path(directory: str) -> str:
    """The directory's kustomization; where there is none, the one that would be made."""
    existing = [os.path.join(directory, name) for name in KUSTOMIZATION_NAMES]
    return next((path for path in existing if os.path.lexists(path)), existing[0])


def _kustomization_change(directory: str, paths: t.Sequence[str]) -> list[Change]:
    names = sorted(os.path.normpath(path) for path in paths if path.endswith((".yaml", ".yml")))
    full = kustomization_path(directory)
    if not os.path.realpath(full).startswith(os.path.realpath(directory) + os.sep):
        raise Refused(
            Finding(
                "kustomization-link",
                "is a symbolic link that leads out of the directory",
                "Nothing outside the directory is ever written",
                "Put a kustomization of its own there, or name the directory that the link leads to",
                full,
            )
        )
    before = read(full)
    after = new_kustomization(names) if before is None else with_resources(before, names, full)
    return [] if before == after else [Change(full, before, after)]


def unwritable(directory: str, changes: t.Sequence[Change]) -> list[Finding]:
    folders = set()
    for change in changes:
        folder = os.path.dirname(change.path)
        while not os.path.isdir(folder) and folder != os.path.dirname(folder):
            if os.path.lexists(folder):
                break
            folder = os.path.dirname(folder)
        folders.add(folder)
    return [
        Finding(
            "directory-unwritable",
            "nothing can be written here",
            "The manifests belong into this place",
            "Check its rights, or run as the owner of the working tree",
            folder,
        )
        for folder in sorted(folders)
        if not os.path.isdir(folder) or not os.access(folder, os.W_OK | os.X_OK)
    ]
