# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How long a thousand job files take in one playbook run, beside a loop of ansible.builtin.template in the same run.

    .venv/bin/python tests/bench/render_jobs.py

One play writes the same thousand jobs twice: by this collection (one render, one manifest_files), and by
ansible.builtin.template in a loop over the jobs, with a template that writes the same text. Clocks are read inside of
the play, before and behind each of the two; what ansible-playbook needs to start is shown apart. Both results are
compared: a rival that writes something else would be no rival.

Ends with status 1 where the collection is not at least twenty times as fast, or where the files differ.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import yaml

from ansible_collections.mindcluster.recovery.plugins.filter.training_jobs_render import training_jobs_render
from ansible_collections.mindcluster.recovery.plugins.module_utils._manifest_files import MARKER

GOAL = 20.0
REQUEST = {"strategies": "retry,recover,dump", "product": "atlas-800t-a2"}
COMMAND = """\
set -e
cd /job/code
# 启动训练
bash scripts/train_start.sh /job/code /job/output/%s pretrain_gpt.py \\
  --tensor-model-parallel-size 8 \\
  --seed %d 2>&1 | tee /job/output/%s.log
"""
PLAY = """\
---
- name: Write the same jobs twice
  hosts: localhost
  gather_facts: false
  vars:
    clock: "{{ lookup('ansible.builtin.pipe', 'date +%s.%N >> ' ~ work ~ '/clock') }}"
  tasks:
    - name: Read the clock
      ansible.builtin.assert:
        that: clock == ''

    - name: Render and write by the collection
      mindcluster.recovery.manifest_files:
        directory: "{{ work }}/collection"
        files: "{{ jobs | mindcluster.recovery.training_jobs_render(request=request) | map(attribute='file') }}"

    - name: Read the clock again
      ansible.builtin.assert:
        that: clock == ''

    - name: Write by a loop over a template
      ansible.builtin.template:
        src: "{{ work }}/job.yaml.j2"
        dest: "{{ work }}/template/{{ item.name }}.yaml"
        mode: "0644"
      loop: "{{ jobs }}"
      loop_control:
        label: "{{ item.name }}"

    - name: Read the clock at the end
      ansible.builtin.assert:
        that: clock == ''
"""


def describe(count: int) -> list[dict[str, object]]:
    """Jobs of which no two are the same."""
    return [
        {
            "name": "job-%04d" % number,
            "image": "registry.example.com/training/llama2@sha256:" + "%064x" % number,
            "workers": 1 + number % 64,
            "npus_per_node": 8,
            "command": COMMAND % ("job-%04d" % number, number, "job-%04d" % number),
            "filename": "job-%04d.yaml" % number,
        }
        for number in range(count)
    ]


def template(jobs: list[dict[str, object]]) -> str:
    """A template that writes what the collection writes for these jobs.

    Made from two of the collection's results, one with a Worker and one without, so that it stays the same.
    """
    texts = [job["text"] for job in training_jobs_render(jobs[:2], request=REQUEST)]  # type: ignore[index]
    parts = []
    for job, text in zip(jobs[:2], texts, strict=True):
        text = text.replace(str(job["image"]), "{{ item.image }}").replace(str(job["name"]), "{{ item.name }}")
        text = text.replace("--seed %d " % jobs.index(job), "--seed {{ item.name[4:] | int }} ")
        parts.append(MARKER + "\n" + text)
    many = parts[1].replace("on 2 nodes", "on {{ item.workers }} nodes")
    many = many.replace("minAvailable: 2 ", "minAvailable: {{ item.workers }} ")
    head, worker, rest = many.partition("    Worker:")
    worker += rest.replace("replicas: 1\n", "replicas: {{ item.workers - 1 }}\n", 1)
    return "{%% if item.workers == 1 %%}\n%s{%% else %%}\n%s{%% endif %%}\n" % (parts[0], head + worker)


def run(work: pathlib.Path, count: int) -> tuple[float, float, float]:
    """Seconds for start-up, the collection, and the loop."""
    jobs = describe(count)
    (work / "collection").mkdir()
    (work / "template").mkdir()
    (work / "job.yaml.j2").write_text(template(jobs), encoding="utf-8")
    (work / "play.yml").write_text(PLAY, encoding="utf-8")
    given = {"jobs": jobs, "request": REQUEST, "work": str(work), "ansible_python_interpreter": sys.executable}
    (work / "vars.yml").write_text(yaml.safe_dump(given, allow_unicode=True), encoding="utf-8")
    command = [
        "ansible-playbook",
        "-i",
        "localhost,",
        "-c",
        "local",
        str(work / "play.yml"),
        "-e",
        "@%s/vars.yml" % work,
    ]
    path = "%s:%s" % (pathlib.Path(sys.executable).parent, os.environ["PATH"])
    begin = time.time()
    done = subprocess.run(command, env=dict(os.environ, PATH=path), capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit("ansible-playbook failed:\n%s%s" % (done.stdout[-3000:], done.stderr[-3000:]))
    started, middle, end = (float(line) for line in (work / "clock").read_text(encoding="utf-8").split())
    return started - begin, middle - started, end - middle


def differing(work: pathlib.Path) -> list[str]:
    """Names of files that the two did not write alike."""
    names = sorted(path.name for path in (work / "collection").iterdir())
    return [
        name for name in names if (work / "collection" / name).read_bytes() != (work / "template" / name).read_bytes()
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    count = parser.parse_args().count
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        startup, collection, loop = run(work, count)
        wrong = differing(work)
    print("%d jobs in one play; start-up of ansible-playbook, in neither number: %.1f s" % (count, startup))
    print("%-52s %9s %9s %7s" % ("", "seconds", "ms a job", "ratio"))
    for what, spent in (
        ("training_jobs_render and manifest_files", collection),
        ("loop of ansible.builtin.template", loop),
    ):
        print("%-52s %9.1f %9.1f %7.1f" % (what, spent, spent * 1000 / count, spent / collection))
    if wrong:
        print("the two wrote different files: %d, the first is %s" % (len(wrong), wrong[0]))
    if loop < GOAL * collection:
        print("missed the goal: %.1f times as fast, not %.0f times" % (loop / collection, GOAL))
    return 1 if wrong or loop < GOAL * collection else 0


if __name__ == "__main__":
    sys.exit(main())
