# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The stand-ins for the vendor's wheels are real wheels, and the bad ones are bad in the way they say."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from parts import stub_wheels, wheel_writer


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheels")
    stub_wheels.write_all(folder)
    return folder


def test_the_same_input_makes_the_same_bytes(wheels: Path, tmp_path: Path) -> None:
    stub_wheels.write_all(tmp_path)
    names = [path.relative_to(wheels) for path in wheels.rglob("*.whl")]
    assert len(names) == 11
    assert [(wheels / name).read_bytes() for name in names] == [(tmp_path / name).read_bytes() for name in names]


def test_the_index_names_each_wheel_with_its_checksum(wheels: Path) -> None:
    index = json.loads((wheels / "wheels.json").read_text())
    assert sorted(index) == ["mindio_ttp", "mindx_elastic", "taskd"]
    for entry in index.values():
        assert wheel_writer.sha256(Path(entry["path"])) == entry["sha256"]


def _install(wheels: Path, target: Path, *names: str) -> subprocess.CompletedProcess[str]:
    index = json.loads((wheels / "wheels.json").read_text())
    command = [sys.executable, "-m", "pip", "install", "-q", "--no-index", "--find-links", str(wheels / "wheelhouse")]
    command += ["--target", str(target), *(index[name]["path"] for name in names)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_taskd_brings_what_it_declares_and_fails_for_want_of_what_it_does_not(wheels: Path, tmp_path: Path) -> None:
    installed = _install(wheels, tmp_path / "site", "taskd")
    assert installed.returncode == 0, installed.stderr
    assert {"grpc", "google", "OpenSSL", "taskd"} <= {path.name for path in (tmp_path / "site").iterdir()}
    probe = [sys.executable, "-S", "-c", "import taskd.python.adaptor.patch"]
    failed = subprocess.run(
        probe, cwd=tmp_path, env={"PYTHONPATH": str(tmp_path / "site")}, capture_output=True, text=True, check=False
    )
    assert "No module named 'packaging'" in failed.stderr


def test_the_elastic_agent_records_its_import_only_when_asked(wheels: Path, tmp_path: Path) -> None:
    assert _install(wheels, tmp_path / "site", "mindx_elastic", "mindio_ttp").returncode == 0
    record = tmp_path / "record"
    for environment in ({}, {"MINDX_ELASTIC_RECORD": str(record)}):
        subprocess.run(
            [sys.executable, "-c", "import mindx_elastic.api, mindio_ttp"],
            env={"PYTHONPATH": str(tmp_path / "site"), **environment}, check=True, cwd=tmp_path,
        )  # fmt: skip
    assert record.read_text() == "mindx_elastic.api imported, torch agent loaded: False\n"


@pytest.mark.parametrize("fault", ["other_arch", "other_python", "cut_off"])
def test_pip_refuses_the_bad_wheels(wheels: Path, tmp_path: Path, fault: str) -> None:
    index = json.loads((wheels / "bad" / "wheels.json").read_text())
    command = [sys.executable, "-m", "pip", "install", "--no-index", "--target", str(tmp_path), index[fault]["path"]]
    assert subprocess.run(command, capture_output=True, check=False).returncode != 0
