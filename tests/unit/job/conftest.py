# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the tests of jobs share."""

from __future__ import annotations

import difflib
import os
import pathlib
import subprocess
import typing as t

import pytest
import yaml

from ansible_collections.mindcluster.recovery.plugins.module_utils._plan import build_plan

FIXTURES = pathlib.Path(__file__).parent / "fixtures"


class Recorder:
    """Runs shell text with stubs in place of what starts training, and says what they were given."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        self.record = folder / "record"
        self.work = folder / "work"
        (self.work / "scripts").mkdir(parents=True)
        (folder / "bin").mkdir()
        stub = '#!/bin/bash\nprintf "%%s\\n" "%s" "$@" "env:${ELASTIC_PROCESS_RECOVER_ENABLE-unset}" >> "$RECORD"\n'
        for name in ("torchrun", "msrun", "python", "python3"):
            self._stub(folder / "bin" / name, stub % name)
        for name in ("train_start.sh", "scripts/train_start.sh", "set_env.sh"):
            self._stub(self.work / name, "" if name == "set_env.sh" else stub % "script")

    def _stub(self, path: pathlib.Path, text: str) -> None:
        path.write_text(text)
        path.chmod(0o755)

    def run(self, command: t.Sequence[str]) -> list[list[str]]:
        """Run one container's command; returns the words of each launch, the exported variable last."""
        if self.record.exists():
            self.record.unlink()
        paths = {"/job/code": str(self.work), "/job/output": str(self.folder), "/job": str(self.work)}
        words = []
        for word in command:
            for path, stand_in in paths.items():
                word = word.replace(path + "/", stand_in + "/").replace("cd " + path, "cd " + stand_in)
            words.append(word)
        environment = {"PATH": "%s:%s" % (self.folder / "bin", os.environ["PATH"]), "RECORD": str(self.record)}
        subprocess.run(words, cwd=self.work, env=environment, check=True, timeout=300, capture_output=True)
        launches: list[list[str]] = [[]]
        for line in self.record.read_text().splitlines():
            launches[-1].append(line)
            if line.startswith("env:"):
                launches.append([])
        return launches[:-1]


@pytest.fixture
def recorder(tmp_path: pathlib.Path) -> Recorder:
    return Recorder(tmp_path)


def fixture(name: str) -> str:
    """A fixture byte for byte."""
    return (FIXTURES / name).read_bytes().decode("utf-8")


def make_plan(strategies: str = "retry", **request: t.Any) -> dict[str, t.Any]:
    return build_plan({"strategies": strategies, **request})


def objects(text: str) -> list[dict[str, t.Any]]:
    return [document for document in yaml.safe_load_all(text) if document]


def job_of(text: str, name: str | None = None) -> dict[str, t.Any]:
    """The AscendJob of a manifest."""
    return next(
        document
        for document in objects(text)
        if document["kind"] == "AscendJob" and name in (None, document["metadata"]["name"])
    )


def container_of(job: dict[str, t.Any], replica: str) -> dict[str, t.Any]:
    containers = job["spec"]["replicaSpecs"][replica]["template"]["spec"]["containers"]
    return next(container for container in containers if container["name"] == "ascend")


def env_of(container: dict[str, t.Any]) -> dict[str, t.Any]:
    return {entry["name"]: entry.get("value", entry.get("valueFrom")) for entry in container["env"]}


def changed_lines(before: str, after: str) -> list[str]:
    """The lines of a diff that are added or taken out, with their sign."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), n=0, lineterm="")
    return [line for line in lines if line[:1] in "+-" and line[:3] not in ("+++", "---")]
