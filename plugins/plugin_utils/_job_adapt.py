# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""A user's AscendJob and a plan become a job that recovers, with the smallest change of the text."""

from __future__ import annotations

import typing as t

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Finding, Refused
from ansible_collections.mindcluster.recovery.plugins.module_utils._manifest_documents import CLUSTER_KINDS
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._job_args import StartCommand
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._job_former import Former
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._job_owner import Findings, Owner
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._job_ports import (
    TTP_VARIABLE,
    Ports,
    bad_port,
    job_port,
)
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._job_select import (
    JobChecks,
    choose_job,
    container_path,
)
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._job_shape import misshapen
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._job_volumes import add_pull_secrets, add_volumes
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._job_warnings import JobWarnings
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._yaml_edit import Draft, Path


class AdaptResult(t.NamedTuple):
    """An adapted manifest.

    :ivar corrections: owned values that had another value, each with its line in the given text.
    :ivar warnings: what was left as it is but is likely to hurt.
    :ivar documents: what the text says, as data.
    """

    text: str
    corrections: list[Finding]
    warnings: list[Finding]
    documents: list[t.Any]


class _Adapter:
    """Adapts one AscendJob of a draft."""

    def __init__(self, draft: Draft, number: int, plan: t.Mapping[str, t.Any], strict: bool) -> None:
        self.draft = draft
        self.plan = plan
        self.root: Path = (number,)
        self.findings = Findings(strict)
        self.containers: dict[str, Path] = {}

    def run(self, image: str | None, extra: t.Mapping[str, t.Any]) -> None:
        specs = self.draft.data(self.root + ("spec", "replicaSpecs"))
        for replica in self.plan["job"]["replica_types"]:
            path = self.root + ("spec", "replicaSpecs", replica)
            container = container_path(self.draft, path, self.plan["job"]["container"]) if replica in specs else None
            if container is not None:
                self.containers[replica] = container
        owner = Owner(self.draft, self.findings, self.plan, extra)
        owner.texts(self.root + ("metadata",), "labels", ("namespace", "name"))
        owner.texts(self.root + ("metadata",), "annotations", ("labels", "namespace", "name"))
        former = Former(self.draft, self.findings, self.plan, extra)
        self._containers(owner, former, image, extra)
        JobWarnings(self.draft, self.findings, self.plan, self.root, self.containers).run()
        former.run(self.root, self.containers.values())

    def _containers(self, owner: Owner, former: Former, image: str | None, extra: t.Mapping[str, t.Any]) -> None:
        default = next(str(entry["value"]) for entry in self.plan["job"]["env"] if entry["name"] == TTP_VARIABLE)
        chosen = (extra.get("env") or {}).get(TTP_VARIABLE)
        port = str(chosen) if chosen else job_port(self.draft, self.containers.values(), default)
        ports = Ports(self.draft, self.findings, self.plan, port)
        for replica, container in self.containers.items():
            self._image(container, image)
            start = StartCommand(
                self.draft, self.findings, self.plan, container, replica, extra.get("args", ()), former
            )
            unexported = start.adapt()
            owner.environment(container, self._env(container, port, unexported))
            ports.apply(container, replica)
            self._requests(container)
            add_volumes(self.draft, container, extra.get("volumes", ()))
            add_pull_secrets(self.draft, container, extra.get("pull_secrets", ()))

    def _env(self, container: Path, port: str, unexported: t.Mapping[str, str]) -> list[dict[str, t.Any]]:
        """The plan's variables for one container."""
        wanted = [
            {"name": TTP_VARIABLE, "value": port} if entry["name"] == TTP_VARIABLE else entry
            for entry in self.plan["job"]["env"]
        ]
        env = self.draft.data(container + ("env",))
        present = [entry.get("name") for entry in env or () if isinstance(entry, dict)]
        for name, value in self.plan["job"]["exports"].items():
            if name in unexported or name in present:
                wanted.append({"name": name, "value": value})
        return wanted

    def _image(self, container: Path, image: str | None) -> None:
        if not image or self.draft.data(container + ("image",)) == image:
            return
        if self.draft.data(container + ("image",)) is None and "image" not in self.draft.data(container):
            self.draft.add(container, "image", image, ("name",))
        else:
            self.draft.replace(container + ("image",), image)

    def _requests(self, container: Path) -> None:
        """The operator counts NPUs under requests only and injects nothing where they stand under limits alone."""
        path = container + ("resources",)
        name = self.plan["job"]["resource"]
        limit = (self.draft.data(path + ("limits",)) or {}).get(name)
        requests = self.draft.data(path + ("requests",))
        if limit is None or name in (requests or {}):
            return
        if requests is None and "requests" not in self.draft.data(path):
            self.draft.add(path, "requests", {name: limit}, ())
        else:
            self.draft.add(path + ("requests",), name, limit)

    def namespace(self, namespace: str | None) -> None:
        """Name the namespace in the documents of a file that name none."""
        for number, document in enumerate(self.draft.wanted if namespace else ()):
            metadata = document.get("metadata") if isinstance(document, dict) else None
            if isinstance(metadata, dict) and document.get("kind") not in CLUSTER_KINDS and (
                not metadata.get("namespace") and "namespace" not in metadata
            ):  # fmt: skip
                self.draft.add((number, "metadata"), "namespace", namespace, ("name",))


