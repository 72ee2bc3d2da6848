# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How long the reverse check takes for a manifest, beside kubernetes_validate on the same files in the same run.

    .venv/bin/python tests/bench/job_check.py

A thousand manifests are made of the sound ones of the unit tests: each its own names and sizes, half of them with one
of the mistakes that users make. kubernetes_validate has no schema for an AscendJob, so it gets what it has one for:
the ConfigMap, and the Pod template of each replica type. Reading YAML is timed apart, with the parser that each of the
two uses by itself; both judge the same data. CPU time is taken, so that other work on the machine does not count.

Ends with status 1 where the rules take 1 ms a manifest or more, or where the check finds nothing in a broken manifest.
"""

from __future__ import annotations

import argparse
import pathlib
import sys
import time
import typing as t

import kubernetes_validate
import yaml

from ansible_collections.mindcluster.recovery.plugins.module_utils._job_check import check_job
from ansible_collections.mindcluster.recovery.plugins.module_utils._plan import build_plan
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._manifest_read import read_documents

UNIT = pathlib.Path(__file__).resolve().parents[1] / "unit" / "plan"
REQUESTS = {
    "pytorch.yml": {"strategies": "retry,recover", "product": "atlas-800t-a2"},
    "mindspore.yml": {"strategies": "retry", "framework": "mindspore", "product": "atlas-800t-a2"},
}
GOAL_MS = 1.0


class Manifest(t.NamedTuple):
    """One file of the run."""

    text: str
    plan: dict[str, t.Any]
    broken: bool


def manifests(count: int) -> list[Manifest]:
    """Manifests of which no two are the same; every second one is broken."""
    mistakes = yaml.safe_load((UNIT / "golden" / "mistakes.yml").read_text(encoding="utf-8"))
    texts = {name: (UNIT / "files" / name).read_text(encoding="utf-8") for name in REQUESTS}
    plans = {name: build_plan(request) for name, request in REQUESTS.items()}
    made = []
    for number in range(count):
        name = "mindspore.yml" if number % 4 == 2 else "pytorch.yml"
        text = texts[name]
        broken = number % 2 == 1
        if broken:
            mistake = mistakes[number // 2 % len(mistakes)]
            text = text.replace(mistake["replace"], mistake["by"])
        text = text.replace("llama", "llama-%d" % number).replace("glm", "glm-%d" % number)
        text = text.replace("--tensor-model-parallel-size 8", "--tensor-model-parallel-size 8 --seed %d" % number)
        made.append(Manifest(text, plans[name], broken))
    return made


def kubernetes_parts(documents: list[t.Any]) -> list[dict[str, t.Any]]:
    """What kubernetes_validate has a schema for in the documents of one manifest."""
    parts = []
    for document in documents:
        if document["kind"] != "AscendJob":
            parts.append(document)
            continue
        for replica in document["spec"]["replicaSpecs"].values():
            parts.append({"apiVersion": "v1", "kind": "PodTemplate", "template": replica["template"]})
    return parts


def validate(parts: list[dict[str, t.Any]], version: str) -> int:
    wrong = 0
    for part in parts:
        try:
            kubernetes_validate.validate(part, version, strict=False)
        except kubernetes_validate.ValidationError:
            wrong += 1
    return wrong


def timed(work: t.Callable[[], t.Any], count: int) -> tuple[t.Any, float]:
    """A result, and CPU milliseconds for each of count manifests."""
    start = time.process_time()
    result = work()
    return result, (time.process_time() - start) * 1000 / count


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    count = parser.parse_args().count
    made = manifests(count)
    version = kubernetes_validate.latest_version()
    documents, reading = timed(lambda: [read_documents(item.text) for item in made], count)
    _same, slow_reading = timed(lambda: [list(yaml.safe_load_all(item.text)) for item in made], count)
    parts = [kubernetes_parts(each) for each in documents]
    validate(parts[0], version)  # its schemas are read and kept at the first use
    results, rules = timed(lambda: [check_job(docs, m.plan) for docs, m in zip(documents, made, strict=True)], count)
    schema_results, schema = timed(lambda: [validate(each, version) for each in parts], count)
    missed = [n for n, (item, errors) in enumerate(zip(made, results, strict=True)) if item.broken is not bool(errors)]
    print("%d manifests, %d of them with one mistake" % (count, sum(item.broken for item in made)))
    print("%-46s %8s %8s %10s" % ("CPU time for each manifest", "ms", "ratio", "found in"))
    for what, spent, hits in (
        ("recovery_job_errors, rules", rules, sum(map(bool, results))),
        ("kubernetes_validate %s" % version, schema, sum(map(bool, schema_results))),
    ):
        print("%-46s %8.3f %8.2f %10d" % (what, spent, spent / rules, hits))
    print(
        "reading YAML, not in the numbers above: %.3f ms here, %.3f ms with yaml.safe_load_all"
        % (reading, slow_reading)
    )
    if missed:
        print("wrong answers: %d, the first is manifest %d" % (len(missed), missed[0]))
    if rules >= GOAL_MS:
        print("missed the goal: %.3f ms, not below %.1f ms" % (rules, GOAL_MS))
    return 1 if missed or rules >= GOAL_MS else 0


if __name__ == "__main__":
    sys.exit(main())
