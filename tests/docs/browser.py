# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The built site in a real browser: every page on a phone and on a desk, by day and by night."""

from __future__ import annotations

import collections
import contextlib
import functools
import http.server
import threading
import typing as t
from pathlib import Path

from playwright.sync_api import Browser, ConsoleMessage, Page, Request, Response, Route, sync_playwright

CHROMIUM = "/usr/bin/chromium"
# Without these the browser itself calls home; what a page asks for is watched below.
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
WIDTHS = {"phone": 375, "desk": 1280}
THEMES: tuple[t.Literal["light", "dark"], ...] = ("light", "dark")
SEARCHED = "torch"
PATIENCE = 60_000  # milliseconds, for a machine that has much else to do
_LOOK = (Path(__file__).parent / "look.js").read_text(encoding="utf-8")


class Report(t.NamedTuple):
    """What was seen.

    :ivar looks: how many times a page was looked at.
    :ivar findings: what is wrong, each with page, width and theme.
    """

    looks: int
    findings: list[str]


def look_at(site: Path, pages: t.Sequence[str], shots: Path | None = None) -> Report:
    """Open every page and look at it.

    :param shots: folder for pictures of what was seen.
    """
    findings: dict[str, list[str]] = collections.defaultdict(list)
    with _served(site) as address, sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        page = _watched(browser, address, findings)
        for name in pages:
            _look_at_one(page, address, name, findings, shots)
        if "search.html" in pages:
            _search(page, address, findings)
        browser.close()
    looks = len(pages) * len(WIDTHS) * len(THEMES)
    return Report(looks, [f"{what} ({', '.join(where)})" for what, where in findings.items()])


def _watched(browser: Browser, address: str, findings: dict[str, list[str]]) -> Page:
    """A page whose complaints and requests become findings."""
    page = browser.new_page(reduced_motion="reduce")

    def complain(what: str) -> None:
        findings[what].append(page.url.removeprefix(address))

    def heard(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            complain(f"the console says: {message.text}")

    def answered(answer: Response) -> None:
        if answer.status >= 400:
            complain(f"{answer.status} for {answer.url}")

    def asked(route: Route, request: Request) -> None:
        if request.url.startswith((address, "data:")):
            route.continue_()
        else:
            complain(f"it asks {request.url}")
            route.abort()

    page.on("console", heard)
    page.on("pageerror", lambda error: complain(f"a script fails: {error}"))
    page.on("response", answered)
    page.route("**/*", asked)
    return page


def _look_at_one(page: Page, address: str, name: str, findings: dict[str, list[str]], shots: Path | None) -> None:
    page.goto(f"{address}{name}", wait_until="load")
    for width_name, width in WIDTHS.items():
        page.set_viewport_size({"width": width, "height": 900})
        for theme in THEMES:
            page.emulate_media(color_scheme=theme)
            for finding in page.evaluate(_LOOK):
                findings[f"{name}: {finding}"].append(f"{width_name}, {theme}")
            if shots:
                page.screenshot(path=shots / f"{name.replace('/', '-')}.{width_name}.{theme}.png", full_page=True)


def _search(page: Page, address: str, findings: dict[str, list[str]]) -> None:
    """The search has its index in the site: it must find something without a server's help."""
    page.goto(f"{address}search.html?q={SEARCHED}", wait_until="load")
    try:
        page.wait_for_selector("#search-results li", timeout=PATIENCE)
    except Exception:
        findings[f"the search finds nothing for `{SEARCHED}`"].append("search.html")


@contextlib.contextmanager
def _served(site: Path) -> t.Iterator[str]:
    handler = functools.partial(_Silent, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


class _Silent(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: t.Any) -> None:
        """What was asked for is seen in the browser."""
