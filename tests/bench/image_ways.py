# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The ways to a training image that are compared: the engine's, and the collection's without an engine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
import typing as t
from pathlib import Path

from byte_relay import ByteRelay

from ansible_collections.mindcluster.recovery.plugins.module_utils._wheel_inventory import collect
from parts.engine import PrivateEngine

RUN_PY = "/usr/lib/python3/dist-packages/torch/distributed/run.py"

# Runs a module as Ansible starts it. Its clock begins where its own work begins, and ends with the result.
PROGRAM = """
import importlib, resource, sys, time
from ansible.module_utils import basic
basic._ANSIBLE_ARGS = sys.stdin.buffer.read()
basic._ANSIBLE_PROFILE = "legacy"
module = importlib.import_module("ansible_collections.mindcluster.recovery.plugins.modules." + sys.argv[1])
started = time.monotonic()
try:
    module.main()
finally:
    sys.stdout.flush()
    print(time.monotonic() - started, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)
"""

# Reads layers from the registry and unpacks them, once and without looking at them.
FLOOR = """
import sys, time, requests
from isal import isal_zlib
started = time.monotonic()
for url in sys.argv[1:]:
    inflate = isal_zlib.decompressobj(31)
    with requests.get(url, stream=True, headers={"Accept-Encoding": "identity"}) as answer:
        while data := answer.raw.read(1 << 18):
            while data:
                inflate.decompress(data, 1 << 20)
                data = inflate.unconsumed_tail
print(time.monotonic() - started)
"""


class Counter:
    """Counts the bytes of one way; without a relay none."""

    def __init__(self, relay: ByteRelay | None) -> None:
        self._relay = relay

    def reset(self) -> None:
        if self._relay:
            self._relay.reset()

    @property
    def bytes(self) -> tuple[int, int]:
        """Down and up."""
        return (self._relay.down, self._relay.up) if self._relay else (0, 0)


class Cost(t.NamedTuple):
    """What a way took.

    :ivar seconds: inside the module, of a module.
    :ivar process: of the processes with their start and their imports.
    """

    seconds: float
    process: float
    down: int
    up: int
    memory_mb: float
    requests: int = 0


def floor(counter: Counter, urls: t.Sequence[str]) -> Cost:
    counter.reset()
    done = subprocess.run([sys.executable, "-c", FLOOR, *urls], capture_output=True, text=True, check=True)
    return Cost(float(done.stdout), 0.0, *counter.bytes, 0.0)


def run_module(name: str, arguments: t.Mapping[str, t.Any]) -> tuple[dict[str, t.Any], Cost]:
    """A module's result, its seconds and its megabytes."""
    started = time.monotonic()
    given = json.dumps({"ANSIBLE_MODULE_ARGS": arguments})
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, name], input=given, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit("%s failed: %s %s" % (name, done.stdout[-3000:], done.stderr[-3000:]))
    seconds, kilobytes = done.stderr.split()[-2:]
    return json.loads(done.stdout), Cost(float(seconds), time.monotonic() - started, 0, 0, int(kilobytes) / 1024)


class Builder:
    """The collection's module, in its two steps, without what Ansible adds around it.

    :ivar wheels_size: bytes of the wheels that the image gets, as files.
    """

    def __init__(self, counter: Counter, base: str, plan: dict[str, t.Any], wheels: Path, cache: Path) -> None:
        self._counter = counter
        self._cache = cache
        self._options = {
            "base": base,
            "plan": {key: plan.get(key) for key in ("image", "torch_version", "arch")},
            "registry_insecure": False,
        }
        named = json.loads((wheels / "wheels.json").read_text(encoding="utf-8"))
        self._inventory = collect(named, str(wheels / "wheelhouse"), plan["image"]["wheels"], str)
        self.wheels_size = 0

    def run(self, repository: str, cache: str) -> Cost:
        """Look, and build where something is to be built."""
        self._counter.reset()
        options = {**self._options, "repository": repository, "tag": "x", "cache": str(self._cache / cache)}
        looked, cost = self._step(options, "look")
        counted = looked["look"]["statistics"]["requests"]
        costs = [cost]
        if looked["next"] == "build":
            built, cost = self._step(options, "build", _look=looked["look"])
            costs.append(cost)
            counted += built["statistics"]["requests"]
            self._count_wheels(built["images"][0]["paths"])
        seconds, process = (sum(values) for values in zip(*(cost[:2] for cost in costs), strict=True))
        memory = max(cost.memory_mb for cost in costs)
        return Cost(seconds, process, *self._counter.bytes, memory, counted)

    def indexed(self, cache: str, digests: t.Iterable[str]) -> list[str]:
        """The layers that were read."""
        names = [entry.name for entry in (self._cache / cache).iterdir()]
        return [digest for digest in digests if any(name.endswith(digest[7:]) for name in names)]

    def _step(self, options: dict[str, t.Any], step: str, **more: t.Any) -> tuple[dict[str, t.Any], Cost]:
        handover = {
            **more,
            "_step": step,
            "_findings": [finding.as_dict() for finding in self._inventory.findings],
            "_wheels": self._inventory.wheels,
            "_wheelhouse": self._inventory.wheelhouse,
            "_ca_pem": "",
        }
        result, cost = run_module("training_image_layer", {**options, "_handover": handover})
        return result["step"], cost

    def _count_wheels(self, paths: t.Sequence[str]) -> None:
        text = "\n".join(paths).lower()
        every = list(self._inventory.wheels.values()) + self._inventory.wheelhouse
        named = [Path(wheel["path"]) for wheel in every]
        # A wheel is there where its folder of metadata is.
        there = [path for path in named if "/%s-" % path.name.split("-")[0].lower() in text]
        self.wheels_size = sum(path.stat().st_size for path in there)


