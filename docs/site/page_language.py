# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Says in the HTML of a Chinese page that it is Chinese: readers' screens and fonts go by that."""

from __future__ import annotations

import typing as t

if t.TYPE_CHECKING:
    from sphinx.application import Sphinx


def choose(_app: Sphinx, pagename: str, _template: str, context: dict[str, t.Any], _doctree: t.Any) -> None:
    if pagename.startswith("zh/") or pagename.endswith(".zh-CN"):
        context["language"] = "zh-CN"


def setup(app: Sphinx) -> dict[str, t.Any]:
    app.connect("html-page-context", choose)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
