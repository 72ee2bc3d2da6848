# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Checks the built documentation: `check.py [--shots FOLDER] [SITE]`. Ends with the number of findings."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(CHECKOUT / "tests" / "sandbox"))

import browser  # noqa: E402
import links  # noqa: E402

from parts import apt  # noqa: E402
from parts.console import SandboxError  # noqa: E402

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
    findings = links.broken(site, pages)
    if not Path(browser.CHROMIUM).exists():
        apt.ensure(PACKAGES)
    if given.shots:
        given.shots.mkdir(parents=True, exist_ok=True)
    report = browser.look_at(site, sorted(pages), given.shots)
    findings += report.findings
    print("\n".join(findings + [""] if findings else []), end="")
    followed = sum(len(page.links) for page in pages.values())
    print(f"docs: {len(pages)} pages, {followed} links, {report.looks} looks in a browser, {len(findings)} findings")
    return int(bool(findings))


if __name__ == "__main__":
    try:
        sys.exit(main())
    except SandboxError as exc:
        sys.exit(f"check.py: {exc}")
