# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest

from ansible_collections.mindcluster.recovery.plugins.module_utils import _image_refs as refs
from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Refused

DIGEST = "sha256:" + "0" * 64


@pytest.mark.parametrize(
    ("text", "registry", "repository", "tag", "digest"),
    [
        ("ubuntu", "docker.io", "ubuntu", "", ""),
        ("team/train:1", "docker.io", "team/train", "1", ""),
        ("127.0.0.1:5000/a/b:7.2.rc1", "127.0.0.1:5000", "127.0.0.1:5000/a/b", "7.2.rc1", ""),
        ("localhost/a", "localhost", "localhost/a", "", ""),
        ("registry.example/a@" + DIGEST, "registry.example", "registry.example/a", "", DIGEST),
        ("registry.example/a:1@" + DIGEST, "registry.example", "registry.example/a", "1", DIGEST),
        ("[::1]:5000/a:1", "[::1]:5000", "[::1]:5000/a", "1", ""),
    ],
)
def test_names(text: str, registry: str, repository: str, tag: str, digest: str) -> None:
    reference = refs.parse_reference(text, "image")
    found = (reference.registry, reference.repository, reference.tag, reference.digest)
    assert found == (registry, repository, tag, digest)
    assert str(reference) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Team/train",
        "https://registry.example/a",
        "a b",
        "registry.example:port/a",
        "localhost:99999/a",
        "registry.example:0/a",
        "[:::]:5000/a",
        "a@sha256:12",
        "a:-x",
        "a//b",
        "/a",
        "-a",
    ],
)
def test_names_that_no_registry_takes(text: str) -> None:
    with pytest.raises(Refused) as refused:
        refs.parse_reference(text, "training_image_base")
    assert refused.value.findings[0].code == "reference-invalid"
    assert refused.value.findings[0].where == "training_image_base"


@pytest.mark.parametrize("text", ["registry.example/a:1", "registry.example/a@" + DIGEST])
def test_a_repository_has_neither_tag_nor_digest(text: str) -> None:
    with pytest.raises(Refused) as refused:
        refs.parse_repository(text)
    assert "Write `registry.example/a`" in refused.value.findings[0].remedy


@pytest.mark.parametrize(
    ("tag", "good"), [("7.2.rc1", True), ("_a", True), ("-a", False), ("a b", False), ("", False), ("a" * 129, False)]
)
def test_tags(tag: str, good: bool) -> None:
    assert (refs.check_tag(tag) == []) is good


@pytest.mark.parametrize(
    ("text", "loopback"),
    [
        ("127.0.0.1:5000/a", True),
        ("localhost:5000/a", True),
        ("[::1]:5000/a", True),
        ("10.0.0.1:5000/a", False),
        ("a", False),
    ],
)
def test_loopback(text: str, loopback: bool) -> None:
    assert refs.parse_reference(text, "image").is_loopback is loopback


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("ubuntu:22.04", "library/ubuntu"),
        ("docker.io/ubuntu", "library/ubuntu"),
        ("ascendai/pytorch", "ascendai/pytorch"),
        ("localhost:5000/base", "base"),
        ("registry.example/team/base@sha256:" + "0" * 64, "team/base"),
    ],
)
def test_path_in_the_registry(text: str, path: str) -> None:
    assert refs.parse_reference(text, "image").path == path
