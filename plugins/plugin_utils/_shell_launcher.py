# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""Which words of a command start training: torchrun, msrun, torch's modules, or a script; words are bytes."""

from __future__ import annotations

import os
import re

TORCH_MODULES = ("torch.distributed.run", "torch.distributed.launch")
TORCH_KINDS = ("torchrun", "python")

_PYTHON = re.compile(rb"(python|pypy)[0-9.]*\Z")
_ASSIGNMENT_WORD = re.compile(rb"[A-Za-z_][A-Za-z0-9_]*=")
# A wrapper's own positional: a duration, a CPU mask or list, a nice value.
_WRAPPER_VALUE = re.compile(rb"(0x[0-9a-fA-F]+|[0-9][0-9,.:-]*[smhd]?)\Z")
# Commands that run the command given as their arguments.
_WRAPPERS = frozenset(
    b"exec env nohup time command builtin eval stdbuf timeout nice ionice numactl taskset setsid sudo unbuffer "
    b"srun".split()
)
_WRAPPER_OPTIONS_WITH_VALUE = {
    b"sudo": {b"-u", b"-g", b"-C", b"-h", b"-p"},
    b"env": {b"-u", b"--unset", b"-C", b"--chdir"},
    b"exec": {b"-a"},
    b"timeout": {b"-k", b"-s", b"--signal", b"--kill-after"},
    b"stdbuf": {b"-i", b"-o", b"-e"},
    b"nice": {b"-n"},
    b"ionice": {b"-c", b"-n"},
    b"numactl": {b"-C", b"-N", b"-m", b"-p", b"-i", b"--cpunodebind", b"--membind", b"--physcpubind", b"--interleave"},
}
SHELLS = frozenset(b"bash sh dash zsh ksh".split())
STRONG_SCRIPT = re.compile(rb"(train_start|msrun_launcher)[^/]*\.sh\Z")
LIKELY_SCRIPT = re.compile(rb"(train|launch|run|start|finetune|sft)[^/]*\.sh\Z", re.IGNORECASE)


def skip_wrappers(words: list[bytes]) -> int | None:
    """Index of the command behind C(exec), C(nohup), C(env A=b), C(timeout 5) and the like."""
    index = 0
    while index < len(words) and os.path.basename(words[index]) in _WRAPPERS:
        takes_value = _WRAPPER_OPTIONS_WITH_VALUE.get(os.path.basename(words[index]), set())
        index += 1
        while index < len(words):
            word = words[index]
            if word.startswith(b"-"):
                index += 2 if word in takes_value else 1
            elif _ASSIGNMENT_WORD.match(word) or _WRAPPER_VALUE.match(word):
                index += 1
            else:
                break
    return index if index < len(words) else None


def base_name(word: bytes) -> bytes:
    return os.path.basename(word.strip(b"\"'"))


def recognise(words: list[bytes]) -> tuple[str, int] | None:
    """Kind of launch and number of words that name the launcher; None where it is none."""
    base = base_name(words[0])
    if base in (b"torchrun", b"msrun"):
        return base.decode(), 1
    if _PYTHON.match(base) or base.startswith(b"$") or words[0].strip(b"\"'").startswith(b"$"):
        return _recognise_python(words)
    if base in SHELLS:
        return _recognise_script(words)
    if base in (b"source", b"."):
        return ("script", 2) if len(words) > 1 and STRONG_SCRIPT.search(base_name(words[1])) else None
    return ("script", 1) if base.endswith(b".sh") else None


def _recognise_python(words: list[bytes]) -> tuple[str, int] | None:
    modules = [name.encode() for name in TORCH_MODULES]
    index = 1
    while index < len(words):
        word = words[index].strip(b"\"'")
        if word == b"-m":
            named = words[index + 1].strip(b"\"'") if index + 1 < len(words) else b""
            return ("python", index + 2) if named in modules else None
        if word.startswith(b"-m") and word[2:] in modules:
            return "python", index + 1
        if not word.startswith(b"-"):
            # C(python $(which torchrun)) and C(python /usr/bin/torchrun)
            runs_torchrun = base_name(word) == b"torchrun" or re.fullmatch(
                rb"(\$\(|`)\s*which\s+torchrun\s*(\)|`)", word
            )
            return ("torchrun", index + 1) if runs_torchrun else None
        index += 2 if word in (b"-W", b"-X") else 1
    return None


def _recognise_script(words: list[bytes]) -> tuple[str, int] | None:
    index = behind_options(words)
    return ("script", index + 1) if index is not None and base_name(words[index]).endswith(b".sh") else None


def behind_options(words: list[bytes]) -> int | None:
    """The number of the word that a shell takes for a script; None where there is none, as with C(bash -c)."""
    index = 1
    while index < len(words) and words[index].startswith((b"-", b"+")):
        if words[index].startswith(b"-") and not words[index].startswith(b"--") and b"c" in words[index]:
            return None
        index += 2 if words[index] in (b"-o", b"+o", b"-O", b"+O") else 1
    return index if index < len(words) else None
