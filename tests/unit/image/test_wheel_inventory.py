# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import os
import typing as t
from pathlib import Path

import pytest
from wheel_files import write_wheel

from ansible_collections.mindcluster.recovery.plugins.module_utils import _wheel_inventory, _wheels

NEEDED = ("mindx_elastic", "mindio_ttp")


def resolve(path: str) -> str | None:
    return path if os.path.exists(path) else None


def entry(path: Path) -> dict[str, str]:
    return {"path": str(path), "sha256": _wheels.sha256_of(str(path))}


def collect(wheels: t.Any, wheelhouse: str = "", needed: t.Sequence[str] = NEEDED) -> _wheel_inventory.Inventory:
    return _wheel_inventory.collect(wheels, wheelhouse, needed, resolve)


@pytest.fixture
def good(tmp_path: Path) -> dict[str, dict[str, str]]:
    return {name: entry(write_wheel(tmp_path, name)) for name in NEEDED}


def test_what_is_right_passes(good: dict[str, t.Any]) -> None:
    inventory = collect(good)
    assert inventory.findings == []
    assert sorted(inventory.wheels) == sorted(NEEDED)


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ("taskd", "wheel-bare-name"),
        ({"path": "taskd"}, "wheel-bare-name"),
        ({"path": "https://example.org/x-1-py3-none-any.whl"}, "wheel-address"),
        ({"path": "/srv/taskd.tar.gz"}, "wheel-unreadable"),
        ({"path": "/nowhere/x-1-py3-none-any.whl", "sha256": "0" * 64}, "wheel-missing"),
        ({"sha256": "0" * 64}, "wheel-without-path"),
        ({"path": ""}, "wheel-without-path"),
        (None, "wheel-without-path"),
        (7, "wheel-without-path"),
    ],
)
def test_what_names_no_file(good: dict[str, t.Any], value: t.Any, code: str) -> None:
    inventory = collect(dict(good, mindio_ttp=value))
    assert [finding.code for finding in inventory.findings] == [code]
    assert inventory.findings[0].where == "training_image_wheels.mindio_ttp"


@pytest.mark.parametrize(
    ("sha256", "code"),
    [
        (None, "wheel-without-sha256"),
        ("0" * 64, "wheel-wrong-sha256"),
        ("00", "wheel-wrong-sha256"),
        (0, "wheel-without-sha256"),
    ],
)
def test_every_file_is_compared_with_its_sha256(good: dict[str, t.Any], sha256: t.Any, code: str) -> None:
    actual = good["mindio_ttp"]["sha256"]
    good["mindio_ttp"] = dict(good["mindio_ttp"], sha256=sha256)
    findings = collect(good).findings
    assert [finding.code for finding in findings] == [code]
    if code == "wheel-without-sha256":
        assert actual in findings[0].remedy


def test_a_missing_wheel_with_a_misspelt_one_beside_it(good: dict[str, t.Any]) -> None:
    good["mindoi_ttp"] = good.pop("mindio_ttp")
    inventory = collect(good)
    assert [finding.code for finding in inventory.findings] == ["wheel-needed"]
    assert "`mindoi_ttp` is there" in inventory.findings[0].what
    assert [finding.code for finding in inventory.warnings] == ["wheel-unknown"]


def test_a_wheel_that_the_plan_does_not_need_is_told_and_left_out(good: dict[str, t.Any]) -> None:
    inventory = collect(good, needed=["mindio_ttp"])
    assert [finding.code for finding in inventory.warnings] == ["wheel-unneeded"]
    assert list(inventory.wheels) == ["mindio_ttp"]


def test_a_wheel_of_another_name(good: dict[str, t.Any], tmp_path: Path) -> None:
    good["mindio_ttp"] = entry(write_wheel(tmp_path, "mindio_acp"))
    assert [finding.code for finding in collect(good).findings] == ["wheel-of-another-name"]


def test_a_strangers_taskd(tmp_path: Path) -> None:
    wheels = {"taskd": entry(write_wheel(tmp_path, "taskd", "0.0.0.1"))}
    assert [finding.code for finding in collect(wheels, needed=["taskd"]).findings] == ["wheel-without-library"]


@pytest.mark.parametrize("wheels", ["taskd", ["taskd"], 1])
def test_wheels_that_are_no_map(wheels: t.Any) -> None:
    assert [finding.code for finding in collect(wheels).findings] == ["wheels-not-a-map"]


def test_all_mistakes_at_once(tmp_path: Path) -> None:
    codes = [finding.code for finding in collect({"mindx_elastic": "mindx"}, str(tmp_path / "none")).findings]
    assert codes == ["wheel-bare-name", "wheel-needed", "wheelhouse-missing"]


def test_the_wheelhouse(good: dict[str, t.Any], tmp_path: Path) -> None:
    house = tmp_path / "house"
    write_wheel(house, "packaging", "24.0")
    write_wheel(house, "mindio_ttp", files={"mindio_ttp/other.py": ""})
    (house / "grpcio-1.62.2.tar.gz").write_bytes(b"")
    (house / "README").write_text("")
    inventory = collect(good, str(house))
    assert [one["name"] for one in inventory.wheelhouse] == ["packaging"]
    assert [finding.code for finding in inventory.warnings] == ["wheelhouse-skipped"]


def test_a_list_has_a_file_for_each_architecture(tmp_path: Path) -> None:
    library = {"taskd/__init__.py": "", "taskd/python/cython_api/libs/libtaskd.so": ""}
    files = [
        write_wheel(tmp_path, "taskd", tags=f"py3-none-linux_{arch}", files=library) for arch in ("x86_64", "aarch64")
    ]
    given = {"taskd": [entry(path) for path in files]}
    inventory = _wheel_inventory.collect(given, "", ["taskd"], resolve, several=True)
    assert inventory.findings == []
    arm = _wheels.for_machine(inventory.variants["taskd"], "aarch64")
    assert arm["filename"] == "taskd-1.0-py3-none-linux_aarch64.whl"
    assert _wheels.for_machine(inventory.variants["taskd"], "riscv64") == inventory.variants["taskd"][0]
    wrong = {"taskd": [entry(files[0]), {"path": "taskd", "sha256": ""}]}
    told = _wheel_inventory.collect(wrong, "", ["taskd"], resolve, several=True).findings
    assert [(finding.code, finding.where) for finding in told] == [
        ("wheel-bare-name", "training_image_wheels.taskd[1]")
    ]
    assert [finding.code for finding in collect(given, needed=["taskd"]).findings] == ["wheel-list"]
    assert [finding.code for finding in collect({"taskd": []}, needed=["taskd"]).findings] == ["wheel-list"]
