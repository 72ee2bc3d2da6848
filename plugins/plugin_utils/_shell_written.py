# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""Scripts that a shell text writes itself, C(cat > run.sh <<EOF), before it runs them."""

from __future__ import annotations

import os
import re
import typing as t

from ansible_collections.mindcluster.recovery.plugins.plugin_utils._shell import Launch, Source, plain_value, to_bytes

if t.TYPE_CHECKING:
    from tree_sitter import Node

# $@ and $* in any spelling, one argument alone, and what goes through them. A bare <<EOF puts in the arguments of the
# text itself, so that the script has those of its own only where the dollar is escaped.
_READS_ARGUMENTS = {
    quoted: re.compile(dollar + rb"\{?[@*#1-9]|(?<![\w-])(?:shift|getopts)\b")
    for quoted, dollar in ((True, rb"(?<!\\)\$"), (False, rb"\\\$"))
}


class _Heredoc(t.NamedTuple):
    """What goes into a file."""

    target: bytes
    body: bytes
    quoted: bool


def drops_arguments(source: Source, launch: Launch, flags: t.Sequence[str]) -> bool:
    """Whether the launch runs a script that the text writes itself, and that passes none of its arguments on.

    :param flags: what is to reach the training; nothing is lost of what the script says itself.
    """
    if launch.kind != "script" or not flags:
        return False
    named = [launch.script] if launch.script else [w.text for w in launch.spans if w.end <= launch.launcher_end]
    names = [to_bytes(plain_value(name)) for name in named]
    written = [found for found in _written(source) if any(_same_file(found.target, name) for name in names)]
    return (
        bool(written)
        and not any(_READS_ARGUMENTS[found.quoted].search(found.body) for found in written)
        and not all(any(_says(found.body, flag) for found in written) for flag in flags)
    )


def _same_file(one: bytes, other: bytes) -> bool:
    """Whether two names may be of one file: the text may change folders, but two absolute names are what they are."""
    if one.startswith(b"/") and other.startswith(b"/"):
        return os.path.normpath(one) == os.path.normpath(other)
    return os.path.basename(one) == os.path.basename(other)


def _says(body: bytes, flag: str) -> bool:
    return re.search(rb"(?<![\w-])%s(?![\w-])" % re.escape(to_bytes(flag)), body) is not None


def _written(source: Source) -> t.Iterator[_Heredoc]:
    """Each file that a heredoc goes into, with the heredoc's text."""
    for heredoc in source.nodes("heredoc_redirect"):
        parts = {child.type: source.slice(child) for child in heredoc.children}
        if heredoc.parent is None or "heredoc_body" not in parts:
            continue
        quoted = re.search(rb"['\"\\]", parts.get("heredoc_start", b"")) is not None
        for target in _targets(source, heredoc.parent):
            yield _Heredoc(target, parts["heredoc_body"], quoted)


def _targets(source: Source, statement: Node) -> t.Iterator[bytes]:
    waiting = list(statement.children)
    while waiting:
        node = waiting.pop()
        if node.type == "file_redirect":
            destination = node.child_by_field_name("destination")
            if destination is not None:
                yield _plain(source.slice(destination))
        elif node.type == "command":
            words = [to_bytes(word.text) for word in source.words(node)]
            if b"tee" in words:  # perhaps behind sudo
                yield from map(_plain, words[words.index(b"tee") + 1 :])
        elif node.type in ("heredoc_redirect", "pipeline", "redirected_statement"):
            waiting += node.children


def _plain(raw: bytes) -> bytes:
    return raw.strip(b"\"'")
