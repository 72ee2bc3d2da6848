# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""Speak to a Kubernetes API: one argument spec, one way to connect, one way to ask, one way to explain.

What is here is what modules use; the parts live in the C(_kube_*) files beside it.
"""

from __future__ import annotations

import typing as t

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Finding, Refused
from ansible_collections.mindcluster.recovery.plugins.module_utils._kube_config import client_class, configuration
from ansible_collections.mindcluster.recovery.plugins.module_utils._kube_explain import explain_api_error
from ansible_collections.mindcluster.recovery.plugins.module_utils._kube_http import ApiError, call, parsed
from ansible_collections.mindcluster.recovery.plugins.module_utils._retries import RetryPolicy

__all__ = [
    "KUBE_ARGSPEC",
    "ApiError",
    "Finding",
    "Refused",
    "RetryPolicy",
    "call",
    "connect",
    "explain_api_error",
    "parsed",
]

#: The options of the documentation fragment C(mindcluster.recovery._kube).
KUBE_ARGSPEC: dict[str, dict[str, t.Any]] = {
    "kubeconfig": {"type": "path"},
    "context": {"type": "str"},
    "host": {"type": "str"},
    "api_key": {"type": "str", "no_log": True},
    "ca_cert": {"type": "path"},
    "validate_certs": {"type": "bool"},
    "client_cert": {"type": "path"},
    "client_key": {"type": "path", "no_log": False},
}


def connect(params: t.Mapping[str, t.Any], connections: int = 16) -> t.Any:
    """A client for the cluster that the options name. No request is sent yet.

    :param params: the module's parameters, with the keys of C(KUBE_ARGSPEC); an absent key counts as not given.
    :param connections: how many connections are kept alive, which is how many threads may use the client at once.
    :returns: a C(kubernetes.client.ApiClient).
    :raises Refused: no or no legal kubeconfig, an unknown context, a missing file, no Python package C(kubernetes).
    """
    config = configuration(params)
    config.connection_pool_maxsize = max(1, connections)
    return client_class()(configuration=config)
