# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The patcher's file under every Python that this machine has, each with a torch that runs on it."""

from __future__ import annotations

import typing as t

import pytest
from real_site import run_patcher
from torch_files import Release, one_release
from torch_shapes import TASKD_MODULE, Site, vendor_sed

from parts import pythons

SUPPORTED = [(3, minor) for minor in range(7, 15)]
#: The newest torch for Pythons that have been left behind.
RELEASES = {(3, 7): "1.13.1", (3, 8): "2.4.1", (3, 9): "2.8.0"}
NEWEST = "2.15.0"
PYTHONS = pythons.found(SUPPORTED)


@pytest.mark.parametrize(("version", "python"), PYTHONS.items(), ids=["%d.%d" % version for version in PYTHONS])
def test_python(version: tuple[int, int], python: str, release_site: t.Callable[[Release], Site]) -> None:
    torch = RELEASES.get(version, NEWEST)
    site = release_site(one_release(torch))
    original = site.texts()
    verbs: list[tuple[list[str], bool]] = [
        (["present"], True),
        (["present"], False),
        (["present", "--import-module", TASKD_MODULE], True),
        (["absent"], True),
        (["absent"], False),
    ]
    for arguments, changed in verbs:
        result = run_patcher(site, *arguments, python=python)
        assert result["errors"] == []
        assert result["changed"] is changed
        assert result["python_version"].startswith("%d.%d." % version)
        assert result["torch_version"].startswith(torch)
    assert site.texts() == original
    vendor_sed(site, 2)
    run_patcher(site, "present", python=python)
    assert run_patcher(site, "inspect", python=python)["satisfied"]
    run_patcher(site, "absent", python=python)
    assert site.texts() == original
    assert not list(site.folder.rglob("__pycache__"))
