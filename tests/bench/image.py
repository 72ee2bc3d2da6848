# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How long it takes to make a training image: with an engine that starts empty, with a warm one, and without one.

    make bench-image

Needs root, since an engine with an empty cache is started beside the machine's own. Prints one table with all ways of
one run and the ratios between them, and ends with status 1 where a goal is missed. The engine's rows are plain `docker
pull`, `docker build` and `docker push`. The builder's clock runs inside the module, in both of its steps; what their
processes take with start and imports stands beside. The floor reads and unpacks the layers that the builder had to
read, with the same libraries. Everything is done a second time through a relay, which counts the bytes on the line.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import statistics
import sys
import tarfile
import tempfile
import typing as t
import zlib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "sandbox"))

from byte_relay import ByteRelay
from image_ways import Builder, Cost, Counter, Docker, floor, run_module

from ansible_collections.mindcluster.recovery.plugins.module_utils._registry_client import OCI_MANIFEST, Registry
from parts import apt, cache, engine, paths

MB = 1 << 20
NOISE = 200 * MB
PIECE = 4 * MB
CONFIG_TYPE = "application/vnd.oci.image.config.v1+json"
LAYER_TYPE = "application/vnd.oci.image.layer.v1.tar+gzip"
RUN = os.urandom(4).hex()  # no run finds another one's images
Layer = tuple[Path, str, str]


def say(text: str) -> None:
    print(text, flush=True)


def packed(name: str, pieces: t.Callable[[], t.Iterator[bytes]]) -> Layer:
    """A layer in the cache, packed as engines pack it, with its digest and that of what is in it."""
    target = paths.cache() / ("bench-%s-1" % name)
    folder = cache.build_once("bench layer %s" % name, target, lambda bench: _pack(bench.folder, pieces()))
    digests = json.loads((folder / "digests.json").read_text(encoding="ascii"))
    return folder / "layer.tar.gz", digests[0], digests[1]


def _pack(folder: Path, pieces: t.Iterator[bytes]) -> Path:
    result = folder / "layer"
    result.mkdir()
    inside, outside = hashlib.sha256(), hashlib.sha256()
    deflate = zlib.compressobj(6, wbits=31)
    with open(result / "layer.tar.gz", "wb") as stream:
        for piece in pieces:
            inside.update(piece)
            data = deflate.compress(piece)
            outside.update(data)
            stream.write(data)
        data = deflate.flush()
        outside.update(data)
        stream.write(data)
    digests = ["sha256:" + one.hexdigest() for one in (outside, inside)]
    (result / "digests.json").write_text(json.dumps(digests), encoding="ascii")
    return result


def file_pieces(path: Path) -> t.Iterator[bytes]:
    with open(path, "rb") as stream:
        while piece := stream.read(PIECE):
            yield piece


def moved_pieces(path: Path, folder: str) -> t.Iterator[bytes]:
    """A tar with all of its files in another folder, where nobody looks for a Python."""
    with tarfile.open(path) as archive:
        for member in archive:
            member.name = folder + member.name.removeprefix(".")
            member.linkname = folder + member.linkname.removeprefix(".") if member.islnk() else member.linkname
            member.pax_headers = {}
            yield member.tobuf(tarfile.GNU_FORMAT, errors="surrogateescape")
            if member.isreg():
                yield from _contents(archive, member)
    yield bytes(2 * tarfile.BLOCKSIZE)


def _contents(archive: tarfile.TarFile, member: tarfile.TarInfo) -> t.Iterator[bytes]:
    stream = t.cast("t.IO[bytes]", archive.extractfile(member))
    while piece := stream.read(PIECE):
        yield piece
    yield bytes(-member.size % tarfile.BLOCKSIZE)


def noise_pieces() -> t.Iterator[bytes]:
    """A tar with one file of compiled libraries' kind, which packing hardly shrinks."""
    member = tarfile.TarInfo("opt/vendor/libkernels.bin")
    member.size = NOISE
    yield member.tobuf(tarfile.GNU_FORMAT)
    for number in range(NOISE // PIECE):
        yield hashlib.shake_128(b"%d" % number).digest(PIECE)
    yield bytes(2 * tarfile.BLOCKSIZE)


def push_base(registry: Registry, repository: str, layers: t.Sequence[Layer]) -> str:
    """The base image of these layers, the oldest first; returns its digest."""
    config = json.dumps(
        {
            "architecture": "amd64",
            "os": "linux",
            "config": {"Env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"]},
            "rootfs": {"type": "layers", "diff_ids": [inside for _path, _digest, inside in layers]},
        }
    ).encode()
    config_digest = "sha256:" + hashlib.sha256(config).hexdigest()
    registry.upload_blob(repository, config, config_digest, len(config))
    described = []
    for path, digest, _inside in layers:
        registry.upload_blob(repository, path, digest, path.stat().st_size)
        described.append({"mediaType": LAYER_TYPE, "digest": digest, "size": path.stat().st_size})
    manifest = {
        "schemaVersion": 2,
        "mediaType": OCI_MANIFEST,
        "config": {"mediaType": CONFIG_TYPE, "digest": config_digest, "size": len(config)},
        "layers": described,
    }
    return registry.put_manifest(repository, "1", OCI_MANIFEST, json.dumps(manifest).encode())


def middle(costs: t.Sequence[Cost]) -> Cost:
    """The median time, with the largest of everything else."""
    seconds = statistics.median(cost.seconds for cost in costs)
    process, down, up, memory_mb, requests = (max(values) for values in zip(*(cost[1:] for cost in costs), strict=True))
    return Cost(seconds, process, int(down), int(up), memory_mb, int(requests))


class Bench:
    """One base image and everything that is made from it."""

    def __init__(self, host: str, counter: Counter, layers: t.Sequence[Layer], wheels: Path, scratch: Path) -> None:
        self._host = host
        self._counter = counter
        self._layers = layers
        self._base = "%s/bench/base:1" % host
        wish = {"strategies": ["retry", "recover", "dump"]}
        plan, _cost = run_module("recovery_plan", {**wish, "torch_version": "2.6.0"})
        self.builder = Builder(counter, self._base, plan["plan"], wheels, scratch / "indexes")
        self.docker = Docker(counter, scratch / "engine", wheels, plan["plan"]["image"]["wheels"])
        self._number = 0

    def all_ways(self, rounds: int) -> dict[str, Cost]:
        found: dict[str, Cost] = {}
        say("engine: empty, warm, nothing to do")
        with self.docker as docker:
            found["engine, empty cache"] = docker.run(self._base, self._name("engine"), "1", pull=True)
            found["engine, warm cache"] = middle(
                [docker.run(self._base, self._name("engine"), "2-%d" % one, pull=False) for one in range(rounds)]
            )
            target = self._name("engine")
            docker.run(self._base, target, "3", pull=False)
            found["engine, nothing to do"] = middle(
                [docker.run(self._base, target, "3", pull=False) for _one in range(rounds)]
            )
        colds, warms, nothings, floors = [], [], [], []
        for number in range(rounds):
            say("builder: round %d of %d" % (number + 1, rounds))
            kept = "round-%d" % number
            colds.append(self.builder.run(self._name("cold", tag=False), kept))
            floors.append(floor(self._counter, self._urls(kept)))
            target = self._name("warm", tag=False)
            warms.append(self.builder.run(target, kept))
            nothings.append(self.builder.run(target, kept))
        found["floor: read and unpack once"] = middle(floors)
        found["builder, cold"] = middle(colds)
        found["builder, warm"] = middle(warms)
        found["builder, nothing to do"] = middle(nothings)
        return found

    def _urls(self, kept: str) -> list[str]:
        read = self.builder.indexed(kept, [digest for _path, digest, _inside in self._layers])
        return ["http://%s/v2/bench/base/blobs/%s" % (self._host, digest) for digest in read]

    def _name(self, kind: str, tag: bool = True) -> str:
        self._number += 1
        return "%s/bench/%s-%s-%d%s" % (self._host, kind, RUN, self._number, ":x" if tag else "")


def table(found: t.Mapping[str, Cost]) -> None:
    empty = found["engine, empty cache"].seconds
    say("")
    columns = "%-30s %9s %9s %12s %12s %9s %9s %12s"
    say(columns % ("", "seconds", "process", "down", "up", "memory", "requests", "faster than"))
    say(columns % ("", "", "seconds", "KB", "KB", "MB", "", "empty engine"))
    for name, cost in found.items():
        memory = "%.0f" % cost.memory_mb if cost.memory_mb else "-"
        process = "%.2f" % cost.process if cost.process else "-"
        counts = ("%.1f" % (cost.down / 1024), "%.1f" % (cost.up / 1024), memory, cost.requests or "-")
        say(columns % (name, "%.2f" % cost.seconds, process, *counts, "%.1fx" % (empty / cost.seconds)))


def goals(found: t.Mapping[str, Cost], wheels_size: int) -> list[tuple[str, float, float, bool]]:
    """Each goal with what was reached, the limit, and whether more is better."""
    empty, cold, warm = (found[name] for name in ("engine, empty cache", "builder, cold", "builder, warm"))
    nothing = found["builder, nothing to do"]
    return [
        ("cold, as a multiple of the floor", cold.seconds / found["floor: read and unpack once"].seconds, 1.4, False),
        ("cold, times faster than the empty engine", empty.seconds / cold.seconds, 3, True),
        ("warm, times faster than the empty engine", empty.seconds / warm.seconds, 50, True),
        ("sent, KB more than the wheels (%d bytes)" % wheels_size, (cold.up - wheels_size) / 1024, 64, False),
        ("nothing to do, requests", nothing.requests, 1, False),
        ("nothing to do, seconds inside the module", nothing.seconds, 0.3, False),
        ("memory, MB", max(cold.memory_mb, warm.memory_mb, nothing.memory_mb), 150, False),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    if os.geteuid() != 0:
        raise SystemExit("An engine with an empty cache needs root: run this as root")
    apt.ensure(engine.PACKAGES)
    trees = [Path(os.environ[name]) for name in ("SANDBOX_TAR_TORCH26", "SANDBOX_TAR_TORCH113")]
    layers = [
        packed("noise", noise_pieces),
        packed("torch113", lambda: moved_pieces(trees[1], "opt/other")),
        packed("torch26", lambda: file_pieces(trees[0])),
    ]
    unpacked = NOISE + sum(tree.stat().st_size for tree in trees)
    size = sum(path.stat().st_size for path, _digest, _inside in layers)
    say("base image: %.2f GB unpacked, %.0f MB packed, %d layers" % (unpacked / 1e9, size / 1e6, len(layers)))
    scratch = Path(tempfile.mkdtemp(prefix="bench-image-", dir=paths.cache()))
    try:
        host, wheels = os.environ["SANDBOX_REGISTRY"], Path(os.environ["SANDBOX_WHEELS"])
        push_base(Registry(host), "bench/base", layers)
        bench = Bench(host, Counter(None), layers, wheels, scratch / "timed")
        found = bench.all_ways(rounds)
        with ByteRelay(host) as relay:
            say("the same for the count of bytes")
            counted = Bench(relay.host, Counter(relay), layers, wheels, scratch / "counted").all_ways(1)
        found = {way: cost._replace(down=counted[way].down, up=counted[way].up) for way, cost in found.items()}
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    table(found)
    say("")
    missed = 0
    for name, reached, limit, more in goals(found, bench.builder.wheels_size):
        met = reached >= limit if more else reached <= limit
        missed += not met
        say("%-50s %8.2f  (%s %g)  %s" % (name, reached, ">=" if more else "<=", limit, "met" if met else "MISSED"))
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
