# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""Any number of training jobs become manifests, generated or laid over the user's own files."""

from __future__ import annotations

import json
import os
import typing as t

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Finding, Refused
from ansible_collections.mindcluster.recovery.plugins.module_utils._plan import build_plan
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._job_adapt import AdaptResult, adapt_job
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._job_generate import generate_job
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._job_reverse import TOLD, deviations
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._job_spec import JobSpec, read_spec

# What makes a job this very job is never taken over from defaults.
_OWN_KEYS = frozenset(("name", "manifest", "filename"))


class Renderer:
    """Renders the jobs of one run.

    :param request: the run's own plan request, under the one of a job.
    :param plan: the run's plan, for jobs without a request of their own; made from C(request) where it is None.
    :param folders: where relative paths of manifests are looked for, in this order.
    """

    def __init__(
        self,
        request: t.Mapping[str, t.Any] | None = None,
        plan: t.Mapping[str, t.Any] | None = None,
        folders: t.Sequence[str] = (),
    ) -> None:
        self.request = dict(request or {})
        self.plan = plan
        self.folders = list(folders)
        self._plans: dict[str, dict[str, t.Any]] = {}
        self._files: dict[str, str] = {}
        # Files of the user's with several jobs, as the jobs so far have left them.
        self._adapted: dict[str, str] = {}

    def render(self, jobs: t.Sequence[t.Any], defaults: t.Mapping[str, t.Any], label: str) -> list[dict[str, t.Any]]:
        """All jobs, in their order.

        :param defaults: values for keys that a job does not name.
        :param label: name of the variable that holds the jobs, for messages.
        :raises Refused: with every mistake of every job.
        """
        done: list[dict[str, t.Any]] = []
        findings: list[Finding] = []
        for number, raw in enumerate(jobs):
            where = _where(label, number, raw)
            try:
                spec = read_spec(_over(defaults, raw, where), where)
                done.append(self.one(spec, where, _unused(spec, raw, where)))
            except Refused as exc:
                findings += [_named(finding, where) for finding in exc.findings]
        findings += _twice(done, label)
        if findings:
            raise Refused(findings)
        return self._joined(done)

    def _joined(self, done: list[dict[str, t.Any]]) -> list[dict[str, t.Any]]:
        """Jobs of one file stay in one file, which is named after the first of them."""
        names: dict[str, str] = {}
        for job in done:
            if job["source"]:
                job["filename"] = names.setdefault(job["source"], job["filename"])
                job["text"] = self._adapted[job["source"]]
                job["file"] = {"path": job["filename"], "content": job["text"], "source": job["source"]}
        return done

    def one(self, spec: JobSpec, where: str, unused: t.Sequence[Finding] = ()) -> dict[str, t.Any]:
        """One job.

        :param unused: warnings about what is given for it and has no effect on it.
        """
        plan = self._plan_of(spec)
        source = ""
        if spec.manifest:
            source, text = self._read(spec.manifest, where)
            namespace = spec.namespace if spec.namespace != "default" else None
            result = _adapt(text, plan, spec, source, namespace, spec.image)
            if source in self._adapted:
                # What is said about the job counts the lines of the user's file, which other jobs have made longer.
                after = _adapt(self._adapted[source], plan, spec, source, namespace, spec.image)
                result = after._replace(corrections=result.corrections, warnings=result.warnings)
            self._adapted[source] = result.text
        else:
            generated = generate_job(spec, plan, where)
            result = _adapt(generated, plan, spec, "%s, generated manifest" % where, None, None)
        name, namespace_found = _identity(result.documents, plan, spec)
        filename = spec.filename or "%s.%s.yaml" % (namespace_found, name)
        overridden = {*spec.extra_labels, *spec.extra_annotations, *spec.extra_env}
        wrong = deviations(result.documents, plan, name, overridden, source or "%s, generated manifest" % where)
        untold = [finding for finding in wrong if finding.code not in TOLD]
        warnings = [*result.warnings, *unused]
        if untold and spec.strict:
            raise Refused(untold)
        return {
            "name": name,
            "namespace": namespace_found,
            "filename": filename,
            "file": {"path": filename, "content": result.text, "source": source},
            "source": source,
            "text": result.text,
            "plan": plan,
            "corrections": [finding.as_dict() for finding in result.corrections],
            "warnings": [finding.as_dict() for finding in warnings],
            "deviations": [finding.as_dict() for finding in wrong],
            "notices": [
                finding.line() for finding in result.corrections + warnings + untold + self._of_plan(spec, where)
            ],
        }

    def _plan_of(self, spec: JobSpec) -> t.Mapping[str, t.Any]:
        if not spec.plan and self.plan is not None:
            return self.plan
        request = dict(self.request, **(spec.plan or {}))
        key = json.dumps(request, sort_keys=True, default=str)
        if key not in self._plans:
            self._plans[key] = build_plan(request)
        return self._plans[key]

    def _of_plan(self, spec: JobSpec, where: str) -> list[Finding]:
        """Warnings of a plan of the job's own; those of the run's plan have been shown with that plan."""
        if not spec.plan:
            return []
        return [_named(Finding(**warning), where) for warning in self._plan_of(spec)["warnings"]]

    def _read(self, path: str, where: str) -> tuple[str, str]:
        """The user's file, byte for byte."""
        expanded = os.path.expanduser(path)
        candidates = (
            [expanded] if os.path.isabs(expanded) else [os.path.join(d, expanded) for d in self.folders or ["."]]
        )
        found = next((candidate for candidate in candidates if os.path.isfile(candidate)), None)
        if found is None:
            raise Refused(
                Finding(
                    "manifest-missing",
                    "the manifest `%s` does not exist or is no file" % path,
                    "It is what the job is made from",
                    "Check the path; looked for %s" % ", ".join(candidates),
                    where,
                )
            )
        if found not in self._files:
            self._files[found] = _text_of(found)
        return found, self._files[found]


