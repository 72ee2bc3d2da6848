# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""Whether bash can parse a shell text."""

from __future__ import annotations

import os
import re
import shutil
import subprocess

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Finding, Refused
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._shell import Source, binary, to_bytes, to_text


def check_syntax(text: str, where: str) -> None:
    """Refuse a text that bash cannot parse.

    :param where: what the text is: a path, or a place in a YAML file; stands first in the message.
    :raises Refused: with the line of the mistake. Without bash on the controller the syntax tree decides.
    """
    if "\0" in text:
        raise Refused(binary(where))
    raw = to_bytes(text)
    bash = shutil.which("bash")
    complaint = _ask_bash(bash, raw) if bash else None
    if complaint is not None:
        raise Refused(_unparsable(where, *complaint))
    if bash is None:
        source = Source(raw)
        for node in source.errors():
            line = source.line(node.start_byte)
            shown = to_text(source.slice(node)).strip().splitlines()
            raise Refused(_unparsable(where, line, "near `%s`" % (shown[0][:60] if shown else node.type)))


def _ask_bash(bash: str, raw: bytes) -> tuple[int, str] | None:
    """Line and complaint of C(bash -n), which reads and runs nothing; None where it has none."""
    environment = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"}
    done = subprocess.run([bash, "--norc", "-n"], input=raw, capture_output=True, env=environment, check=False)
    if done.returncode == 0:
        return None
    complaints = [to_text(line) for line in done.stderr.splitlines() if line.strip()]
    first = complaints[0] if complaints else "exit status %d" % done.returncode
    match = re.search(r"line (\d+): (.*)", first)
    return (int(match.group(1)), match.group(2)) if match else (0, first)


def _unparsable(where: str, line: int, complaint: str) -> Finding:
    return Finding(
        code="shell-syntax",
        what="bash cannot parse it: %s" % complaint,
        why="A script that bash cannot parse stops before training starts, and cannot be edited safely",
        remedy="Correct the script until `bash -n` accepts it, then run again",
        where="%s line %d" % (where, line) if line else where,
    )
