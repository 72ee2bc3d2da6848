# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Puts diagrams into the page itself instead of beside it, so that they take the colours of the page's theme."""

from __future__ import annotations

import typing as t
from pathlib import Path

from docutils import nodes  # type: ignore[import-untyped]

if t.TYPE_CHECKING:
    from sphinx.application import Sphinx


def inline(app: Sphinx, doctree: nodes.document, _docname: str) -> None:
    """Replace each picture that is an SVG file of ours by its text."""
    for image in list(doctree.findall(nodes.image)):
        if not image["uri"].endswith(".svg"):
            continue
        text = (Path(app.srcdir) / image["uri"]).read_text(encoding="utf-8")
        text = text[text.index("<svg") :]
        image.replace_self(nodes.raw("", f'<figure class="diagram">{text}</figure>', format="html"))


def setup(app: Sphinx) -> dict[str, t.Any]:
    app.connect("doctree-resolved", inline)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
