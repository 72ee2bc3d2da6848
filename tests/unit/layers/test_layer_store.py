# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Images are read once, and what does not hold together is refused."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import typing as t
from pathlib import Path

import pytest
import zstandard
from fake_registry import FakeRegistry
from layer_files import packed, tar_of

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Refused
from ansible_collections.mindcluster.recovery.plugins.module_utils._layer_cache import Cache
from ansible_collections.mindcluster.recovery.plugins.module_utils._layer_image import platforms_of
from ansible_collections.mindcluster.recovery.plugins.module_utils._layer_store import Store
from ansible_collections.mindcluster.recovery.plugins.module_utils._registry_client import OCI_MANIFEST

OLD = tar_of({"usr/bin/python3": "old", "etc/os-release": "ID=x"})
NEW = tar_of({"usr/bin/python3": "new"})


def diff_id(tar: bytes) -> str:
    return "sha256:" + hashlib.sha256(tar).hexdigest()


@pytest.fixture
def registry() -> FakeRegistry:
    return FakeRegistry()


@pytest.fixture
def store(registry: FakeRegistry, tmp_path: Path) -> Store:
    return Store(t.cast(t.Any, registry), "team/base", Cache(str(tmp_path / "cache")))


def test_a_layer_is_read_once_and_kept_for_its_owner_only(registry: FakeRegistry, store: Store) -> None:
    document = registry.image(packed(OLD), packed(NEW), diff_ids=[diff_id(OLD), diff_id(NEW)])
    image = store.image("base:1", document)
    assert len(store.unread(image)) == 2
    assert store.tree(image).content("/etc/os-release") == b"ID=x"
    assert store.unread(image) == []
    registry.opened.clear()
    assert store.tree(store.image("base:1", document)).is_file("/usr/bin/python3")
    assert registry.opened == []
    assert stat.S_IMODE(os.stat(store.cache.folder).st_mode) == 0o700
    assert {stat.S_IMODE(entry.stat().st_mode) for entry in os.scandir(store.cache.folder)} == {0o600}


def test_what_the_cache_has_wrong_is_read_again(registry: FakeRegistry, store: Store) -> None:
    image = store.image("base:1", registry.image(packed(OLD), diff_ids=[diff_id(OLD)]))
    store.tree(image).is_file("/x")
    for entry in Path(store.cache.folder).iterdir():
        entry.write_bytes(entry.read_bytes()[:-5] + b"wrong")
    registry.opened.clear()
    again = store.image("base:1", registry.image(packed(OLD), diff_ids=[diff_id(OLD)]))
    assert store.tree(again).content("/etc/os-release") == b"ID=x"
    assert len(registry.opened) == 2  # configuration and layer


def test_a_folder_that_cannot_be_written_costs_time_only(registry: FakeRegistry, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    store = Store(t.cast(t.Any, registry), "team/base", Cache(str(tmp_path / "file" / "cache")))
    image = store.image("base:1", registry.image(packed(OLD), diff_ids=[diff_id(OLD)]))
    assert store.tree(image).is_file("/usr/bin/python3")


@pytest.mark.parametrize("cut", [None, -9])
def test_a_layer_that_unpacks_to_something_else_is_refused(
    cut: int | None, registry: FakeRegistry, store: Store
) -> None:
    layer = zstandard.ZstdCompressor().compress(OLD)[:cut]
    image = store.image("base:1", registry.image(layer, diff_ids=[diff_id(NEW)]))
    for _attempt in range(2):
        with pytest.raises(Refused, match=r"unpacks to sha256:.* and its image says"):
            store.tree(image).is_file("/usr/bin/python3")


def test_an_image_whose_parts_do_not_fit_is_refused(registry: FakeRegistry, store: Store) -> None:
    with pytest.raises(Refused, match="1 layers and 2 digests"):
        store.image("base:1", registry.image(packed(OLD), diff_ids=[diff_id(OLD), diff_id(NEW)]))
    artifact = registry.image(packed(OLD), diff_ids=[diff_id(OLD)])
    text = artifact.body.replace(b"vnd.oci.image.config.v1", b"vnd.example.chart.v1")
    with pytest.raises(Refused, match="is no image but something else"):
        store.image("chart:1", artifact._replace(body=text))
    for body in (b"{}", b"[]", b"no json", b'{"config": {}, "layers": [3]}'):
        with pytest.raises(Refused, match="is not whole"):
            store.image("base:1", artifact._replace(body=body))


@pytest.mark.parametrize(
    "part", [{"size": -1}, {"size": "9"}, {"digest": "sha256:../../../other/manifests/latest"}, {"digest": "latest"}]
)
def test_a_layer_that_cannot_be_proved_is_refused_before_anything_is_kept_of_it(
    part: dict[str, t.Any], registry: FakeRegistry, store: Store
) -> None:
    document = registry.image(packed(OLD), diff_ids=[diff_id(OLD)])
    manifest = json.loads(document.body)
    manifest["layers"][0].update(part)
    with pytest.raises(Refused, match="is not whole"):
        store.image("base:1", document._replace(body=json.dumps(manifest).encode()))
    assert not os.path.exists(store.cache.folder) or os.listdir(store.cache.folder) == []


def test_a_kept_manifest_is_of_a_kind_that_can_be_built_on(registry: FakeRegistry, store: Store) -> None:
    body = b'{"schemaVersion": 2, "mediaType": "application/vnd.example", "layers": []}'
    store.cache.keep_document(registry.add(body), body)
    document = store.document(registry.add(body))
    assert document is not None and document.media_type == OCI_MANIFEST


@pytest.mark.parametrize(
    "config",
    [
        {"config": [1]},
        {"history": 5},
        {"config": {"Env": [3]}},
        {"config": {"Env": "PATH=/usr/bin"}},
        {"config": {"Labels": {"a": 1}}},
        {"rootfs": "none"},
        {"rootfs": {"diff_ids": [7]}},
        {"os": 5},
    ],
)
def test_a_configuration_of_another_form_is_refused(
    config: dict[str, t.Any], registry: FakeRegistry, store: Store
) -> None:
    with pytest.raises(Refused, match="is not whole"):
        store.image("base:1", registry.image(packed(OLD), **{"diff_ids": [diff_id(OLD)], **config}))


def test_an_index_of_another_form_has_no_platforms() -> None:
    for index in ({}, {"manifests": 3}, {"manifests": [3, {}, {"platform": []}, {"platform": {"os": "linux"}}]}):
        assert platforms_of(t.cast("dict[str, t.Any]", index)) == {}
