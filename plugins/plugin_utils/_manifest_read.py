# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""Manifests as plain data, read as the API server's clients read them: YAML 1.1, where an unquoted C(on) is true."""

from __future__ import annotations

import typing as t

import yaml

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Finding, Refused

# libyaml is five to ten times faster, and limits the depth of nesting; some Pythons come without it.
_BASE: t.Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


# A few lines of aliases to aliases stand for billions of values, which would fill the memory before anything is said.
MOST_VALUES = 1_000_000


class _Loader(_BASE):
    """Refuses a key that stands twice in one mapping: the parser would take the later one in silence."""

    def construct_mapping(self, node: t.Any, deep: bool = False) -> dict[t.Any, t.Any]:
        seen: set[str] = set()
        for key, _value in node.value:
            if not isinstance(key, yaml.ScalarNode) or key.tag == "tag:yaml.org,2002:merge":
                continue
            if key.value in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, "the key `%s` stands twice in one mapping" % key.value, key.start_mark
                )
            seen.add(key.value)
        return t.cast("dict[t.Any, t.Any]", super().construct_mapping(node, deep))


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


def _reason(exc: Exception) -> str:
    mark = getattr(exc, "problem_mark", None)
    what = getattr(exc, "problem", None) or str(exc).split("\n", 1)[0] or type(exc).__name__
    return "%s (line %d, column %d)" % (what, mark.line + 1, mark.column + 1) if mark else str(what)


def read_documents(text: str, where: str = "the manifest") -> list[t.Any]:
    """The documents of a text.

    :raises Refused: where it is no valid YAML, or a key stands twice.
    """
    try:
        documents = list(yaml.load_all(text, Loader=_Loader))
        _weight(documents, {})
        return documents
    except (yaml.YAMLError, ValueError, TypeError, RecursionError, LookupError, AttributeError) as exc:
        raise _refused(where, _reason(exc)) from None


def _weight(value: t.Any, known: dict[int, int]) -> int:
    """How many values a value is when it is written without aliases.

    :raises ValueError: more than a manifest can sensibly have, or without an end.
    """
    if not isinstance(value, (dict, list)):
        return 1
    weight = known.get(id(value))
    if weight is None:
        known[id(value)] = 0
        parts = value.values() if isinstance(value, dict) else value
        weight = known[id(value)] = 1 + sum(_weight(part, known) for part in parts)
    if not weight:
        raise ValueError("an alias stands inside of what it stands for, so it has no end")
    if weight > MOST_VALUES:
        raise ValueError("with its aliases written out it has more than %d values" % MOST_VALUES)
    return weight


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
