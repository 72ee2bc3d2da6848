# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""Manifests as plain data, read as the API server's clients read them: YAML 1.1, where an unquoted C(on) is true."""

from __future__ import annotations

import typing as t

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Finding, Refused
from ansible_collections.mindcluster.recovery.plugins.module_utils._yaml_data import Unreadable, load_documents


def _refused(where: str, what: str) -> Refused:
    return Refused(
        Finding(
            "yaml-invalid",
            "It is no valid YAML: %s" % what,
            "Nothing in it can be compared",
            "Correct the file",
            where,
        )
    )


def read_documents(text: str, where: str = "the manifest") -> list[t.Any]:
    """The documents of a text.

    :raises Refused: where it is no valid YAML, or a key stands twice.
    """
    try:
        return load_documents(text)
    except Unreadable as exc:
        place = " (line %d, column %d)" % (exc.line, exc.column) if exc.line else ""
        raise _refused(where, exc.what + place) from None


def documents_of(manifest: t.Any, where: str = "the manifest") -> list[t.Any]:
    """A manifest as a list of documents.

    :param manifest: text of one or several documents, one document as data, or a list of either.
    :raises Refused: where it is something else, or no valid YAML.
    """
    if isinstance(manifest, str):
        return read_documents(manifest, where)
    if isinstance(manifest, t.Mapping):
        return [_plain(manifest)]
    if isinstance(manifest, (list, tuple)):
        found: list[t.Any] = []
        for number, item in enumerate(manifest):
            found += documents_of(item, "%s, item %d" % (where, number)) if item is not None else []
        return found
    raise Refused(
        Finding(
            "manifest-type",
            "The manifest is %s" % type(manifest).__name__,
            "A text, a document or a list of these is needed",
            "Give the text of the file, for example lookup('file', 'job.yaml', rstrip=false)",
            where,
        )
    )


def _plain(value: t.Any) -> t.Any:
    """Data of templates (lazy mappings, tagged texts) as plain Python, which the rules look at."""
    if isinstance(value, t.Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value
