# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How long it takes to label thousands of Nodes, compared with the other ways to do it.

Run with a cluster that may be filled with Nodes and emptied again (never a real one):

    python3 tests/sandbox/sandbox.py run --with kube -- .venv/bin/python tests/bench/nodes.py

Prints one table and ends with status 1 where a goal is missed. Clocks of the module run inside it, from its first
request to its result; what the whole command takes stands beside.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import typing as t
from pathlib import Path

from nodes_raw import RawCluster

CHECKOUT = Path(__file__).resolve().parents[2]
MODULE = CHECKOUT / "plugins" / "modules" / "node_labels.py"
BIN = Path(sys.executable).parent
CONNECTIONS = 16
LOOPED = 50
SHORT_TURNS = 3
LABELS = {
    "node-role.kubernetes.io/worker": "worker",
    "workerselector": "dls-worker-node",
    "host-arch": "huawei-arm",
    "accelerator": "huawei-Ascend910",
}


class Run(t.NamedTuple):
    """One run of the module."""

    inside: float
    outside: float
    changed: int
    memory_mb: float


class Bench:
    """The cluster and the ways to label it."""

    def __init__(self, kubeconfig: str, scratch: Path, images: int = 0) -> None:
        self.kubeconfig = kubeconfig
        self.cluster = RawCluster(kubeconfig, CONNECTIONS, images)
        self._scratch = scratch
        self._round = 0

    def next_value(self) -> str:
        """A value that no node has yet, so that every node differs."""
        self._round += 1
        return "module-%d" % self._round

    def wanted(self, names: t.Sequence[str], value: str, other: t.Collection[str] = ()) -> list[dict[str, t.Any]]:
        """The request as the role makes it; the nodes in `other` get another value than the rest."""
        return [
            {
                "name": name,
                "labels": {**LABELS, "accelerator-type": value + "-x" if name in other else value},
                "arch": "aarch64",
                "product": "atlas-800t-a2",
            }
            for name in names
        ]

    def module(self, nodes: list[dict[str, t.Any]]) -> Run:
        """The module in a process of its own, as Ansible starts it, with its memory."""
        arguments = {"nodes": nodes, "kubeconfig": self.kubeconfig, "workers": CONNECTIONS, "prune": True}
        given = self._scratch / "arguments.json"
        given.write_text(json.dumps({"ANSIBLE_MODULE_ARGS": arguments}))
        started = time.monotonic()
        code = "import sys, runpy, resource; sys.argv = sys.argv[1:]\n"
        code += "import ansible.module_utils.basic as basic; basic._ANSIBLE_PROFILE = 'legacy'\n"
        code += "try:\n    runpy.run_path(sys.argv[0], run_name='__main__')\n"
        code += "finally:\n    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)\n"
        done = subprocess.run(
            [sys.executable, "-c", code, str(MODULE), str(given)], capture_output=True, text=True, check=False
        )
        outside = time.monotonic() - started
        if done.returncode:
            raise SystemExit("the module failed: %s %s" % (done.stdout[-2000:], done.stderr[-2000:]))
        result = json.loads(done.stdout)
        return Run(result["elapsed"], outside, result["counts"]["changed"], int(done.stderr.split()[-1]) / 1024)

    def playbook(self, nodes: list[dict[str, t.Any]]) -> float:
        """The module in a playbook, from the command to its end."""
        play = [
            {
                "hosts": "localhost",
                "gather_facts": False,
                "vars": {"ansible_python_interpreter": sys.executable},
                "tasks": [
                    {
                        "mindcluster.recovery.node_labels": {
                            "nodes": "{{ nodes }}",
                            "kubeconfig": self.kubeconfig,
                            "workers": CONNECTIONS,
                        }
                    }
                ],
            }
        ]
        return self._timed_play(play, {"nodes": nodes})

    def loop(self, names: t.Sequence[str], value: str) -> float:
        """kubernetes.core.k8s in a loop, per node."""
        play = [
            {
                "hosts": "localhost",
                "gather_facts": False,
                "vars": {"ansible_python_interpreter": sys.executable},
                "tasks": [
                    {
                        "kubernetes.core.k8s": {
                            "kubeconfig": self.kubeconfig,
                            "definition": {
                                "apiVersion": "v1",
                                "kind": "Node",
                                "metadata": {"name": "{{ item }}", "labels": {**LABELS, "accelerator-type": value}},
                            },
                        },
                        "loop": "{{ names }}",
                    }
                ],
            }
        ]
        return self._timed_play(play, {"names": list(names)}) / len(names)

    def kubectl(self, value: str) -> float | None:
        """`kubectl label nodes --all`, or None where there is no kubectl."""
        program = shutil.which("kubectl")
        if program is None:
            return None
        pairs = ["%s=%s" % pair for pair in {**LABELS, "accelerator-type": value}.items()]
        started = time.monotonic()
        subprocess.run(
            [program, "--kubeconfig", self.kubeconfig, "label", "nodes", "--all", "--overwrite", *pairs],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        return time.monotonic() - started

    def _timed_play(self, play: t.Any, variables: t.Any) -> float:
        path, given = self._scratch / "play.yml", self._scratch / "variables.json"
        path.write_text(json.dumps(play))
        given.write_text(json.dumps(variables))
        started = time.monotonic()
        done = subprocess.run(
            [str(BIN / "ansible-playbook"), "-i", "localhost,", "-c", "local", "-e", "@%s" % given, str(path)],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise SystemExit("the playbook failed: %s" % done.stdout[-2000:])
        return time.monotonic() - started


def say(text: str) -> None:
    print(text, flush=True)


def compare(bench: Bench, names: list[str], rounds: int) -> dict[str, float]:
    """All ways on the same nodes; the two that are compared closely take turns."""
    found: dict[str, list[float]] = {}
    for number in range(1, rounds + 1):
        say("round %d of %d" % (number, rounds))
        value = bench.next_value()
        patches = {name: {**LABELS, "accelerator-type": value} for name in names}
        found.setdefault("floor", []).append(bench.cluster.patch_all(patches))
        value = bench.next_value()
        run = bench.module(bench.wanted(names, value))
        assert run.changed == len(names), run
        found.setdefault("all", []).append(run.inside)
        found.setdefault("all_process", []).append(run.outside)
        found.setdefault("memory", []).append(run.memory_mb)
        # Less than a second each, so that one of them alone would say little.
        for _turn in range(SHORT_TURNS):
            found.setdefault("list", []).append(bench.cluster.list_all())
            run = bench.module(bench.wanted(names, value))
            assert run.changed == 0, run
            found.setdefault("nothing", []).append(run.inside)
        run = bench.module(bench.wanted(names, value, set(names[::100])))
        assert run.changed == len(names[::100]), run
        found.setdefault("hundredth", []).append(run.inside)
        found.setdefault("memory", []).append(run.memory_mb)
    run = find(bench, names)
    found["find"], found["memory"] = [run.inside], [*found["memory"], run.memory_mb]
    middle = {way: statistics.median(times) for way, times in found.items()}
    middle["memory"] = max(found["memory"])
    say("the whole playbook")
    middle["playbook"] = bench.playbook(bench.wanted(names, bench.next_value()))
    say("kubectl label nodes --all")
    kubectl = bench.kubectl(bench.next_value())
    if kubectl is not None:
        middle["kubectl"] = kubectl
    say("kubernetes.core.k8s in a loop over %d nodes" % LOOPED)
    middle["loop"] = bench.loop(names[:LOOPED], bench.next_value())
    return middle


def find(bench: Bench, names: list[str]) -> Run:
    """The products of nodes that are labelled already: all of them are read whole, and nothing has to be changed."""
    bench.module(bench.wanted(names, "module-910b-8"))
    run = bench.module([{"name": name, "labels": {}, "product": "auto"} for name in names])
    assert run.changed == 0, run
    return run


def table(found: t.Mapping[str, float], nodes: int) -> None:
    """The ways one below the other."""
    rows = [
        ("raw HTTP, %d connections, patches alone (floor)" % CONNECTIONS, found["floor"]),
        ("node_labels, all differ", found["all"]),
        ("   the same with the start of its process", found["all_process"]),
        ("   the same as a playbook, end to end", found["playbook"]),
        ("kubectl label nodes --all", found.get("kubectl")),
        ("kubernetes.core.k8s in a loop (measured on %d nodes)" % LOOPED, found["loop"] * nodes),
        ("node_labels, one in a hundred differs", found["hundredth"]),
        ("node_labels, nothing differs", found["nothing"]),
        ("node_labels, nothing differs, all products found", found["find"]),
        ("one bare paginated list", found["list"]),
    ]
    say("\n%-56s %10s %12s" % ("%d nodes" % nodes, "seconds", "ms per node"))
    for name, seconds in rows:
        if seconds is None:
            say("%-56s %10s" % (name, "not there"))
        else:
            say("%-56s %10.2f %12.3f" % (name, seconds, 1000 * seconds / nodes))
    say("%-56s %10.0f MB" % ("peak memory of the module", found["memory"]))


def goals(found: t.Mapping[str, float], nodes: int, growth: t.Sequence[tuple[int, float]]) -> bool:
    """Compare with the goals and say which is met."""
    checks = [
        ("all differ: at most 1.3 x the floor", found["all"] / found["floor"], 1.3),
        ("nothing differs: at most 1.5 x one bare list", found["nothing"] / found["list"], 1.5),
        ("peak memory: under 150 MB", found["memory"], 150),
        ("loop of kubernetes.core.k8s: at least 300 x slower", 300 / (found["loop"] * nodes / found["all"]), 1.0),
    ]
    if "kubectl" in found:
        checks.append(("kubectl: at least 2.5 x slower", 2.5 / (found["kubectl"] / found["all"]), 1.0))
    if len(growth) > 1:
        per_node = [seconds / count for count, seconds in growth]
        checks.append(("time per node from fewest to most: at most 1.5 x", per_node[-1] / per_node[0], 1.5))
    say("\n%-56s %10s %10s" % ("goal", "measured", "limit"))
    for name, value, limit in checks:
        say("%-56s %10.2f %10.2f  %s" % (name, value, limit, "met" if value <= limit else "MISSED"))
    return all(value <= limit for _name, value, limit in checks)


def grow(bench: Bench, sizes: t.Sequence[int]) -> list[tuple[int, float]]:
    """The module on more and more nodes, all of which differ."""
    measured = []
    for size in sizes:
        say("growth: %d nodes" % size)
        names = bench.cluster.create(size)
        run = bench.module(bench.wanted(names, bench.next_value()))
        measured.append((size, run.inside))
        say(
            "%8d nodes %8.2f s %8.3f ms per node %6.0f MB" % (size, run.inside, 1000 * run.inside / size, run.memory_mb)
        )
    return measured


def main() -> int:
    parser = argparse.ArgumentParser(description="Benchmark of the module node_labels.")
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--images", type=int, default=0, help="images in the status of each node, which make it large")
    parser.add_argument("--growth", default="1000,5000,20000", help="comma list of sizes; empty for none")
    chosen = parser.parse_args()
    kubeconfig = os.environ.get("KUBECONFIG", "")
    if "SANDBOX_KUBECONFIG_LIMITED" not in os.environ or not kubeconfig:
        say("No sandbox: run `make bench-nodes`. It fills a cluster with Nodes and must not meet a real one.")
        return 2
    with tempfile.TemporaryDirectory() as scratch:
        bench = Bench(kubeconfig, Path(scratch), chosen.images)
        say("%d nodes are made" % chosen.nodes)
        names = bench.cluster.create(chosen.nodes)
        found = compare(bench, names, chosen.rounds)
        growth = grow(bench, [int(size) for size in chosen.growth.split(",") if size])
        bench.cluster.delete_all()
    table(found, chosen.nodes)
    return 0 if goals(found, chosen.nodes, growth) else 1


if __name__ == "__main__":
    sys.exit(main())
