# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pathlib
import typing as t

import pytest
from torch_shapes import SHAPES, Shape, Site, make_site


@pytest.fixture
def new_site(tmp_path: pathlib.Path) -> t.Callable[[str], Site]:
    """Makes a folder with a torch of the shape that a release has."""
    return lambda version: make_site(tmp_path / ("site-" + version), version)


@pytest.fixture(params=SHAPES, ids=lambda shape: shape.version)
def each_shape(request: pytest.FixtureRequest) -> Shape:
    """Every shape, one after the other."""
    return t.cast(Shape, request.param)
