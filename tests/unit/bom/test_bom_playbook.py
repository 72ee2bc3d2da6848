# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The playbook bom, as people run it, with no network: check mode, both files, and the same bytes again."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import typing as t
import zipfile
from pathlib import Path

import pytest

DIGEST = "sha256:" + "a" * 64


def _wheel(folder: Path, name: str, tags: str) -> dict[str, str]:
    path = folder / f"{name}-7.2rc1-{tags}.whl"
    with zipfile.ZipFile(path, "w") as archive:
        info = f"{name}-7.2rc1.dist-info"
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 7.2rc1\n")
        archive.writestr(f"{info}/WHEEL", f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {tags}\n")
        archive.writestr(f"{info}/RECORD", "")
    return {"path": f"wheels/{path.name}", "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A site whose controller needs one package that lies in a folder."""
    (tmp_path / "wheels").mkdir()
    (tmp_path / "python").mkdir()
    wheels = {
        name: _wheel(tmp_path / "wheels", name, "py3-none-linux_aarch64") for name in ("mindx_elastic", "mindio_ttp")
    }
    _wheel(tmp_path / "python", "bomone", "py3-none-any")
    (tmp_path / "requirements.txt").write_text("bomone\n", encoding="utf-8")
    variables = {
        "recovery_plan_strategies": ["retry"],
        "recovery_plan_product": "atlas-800t-a2",
        "training_image_base": f"registry.example/ascend/pytorch@{DIGEST}",
        "training_image_wheels": wheels,
        "bill_of_materials_dir": "bom",
        "bill_of_materials_requirements": "requirements.txt",
        "bill_of_materials_packages": "python",
    }
    (tmp_path / "site.json").write_text(json.dumps(variables), encoding="utf-8")
    return tmp_path


def _run(site: Path, *words: str) -> subprocess.CompletedProcess[str]:
    program = Path(sys.executable).with_name("ansible-playbook")
    command = [str(program), "-i", "localhost,", "mindcluster.recovery.bom", "-e", "@site.json", *words]
    environment = {**os.environ, "ANSIBLE_NOCOLOR": "1", "ANSIBLE_LOCALHOST_WARNING": "0"}
    return subprocess.run(command, cwd=site, env=environment, capture_output=True, text=True, check=False)


def _files(site: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((site / "bom").glob("*"))}


def _components(site: Path) -> dict[str, t.Any]:
    bill = json.loads((site / "bom" / "bill-of-materials.json").read_text(encoding="utf-8"))
    return {component["name"]: component for component in bill["components"]}


def test_a_site_gets_its_bill_and_gets_it_once(site: Path) -> None:
    ahead = _run(site, "--check", "--diff")
    assert ahead.returncode == 0, ahead.stdout + ahead.stderr
    assert "changed=1" in ahead.stdout
    assert "| vendor's wheel | mindio_ttp |" in ahead.stdout
    assert not (site / "bom").exists()

    first = _run(site)
    assert first.returncode == 0, first.stdout + first.stderr
    files = _files(site)
    assert list(files) == ["bill-of-materials.json", "bill-of-materials.md", "python-packages.txt"]
    found = _components(site)
    assert set(found) == {
        "mindx_elastic",
        "mindio_ttp",
        "registry.example/ascend/pytorch",
        "mindcluster.recovery",
        "bomone",
    }
    wheel = site / "wheels" / "mindio_ttp-7.2rc1-py3-none-linux_aarch64.whl"
    assert found["mindio_ttp"]["hashes"][0]["content"] == hashlib.sha256(wheel.read_bytes()).hexdigest()

    # pip itself takes the list, and proves the files by it.
    words = ["download", "-q", "--no-deps", "--no-index", "--find-links", "python", "--require-hashes", "-d", "carried"]
    subprocess.run([sys.executable, "-m", "pip", *words, "-r", "bom/python-packages.txt"], cwd=site, check=True)
    assert [path.name for path in (site / "carried").iterdir()] == ["bomone-7.2rc1-py3-none-any.whl"]

    again = _run(site)
    assert "changed=0" in again.stdout
    assert _files(site) == files


def test_jobs_of_a_list_bring_the_image_for_all_of_them_and_each_architecture_its_wheel(site: Path) -> None:
    jobs = [{"name": "one"}, {"name": "two", "image": f"registry.example/other@{DIGEST}"}]
    both = [_wheel(site / "wheels", "mindio_ttp", f"py3-none-linux_{arch}") for arch in ("aarch64", "x86_64")]
    wheels = json.loads((site / "site.json").read_text(encoding="utf-8"))["training_image_wheels"]
    more = {
        "training_jobs": jobs,
        "training_job_image": f"registry.example/all@{DIGEST}",
        "training_image_wheels": {**wheels, "mindio_ttp": both},
    }
    (site / "more.json").write_text(json.dumps(more), encoding="utf-8")
    done = _run(site, "-e", "@more.json")
    assert done.returncode == 0, done.stdout + done.stderr
    bill = json.loads((site / "bom" / "bill-of-materials.json").read_text(encoding="utf-8"))
    names = [component["name"] for component in bill["components"]]
    assert {"registry.example/all", "registry.example/other"} <= set(names)
    assert names.count("mindio_ttp") == 2


def test_a_file_that_is_named_and_not_there_is_never_replaced_by_another(site: Path) -> None:
    words = [f"bill_of_materials_{name}=mistyped/{name}" for name in ("requirements", "packages")]
    for word in words:
        refused = _run(site, "-e", word)
        assert refused.returncode != 0
        assert f"`{word.partition('=')[2]}` is not there" in refused.stdout + refused.stderr
    (site / "bom" / "bill-of-materials.json").mkdir(parents=True)
    refused = _run(site)
    assert refused.returncode != 0
    assert "Traceback" not in refused.stdout + refused.stderr
    assert "cannot be written" in refused.stdout + refused.stderr


def test_all_mistakes_are_told_at_once_and_nothing_is_written(site: Path) -> None:
    (site / "python" / "bomone-7.2rc1-py3-none-any.whl").unlink()
    (site / "wheels" / "mindio_ttp-7.2rc1-py3-none-linux_aarch64.whl").unlink()
    refused = _run(site, "-e", "training_job_manifest=jobs/none.yaml")
    assert refused.returncode != 0
    for part in ("mindio_ttp", "bomone", "jobs/none.yaml"):
        assert part in refused.stdout + refused.stderr
    assert "Traceback" not in refused.stdout + refused.stderr
    assert not (site / "bom").exists()
