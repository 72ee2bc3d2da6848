# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""What a wheel file says about itself, and whether it fits an image.

Only the standard library is used, since this runs on builders and for images that are never started. Versions and
requirements are not compared here: the pip of the image does that.
"""

from __future__ import annotations

import email.parser
import hashlib
import os
import re
import typing as t
import zipfile
import zlib

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Finding, Refused

_SHA256 = re.compile(r"\A(?:sha256:)?([0-9a-fA-F]{64})\Z")
_NAME = re.compile(r"\A[A-Za-z0-9](?:[A-Za-z0-9._]*[A-Za-z0-9])?\Z")
_TAG = re.compile(r"\A[A-Za-z0-9_]+(?:\.[A-Za-z0-9_]+)*\Z")
_MANYLINUX = re.compile(r"\A(manylinux|musllinux)_(\d+)_(\d+)_(.+)\Z")
_PYTHON_TAG = re.compile(r"\A(py|cp|pp)(\d)(\d*)\Z")
#: What reading a wheel raises that is damaged, locked, or packed in a way that this Python does not know.
UNREADABLE = (zipfile.BadZipFile, zlib.error, KeyError, ValueError, OSError, EOFError, RuntimeError)
# PEP 600 keeps these three as other names of a glibc version.
_LEGACY_MANYLINUX = {"manylinux1": (2, 5), "manylinux2010": (2, 12), "manylinux2014": (2, 17)}

# The names that engines, Python and wheels give to one and the same machine.
ARCHITECTURES = {"amd64": "x86_64", "x86_64": "x86_64", "arm64": "aarch64", "aarch64": "aarch64"}


class WheelName:
    """The parts of a wheel's file name.

    The vendor's documents print versions that PEP 440 does not know (C(taskd-7.0.RC1-py3-none-linux_aarch64.whl)),
    so the version stays text.
    """

    __slots__ = ("filename", "name", "version", "build", "pythons", "abis", "platforms")

    def __init__(
        self,
        filename: str,
        name: str,
        version: str,
        build: str,
        pythons: list[str],
        abis: list[str],
        platforms: list[str],
    ) -> None:
        self.filename = filename
        self.name = name
        self.version = version
        self.build = build
        self.pythons = pythons
        self.abis = abis
        self.platforms = platforms

    @property
    def tags(self) -> str:
        return "-".join(".".join(part) for part in (self.pythons, self.abis, self.platforms))


class Target:
    """The Python that a wheel has to fit.

    :param python: version, such as C((3, 11)).
    :param arch: C(x86_64) or C(aarch64).
    :param libc: C(glibc) or C(musl), empty where unknown.
    :param libc_version: such as C((2, 36)), empty where unknown.
    """

    __slots__ = ("python", "arch", "libc", "libc_version")

    def __init__(self, python: tuple[int, int], arch: str, libc: str = "", libc_version: tuple[int, ...] = ()) -> None:
        self.python = python
        self.arch = arch
        self.libc = libc
        self.libc_version = libc_version


def normalise(name: str) -> str:
    """A distribution's name as PEP 503 compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def parse_name(filename: str) -> WheelName | None:
    """The parts of a wheel's file name (PEP 427), or None where it is not one."""
    if not filename.endswith(".whl"):
        return None
    parts = filename[: -len(".whl")].split("-")
    if len(parts) not in (5, 6):
        return None
    build = parts[2] if len(parts) == 6 else ""
    if not _NAME.match(parts[0]) or (build and not build[0].isdigit()):
        return None
    if not all(_TAG.match(part) for part in parts[-3:]):
        return None
    pythons, abis, platforms = (part.split(".") for part in parts[-3:])
    return WheelName(filename, parts[0], parts[1], build, pythons, abis, platforms)


def parse_sha256(text: str) -> str | None:
    """The 64 digits of a sha256, in lower case and without the prefix C(sha256:); None where it is not one."""
    match = _SHA256.match(text.strip())
    return match.group(1).lower() if match else None


def sha256_of(path: str) -> str:
    """The sha256 of a file, read in pieces."""
    digest = hashlib.sha256()
    with open(path, "rb") as stream:
        for piece in iter(lambda: stream.read(1024 * 1024), b""):
            digest.update(piece)
    return digest.hexdigest()


def read_wheel(path: str) -> dict[str, t.Any]:
    """What the file at C(path) is: everything that later steps need to know without the file.

    :returns: C(filename), C(sha256), C(size), C(name), C(version), C(requires), C(requires_python), C(tags) (of the
        file name), C(inner_tags) (of its WHEEL file; the vendor renames some wheels), C(modules) (top-level ones),
        C(libraries) (shared objects).
    :raises Refused: where it is no wheel or is damaged.
    """
    filename = os.path.basename(path)
    parsed = parse_name(filename)
    if parsed is None:
        raise Refused(_not_a_wheel(filename, "its name does not have the form name-version-python-abi-platform.whl"))
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            info = _dist_info(names)
            metadata = _headers(archive, info + "/METADATA")
            wheel = _headers(archive, info + "/WHEEL")
    except UNREADABLE as exc:
        raise Refused(_not_a_wheel(filename, str(exc.args[0] if exc.args else exc))) from exc
    return {
        "filename": filename,
        "sha256": sha256_of(path),
        "size": os.path.getsize(path),
        "name": metadata.get("Name", [parsed.name])[0],
        "version": metadata.get("Version", [parsed.version])[0],
        "requires": metadata.get("Requires-Dist", []),
        "requires_python": (metadata.get("Requires-Python") or [""])[0],
        "tags": parsed.tags,
        "inner_tags": wheel.get("Tag", []),
        "modules": _top_level(names),
        "libraries": sorted(name for name in names if name.endswith(".so")),
    }