class Docker:
    """A Docker engine that knows no image at first, with the commands that people use."""

    def __init__(self, counter: Counter, folder: Path, wheels: Path, names: t.Sequence[str]) -> None:
        self._counter = counter
        self._engine = PrivateEngine(folder)
        self._context = folder / "context"
        self._fill(wheels, names)

    def __enter__(self) -> Docker:
        self._used = self._engine.used()
        self._host = self._used.__enter__()
        return self

    def __exit__(self, *exc: t.Any) -> None:
        self._used.__exit__(*exc)

    def run(self, base: str, target: str, salt: str, pull: bool) -> Cost:
        """Pull where asked to, build, push.

        :param salt: another one makes the build anew.
        """
        self._counter.reset()
        with _Memory(self._engine.pid()) as memory:
            started = time.monotonic()
            if pull:
                self._docker("pull", base)
            arguments = ["--build-arg", "BASE=%s" % base, "--build-arg", "SALT=%s" % salt]
            self._docker("build", "--network=none", *arguments, "--tag", target, str(self._context))
            self._docker("push", target)
            seconds = time.monotonic() - started
        return Cost(seconds, seconds, *self._counter.bytes, memory.peak_mb)

    def _fill(self, wheels: Path, names: t.Sequence[str]) -> None:
        """What a user without the collection would write: install the wheels, change the file."""
        self._context.mkdir(parents=True)
        for path in [*wheels.glob("*.whl"), *(wheels / "wheelhouse").glob("*.whl")]:
            if path.parent.name == "wheelhouse" or path.name.split("-")[0] in names:
                (self._context / path.name).write_bytes(path.read_bytes())
        options = "--quiet --no-index --no-deps --no-compile --ignore-installed --break-system-packages"
        install = "python3 -m pip install %s /tmp/*.whl" % options
        patch = "sed -i '1i import mindx_elastic.api' " + RUN_PY
        lines = ["ARG BASE", "FROM $BASE", "ARG SALT", "COPY *.whl /tmp/", "RUN : $SALT && %s && %s" % (install, patch)]
        (self._context / "Dockerfile").write_text("\n".join(lines) + "\n", encoding="utf-8")

    def _docker(self, *words: str) -> None:
        environment = {**os.environ, "DOCKER_HOST": self._host, "DOCKER_BUILDKIT": "0"}
        done = subprocess.run(["docker", *words], capture_output=True, text=True, check=False, env=environment)
        if done.returncode:
            raise SystemExit("docker %s failed: %s %s" % (words[0], done.stdout[-2000:], done.stderr[-2000:]))


class _Memory:
    """The highest resident memory of a process and its children, sampled."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self.peak_mb = 0.0

    def __enter__(self) -> _Memory:
        self._thread.start()
        return self

    def __exit__(self, *_exc: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._over.wait(0.2):
            self.peak_mb = max(self.peak_mb, sum(map(_resident_mb, self._family())))

    def _family(self) -> list[int]:
        found, asked = [], [self._pid]
        while asked:
            pid = asked.pop()
            found.append(pid)
            for path in Path("/proc/%d/task" % pid).glob("*/children"):
                try:
                    asked += map(int, path.read_text(encoding="ascii").split())
                except OSError:
                    continue
        return found


def _resident_mb(pid: int) -> float:
    try:
        pages = int(Path("/proc/%d/statm" % pid).read_text(encoding="ascii").split()[1])
    except (OSError, IndexError):
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / (1 << 20)