def adapt_job(
    text: str,
    plan: t.Mapping[str, t.Any],
    *,
    where: str = "the manifest",
    job_name: str | None = None,
    namespace: str | None = None,
    image: str | None = None,
    strict: bool = False,
    extra_env: t.Mapping[str, t.Any] | None = None,
    extra_labels: t.Mapping[str, str] | None = None,
    extra_annotations: t.Mapping[str, str] | None = None,
    extra_args: t.Sequence[str] = (),
    extra_volumes: t.Sequence[t.Mapping[str, t.Any]] = (),
    image_pull_secrets: t.Sequence[str] = (),
) -> AdaptResult:
    """Put everything into an AscendJob that the plan asks for, and nothing else.

    :param text: the manifest, one or several YAML documents, byte for byte as in the file.
    :param plan: the result of C(build_plan).
    :param where: what the text is, for messages: a path, mostly.
    :param job_name: which AscendJob is meant; needed where the file holds several.
    :param namespace: written into the documents that name none; without it they stay without one.
    :param image: put into the container that trains.
    :param strict: refuse where an owned value is another one, instead of correcting it.
    :param extra_env: variables that win over the plan; a mapping as value is taken as it is (C(valueFrom)).
    :param extra_args: more words for the start command.
    :param extra_volumes: each with name, mountPath and a source; one whose name is there already stays as it is.
    :raises Refused: with every reason why the job cannot be adapted.
    """
    draft = Draft(text, where)
    number = choose_job(draft, plan, job_name)
    mistakes = JobChecks(draft, number, plan, bool(image)).run()
    mistakes += misshapen(draft, (number,), plan["job"]["container"])
    mistakes += bad_port(extra_env or {}, where)
    if mistakes:
        raise Refused(mistakes)
    adapter = _Adapter(draft, number, plan, strict)
    extra = {
        "env": dict(extra_env or {}),
        "labels": {name: str(value) for name, value in (extra_labels or {}).items()},
        "annotations": {name: str(value) for name, value in (extra_annotations or {}).items()},
        "args": list(extra_args),
        "volumes": list(extra_volumes),
        "pull_secrets": list(image_pull_secrets),
    }
    adapter.run(image, extra)
    adapter.namespace(namespace)
    if adapter.findings.refusals:
        raise Refused(adapter.findings.refusals)
    return AdaptResult(draft.finish(), adapter.findings.corrections, adapter.findings.warnings, draft.wanted)
