# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Links of the built site: every one inside it leads somewhere, and no page loads anything from elsewhere."""

from __future__ import annotations

import html.parser
import typing as t
import urllib.parse
from pathlib import Path

# Tags that make a browser load what they name; a link that a reader follows is none of them.
_LOADED = {
    "script": "src",
    "img": "src",
    "link": "href",
    "iframe": "src",
    "source": "src",
    "video": "src",
    "object": "data",
}


class Page(html.parser.HTMLParser):
    """What one page offers to link to, and what it links to.

    :ivar anchors: names that a link can jump to.
    :ivar links: what readers follow.
    :ivar loads: what the browser fetches by itself.
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.anchors |= {values[name] for name in ("id", "name") if name in values}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        loaded = values.get(_LOADED.get(tag, ""), "")
        if loaded and not (tag == "link" and values.get("rel") in ("next", "prev", "canonical", "author", "copyright")):
            self.loads.append(loaded)


def read(site: Path) -> dict[str, Page]:
    """Every page of the site by its path in it."""
    return {
        str(path.relative_to(site)): Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))
    }


def broken(site: Path, pages: t.Mapping[str, Page]) -> list[str]:
    """Links and loads that lead nowhere or outside."""
    findings = []
    for name, page in pages.items():
        for link in page.links:
            if not _outside(link):
                findings += [f"{name}: the link {link} {why}" for why in _misses(site, pages, name, link)]
        for load in page.loads:
            if _outside(load) and not load.startswith("data:"):
                findings.append(f"{name}: it loads {load} from elsewhere")
            elif not _outside(load):
                findings += [f"{name}: it loads {load}, which {why}" for why in _misses(site, pages, name, load)]
    return findings


def _outside(link: str) -> bool:
    parts = urllib.parse.urlsplit(link)
    return bool(parts.scheme or parts.netloc)


def _misses(site: Path, pages: t.Mapping[str, Page], name: str, link: str) -> list[str]:
    path, _hash, anchor = link.partition("#")
    path = urllib.parse.unquote(path.partition("?")[0])
    target = (site / name).parent / path if path else site / name
    target = target / "index.html" if target.is_dir() else target
    if not target.is_file() or not target.resolve().is_relative_to(site.resolve()):
        return ["leads to no file"]
    there = pages.get(str(target.resolve().relative_to(site.resolve())))
    if anchor and there and urllib.parse.unquote(anchor) not in there.anchors:
        return ["leads to a page without this anchor"]
    return []