def for_machine(wheels: t.Sequence[t.Mapping[str, t.Any]], arch: str) -> t.Mapping[str, t.Any]:
    """Of several files of one wheel the one for an architecture; the first where none is, which is refused later."""
    for wheel in wheels:
        platforms = wheel["tags"].split("-")[2].split(".")
        if any(platform == "any" or _platform_parts(platform)[0] == arch for platform in platforms):
            return wheel
    return wheels[0]


def installable_name(wheel: t.Mapping[str, t.Any]) -> str:
    """The file name under which pip takes a wheel, whatever the vendor named it.

    pip refuses a name whose version is not PEP 440 or differs from the metadata inside, so name and version come from
    the metadata; the tags stay those of the file name, by which the vendor says what it is for.
    """
    name = re.sub(r"[-_.]+", "_", wheel["name"])
    version = wheel["version"].replace("-", "_")
    return "%s-%s-%s.whl" % (name, version, wheel["tags"])


def misfit(wheel: t.Mapping[str, t.Any], target: Target) -> tuple[str, str, str] | None:
    """Why a wheel cannot be installed in an image.

    :returns: code, what does not fit, what is needed instead; None where it fits.
    """
    pythons, abis, platforms = (part.split(".") for part in wheel["tags"].split("-"))
    if not any(_platform_fits(platform, target) for platform in platforms):
        return _platform_misfit(platforms, target)
    if not any(_python_fits(python, abi, target.python) for python in pythons for abi in abis):
        needed = "py3 or cp%d%d" % target.python
        return (
            "wheel-wrong-python",
            "is built for Python %s, and the image has %d.%d" % ((".".join(pythons),) + target.python),
            "Take the wheel for this Python (tag %s)" % needed,
        )
    return None


def _python_fits(tag: str, abi: str, python: tuple[int, int]) -> bool:
    match = _PYTHON_TAG.match(tag)
    if match is None:
        return False
    kind, major, minor = match.group(1), int(match.group(2)), match.group(3)
    if kind == "pp" or major != python[0]:
        return False
    if kind == "py":
        return abi == "none" and (not minor or int(minor) <= python[1])
    if abi == "abi3":
        return bool(minor) and int(minor) <= python[1]
    return bool(minor) and int(minor) == python[1] and (abi == "none" or abi.rstrip("m") == tag)


def _platform_fits(platform: str, target: Target) -> bool:
    if platform == "any":
        return True
    arch, libc, version = _platform_parts(platform)
    if arch != target.arch:
        return False
    if not libc or not target.libc:
        return True
    return libc == target.libc and (not target.libc_version or version <= target.libc_version[:2])


def _platform_parts(platform: str) -> tuple[str, str, tuple[int, ...]]:
    """Architecture, libc and its version of a platform tag; the architecture is empty where it is not Linux."""
    match = _MANYLINUX.match(platform)
    if match:
        libc = "glibc" if match.group(1) == "manylinux" else "musl"
        return ARCHITECTURES.get(match.group(4), ""), libc, (int(match.group(2)), int(match.group(3)))
    prefix, dummy, arch = platform.partition("_")
    if prefix in _LEGACY_MANYLINUX:
        return ARCHITECTURES.get(arch, ""), "glibc", _LEGACY_MANYLINUX[prefix]
    return (ARCHITECTURES.get(arch, ""), "", ()) if prefix == "linux" else ("", "", ())


def _platform_misfit(platforms: t.Sequence[str], target: Target) -> tuple[str, str, str]:
    built_for = ".".join(platforms)
    if any(_platform_parts(platform)[0] == target.arch for platform in platforms):
        libc = " ".join([target.libc] + [".".join(str(part) for part in target.libc_version)]).strip()
        return (
            "wheel-wrong-libc",
            "is built for %s, and the image has %s" % (built_for, libc),
            "Take a wheel for this C library, or a newer base image",
        )
    return (
        "wheel-wrong-arch",
        "is built for %s, and the image is %s" % (built_for, target.arch),
        "Take the wheel whose name ends in linux_%s.whl" % target.arch,
    )


def _dist_info(names: t.Iterable[str]) -> str:
    found = sorted({name.split("/")[0] for name in names if name.split("/")[0].endswith(".dist-info")})
    if len(found) != 1:
        raise ValueError("it holds %d folders *.dist-info where one is needed" % len(found))
    return found[0]


def _headers(archive: zipfile.ZipFile, name: str) -> dict[str, list[str]]:
    try:
        raw = archive.read(name)
    except KeyError:
        raise ValueError("it holds no %s" % name) from None
    message = email.parser.HeaderParser().parsestr(raw.decode("utf-8", "replace"))
    headers: dict[str, list[str]] = {}
    for key, value in message.items():
        headers.setdefault(key, []).append(str(value))
    return headers


def _top_level(names: t.Iterable[str]) -> list[str]:
    """Modules and packages that a wheel brings, read from its list of files."""
    modules = set()
    for name in names:
        head, dummy, rest = name.partition("/")
        if not rest:
            if head.endswith((".py", ".so")):
                modules.add(head.split(".")[0])
        elif not head.endswith((".dist-info", ".data")):
            modules.add(head)
    return sorted(modules)


def _not_a_wheel(filename: str, reason: str) -> Finding:
    return Finding(
        "wheel-unreadable",
        "`%s` is not a wheel that can be read: %s" % (filename, reason),
        "pip could not install it",
        "Copy the file again from the vendor's package, and keep the name that it has there",
    )
