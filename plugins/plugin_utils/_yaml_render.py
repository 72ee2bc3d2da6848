# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""Writing small pieces of YAML the way that people write Kubernetes manifests."""

from __future__ import annotations

import json
import re
import typing as t

from ansible_collections.mindcluster.recovery.plugins.plugin_utils._yaml_nodes import is_text

_PLAIN = re.compile(r"[A-Za-z_/.][A-Za-z0-9_./-]*\Z")
_PLAIN_IN_LINE = re.compile(r"[A-Za-z_/.][A-Za-z0-9_./:@'\[\]-]*\Z")


class Quoted(str):
    """Text that is always written in double quotes, as label values and variables are."""


def scalar(value: t.Any, quote_all: bool = False) -> str:
    """One value on one line.

    :param quote_all: quote every text, as JSON does.
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "null"
    if isinstance(value, str):
        if quote_all or isinstance(value, Quoted) or not is_plain(value):
            return json.dumps(str(value), ensure_ascii=False)
        return str(value)
    return str(value)


def is_plain(value: str) -> bool:
    """Whether a text may stand without quotes and is then still read as text."""
    return bool(_PLAIN.match(value) or (_PLAIN_IN_LINE.match(value) and not value.endswith(":"))) and is_text(value)


def flow(value: t.Any, quote_all: bool = False) -> str:
    """A value in flow style, C({name: a, value: "b"})."""
    if isinstance(value, dict):
        pairs = ["%s: %s" % (scalar(name, quote_all), flow(item, quote_all)) for name, item in value.items()]
        return "{%s}" % ", ".join(pairs)
    if isinstance(value, (list, tuple)):
        return "[%s]" % ", ".join(flow(item, quote_all) for item in value)
    # Brackets and commas end a plain value inside a flow collection.
    return scalar(value, quote_all or (isinstance(value, str) and not _PLAIN.match(value)))


def block(value: t.Any, indent: int, dash_shift: int = 2) -> list[str]:
    """A mapping or list in block style, as lines.

    :param indent: column of the first key or dash.
    :param dash_shift: how far dashes are indented below their key; 0 or 2 in most files.
    """
    margin = " " * indent
    if isinstance(value, dict):
        return [line for name, item in value.items() for line in entry(name, item, indent, dash_shift)]
    lines = []
    for item in value:
        if isinstance(item, dict) and item:
            inner = block(item, indent + 2, dash_shift)
            lines.append("%s- %s" % (margin, inner[0].lstrip(" ")))
            lines.extend(inner[1:])
        else:
            lines.append("%s- %s" % (margin, flow(item) if isinstance(item, (dict, list)) else scalar(item)))
    return lines


def entry(name: str, value: t.Any, indent: int, dash_shift: int = 2) -> list[str]:
    """One key with its value in block style, as lines."""
    margin = " " * indent
    if isinstance(value, dict) and value:
        return ["%s%s:" % (margin, scalar(name))] + block(value, indent + 2, dash_shift)
    if isinstance(value, list) and value:
        return ["%s%s:" % (margin, scalar(name))] + block(value, indent + dash_shift, dash_shift)
    return ["%s%s: %s" % (margin, scalar(name), flow(value) if isinstance(value, (dict, list)) else scalar(value))]
