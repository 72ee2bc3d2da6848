# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""The ConfigMap in which the cluster remembers what a job was before."""

from __future__ import annotations

import typing as t
from urllib.parse import quote

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Refused
from ansible_collections.mindcluster.recovery.plugins.module_utils._job_history import (
    PREFIX,
    History,
    history_data,
    read_history,
)
from ansible_collections.mindcluster.recovery.plugins.module_utils._kube import ApiError, call, explain_api_error
from ansible_collections.mindcluster.recovery.plugins.module_utils._manifest_apply import APPLY_TYPE, FIELD_MANAGER


class HistoryMap:
    """The ConfigMap of one job.

    :ivar history: what it says; empty where there is none.
    """

    def __init__(self, client: t.Any, namespace: str, job: str) -> None:
        self._client = client
        self._namespace = namespace
        self.name = PREFIX + job
        self.where = "ConfigMap %s/%s" % (namespace, self.name)
        status, answer = self._call("GET", "read the %s" % self.where, accept_statuses=(404,))
        self.exists = status == 200
        self._data: dict[str, str] = (answer.get("data") or {}) if self.exists else {}
        self.history = read_history(self._data, self.where)

    def write(self, history: History, dry_run: bool) -> bool:
        """Store the history.

        :returns: whether that changes anything.
        :raises Refused: the cluster refuses.
        """
        data = history_data(history)
        if data == self._data:
            return False
        query = {"fieldManager": FIELD_MANAGER, "force": "true"}
        if dry_run:
            query["dryRun"] = "All"
        body = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": self.name,
                "namespace": self._namespace,
                "labels": {"app.kubernetes.io/managed-by": FIELD_MANAGER},
            },
            "data": data,
        }
        self._call(
            "PATCH", "write the %s" % self.where, query=query, body=body, headers={"Content-Type": APPLY_TYPE}
        )  # fmt: skip
        return True

    def _call(self, method: str, doing: str, **options: t.Any) -> tuple[int, t.Any]:
        path = "/api/v1/namespaces/%s/configmaps/%s" % (quote(self._namespace, safe=""), quote(self.name, safe=""))
        try:
            return call(self._client, method, path, **options)
        except ApiError as exc:
            raise Refused(explain_api_error(exc, doing)) from exc
