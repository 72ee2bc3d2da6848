# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""What stands beside the job: its reset ConfigMap, a device plugin, a Volcano Job that cannot recover.

Sources: device plugin (C(-hotReset)) and clusterd ("hotReset=1 is not compatible with process-recover"), the vendor's
sample jobs (reset ConfigMap), the page on process-level recovery (AscendJob only).
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.mindcluster.recovery.plugins.module_utils._job_check_report import (
    MISSING,
    WARNING,
    Path,
    Report,
    mapping,
    sequence,
    shown,
)

_RESET = "reset-config-"
_HOT_RESET = re.compile(r"[\"']?-?-?hotReset[\"']?\s*[=:\s]\s*[\"']?1(?![0-9])")
_WHY_HOT_RESET = "clusterd refuses process-level recovery together with the hot reset of single chips (hotReset=1)"


def check_beside(
    report: Report, documents: t.Sequence[tuple[Path, t.Mapping[str, t.Any]]], jobs: t.Sequence[str]
) -> None:
    """The documents that are no AscendJob.

    :param documents: each with the path that it has in the input.
    :param jobs: names of the AscendJobs in the input.
    """
    for root, document in documents:
        report.root = root
        name = mapping(document.get("metadata")).get("name")
        report.job = str(name or "")
        kind = document.get("kind")
        if kind == "ConfigMap" and str(name).startswith(_RESET):
            _reset_config(report, document, str(name), jobs)
        elif kind == "DaemonSet":
            _device_plugin(report, document)
        elif kind == "Job" and str(document.get("apiVersion")).startswith("batch.volcano.sh/"):
            _volcano(report, document)


def _reset_config(report: Report, document: t.Mapping[str, t.Any], name: str, jobs: t.Sequence[str]) -> None:
    if jobs and name[len(_RESET) :] not in jobs:
        report.add(
            "reset-config-name", ("metadata", "name"), name, " or ".join(_RESET + job for job in jobs),
            "The device plugin finds it by the name of the job", WARNING,
        )  # fmt: skip
    label = mapping(mapping(document.get("metadata")).get("labels")).get("reset")
    if label != "true":
        report.add(
            "reset-config-label", ("metadata", "labels", "reset"), MISSING if label is None else shown(label),
            '"true", in quotes', "The device plugin looks for ConfigMaps with this label",
        )  # fmt: skip
    for key, value in mapping(document.get("data")).items():
        text = "%s=%s" % (key, value) if key == "hotReset" else str(value)
        if _HOT_RESET.search(text):
            report.add("hot-reset", ("data", str(key)), shown(value), "hotReset 2, or none", _WHY_HOT_RESET)


def _device_plugin(report: Report, document: t.Mapping[str, t.Any]) -> None:
    pod = mapping(mapping(mapping(document.get("spec")).get("template")).get("spec"))
    for index, container in enumerate(sequence(pod.get("containers"))):
        for key in ("command", "args"):
            line = " ".join(str(word) for word in sequence(mapping(container).get(key)))
            match = _HOT_RESET.search(line)
            if match:
                path = ("spec", "template", "spec", "containers", index, key)
                report.add("hot-reset", path, match.group().strip(), "-hotReset=2", _WHY_HOT_RESET)


def _volcano(report: Report, document: t.Mapping[str, t.Any]) -> None:
    metadata = mapping(document.get("metadata"))
    asks = "recover-strategy" in mapping(metadata.get("annotations")) or "process-recover-enable" in mapping(
        metadata.get("labels")
    )
    if asks:
        report.add(
            "job-volcano", ("kind",), "a Volcano Job", "AscendJob",
            "For a Volcano Job MindCluster only makes rank tables; process-level recovery works for an AscendJob only",
        )  # fmt: skip