def _text_of(path: str) -> str:
    try:
        with open(path, encoding="utf-8", newline="") as stream:
            return stream.read()
    except UnicodeDecodeError as exc:
        raise Refused(
            Finding(
                "manifest-encoding",
                "the file is not UTF-8 (byte %d)" % exc.start,
                "Kubernetes manifests are UTF-8",
                "Convert it, for example with `iconv -f GB18030 -t UTF-8`",
                path,
            )
        ) from exc
    except OSError as exc:
        raise Refused(
            Finding("manifest-unreadable", "the file cannot be read: %s" % (exc.strerror or exc),
                    "It is what the job is made from", "Check its rights", path)
        ) from exc  # fmt: skip


def _adapt(
    text: str, plan: t.Mapping[str, t.Any], spec: JobSpec, where: str, namespace: str | None, image: str | None
) -> AdaptResult:
    return adapt_job(
        text,
        plan,
        where=where,
        job_name=spec.name,
        namespace=namespace,
        image=image,
        strict=spec.strict,
        extra_env=spec.extra_env,
        extra_labels=spec.extra_labels,
        extra_annotations=spec.extra_annotations,
        extra_args=spec.extra_args,
        extra_volumes=spec.extra_volumes,
        image_pull_secrets=spec.image_pull_secrets,
    )


def _identity(documents: t.Sequence[t.Any], plan: t.Mapping[str, t.Any], spec: JobSpec) -> tuple[str, str]:
    if spec.name and not spec.manifest:
        return spec.name, spec.namespace
    for document in documents:
        if isinstance(document, dict) and document.get("kind") == plan["job"]["kind"]:
            metadata = document["metadata"]
            if spec.name in (None, metadata.get("name")):
                return str(metadata["name"]), str(metadata.get("namespace") or spec.namespace)
    raise AssertionError("the adapted manifest has lost its job")


def _over(defaults: t.Mapping[str, t.Any], raw: t.Any, where: str) -> t.Any:
    if not isinstance(raw, dict):
        return raw
    if raw.get("manifest") and raw.get("command"):
        raise Refused(
            Finding(
                "job-manifest-and-command",
                "both a manifest and a command are given",
                "A job is either the user's own file or written from variables",
                "Drop one of them; flags for the start command in a file go into `training_job_extra_args`",
                where,
            )
        )
    return {**{key: value for key, value in defaults.items() if key not in _OWN_KEYS}, **raw}


def _unused(spec: JobSpec, raw: t.Mapping[str, t.Any], where: str) -> list[Finding]:
    """What the job itself, not a default for all jobs, is given for nothing."""
    return [
        Finding(
            "job-variable-unused",
            "`%s` is given, and has no effect on a job with a manifest of its own" % key,
            "It is for jobs that are written from variables; what the manifest says about it stays",
            "Write it into the manifest, and drop it here",
            where,
        )
        for key in ("npus_per_node", "host_network")
        if spec.manifest and raw.get(key) is not None and getattr(spec, key)
    ]


def _where(label: str, number: int, raw: t.Any) -> str:
    if label != "training_jobs":
        return label
    name = raw.get("name") or raw.get("manifest") if isinstance(raw, dict) else None
    return "%s[%d]%s" % (label, number, " (%s)" % name if name else "")


def _named(finding: Finding, where: str) -> Finding:
    """The finding with the job in front of the place, so that mistakes of many jobs can be told apart."""
    if finding.where.startswith(where):
        return finding
    place = "%s: %s" % (where, finding.where) if finding.where else where
    return Finding(finding.code, finding.what, finding.why, finding.remedy, place)


def _twice(done: t.Sequence[t.Mapping[str, t.Any]], label: str) -> list[Finding]:
    jobs = ["%s/%s" % (job["namespace"], job["name"]) for job in done]
    repeated = ["the job `%s`" % name for name in sorted({name for name in jobs if jobs.count(name) > 1})]
    if not repeated:
        files = [name for name, _source in dict.fromkeys((str(job["filename"]), _of_file(job)) for job in done)]
        repeated = ["the file name `%s`" % name for name in sorted({name for name in files if files.count(name) > 1})]
    return [
        Finding(
            "job-twice",
            "%s is asked for twice" % what,
            "The second one would replace the first",
            "Give each job a name of its own in its namespace",
            label,
        )
        for what in repeated
    ]


def _of_file(job: t.Mapping[str, t.Any]) -> str:
    """What two jobs have in common that stand in one file; nothing for jobs from variables."""
    return str(job["source"] or "%s/%s" % (job["namespace"], job["name"]))
