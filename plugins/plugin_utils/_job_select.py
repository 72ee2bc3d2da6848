# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""Finding the AscendJob in a manifest, and what makes a job impossible to adapt.

What is refused here is what the operator itself refuses, mostly in silence: up to 7.3 as an Event, afterwards as a
condition (MindCluster's C(ascendjob_validate.go)). Replica keys are compared as the operator does it, case counts.
"""

from __future__ import annotations

import json
import typing as t

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Finding, Refused, suggestion
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._job_spec import DNS_LABEL, DNS_NAME, MOST_NAME
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._yaml_edit import Draft, Path

VOLCANO_API = "batch.volcano.sh/"
# Strategies that end and make Pods of a running job.
_REPLACES_PODS = frozenset(("recover", "elastic-training"))


def choose_job(draft: Draft, plan: t.Mapping[str, t.Any], name: str | None) -> int:
    """The number of the document that holds the AscendJob to adapt.

    :param name: C(metadata.name) of the job; needed where there are several.
    :raises Refused: there is none, or it is not clear which one is meant.
    """
    jobs = {number: document for number, document in enumerate(draft.wanted) if _is_job(document, plan)}
    names = {number: str(_metadata(document).get("name")) for number, document in jobs.items()}
    if not jobs:
        raise Refused(_no_job(draft, plan))
    chosen = [number for number in jobs if name is None or names[number] == name]
    if len(chosen) == 1:
        return chosen[0]
    if not chosen and any(
        _is_volcano(document) and _metadata(document).get("name") == name for document in draft.wanted
    ):
        raise Refused(_volcano(draft, plan, "`%s` is a Volcano Job" % name))
    listed = ", ".join("`%s` (line %s)" % (names[number], _line(draft, number)) for number in jobs)
    if not chosen:
        raise Refused(
            Finding(
                "job-name-unknown",
                "no AscendJob in this file is named `%s`; there is %s" % (name, listed),
                "A job is not renamed, its name stands in more places than this one",
                suggestion(str(name), list(names.values())),
                draft.where,
            )
        )
    raise Refused(
        Finding(
            "job-ambiguous",
            "several AscendJobs %s: %s" % ("share the name `%s`" % name if name else "are in this file", listed),
            "Each job has a plan of its own",
            "Give each of them a file of its own"
            if len(set(names.values())) < len(names)
            else "Name the one that is meant with `training_job_name`, or split the file",
            draft.where,
        )
    )


def _is_job(document: t.Any, plan: t.Mapping[str, t.Any]) -> bool:
    return isinstance(document, dict) and document.get("kind") == plan["job"]["kind"]


def _metadata(document: dict[str, t.Any]) -> dict[str, t.Any]:
    metadata = document.get("metadata")
    return metadata if isinstance(metadata, dict) else {}


def _line(draft: Draft, number: int) -> str:
    root = draft.roots[number]
    return str(root.line) if root else "?"


def _kind(document: t.Any) -> str:
    if not isinstance(document, dict):
        return "a document that is no mapping"
    if not document.get("kind"):
        return "a mapping without `kind`"
    return ("%s %s" % (document.get("apiVersion") or "", document["kind"])).strip()


def _no_job(draft: Draft, plan: t.Mapping[str, t.Any]) -> Finding:
    kinds = [_kind(document) for document in draft.wanted if document is not None]
    if any(_is_volcano(document) for document in draft.wanted):
        what = "this is a Volcano Job (%s), and there is no AscendJob in the file" % ", ".join(kinds)
        return _volcano(draft, plan, what)
    if "v1 List" in kinds:
        return Finding(
            "job-list",
            "the objects of this file stand in a `kind: List`, and no AscendJob stands beside it",
            "An object inside a List cannot be adapted in place",
            "Write each object as a document of its own, with `---` between them",
            draft.where,
        )
    return Finding(
        "job-missing",
        "there is no AscendJob in this file%s" % (", only %s" % ", ".join(kinds) if kinds else ", it is empty"),
        "Only an AscendJob can be made recoverable",
        "Give a manifest with `kind: %s`, `apiVersion: %s`" % (plan["job"]["kind"], plan["job"]["api_version"]),
        draft.where,
    )


def _is_volcano(document: t.Any) -> bool:
    return isinstance(document, dict) and str(document.get("apiVersion", "")).startswith(VOLCANO_API) and (
        document.get("kind") == "Job"
    )  # fmt: skip


def _volcano(draft: Draft, plan: t.Mapping[str, t.Any], what: str) -> Finding:
    """For a Volcano Job MindCluster's operator makes rank tables and nothing else; it injects no variable either."""
    replacing = [name for name in plan["strategies"] if name in _REPLACES_PODS]
    why = "For a Volcano Job MindCluster only makes rank tables: process-level recovery works for an AscendJob only"
    if replacing:
        why += ". %s would have the operator make new Pods, which it does for an AscendJob only" % (
            " and ".join("`%s`" % name for name in replacing)
        )
    return Finding(
        "job-volcano",
        what,
        why,
        "Write the job as an AscendJob (%s); a Volcano Job is rescheduled as a whole, with the label fault-scheduling "
        "and without this collection" % plan["job"]["api_version"],
        draft.where,
    )


def container_path(draft: Draft, replica: Path, name: str) -> Path | None:
    """The path of the named container in a replica's template."""
    base = replica + ("template", "spec", "containers")
    containers = draft.data(base)
    for index, container in enumerate(containers if isinstance(containers, list) else ()):
        if isinstance(container, dict) and container.get("name") == name:
            return base + (index,)
    return None


def _name_remedy(value: t.Any) -> str:
    if isinstance(value, str) and ("{{" in value or "$" in value):
        return (
            "It is a template's: render it first, for example with `helm template` or `envsubst`, and give the result"
        )
    return "Use small letters, digits and `-`, at most %d, beginning and ending with a letter or digit%s" % (
        MOST_NAME,
        "" if isinstance(value, str) else ", in quotes where it is a number",
    )


class JobChecks:
    """What the operator would refuse in one job.

    :param replica_types: the replica types of the plan, leader first.
    :param image: an image is going to be put into the container C(ascend), so it may lack one.
    """

    def __init__(self, draft: Draft, number: int, plan: t.Mapping[str, t.Any], image: bool) -> None:
        self.draft = draft
        self.root: Path = (number,)
        self.job = plan["job"]
        self.framework = plan["framework"]
        self.image = image
        self.found: list[Finding] = []

    def refuse(self, code: str, what: str, why: str, remedy: str, path: Path) -> None:
        self.found.append(Finding(code, what, why, remedy, self.draft.place(path)))

    def run(self) -> list[Finding]:
        document = self.draft.data(self.root)
        if document.get("apiVersion") != self.job["api_version"]:
            self.refuse(
                "job-api-version",
                "the apiVersion is `%s`, not `%s`" % (document.get("apiVersion"), self.job["api_version"]),
                "MindCluster's operator serves that version only",
                "Write `apiVersion: %s`" % self.job["api_version"],
                self.root + ("apiVersion",),
            )
        if not isinstance(document.get("metadata"), dict) or not document["metadata"].get("name"):
            self.refuse(
                "job-unnamed",
                "the AscendJob has no metadata.name",
                "The API server refuses an object without a name",
                "Give it a name",
                self.root + ("metadata",),
            )
        else:
            self.names(document["metadata"])
            self.framework_label(document["metadata"])
        self.replicas()
        self.scheduling()
        return self.found

    def names(self, metadata: dict[str, t.Any]) -> None:
        for key, pattern in (("name", DNS_NAME), ("namespace", DNS_LABEL)):
            value = metadata.get(key)
            if value is None or (isinstance(value, str) and pattern.match(value) and len(value) <= MOST_NAME):
                continue
            self.refuse(
                "job-name",
                "the job's %s is %s" % (key, "`%s`" % value if isinstance(value, str) else "no text: %s" % (value,)),
                "The API server refuses such a %s, and the files and labels of the job are named after it" % key,
                _name_remedy(value),
                self.root + ("metadata", key),
            )

    def framework_label(self, metadata: dict[str, t.Any]) -> None:
        labels = metadata.get("labels")
        value = labels.get("framework") if isinstance(labels, dict) else None
        known = ("pytorch", "mindspore", "tensorflow")
        if value in known and value != self.framework:
            self.refuse(
                "job-framework",
                "the job is for %s (label `framework`), the plan is for %s" % (value, self.framework),
                "Strategies, switches and replica types differ between the frameworks",
                "Set `recovery_plan_framework: %s`, or give the other job" % value,
                self.root + ("metadata", "labels", "framework"),
            )

    def replicas(self) -> None:
        path = self.root + ("spec", "replicaSpecs")
        specs = self.draft.data(path)
        legal = self.job["replica_types"]
        if not isinstance(specs, dict) or not specs:
            self.refuse(
                "replica-specs-missing",
                "spec.replicaSpecs is missing or empty",
                "An AscendJob without replicas starts nothing",
                "Describe the replica types %s" % " and ".join(legal),
                path,
            )
            return
        for name in specs:
            if name not in legal:
                self.foreign_replica(str(name), path + (name,))
            else:
                self.replica(path + (name,), leader=name == legal[0])
        if legal[0] not in [str(name).capitalize() for name in specs]:
            self.refuse(
                "replica-type-missing",
                "the replica type `%s` is missing" % legal[0],
                "Without it the operator starts no %s job, or injects none of the recovery variables" % self.framework,
                "Add `%s` with `replicas: 1`; it is one of the nodes" % legal[0],
                path,
            )

    def foreign_replica(self, name: str, path: Path) -> None:
        legal = self.job["replica_types"]
        if name.capitalize() in legal:
            remedy = "Write `%s`" % name.capitalize()
            why = "The operator compares the key letter by letter and refuses the job with an Event only"
        else:
            remedy = suggestion(name, legal)
            why = "A %s job has other replica types, and the operator refuses the job with an Event only" % (
                self.framework
            )
        self.refuse("replica-type", "the replica type `%s` is not legal" % name, why, remedy, path)

    def replica(self, path: Path, leader: bool) -> None:
        replicas = self.draft.data(path + ("replicas",), 1)
        if leader and replicas != 1:
            self.refuse(
                "leader-replicas",
                "`%s` has %s replicas" % (path[-1], json.dumps(replicas, default=str)),
                "The operator wants exactly one leader and refuses the job with an Event only",
                "Write `replicas: 1` there and count the other nodes under `%s`" % self.job["replica_types"][1],
                path + ("replicas",),
            )
        containers = self.draft.data(path + ("template", "spec", "containers"))
        names = [str(c.get("name")) for c in containers if isinstance(c, dict)] if isinstance(containers, list) else []
        if self.job["container"] not in names:
            self.refuse(
                "container-missing",
                "the replica type `%s` has no container `%s`%s"
                % (path[-1], self.job["container"], ", only %s" % ", ".join(names) if names else ""),
                "The operator puts the recovery variables into the container of that name and refuses a job without it",
                "Name the container that trains `%s`" % self.job["container"],
                path + ("template", "spec", "containers"),
            )
        for index, container in enumerate(containers if isinstance(containers, list) else ()):
            self.image_of(path + ("template", "spec", "containers", index), container)

    def image_of(self, path: Path, container: t.Any) -> None:
        if not isinstance(container, dict) or container.get("image"):
            return
        if self.image and container.get("name") == self.job["container"]:
            return
        self.refuse(
            "container-image-missing",
            "the container `%s` has no image" % container.get("name"),
            "The operator refuses the job with an Event only",
            "Name an image in the file, or set `training_job_image` for the container `%s`" % self.job["container"],
            path,
        )

    def scheduling(self) -> None:
        path = self.root + ("spec", "runPolicy", "schedulingPolicy")
        policy = self.draft.data(path)
        if isinstance(policy, dict) and not policy.get("queue"):
            self.refuse(
                "queue-missing",
                "runPolicy.schedulingPolicy names no queue",
                "The operator refuses such a job with an Event only",
                "Write `queue: default`",
                path,
            )
