# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Builds the documentation site: `build.py [FOLDER]`, by default build/docs/html. Asks no other host for anything."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import variables
from pages import CHECKOUT, stage

COLLECTION = "mindcluster.recovery"
BUILD = CHECKOUT / "build" / "docs"
BIN = Path(sys.executable).parent
# The theme shows a page's contents beside it, and the list of pages needs their names alone.
_CONTENTS = re.compile(r"^\.\. contents::\n(?: +:.*\n)*", re.MULTILINE)
_LISTED = re.compile(r"^(    )(\w+)_(module|filter|test|lookup|role)$", re.MULTILINE)


def main(target: Path) -> int:
    """Put the sources together, then have Sphinx build them; a warning is an error."""
    source = BUILD / "source"
    shutil.rmtree(source, ignore_errors=True)
    stage(source, {"variables.md": variables.page()})
    _plugin_pages(source / "plugins")
    shutil.rmtree(target, ignore_errors=True)
    options = ["-b", "html", "-E", "-q", "-W", "--keep-going", "-d", str(BUILD / "doctrees"), "-c", str(_here())]
    code = _run([str(BIN / "sphinx-build"), *options, str(source), str(target)])
    if code == 0:
        print(f"The site is in {target}: open {target / 'index.html'}")
    return code


def _plugin_pages(folder: Path) -> None:
    """The reference of modules, filters, tests and roles, from their own documentation."""
    folder.mkdir(mode=0o755)
    options = [
        "--use-current",
        "--fail-on-error",
        "--squash-hierarchy",
        "--no-indexes",
        "--no-add-antsibull-docs-version",
    ]
    code = _run([str(BIN / "antsibull-docs"), "collection", *options, "--dest-dir", str(folder), COLLECTION])
    if code:
        sys.exit(code)
    for page in folder.glob("*.rst"):
        text = page.read_text(encoding="utf-8")
        page.write_text(_LISTED.sub(r"\1\2 (\3) <\2_\3>", _CONTENTS.sub("", text)), encoding="utf-8")


def _run(command: list[str]) -> int:
    # The documentation is read with ansible-doc, which is looked for there.
    environment = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
    return subprocess.run(command, cwd=CHECKOUT, env=environment, check=False).returncode


def _here() -> Path:
    return Path(__file__).resolve().parent


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else BUILD / "html"))
