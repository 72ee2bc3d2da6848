# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""The plan: the only brain of the collection. Roles and templates read it and decide nothing."""

from __future__ import annotations

import typing as t

from ansible_collections.mindcluster.recovery.plugins.module_utils._node_rules import (
    assumed_arch,
    master_labels,
    worker_labels,
)
from ansible_collections.mindcluster.recovery.plugins.module_utils._plan_explain import explain
from ansible_collections.mindcluster.recovery.plugins.module_utils._plan_image import image_plan
from ansible_collections.mindcluster.recovery.plugins.module_utils._plan_job import job_plan, script_plan
from ansible_collections.mindcluster.recovery.plugins.module_utils._plan_warnings import plan_warnings
from ansible_collections.mindcluster.recovery.plugins.module_utils._request import KEYS, read_request

__all__ = ["KEYS", "build_plan", "master_labels", "worker_labels"]


def build_plan(raw: t.Any) -> dict[str, t.Any]:
    """Turn a request into the plan.

    :param raw: mapping with the keys of KEYS; C(strategies) (list or comma string) is required.
    :returns: a plain dictionary of texts, numbers, lists and dictionaries.
    :raises Refused: with every mistake in the request.
    """
    request = read_request(raw)
    product = request.product
    job = job_plan(request)
    return {
        "release": request.release.name,
        "framework": request.framework,
        "suite": request.suite,
        "suite_version": request.suite_version,
        "product": product.name if product else None,
        "arch": assumed_arch(product, request.arch) if product else request.arch,
        "torch_version": request.torch_version,
        "fault_scheduling": request.fault_scheduling,
        "pod_rescheduling": request.pod_rescheduling,
        "strategies": list(request.strategies),
        "image": image_plan(request),
        "job": job,
        "script": script_plan(request),
        "node_labels": {
            "master": master_labels(request.release.name),
            "worker": worker_labels(request.release.name, product.name if product else None, request.arch),
        },
        "explain": explain(request, job["labels"]),
        "warnings": [finding.as_dict() for finding in plan_warnings(request)],
    }
