# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""What the image of a request has to hold."""

from __future__ import annotations

import typing as t

from ansible_collections.mindcluster.recovery.plugins.module_utils._node_rules import assumed_arch
from ansible_collections.mindcluster.recovery.plugins.module_utils._request import Request
from ansible_collections.mindcluster.recovery.plugins.module_utils._versions import release_tuple
from ansible_collections.mindcluster.recovery.plugins.module_utils._wheel_patterns import wheel_patterns

# torch dropped the attempt prefix of the agent's store with this release (pytorch PR 135957).
FIRST_TORCH_WITHOUT_PREFIX = (2, 6, 0)


def _rendezvous(request: Request) -> str:
    if request.framework != "pytorch":
        return "none"
    if request.release.rendezvous_at_run_time:
        return "runtime"
    if request.torch_version is None:
        return "auto"
    version = release_tuple(request.torch_version) or (0,)
    return "patch" if version >= FIRST_TORCH_WITHOUT_PREFIX else "native"


def _elastic_needs_taskd(request: Request) -> bool:
    """MindSpeed-LLM 2.2.0 imports C(taskd.python.adaptor.elastic_training), which TaskD of 7.2.RC1 has."""
    return request.framework == "pytorch" and "elastic-training" in request.strategies


def _arch(request: Request) -> str | None:
    return assumed_arch(request.product, request.arch) if request.product else request.arch


def image_plan(request: Request) -> dict[str, t.Any]:
    """Wheels, imports and patches; see the module documentation of recovery_plan."""
    wheels = list(request.release.wheels[request.framework])
    imports = ["taskd", "mindio_ttp"]
    run_py_import = None
    if request.framework == "pytorch":
        run_py_import = request.release.run_py_import
        imports = [run_py_import, "mindio_ttp"]
        if _elastic_needs_taskd(request) and "taskd" not in wheels:
            wheels.append("taskd")
            imports.append("taskd.python.adaptor.elastic_training")
    return {
        "wheels": wheels,
        "imports": imports,
        "run_py_import": run_py_import,
        "rendezvous": _rendezvous(request),
        "wheel_patterns": wheel_patterns(request.release, wheels, _arch(request)),
    }
