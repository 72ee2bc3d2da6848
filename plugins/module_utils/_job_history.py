# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""What a job was before, and the way back to it.

The cluster itself remembers, in a ConfigMap beside each job: the manifest and the plan that are delivered now, those
before them, and, after a rollback, those that were left. One step is remembered. The functions here are pure; the
ConfigMap is read and written by L(_job_history_edge).
"""

from __future__ import annotations

import json
import typing as t

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Finding, Refused
from ansible_collections.mindcluster.recovery.plugins.module_utils._manifest_documents import CLUSTER_KINDS, Document

try:
    import yaml
except ImportError:  # comes with the Python package kubernetes, whose absence is reported when connecting
    yaml = None  # type: ignore[assignment]

PREFIX = "recovery-history-"
#: A ConfigMap holds 1 MiB; three manifests have to fit.
LARGEST = 300 * 1024
# Long texts of a plan that no role reads.
_NOT_KEPT = ("explain", "warnings")
# Where two plans with the same manifest are two steps all the same: scripts or labels differ.
_DECIDES = ("release", "framework", "strategies", "script", "node_labels")


class Entry(t.NamedTuple):
    """One delivery of a job.

    :ivar manifest: its objects as YAML, Secrets left out.
    :ivar plan: the plan that it was made by.
    """

    manifest: str
    plan: dict[str, t.Any]

    def same_as(self, other: Entry | None) -> bool:
        return (
            other is not None
            and self.manifest == other.manifest
            and all(self.plan.get(key) == other.plan.get(key) for key in _DECIDES)
        )


class History(t.NamedTuple):
    """What the cluster remembers of one job.

    :ivar undone: what was left by a rollback; None as soon as something is delivered again.
    """

    current: Entry | None = None
    previous: Entry | None = None
    undone: Entry | None = None


def entry_of(documents: t.Sequence[Document], plan: t.Mapping[str, t.Any], namespace: str) -> Entry:
    """A delivery as it is remembered.

    :param namespace: of the objects that name none.
    """
    kept = []
    for document in documents:
        if document.kind == "Secret":
            # A ConfigMap may be read by people who may not read Secrets.
            continue
        metadata = dict(document.data["metadata"])
        if document.kind not in CLUSTER_KINDS:
            metadata["namespace"] = metadata.get("namespace") or namespace
        kept.append(dict(document.data, metadata=metadata))
    text = yaml.safe_dump_all(kept, allow_unicode=True, sort_keys=False, explicit_start=True, width=120)
    return Entry(text, {key: value for key, value in plan.items() if key not in _NOT_KEPT})


def delivered(history: History, entry: Entry) -> History:
    """The history after a delivery."""
    if entry.same_as(history.current):
        # The plan may have got keys that an older version of the collection did not know.
        return history._replace(current=entry)
    return History(current=entry, previous=history.current)


def gone_back(history: History, where: str) -> History:
    """The history after a rollback; the same again where one has been made already.

    :raises Refused: nothing is remembered to go back to.
    """
    if history.previous is not None:
        return History(current=history.previous, undone=history.current)
    if history.undone is not None:
        return history
    raise Refused(_nothing_before(where, history.current))


def read_history(data: t.Mapping[str, str], where: str) -> History:
    """The history in the C(data) of its ConfigMap.

    :raises Refused: somebody has changed it by hand so that it cannot be read.
    """
    return History(**{name: _read_entry(data, name, where) for name in History._fields})


def history_data(history: History) -> dict[str, str]:
    """The C(data) of the ConfigMap."""
    data = {}
    for name, entry in history._asdict().items():
        if entry is not None:
            data["%s.yaml" % name] = entry.manifest
            # In the plan's own order, which is that of the lines in a script.
            data["%s.plan.json" % name] = json.dumps(entry.plan, ensure_ascii=False)
    return data


def _read_entry(data: t.Mapping[str, str], name: str, where: str) -> Entry | None:
    if "%s.yaml" % name not in data:
        return None
    try:
        plan = json.loads(data["%s.plan.json" % name])
    except (KeyError, ValueError):
        plan = None
    if not isinstance(plan, dict):
        raise Refused(_unreadable(where, "%s.plan.json" % name))
    return Entry(data["%s.yaml" % name], plan)


def described(entry: Entry | None, documents: t.Sequence[Document]) -> dict[str, t.Any]:
    """What an engineer wants to know of a delivery: its release and its images."""
    images = [image for document in documents for image in _images(document.data)]
    return {"release": (entry.plan if entry else {}).get("release", ""), "images": list(dict.fromkeys(images))}


def _images(job: t.Mapping[str, t.Any]) -> list[str]:
    replicas = (job.get("spec") or {}).get("replicaSpecs") if job.get("kind") == "AscendJob" else None
    found = []
    for replica in (replicas or {}).values():
        for container in replica.get("template", {}).get("spec", {}).get("containers", []):
            if container.get("name") == "ascend" and container.get("image"):
                found.append(str(container["image"]))
    return found


def wrong_keys(jobs: t.Sequence[str]) -> list[Finding]:
    """The mistakes in a list of jobs."""
    return [
        Finding(
            "job-key",
            "`%s` does not name a job" % job,
            "Two namespaces may hold jobs of the same name",
            "Write it as NAMESPACE/NAME",
            "jobs",
        )
        for job in jobs
        if job.count("/") != 1 or not all(job.split("/"))
    ]


def _nothing_before(where: str, current: Entry | None) -> Finding:
    what = "the cluster remembers nothing before what is there now" if current else "the cluster remembers nothing"
    return Finding(
        "history-missing",
        what,
        "A rollback needs a delivery before the last one, and only `training_job_delivery: apply` leaves that in the "
        "cluster",
        "Set the variables back (`recovery_plan_release`, or `training_job_image` with the former digest) and run "
        "mindcluster.recovery.site",
        where,
    )


def _unreadable(where: str, key: str) -> Finding:
    return Finding(
        "history-unreadable",
        "the key `%s` is missing or is no JSON object" % key,
        "It was changed by another hand, and what it says cannot be trusted",
        "Delete the ConfigMap; then set the variables back and run mindcluster.recovery.site",
        where,
    )


def too_large(where: str, size: int) -> Finding:
    """The warning for a manifest that is not remembered."""
    return Finding(
        "history-too-large",
        "the manifest has %d KiB, more than the %d KiB that are remembered" % (size // 1024, LARGEST // 1024),
        "`rollback` will not know it",
        "Keep the former manifest yourself, in git say",
        where,
    )
