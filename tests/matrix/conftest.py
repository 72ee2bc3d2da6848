# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pathlib
import sys
import typing as t

import pytest

# The folder-making and the vendor's commands are the unit tests' own, the list of Pythons is the sandbox's.
sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "unit" / "torch_patch"))
sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "sandbox"))

from real_site import make_real_site
from torch_files import Release, every_release, one_release, release_tuple
from torch_shapes import Site, make_site

HEADER = ("torch", "version.py", "run.py", "rendezvous.py", "aarch64", "again", "undone", "after sed x1", "x2", "x3")


def pytest_configure(config: pytest.Config) -> None:
    # pip's own, and its business.
    config.addinivalue_line("filterwarnings", "ignore:pkg_resources is deprecated as an API:DeprecationWarning")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test for each release that the package index has, today."""
    if "release" in metafunc.fixturenames:
        releases = every_release(lambda line: print("\r%s%s" % (line, " " * 12), end="", file=sys.stderr))
        print("\r%s\r" % (" " * 40), end="", file=sys.stderr)
        metafunc.parametrize("release", releases, ids=[release.version for release in releases])


def pytest_terminal_summary(terminalreporter: t.Any) -> None:
    """Prints the table: a row for each release that came out right; the others are among the failures above it."""
    reports = terminalreporter.stats.get("passed", [])
    rows = [dict(report.user_properties)["row"] for report in reports if dict(report.user_properties).get("row")]
    if not rows:
        return
    rows = [HEADER, *sorted(rows, key=lambda row: release_tuple(row[0]))]
    terminalreporter.section("both patches on every release of torch")
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADER))]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        terminalreporter.write_line("  ".join(cells).rstrip())


@pytest.fixture
def release_site(tmp_path: pathlib.Path) -> t.Callable[[Release], Site]:
    """Makes a folder like site-packages out of a release's real files."""
    return lambda release: make_real_site(tmp_path / "site", release)


@pytest.fixture
def new_site(tmp_path: pathlib.Path) -> t.Callable[[str], Site]:
    """Makes a folder with a torch of the shape that a release has, without the release's own files."""
    return lambda version: make_site(tmp_path / ("site-" + version), version)


@pytest.fixture
def site(tmp_path: pathlib.Path) -> Site:
    """The real files of 2.6.0: the release in which both patches are needed and the vendor's commands go wrong most."""
    return make_real_site(tmp_path / "site", one_release("2.6.0"))
