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

# $@ and $* in any spelling, one argument alone, and what goes through them.
_READS_ARGUMENTS = re.compile(rb"\\?\$\{?[@*#1-9]|\b(?:shift|getopts)\b")


def drops_arguments(source: Source, launch: Launch) -> bool:
    """Whether the launch runs a script that the text writes itself, and that passes none of its arguments on."""
    if launch.kind != "script":
        return False
    named = [launch.script] if launch.script else [w.text for w in launch.spans if w.end <= launch.launcher_end]
    names = {os.path.basename(to_bytes(plain_value(name))) for name in named}
    bodies = [body for target, body in _written(source) if os.path.basename(target) in names]
    return bool(bodies) and not any(_READS_ARGUMENTS.search(body) for body in bodies)


def _written(source: Source) -> t.Iterator[tuple[bytes, bytes]]:
    """Each file that a heredoc goes into, with the heredoc's text."""
    for heredoc in source.nodes("heredoc_redirect"):
        statement = heredoc.parent
        body = next((child for child in heredoc.children if child.type == "heredoc_body"), None)
        if statement is None or body is None:
            continue
        for target in _targets(source, statement):
            yield target, source.slice(body)


def _targets(source: Source, statement: Node) -> t.Iterator[bytes]:
    waiting = list(statement.children)
    while waiting:
        node = waiting.pop()
        if node.type == "file_redirect":
            destination = node.child_by_field_name("destination")
            if destination is not None:
                yield _plain(source.slice(destination))
        elif node.type == "command" and source.command_name(node) == b"tee":
            yield from (_plain(to_bytes(word.text)) for word in source.words(node)[1:])
        elif node.type == "heredoc_redirect":
            waiting += node.children


def _plain(raw: bytes) -> bytes:
    return raw.strip(b"\"'")
