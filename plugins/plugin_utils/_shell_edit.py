# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""Small edits of shell text: exports before a launch, and words behind it; C(str) and character offsets."""

from __future__ import annotations

import itertools
import re
import typing as t

from ansible_collections.mindcluster.recovery.plugins.plugin_utils._shell import Launch

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_PLAIN_VALUE = re.compile(r"[A-Za-z0-9_.:/-]+\Z")


def quote_export(name: str, value: str) -> str:
    """C(export NAME=value), quoted where it must be; C($VAR) and C(${VAR}) in the value are meant to expand.

    :raises ValueError: where the name is no variable name.
    """
    if not _NAME.match(name):
        raise ValueError("%r is no name of a shell variable" % name)
    if _PLAIN_VALUE.match(value):
        return "export %s=%s" % (name, value)
    escaped = re.sub(r'([\\"`]|\$(?![A-Za-z_{]))', r"\\\1", value)
    return 'export %s="%s"' % (name, escaped)


def insert_exports(text: str, launch: Launch, exports: t.Mapping[str, str]) -> str:
    """The text with one export per variable before the launch: lines of their own where the launch has one.

    :param launch: one of this very text.
    """
    if not exports:
        return text
    commands = [quote_export(name, value) for name, value in exports.items()]
    line_start = text.rfind("\n", 0, launch.start) + 1
    indent = text[line_start : launch.start]
    own_line = not indent.strip(" \t") and not text[:line_start].rstrip("\r\n").endswith("\\")
    if own_line and "\n" in text:
        addition = "".join(command + "\n" + indent for command in commands)
    else:
        addition = "".join(command + "; " for command in commands)
    return text[: launch.start] + addition + text[launch.start :]


def append_words(text: str, launch: Launch, words: t.Sequence[str]) -> str:
    """The text with more argument words at the end of the launch, before its redirections and pipes.

    A command over several lines gets one line per word, indented as its last line.

    :param launch: one of this very text.
    """
    joint = _word_joint(text, launch)
    addition = "".join(joint + word for word in words)
    return text[: launch.words_end] + addition + text[launch.words_end :]


def _word_joint(text: str, launch: Launch) -> str:
    """What stands between the words of a launch: one blank, or a continuation with the indent of its last line."""
    spans = launch.spans
    for left, right in reversed(list(itertools.pairwise(spans))):
        gap = text[left.end : right.start]
        if "\\\n" in gap or "\\\r\n" in gap:
            newline = "\r\n" if "\r\n" in gap else "\n"
            return " \\" + newline + gap.rsplit("\n", 1)[1]
    return " "
