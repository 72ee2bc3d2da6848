# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""Reading what the variables say about one training job, with every mistake in them."""

from __future__ import annotations

import dataclasses
import re
import typing as t

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Finding, Refused, suggestion
from ansible_collections.mindcluster.recovery.plugins.module_utils._image_refs import parse_reference
from ansible_collections.mindcluster.recovery.plugins.module_utils._kube_labels import bad_key, bad_syntax
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._job_volumes import MOUNT_KEYS

DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?\Z")
DNS_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?\Z")
# The operator writes the name into labels, which Kubernetes limits.
MOST_NAME = 63
_VARIABLE = re.compile(r"[A-Za-z_.-][A-Za-z0-9_.-]*\Z")
VOLUME_SOURCES = (
    "nfs", "hostPath", "persistentVolumeClaim", "emptyDir", "configMap", "secret", "csi", "projected", "ephemeral",
    "cephfs", "iscsi", "glusterfs", "downwardAPI", "fc", "rbd", "flexVolume", "local",
)  # fmt: skip


@dataclasses.dataclass
class JobSpec:
    """One training job as the variables describe it. The keys of C(training_jobs) are these names.

    :ivar workers: number of nodes in all; the leader (Master, Scheduler) is one of them.
    :ivar plan: a plan request of the job's own, laid over the run's.
    """

    name: str | None = None
    namespace: str = "default"
    manifest: str | None = None
    filename: str | None = None
    image: str | None = None
    image_pull_secrets: list[str] = dataclasses.field(default_factory=list)
    workers: int | None = None
    npus_per_node: int | None = None
    command: str | None = None
    host_network: bool = False
    strict: bool = False
    extra_env: dict[str, t.Any] = dataclasses.field(default_factory=dict)
    extra_labels: dict[str, str] = dataclasses.field(default_factory=dict)
    extra_annotations: dict[str, str] = dataclasses.field(default_factory=dict)
    extra_args: list[str] = dataclasses.field(default_factory=list)
    extra_volumes: list[dict[str, t.Any]] = dataclasses.field(default_factory=list)
    plan: dict[str, t.Any] | None = None


KEYS = tuple(field.name for field in dataclasses.fields(JobSpec))
_KINDS: dict[str, type] = {
    "image_pull_secrets": list, "extra_env": dict, "extra_labels": dict, "extra_annotations": dict,
    "extra_args": list, "extra_volumes": list, "plan": dict, "name": str, "namespace": str, "manifest": str,
    "filename": str, "image": str, "command": str,
}  # fmt: skip
_KIND_NAMES: dict[t.Any, str] = {list: "a list", dict: "a mapping", str: "text"}


def read_spec(raw: t.Any, where: str) -> JobSpec:
    """A job from its mapping.

    :param where: the variable, for messages.
    :raises Refused: with every mistake.
    """
    if not isinstance(raw, dict):
        raise Refused(_bad("job-spec", "a job is described by a mapping, not by `%s`" % (raw,), where))
    reader = _Reader(where)
    given = {str(key): value for key, value in raw.items() if value is not None}
    reader.known(given)
    reader.kinds(given)
    if reader.found:
        raise Refused(reader.found)
    reader.numbers(given)
    for name in ("host_network", "strict"):
        reader.boolean(given, name)
    reader.names(given)
    reader.mappings(given)
    reader.lists(given)
    if reader.found:
        raise Refused(reader.found)
    return JobSpec(**given)


def _bad(code: str, what: str, where: str, remedy: str = "See the role's README for its form") -> Finding:
    return Finding(code, what, "The manifest could not be written as it is meant", remedy, where)


