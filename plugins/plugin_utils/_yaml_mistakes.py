# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""Why a text is no YAML, in words that lead to the remedy: an unrendered template above all."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Finding

# Where a value begins. Inside of a text, such as a script with C(docker inspect --format '{{.Id}}'), braces are no
# template's.
_TEMPLATE = re.compile(r"(?:^|:)[ \t]*(?:- *)?(\{[{%][^\r\n]{0,60})", re.MULTILINE)


def of_text(text: str, where: str) -> Finding | None:
    """What keeps the parser from reading a text at all, or would have it read something else than people see."""
    if "\r" in text and "\n" not in text:
        return Finding(
            "yaml-line-ends",
            "its lines end with a carriage return alone",
            "Editors and tools show such a file as one line, and no line of it can be named or edited safely",
            "Convert it, for example with `mac2unix` or `tr '\\r' '\\n'`",
            where,
        )
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as exc:
        return Finding(
            "manifest-encoding",
            "the text is not UTF-8",
            "Kubernetes manifests are UTF-8",
            "Convert the file, for example with `iconv -f GB18030 -t UTF-8`",
            "%s, line %d" % (where, text.count("\n", 0, exc.start) + 1),
        )
    return None


def of_parser(exc: Exception, text: str, where: str) -> Finding:
    """What the parser has said."""
    found = _TEMPLATE.search(text)
    if found:
        return template(found.group(1), "%s, line %d" % (where, text.count("\n", 0, found.start(1)) + 1))
    mark = getattr(exc, "problem_mark", None)
    place = "%s, line %d" % (where, mark.line + 1) if mark else where
    problem = getattr(exc, "problem", None) or str(exc).splitlines()[0]
    if isinstance(exc, RecursionError):
        problem = "values are nested too deeply"
    context = getattr(exc, "context", None)
    return Finding(
        "yaml-invalid",
        "this is not valid YAML: %s%s" % (context + ", " if context else "", problem),
        "Neither this collection nor the cluster can read it",
        "Correct the file; the mistake is in this line or shortly before it",
        place,
    )


def template(expression: str, where: str) -> Finding:
    """A template that nobody has rendered."""
    return Finding(
        "yaml-template",
        "this is a template, not a manifest: `%s`" % expression.strip(),
        "What stands there is known only when the template is rendered, and only then can the job be adapted",
        "Render it first, for example with `helm template RELEASE CHART > job.yaml` or ansible.builtin.template, and "
        "give the result",
        where,
    )


def templates(nodes: t.Iterable[t.Any], text: str, where: str) -> list[Finding]:
    """Templates without quotes that are YAML all the same: a mapping whose only key is a mapping.

    :param nodes: all mappings of the text.
    """
    found = []
    for node in nodes:
        if text.startswith("{{", node.body) and node.entries and node.entries[0].key.kind == "map":
            found.append(template(text[node.body : node.end], "%s, line %d" % (where, node.line)))
    return found
