# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The parts of a bill: images, collections, and the Python packages that a real pip works out."""

from __future__ import annotations

import hashlib
import json
import zipfile
from pathlib import Path

import pytest

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Refused
from ansible_collections.mindcluster.recovery.plugins.module_utils._image_refs import Reference
from ansible_collections.mindcluster.recovery.plugins.module_utils._registry_errors import error
from ansible_collections.mindcluster.recovery.plugins.plugin_utils import _bom_parts as parts
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._bom_python import (
    from_report,
    platform_tags,
    python_packages,
)

DIGEST = "sha256:" + "a" * 64
MANIFEST = """
kind: ConfigMap
---
spec:
  replicaSpecs:
    Master:
      template:
        spec:
          initContainers: [{name: fetch, image: "r/fetch:1"}]
          containers: [{name: ascend, image: "r/train:1"}, {name: side, image: "r/side:1"}, {name: bare}]
"""


def _answer(_image: Reference) -> str:
    return DIGEST


def _nobody(image: Reference) -> str:
    raise error("network", "could not be reached", image.registry)


def _wheel(folder: Path, name: str, requires: str = "") -> str:
    """A wheel that pip takes; gives its sha256."""
    path = folder / f"{name}-1.0-py3-none-any.whl"
    info = f"{name}-1.0.dist-info"
    needs = f"Requires-Dist: {requires}\n" if requires else ""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n{needs}")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    return hashlib.sha256(path.read_bytes()).hexdigest()


# --- images


def test_a_digest_in_the_name_needs_no_registry() -> None:
    item = parts.image("base-image", f"r.example/a/b@{DIGEST}", "training_image_base", _nobody)
    assert (item.name, item.sha256) == ("r.example/a/b", "a" * 64)


def test_an_image_id_needs_no_registry() -> None:
    assert parts.image("base-image", DIGEST, "training_image_base", _nobody).sha256 == "a" * 64


def test_a_tag_is_asked_for() -> None:
    item = parts.image("base-image", "r.example/a/b:1", "training_image_base", _answer)
    assert item.where == f"r.example/a/b@{DIGEST}"
    assert item.version == "1"


def test_a_tag_that_nobody_can_resolve_is_refused_with_the_remedy() -> None:
    with pytest.raises(Refused) as refusal:
        parts.image("base-image", "r.example/a/b:1", "training_image_base", _nobody)
    assert refusal.value.findings[0].where == "training_image_base"
    assert "NAME@sha256:" in str(refusal.value)


def test_the_image_of_the_site_need_not_be_there_yet() -> None:
    assert parts.result_image("r.example/a/b", "1", _nobody).sha256 == ""
    assert parts.result_image("r.example/a/b", "1", _answer).sha256 == "a" * 64


@pytest.mark.parametrize(
    ("given", "expected"), [(False, ["r/fetch:1", "r/side:1", "r/train:1"]), (True, ["r/fetch:1", "r/side:1"])]
)
def test_images_beside_the_one_that_trains_are_found(tmp_path: Path, given: bool, expected: list[str]) -> None:
    path = tmp_path / "job.yaml"
    path.write_text(MANIFEST, encoding="utf-8")
    assert parts.manifest_images(str(path), given) == expected


@pytest.mark.parametrize("content", [None, "a: [", "\x00"])
def test_a_manifest_that_cannot_be_read_is_refused(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "job.yaml"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    with pytest.raises(Refused, match=r"job\.yaml"):
        parts.manifest_images(str(path), False)


# --- collections


def test_this_collection_is_listed_with_its_version() -> None:
    [own] = parts.collections(str(Path(__file__).resolve().parents[3]))
    assert own.name == "mindcluster.recovery"
    assert own.version


def test_an_installed_collection_and_what_it_depends_on(tmp_path: Path) -> None:
    for name, needs in (("one", {"ns.two": "*"}), ("two", {})):
        (tmp_path / "ns" / name).mkdir(parents=True)
        info = {"namespace": "ns", "name": name, "version": "1.2.3", "dependencies": needs}
        (tmp_path / "ns" / name / "MANIFEST.json").write_text(json.dumps({"collection_info": info}), encoding="utf-8")
    assert [item.name for item in parts.collections(str(tmp_path / "ns" / "one"))] == ["ns.one", "ns.two"]
    (tmp_path / "ns" / "two" / "MANIFEST.json").unlink()
    with pytest.raises(Refused, match=r"ns\.two"):
        parts.collections(str(tmp_path / "ns" / "one"))


# --- Python packages, with the pip of this Python


def test_pip_lists_what_the_requirements_bring_with_the_hashes_of_the_files(tmp_path: Path) -> None:
    expected = {"bomone": _wheel(tmp_path, "bomone", "bomtwo"), "bomtwo": _wheel(tmp_path, "bomtwo")}
    (tmp_path / "requirements.txt").write_text("bomone>=1\n", encoding="utf-8")
    items = python_packages(str(tmp_path / "requirements.txt"), str(tmp_path))
    assert {item.name: item.sha256 for item in items} == expected
    assert {item.filename for item in items} == {"bomone-1.0-py3-none-any.whl", "bomtwo-1.0-py3-none-any.whl"}


def test_another_platform_can_be_named(tmp_path: Path) -> None:
    _wheel(tmp_path, "bomone")
    (tmp_path / "requirements.txt").write_text("bomone\n", encoding="utf-8")
    items = python_packages(str(tmp_path / "requirements.txt"), str(tmp_path), "manylinux2014_aarch64", "3.10")
    assert [item.name for item in items] == ["bomone"]


@pytest.mark.parametrize(
    ("platform", "newest", "taken"),
    [
        ("manylinux_2_34_aarch64", "manylinux_2_34_aarch64", "manylinux2014_aarch64"),
        ("manylinux2014_x86_64", "manylinux_2_17_x86_64", "manylinux1_x86_64"),
        ("win_amd64", "win_amd64", "win_amd64"),
    ],
)
def test_a_platform_takes_what_older_ones_take(platform: str, newest: str, taken: str) -> None:
    tags = platform_tags(platform)
    assert tags[0] == newest
    assert taken in tags


def test_a_platform_takes_nothing_of_newer_ones() -> None:
    assert "manylinux2014_aarch64" not in platform_tags("manylinux_2_12_aarch64")
    assert "manylinux_2_28_aarch64" not in platform_tags("manylinux2014_aarch64")
    assert platform_tags("") == []


def test_a_package_that_is_not_in_the_folder_is_refused_with_its_name(tmp_path: Path) -> None:
    _wheel(tmp_path, "bomone", "bomtwo")
    (tmp_path / "requirements.txt").write_text("bomone\n", encoding="utf-8")
    with pytest.raises(Refused, match="bomtwo"):
        python_packages(str(tmp_path / "requirements.txt"), str(tmp_path))


def test_a_python_without_pip_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="bill_of_materials_packages"):
        python_packages(str(tmp_path / "none.txt"), "", python=str(tmp_path / "python"))


def test_a_package_of_which_pip_tells_no_hash_is_refused() -> None:
    entry = {
        "metadata": {"name": "a", "version": "1"},
        "download_info": {"url": "https://i.example/a-1.whl", "archive_info": {}},
    }
    with pytest.raises(Refused, match="no sha256 of a 1"):
        from_report({"install": [entry]})
    entry["download_info"]["archive_info"] = {"hash": "sha256=" + "e" * 64}  # type: ignore[index] # older pip
    assert from_report({"install": [entry]})[0].sha256 == "e" * 64
