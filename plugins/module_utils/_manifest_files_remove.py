# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""Taking manifests out of a GitOps working tree: the way back of L(_manifest_files)."""

from __future__ import annotations

import os
import typing as t

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Finding, Refused
from ansible_collections.mindcluster.recovery.plugins.module_utils._kustomization import KUSTOMIZATION_NAMES
from ansible_collections.mindcluster.recovery.plugins.module_utils._kustomization_remove import without_resources
from ansible_collections.mindcluster.recovery.plugins.module_utils._manifest_files import (
    Change,
    Wish,
    is_ours,
    name_mistakes,
    read,
    unwritable,
    write,
)


class Absence(t.NamedTuple):
    """One file that is deleted, or a kustomization that gets shorter.

    :ivar after: the text that stays; None where the file goes.
    """

    path: str
    before: str
    after: str | None


def plan_absence(directory: str, wishes: t.Sequence[Wish], kustomization: bool) -> tuple[list[Absence], list[str]]:
    """What has to be done so that the directory holds the files no more; nothing is touched.

    :returns: that, and the files that stay because this collection did not write them.
    :raises Refused: with every reason why it cannot be done.
    """
    directory = os.path.abspath(directory)
    if not os.path.isdir(directory):
        return [], []
    findings = name_mistakes(directory, wishes)
    if findings:
        raise Refused(findings)
    absences: list[Absence] = []
    stay: list[str] = []
    for wish in wishes:
        full = os.path.join(directory, wish.path)
        text = read(full)
        if text is None:
            continue
        if is_ours(text):
            absences.append(Absence(full, text, None))
        else:
            stay.append(full)
    if kustomization:
        kept = {os.path.relpath(path, directory) for path in stay}
        gone = [name for name in (os.path.normpath(wish.path) for wish in wishes) if name not in kept]
        absences += _kustomization(directory, gone)
    findings = unwritable(directory, [Change(absence.path, None, "") for absence in absences])
    if findings:
        raise Refused(findings)
    return absences, stay


def make_absent(absence: Absence) -> None:
    """Delete or shorten one file.

    :raises Refused: where the system does not let us.
    """
    if absence.after is not None:
        write(Change(absence.path, absence.before, absence.after))
        return
    try:
        os.unlink(absence.path)
    except OSError as exc:
        raise Refused(
            Finding(
                "file-undeletable",
                "cannot be deleted: %s" % (exc.strerror or exc),
                "The manifest is still in the working tree",
                "Check the rights of its folder, then run again",
                absence.path,
            )
        ) from exc


def _kustomization(directory: str, names: t.Sequence[str]) -> list[Absence]:
    paths = [os.path.join(directory, name) for name in KUSTOMIZATION_NAMES]
    full = next((path for path in paths if os.path.lexists(path)), None)
    before = read(full) if full else None
    if full is None or before is None:
        return []
    after = without_resources(before, names, full)
    return [] if before == after else [Absence(full, before, after)]
