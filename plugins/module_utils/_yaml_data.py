# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""YAML as plain data, without what the parser would take in silence: keys that stand twice, aliases without an end."""

from __future__ import annotations

import functools
import typing as t

try:
    import yaml
except ImportError:  # comes with ansible-core and with the Python package kubernetes
    yaml = None  # type: ignore[assignment]

# A few lines of aliases to aliases stand for billions of values, which would fill the memory before anything is said.
MOST_VALUES = 1_000_000


class Unreadable(Exception):
    """The text is no YAML that means one thing.

    :ivar what: what is wrong.
    :ivar line: where, from 1 on; 0 where that is not known.
    :ivar column: the same.
    """

    def __init__(self, exc: Exception) -> None:
        mark = getattr(exc, "problem_mark", None)
        self.what = str(getattr(exc, "problem", None) or str(exc).split("\n", 1)[0] or type(exc).__name__)
        self.line = mark.line + 1 if mark else 0
        self.column = mark.column + 1 if mark else 0
        super().__init__(self.what)


def load_documents(text: str, dates: bool = True) -> list[t.Any]:
    """The documents of a text.

    :param dates: whether an unquoted date is one; the API server's own reader takes it for text.
    :raises Unreadable: where it is no valid YAML, a key stands twice, or aliases have no end.
    """
    try:
        documents = list(yaml.load_all(text, Loader=_loader(dates)))
        _weight(documents, {})
    except (yaml.YAMLError, ValueError, TypeError, RecursionError, LookupError, AttributeError) as exc:
        raise Unreadable(exc) from exc
    return documents


@functools.lru_cache(maxsize=None)
def _loader(dates: bool) -> t.Any:
    # libyaml is five to ten times faster, and limits the depth of nesting; some Pythons come without it.
    base: t.Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    class Loader(base):
        def construct_mapping(self, node: t.Any, deep: bool = False) -> dict[t.Any, t.Any]:
            _refuse_twice(node)
            return t.cast("dict[t.Any, t.Any]", super().construct_mapping(node, deep))

    if not dates:
        Loader.yaml_implicit_resolvers = {
            first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith(":timestamp")]
            for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
        }
    return Loader


def _refuse_twice(node: t.Any) -> None:
    seen: set[str] = set()
    for key, _value in node.value:
        if not isinstance(key, yaml.ScalarNode) or key.tag == "tag:yaml.org,2002:merge":
            continue
        if key.value in seen:
            raise yaml.constructor.ConstructorError(
                None, None, "the key `%s` stands twice in one mapping" % key.value, key.start_mark
            )
        seen.add(key.value)


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
