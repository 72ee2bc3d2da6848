# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The pages of the site: what lies in docs/ as Markdown, which reads well on a forge too, and a contents list."""

from __future__ import annotations

import os
import re
import shutil
import typing as t
from pathlib import Path

import yaml

CHECKOUT = Path(__file__).resolve().parents[2]
DOCS = CHECKOUT / "docs"

# The order in which people read; a page of docs/ that is not named here comes after its part's others.
PARTS: dict[str, tuple[str, ...]] = {
    "Use it": ("getting-started", "flow", "gitops", "air-gapped", "migrating", "life-cycle", "troubleshooting"),
    "Look it up": ("variables", "plugins/index", "releases", "torch-patches"),
    "中文": ("zh/getting-started", "gitops.zh-CN", "life-cycle.zh-CN"),
    "How it is made": ("architecture",),
}
TITLES = {"plugins/index": "Modules, filters and roles"}
_OTHERS = "Use it"

_LINK = re.compile(r"(\]\()([^)\s#:]+)(#[^)\s]*)?(\))")
# The site has the text of these on a page of its own, so that it can be read without a network.
_ROLES = re.compile(r"roles(?:/(\w+)/README\.md)?\Z")
_FENCE = re.compile(r"^(`{3,}).*?^\1\s*$", re.DOTALL | re.MULTILINE)


def stage(target: Path, generated: t.Mapping[str, str]) -> None:
    """Lay out the sources of the site.

    :param generated: pages that are made from code, by file name.
    :raises SystemExit: where a page links to a file that is not there.
    """
    names = [
        name for name in (path.relative_to(DOCS) for path in sorted(DOCS.rglob("*.md"))) if name.parts[0] != "site"
    ]
    known = {str(name) for name in names} | set(generated)
    problems: list[str] = []
    for name in names:
        text = (DOCS / name).read_text(encoding="utf-8")
        _write(target / name, _relinked(text, name, known, problems))
    for page, text in generated.items():
        _write(target / page, text)
    shutil.copytree(DOCS / "images", target / "images")
    home = (DOCS / "site" / "index.md").read_text(encoding="utf-8")
    pages = {page.rpartition(".")[0] for page in known} | {"plugins/index"}
    _write(target / "index.md", f"{home}\n{_contents(pages)}")
    if problems:
        raise SystemExit("\n".join(problems))


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _relinked(text: str, name: Path, known: set[str], problems: list[str]) -> str:
    """Lead links to files that are no pages of the site to the repository."""

    def change(match: re.Match[str]) -> str:
        opening, path, anchor, closing = match[1], match[2], match[3] or "", match[4]
        there = Path(os.path.normpath(DOCS / name.parent / path))
        if not there.exists() and str(_in_docs(there)) not in known:
            problems.append(f"docs/{name}: the link to {path} leads nowhere")
            return match[0]
        if str(_in_docs(there)) in known or there.suffix == ".svg":
            return match[0]
        role = _ROLES.match(str(there.relative_to(CHECKOUT)))
        if role:
            page = os.path.relpath("variables.md", name.parent)
            return f"{opening}{page}{'#' + role[1] if role[1] else ''}{closing}"
        kind = "tree" if there.is_dir() else "blob"
        return f"{opening}{_repository()}/{kind}/main/{there.relative_to(CHECKOUT)}{anchor}{closing}"

    pieces, last = [], 0
    for fence in _FENCE.finditer(text):
        pieces += [_LINK.sub(change, text[last : fence.start()]), fence[0]]
        last = fence.end()
    return "".join([*pieces, _LINK.sub(change, text[last:])])


def _in_docs(path: Path) -> Path | None:
    return path.relative_to(DOCS) if path.is_relative_to(DOCS) else None


def _repository() -> str:
    return str(yaml.safe_load((CHECKOUT / "galaxy.yml").read_text(encoding="utf-8"))["repository"])


def _contents(pages: set[str]) -> str:
    placed = {page for part in PARTS.values() for page in part}
    lists = []
    for part, order in PARTS.items():
        here = [page for page in order if page in pages] + (sorted(pages - placed) if part == _OTHERS else [])
        if not here:
            continue
        lines = [f"{TITLES[page]} <{page}>" if page in TITLES else page for page in here]
        lists.append("\n".join(["```{toctree}", ":hidden:", f":caption: {part}", "", *lines, "```", ""]))
    return "\n".join(lists)
