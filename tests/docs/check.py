# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Checks the built documentation: `check.py [--shots FOLDER] [SITE]`. Ends with the number of findings."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(CHECKOUT / "tests" / "sandbox"))

import browser  # noqa: E402
import links  # noqa: E402

from parts import apt  # noqa: E402
from parts.console import SandboxError  # noqa: E402

BAD = CHECKOUT / "tests" / "docs" / "bad.html"
# What has to be found in that page.
MISTAKES = (
    "contrast 2.32 of p.pale",
    "of p.veiled",
    "of p.night",
    "px wide on a screen of 375 px",
    "px wide on a screen of 1280 px",
    "the link nowhere.html leads to no file",
    "bad.html#nowhere leads to a page without this anchor",
    "box is too small for 'longer than its box'",
    "the diagram cuts off 'cut'",
    "the console says: a complaint",
    "a script fails",
    "it asks https://elsewhere.example/",
    "it loads https://elsewhere.example/picture.png from elsewhere",
)
# The browser, and a font for the Chinese pages.
PACKAGES = ("chromium", "fonts-wqy-microhei")


def main() -> int:
    """Check links, then look at every page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("site", nargs="?", type=Path, default=CHECKOUT / "build" / "docs" / "html")
    parser.add_argument("--shots", type=Path, help="folder for pictures of every page")
    given = parser.parse_args()
    site = given.site.resolve()
    pages = links.read(site)
    if "index.html" not in pages:
        print(f"{site} holds no site; build it: make docs", file=sys.stderr)
        return 1
    if not Path(browser.CHROMIUM).exists():
        apt.ensure(PACKAGES)
    if given.shots:
        given.shots.mkdir(parents=True, exist_ok=True)
    findings = _blind_spots() + links.broken(site, pages)
    report = browser.look_at(site, sorted(pages), given.shots)
    findings += report.findings
    print("\n".join(findings + [""] if findings else []), end="")
    followed = sum(len(page.links) for page in pages.values())
    print(f"docs: {len(pages)} pages, {followed} links, {report.looks} looks in a browser, {len(findings)} findings")
    return int(bool(findings))


def _blind_spots() -> list[str]:
    """What the check does not find in a page that has every mistake: it would find it nowhere."""
    with tempfile.TemporaryDirectory() as folder:
        site = Path(folder)
        shutil.copy(BAD, site)
        pages = links.read(site)
        found = "\n".join(links.broken(site, pages) + browser.look_at(site, ["bad.html"]).findings)
    blind = [f"the check does not see: {mistake}" for mistake in MISTAKES if mistake not in found]
    return blind + (["the check sees what is hidden"] if "p.hidden" in found else [])


if __name__ == "__main__":
    try:
        sys.exit(main())
    except SandboxError as exc:
        sys.exit(f"check.py: {exc}")