class _Reader:
    def __init__(self, where: str) -> None:
        self.where = where
        self.found: list[Finding] = []

    def bad(self, code: str, what: str, remedy: str = "See the role's README for its form") -> None:
        self.found.append(_bad(code, what, self.where, remedy))

    def known(self, given: dict[str, t.Any]) -> None:
        for key in given:
            if key not in KEYS:
                self.bad("job-key-unknown", "`%s` is not known for a job" % key, suggestion(key, KEYS))

    def kinds(self, given: dict[str, t.Any]) -> None:
        for key, kind in _KINDS.items():
            value = given.get(key)
            if value is None or isinstance(value, kind):
                continue
            if kind is str and type(value) in (int, float):
                given[key] = str(value)
                continue
            # Not the value itself: a list of variables, say, may hold passwords.
            self.bad("job-value", "`%s` is not %s but of type %s" % (key, _KIND_NAMES[kind], type(value).__name__))

    def numbers(self, given: dict[str, t.Any]) -> None:
        for key, most in (("workers", 20000), ("npus_per_node", 1024)):
            if key not in given:
                continue
            value = given[key]
            if isinstance(value, str) and value.isascii() and value.isdigit():
                value = int(value)
            if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= most:
                self.bad("job-value", "`%s` is `%s`" % (key, value), "Give a whole number from 1 to %d" % most)
            given[key] = value

    def boolean(self, given: dict[str, t.Any], key: str) -> None:
        value = given.get(key, False)
        words = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
        if isinstance(value, str):
            value = words.get(value.lower(), value)
        if not isinstance(value, bool):
            self.bad("job-value", "`%s` is `%s`" % (key, value), "Give true or false")
        given[key] = value

    def names(self, given: dict[str, t.Any]) -> None:
        for key, pattern in (("name", DNS_NAME), ("namespace", DNS_LABEL)):
            value = given.get(key)
            if value is not None and (not pattern.match(value) or len(value) > MOST_NAME):
                self.bad(
                    "job-name",
                    "`%s` is `%s`" % (key, value),
                    "Use small letters, digits and `-`, at most %d, beginning and ending with a letter or digit"
                    % MOST_NAME,
                )
        if "image" in given:
            try:
                parse_reference(given["image"], "%s, image" % self.where)
            except Refused as exc:
                self.found += exc.findings
        if given.get("filename") and not given["filename"].endswith((".yaml", ".yml")):
            self.bad(
                "job-filename",
                "`filename` is `%s`, which ends neither in .yaml nor in .yml" % given["filename"],
                "Give it one of these ends; kustomize and Argo CD take no other file for a manifest",
            )

    def mappings(self, given: dict[str, t.Any]) -> None:
        for key in ("extra_env", "extra_labels", "extra_annotations"):
            for name, value in given.get(key, {}).items():
                if isinstance(value, bool):
                    self.bad(
                        "job-extra-boolean",
                        "`%s` in `%s` is a boolean, not text" % (name, key),
                        "Put the value into quotes: Kubernetes takes text only, and YAML reads an unquoted on as true",
                    )
                elif key == "extra_env" and not _VARIABLE.match(str(name)):
                    self.bad("job-extra-name", "`%s` in `%s` is no name of a variable" % (name, key))
                elif key == "extra_env" and isinstance(value, dict):
                    self.reference(name, value)
                elif not isinstance(value, (str, int, float)):
                    self.bad("job-extra-value", "`%s` in `%s` is not text" % (name, key))
                elif key == "extra_labels":
                    self.found += bad_syntax(name, str(value), "%s, %s" % (self.where, key))
                elif key == "extra_annotations":
                    self.found += [finding for finding in [bad_key(name, "%s, %s" % (self.where, key))] if finding]

    def reference(self, name: str, value: dict[str, t.Any]) -> None:
        """A variable whose value Kubernetes takes from elsewhere."""
        if list(value) == ["valueFrom"] and isinstance(value["valueFrom"], dict) and value["valueFrom"]:
            return
        self.bad(
            "job-extra-value",
            "`%s` in `extra_env` is a mapping without `valueFrom`" % name,
            "Give text, or `{valueFrom: {fieldRef: {fieldPath: status.podIP}}}` and its like",
        )

    def lists(self, given: dict[str, t.Any]) -> None:
        for key in ("extra_args", "image_pull_secrets"):
            items = given.get(key, [])
            if any(not isinstance(item, (str, int, float)) or isinstance(item, bool) for item in items):
                self.bad("job-value", "`%s` holds something else than words" % key, "Give a list of words")
            elif key in given:
                given[key] = [str(item) for item in items]
        for name in given.get("image_pull_secrets", []):
            if isinstance(name, str) and not DNS_NAME.match(name):
                self.bad(
                    "job-pull-secret",
                    "`%s` in `image_pull_secrets` is no name of a Secret" % name,
                    "Use small letters, digits, `-` and `.`, beginning and ending with a letter or digit",
                )
        seen: set[str] = set()
        for volume in given.get("extra_volumes", []):
            self.volume(volume, seen)

    def volume(self, volume: t.Any, seen: set[str]) -> None:
        if not isinstance(volume, dict) or not isinstance(volume.get("name"), str):
            self.bad("job-volume", "an extra volume has no name: %s" % (volume,), "Give name, mountPath and a source")
            return
        name = volume["name"]
        sources = [key for key in volume if key not in MOUNT_KEYS]
        unknown = [key for key in sources if key not in VOLUME_SOURCES]
        if not DNS_LABEL.match(name):
            self.bad("job-volume", "the volume name `%s` is not legal" % name, "Use small letters, digits and `-`")
        if name in seen or name in ("ascend-driver", "dshm", "localtime", "reset-config"):
            self.bad("job-volume", "the volume name `%s` is taken" % name, "Choose another name")
        seen.add(name)
        if not str(volume.get("mountPath", "")).startswith("/"):
            self.bad("job-volume", "the volume `%s` has no absolute mountPath" % name, "Give `mountPath: /...`")
        for key in unknown:
            self.bad(
                "job-volume",
                "`%s` of the volume `%s` is not known" % (key, name),
                suggestion(str(key), MOUNT_KEYS + VOLUME_SOURCES),
            )
        if not unknown and len(sources) != 1:
            self.bad(
                "job-volume",
                "the volume `%s` has %s"
                % (name, "several sources: %s" % ", ".join(sources) if sources else "no source"),
                "Give exactly one, such as nfs, hostPath or persistentVolumeClaim",
            )
        for key in sources:
            if key not in unknown and not isinstance(volume[key], dict):
                self.bad(
                    "job-volume",
                    "`%s` of the volume `%s` is not a mapping" % (key, name),
                    "Write what Kubernetes has there, such as `nfs: {server: 10.0.0.1, path: /data}`",
                )
