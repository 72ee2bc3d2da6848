# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""Which entries of a layer an index keeps, and of which files what is in them.

Folders and symbolic links are kept all, since a path leads through them. Of files only those by which a Python, its
distributions and torch are known: an image has half a million files, and an index must stay small.
"""

from __future__ import annotations

import re
import typing as t

WHOLE, START, PROBE = "whole", "start", "probe"

# How much of a file is kept at most; a larger one is read from its layer when somebody asks for it.
MOST = {"torch": 2 * 1024 * 1024, "record": 256 * 1024, "other": 64 * 1024, "byte code": 16}
# A program is looked through for its version up to this size.
LARGEST_PROBED = 256 * 1024 * 1024

_SITE = re.compile(r"(?:\A|/)(?:site|dist)-packages/")
_TORCH_SOURCE = re.compile(r"(?:\A|/)torch/(?:version\.py|distributed/(?:run|rendezvous)\.py)\Z")
_TORCH_OTHER = re.compile(r"(?:\A|/)torch/(?:__init__\.py|distributed/(?:run|rendezvous)\.pyc)\Z")
_TORCH_CODE = re.compile(r"(?:\A|/)torch/distributed/__pycache__/(?:run|rendezvous)\.[^/]*\.pyc\Z")
_TORCH_NAMES = ("version.py", "__init__.py", "run.", "rendezvous.")
_STANDARD = re.compile(r"(?:\A|/)lib(?:64)?/(?:python|pypy)3(?:\.\d+)?t?/(?:lib-dynload/)?[^/]+\Z")
# The last folder of what either of _STANDARD and _SCHEMES finds, where it is not Python's own.
_STANDARD_FOLDERS = ("lib-dynload", "sysconfig", "command")
_INFO = re.compile(r"\.(?:dist|egg)-info/([^/]+)\Z")
_LIBC = re.compile(r"(?:\A|/)(?:libc\.so\.6|libc-2\.\d+\.so|ld-musl-[^/]*\.so\.1)\Z")
_PYTHON_PROGRAM = re.compile(r"(?:\A|/)bin/(?:python|pypy)[0-9.t]*\Z|(?:\A|/)libpython3[^/]*\.so[^/]*\Z")
_SCHEMES = re.compile(
    r"(?:\A|/)lib(?:64)?/python3\.\d+t?/(?:site\.py|sysconfig\.py|sysconfig/__init__\.py|distutils/command/install\.py)\Z"
)
_PLACES = re.compile(
    r"(?:\A|/)pyvenv\.cfg\Z|\Aetc/os-release\Z|\Ausr/lib/os-release\Z|(?:\A|/)conda-meta/python-3[^/]*\.json\Z"
)

# What a probe looks for. Each begins with fixed bytes, by which the search is as fast as reading.
_IN_PROGRAMS = (
    re.compile(rb"\x003(\.\d{1,2}\.\d{1,2}(?:(?:a|b|rc)\d+)?\+?)\x00"),
    re.compile(rb"GNU C Library [^\n\x00]{0,80} version (\d+\.\d+)"),
)
_IN_TEXTS = re.compile(rb"\b(?:posix_local|unix_local|rpm_prefix|RPM_BUILD_ROOT|dist-packages)\b")
_NAMES = ("libc.so.6", "pyvenv.cfg", "os-release")
_NAME_STARTS = ("libc-2.", "ld-musl-", "libpython3", "python-3")


def is_kept(path: str) -> bool:
    """Whether a file's entry is kept; asked half a million times, so that plain words come before patterns."""
    folder, dummy, name = path.rpartition("/")
    last = folder.rpartition("/")[2]
    if last in ("bin", "sbin"):
        return True
    if "-packages/" in path:
        site = _SITE.search(path)
        if site and path.count("/", site.end()) <= 1:
            return True
    if "-info/" in path and _INFO.search(path):
        return True
    if name.startswith(_TORCH_NAMES) and "torch/" in path:
        if _TORCH_SOURCE.search(path) or _TORCH_OTHER.search(path) or _TORCH_CODE.search(path):
            return True
    if "/python3" in path or "/pypy3" in path:
        near = last in _STANDARD_FOLDERS or last.startswith(("python3", "pypy3"))
        return near and bool(_STANDARD.search(path) or _SCHEMES.search(path))
    if name in _NAMES or name.startswith(_NAME_STARTS):
        return bool(_LIBC.search(path) or _PLACES.search(path) or _PYTHON_PROGRAM.search(path))
    return False


def wanted(path: str, size: int) -> tuple[str, int] | None:
    """What of a kept file's bytes is kept: how, and how many; None where nothing is."""
    if path.endswith(".pyc"):
        return (START, MOST["byte code"]) if _TORCH_CODE.search(path) else None
    if _TORCH_SOURCE.search(path):
        return _whole(size, "torch")
    info = _INFO.search(path)
    if info or path.endswith(".egg-info"):
        return _of_distribution(info.group(1) if info else "PKG-INFO", size)
    if _PLACES.search(path):
        return _whole(size, "other") if not path.endswith(".json") else None
    if _PYTHON_PROGRAM.search(path) or _LIBC.search(path) or _SCHEMES.search(path):
        return (PROBE, size) if size <= LARGEST_PROBED else None
    if path.endswith(".pth"):
        return _whole(size, "other")
    return None


def _of_distribution(name: str, size: int) -> tuple[str, int] | None:
    if name in ("METADATA", "PKG-INFO"):
        # The head is what counts; a description of any length follows it.
        return START, MOST["other"]
    if name in ("RECORD", "installed-files.txt"):
        return _whole(size, "record")
    return _whole(size, "other") if name == "top_level.txt" else None


def _whole(size: int, kind: str) -> tuple[str, int] | None:
    return (WHOLE, size) if size <= MOST[kind] else None


def probe(pieces: t.Iterable[bytes]) -> list[str]:
    """What is found in a file that is not kept: C(elf:BITS:MACHINE), C(libc:VERSION), Python's version, words."""
    found: list[str] = []
    tail = b""
    first = True
    for piece in pieces:
        if first:
            found += _elf(piece[:20])
            first = False
        text = tail + piece
        for word in _in_program(text) if found and found[0].startswith("elf:") else _in_text(text):
            if word not in found and len(found) < 64:
                found.append(word)
        tail = text[-160:]
    return found


def _in_program(text: bytes) -> t.Iterator[str]:
    version, libc = _IN_PROGRAMS
    for match in version.finditer(text):
        yield "3" + match.group(1).decode("ascii")
    for match in libc.finditer(text):
        yield "libc:" + match.group(1).decode("ascii")


def _in_text(text: bytes) -> t.Iterator[str]:
    return (match.group(0).decode("ascii") for match in _IN_TEXTS.finditer(text))


_MACHINES = {0x3E: "x86_64", 0xB7: "aarch64"}


def _elf(head: bytes) -> list[str]:
    if len(head) < 20 or head[:4] != b"\x7fELF":
        return []
    order: t.Any = "little" if head[5] == 1 else "big"
    machine = int.from_bytes(head[18:20], order)
    return ["elf:%d:%s" % (64 if head[4] == 2 else 32, _MACHINES.get(machine, "machine-%d" % machine))]
