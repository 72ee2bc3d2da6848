# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""Which code decides what a layer is: a change of it makes another image."""

from __future__ import annotations

import functools
import hashlib

from ansible_collections.mindcluster.recovery.plugins.module_utils import (
    _image_stage,
    _layer_changes,
    _layer_compose,
    _layer_deflate,
    _layer_distributions,
    _layer_image,
    _layer_imports,
    _layer_pack,
    _layer_patch,
    _layer_python,
    _layer_wheels,
    _layer_write,
    _torch_patcher,
)
from ansible_collections.mindcluster.recovery.plugins.module_utils._image_context import source_of

_MODULES = (
    _image_stage,
    _layer_changes,
    _layer_compose,
    _layer_deflate,
    _layer_distributions,
    _layer_image,
    _layer_imports,
    _layer_pack,
    _layer_patch,
    _layer_python,
    _layer_wheels,
    _layer_write,
)


@functools.lru_cache(maxsize=1)
def code_hashes() -> dict[str, str]:
    """The sha256 of the patcher, and one of everything else together."""
    rest = "\0".join(source_of(module.__name__) for module in _MODULES)
    return {"_torch_patcher": _sha256(source_of(_torch_patcher.__name__)), "layer": _sha256(rest)}


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
