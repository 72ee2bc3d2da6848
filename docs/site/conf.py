# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Settings of Sphinx for the documentation site; build.py puts its sources together."""

from __future__ import annotations

import sys
from pathlib import Path

import yaml

_HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(_HERE))

_GALAXY = yaml.safe_load((_HERE.parents[1] / "galaxy.yml").read_text(encoding="utf-8"))

project = f"{_GALAXY['namespace']}.{_GALAXY['name']}"
version = release = str(_GALAXY["version"])
author = _GALAXY["authors"][0]
project_copyright = f"2026, {author}"
language = "en"

extensions = ["myst_parser", "sphinx_antsibull_ext", "ansible_terms", "inline_diagrams", "page_language"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
root_doc = "index"
default_role = "any"
nitpicky = True
myst_heading_anchors = 4
# Examples leave things out with `…` and `{{ }}`, which no lexer need understand.
suppress_warnings = ["misc.highlighting_failure"]
highlight_language = "none"
smartquotes = False

html_theme = "furo"
html_title = f"{project} {version}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_use_index = False
html_last_updated_fmt = None
antsibull_ext_color_scheme = "none"
# Those that keep a ratio of seven to one between every token and its background.
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"
html_theme_options = {
    "navigation_with_keys": False,
    # The system's own fonts: nothing is fetched, and Chinese has its own.
    "light_css_variables": {
        "color-brand-primary": "#0b5a8a",
        "color-brand-content": "#0b5a8a",
        "color-brand-visited": "#5b3d8c",
    },
    "dark_css_variables": {
        "color-brand-primary": "#7cc4f0",
        "color-brand-content": "#7cc4f0",
        "color-brand-visited": "#c4a8f0",
    },
}
