# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""The Python packages of a controller, with the hashes of their files: pip itself says which ones it would install.

The versions are those that are installed where the bill is made, so that what is carried is what was tried.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import subprocess
import sys
import tempfile
import typing as t
import urllib.parse

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Finding, Refused
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._bom import Item

_WHERE = "bill_of_materials_packages"
# PEP 600 keeps these as other names of a C library's minor version.
_LEGACY = {"2014": 17, "2010": 12, "1": 5}


def python_packages(
    requirements: str, folder: str = "", platform: str = "", python_version: str = "", python: str = sys.executable
) -> list[Item]:
    """Everything that the requirements bring.

    :param folder: folder with the files; without one the index of pip's own configuration is asked.
    :param platform: newest platform tag that the controller takes, where it is another one than here.
    :param python_version: version of its Python, where it is another one.
    :raises Refused: where pip cannot work them out.
    """
    with tempfile.TemporaryDirectory() as scratch:
        pins, report = os.path.join(scratch, "pins.txt"), os.path.join(scratch, "report.json")
        with open(pins, "w", encoding="utf-8") as stream:
            stream.writelines(f"{name}=={version}\n" for name, version in _installed())
        command = [python, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--quiet", "--report", report]
        command += ["--disable-pip-version-check", "-c", pins, "-r", requirements]
        command += _elsewhere(platform, python_version, scratch)
        command += ["--no-index", "--find-links", folder] if folder else []
        _run(command)
        with open(report, encoding="utf-8") as stream:
            return from_report(json.load(stream))


def from_report(report: t.Mapping[str, t.Any]) -> list[Item]:
    """The items of pip's installation report.

    :raises Refused: with every package of which pip tells no hash.
    """
    items = [_item(entry) for entry in report["install"]]
    nameless = [item for item in items if not item.sha256]
    if nameless:
        raise Refused([_no_hash(item) for item in nameless])
    return items


def _item(entry: t.Mapping[str, t.Any]) -> Item:
    metadata, download = entry["metadata"], entry["download_info"]
    archive = download.get("archive_info") or {}
    sha256 = (archive.get("hashes") or {}).get("sha256") or str(archive.get("hash") or "").partition("sha256=")[2]
    filename = urllib.parse.unquote(urllib.parse.urlsplit(download["url"]).path.rpartition("/")[2])
    return Item("python", metadata["name"], metadata["version"], "", filename, sha256)


def _installed() -> t.Iterator[tuple[str, str]]:
    """What is installed here and can be named by its version alone."""
    for found in importlib.metadata.distributions():
        name = found.metadata["Name"]
        if name and re.match(r"[0-9][0-9A-Za-z.!-]*\Z", found.version):
            yield name, found.version


def _elsewhere(platform: str, python_version: str, scratch: str) -> list[str]:
    words = [word for tag in platform_tags(platform) for word in ("--platform", tag)]
    words += ["--python-version", python_version] if python_version else []
    # pip wants both of these where the files are not for the Python that runs it; nothing is written.
    return [*words, "--only-binary=:all:", "--target", os.path.join(scratch, "target")] if words else []


def platform_tags(platform: str) -> list[str]:
    """A platform's tag and those of older C libraries, which it takes too; pip by itself takes the one alone."""
    match = re.match(r"manylinux(?:_2_(\d+)|(1|2010|2014))_(\w+)\Z", platform)
    if not match:
        return [platform] if platform else []
    newest = int(match[1]) if match[1] else _LEGACY[match[2]]
    tags = [f"manylinux_2_{number}_{match[3]}" for number in range(newest, 4, -1)]
    return tags + [f"manylinux{name}_{match[3]}" for name, number in _LEGACY.items() if number <= newest]


def _run(command: t.Sequence[str]) -> None:
    environment = {**os.environ, "PIP_NO_INPUT": "1", "NO_COLOR": "1"}
    try:
        answer = subprocess.run(
            command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
    except OSError as exc:
        raise Refused(_no_pip(str(exc))) from exc
    if answer.returncode:
        errors = [line for line in answer.stderr.splitlines() if line.startswith("ERROR")] or answer.stderr.splitlines()
        raise Refused(_no_pip("; ".join(errors[-3:]) or f"pip ended with {answer.returncode}"))


def _no_pip(text: str) -> Finding:
    return Finding(
        "bom-packages-unknown",
        f"pip cannot say which Python packages the controller needs: {text}",
        "The controller of a network without internet would miss them",
        "Run this where pip reaches an index, or give a folder with the files (`pip download -r … -d folder`)",
        _WHERE,
    )


def _no_hash(item: Item) -> Finding:
    return Finding(
        "bom-package-without-hash",
        f"pip tells no sha256 of {item.name} {item.version}",
        "Nothing would tell a damaged or exchanged file from the right one",
        "Give a folder with the files (`pip download -r … -d folder`)",
        _WHERE,
    )
