# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Removal from registries that answer otherwise than the one of the sandbox does."""

from __future__ import annotations

import hashlib
import json
import typing as t

import pytest
from registry_fake_server import Asked, FakeServer, Reply

from ansible_collections.mindcluster.recovery.plugins.module_utils import _image_remove
from ansible_collections.mindcluster.recovery.plugins.module_utils._image_inputs import LABEL_INPUTS
from ansible_collections.mindcluster.recovery.plugins.module_utils._image_refs import parse_repository
from ansible_collections.mindcluster.recovery.plugins.module_utils._image_remove import (
    Outcome,
    RegistryRemoval,
    asked,
)
from ansible_collections.mindcluster.recovery.plugins.module_utils._registry_client import OCI_MANIFEST, Registry
from ansible_collections.mindcluster.recovery.plugins.module_utils._registry_session import Session

Serve = t.Callable[[t.Callable[[Asked], Reply]], FakeServer]


def digest(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()


def image_of(number: int) -> tuple[bytes, bytes]:
    """Configuration and manifest of an image of this collection."""
    config = json.dumps({"config": {"Labels": {LABEL_INPUTS: "%d" % number}}}).encode()
    descriptor = {"digest": digest(config), "size": len(config)}
    return config, json.dumps({"schemaVersion": 2, "config": descriptor, "layers": []}).encode()


class Shelf:
    """A registry that forgets every tag of a manifest that is deleted.

    :param page: how many tags it names at a time.
    :ivar broken: digests whose deletion fails.
    :ivar documents: what it has under a tag in place of a manifest.
    """

    def __init__(self, tags: t.Mapping[str, int], page: int = 100) -> None:
        self.blobs = {digest(data): data for number in tags.values() for data in image_of(number)}
        self.tags = {tag: image_of(number)[1] for tag, number in tags.items()}
        self.page = page
        self.broken: set[str] = set()
        self.documents: dict[str, bytes] = {}

    def __call__(self, request: Asked) -> Reply:
        path, _mark, query = request.path.partition("?")
        name = path.rpartition("/")[2]
        if path.endswith("/tags/list"):
            return self._listed(query.partition("last=")[2])
        if request.method == "DELETE":
            if name in self.broken:
                return Reply(500)
            self.tags = {tag: body for tag, body in self.tags.items() if digest(body) != name}
            return Reply(202)
        if "/blobs/" in path:
            return Reply(200, {}, self.blobs[name])
        if name in self.documents:
            return Reply(200, {"Content-Type": "text/html"}, self.documents[name])
        found = [body for tag, body in self.tags.items() if name in (tag, digest(body))]
        return Reply(200, {"Content-Type": OCI_MANIFEST}, found[0]) if found else Reply(404)

    def _listed(self, last: str) -> Reply:
        rest = [name for name in sorted([*self.tags, *self.documents]) if name > last]
        shown, headers = rest[: self.page], {}
        if len(rest) > self.page:
            # The login must not follow to the place that the address names.
            headers["Link"] = f'<http://elsewhere.example/v2/x/tags/list?n={self.page}&last={shown[-1]}>; rel="next"'
        return Reply(200, headers, json.dumps({"name": "team/x", "tags": shown}).encode())


@pytest.fixture
def remove(serve: Serve) -> t.Callable[..., Outcome]:
    def run(answer: t.Callable[[Asked], Reply], *tags: str, check: bool = False) -> Outcome:
        server = serve(answer)
        registry = Registry(server.host, insecure=True, retries=0)
        session = Session(server.host, None, None, None, True, None, 0)
        repository = parse_repository(f"{server.host}/team/x")
        return asked("x", lambda: RegistryRemoval(registry, session, repository).remove(tags, check))

    return run


def short(lines: t.Iterable[str]) -> list[str]:
    """Without the registry's address, which is another in each run."""
    return [line.partition("/")[2] for line in lines]


def test_every_page_of_tags_counts(remove: t.Callable[..., Outcome]) -> None:
    shelf = Shelf({"7.2.rc1": 1, "a": 2, "b": 3, "production": 1, "z": 4}, page=2)
    outcome = remove(shelf, "7.2.rc1", "z")
    assert short(outcome.removed) == [f"team/x:z ({digest(image_of(4)[1])})"]
    assert short(outcome.left) == ["team/x:7.2.rc1: `production` names the same image and would go with it"]
    assert sorted(shelf.tags) == ["7.2.rc1", "a", "b", "production"]


@pytest.mark.parametrize("check", [True, False])
def test_two_of_our_tags_of_one_image_go_together(remove: t.Callable[..., Outcome], check: bool) -> None:
    shelf = Shelf({"7.2.rc1": 1, "7.3.0": 1, "other": 2})
    outcome = remove(shelf, "7.2.rc1", "7.3.0", check=check)
    assert [line.partition(" ")[0] for line in short(outcome.removed)] == ["team/x:7.2.rc1", "team/x:7.3.0"]
    assert outcome.left == []
    assert sorted(shelf.tags) == (["7.2.rc1", "7.3.0", "other"] if check else ["other"])


def test_what_went_before_a_fault_is_told(remove: t.Callable[..., Outcome]) -> None:
    shelf = Shelf({"7.2.rc1": 1, "7.3.0": 2})
    shelf.broken = {digest(image_of(2)[1])}
    outcome = remove(shelf, "7.2.rc1", "7.3.0")
    assert len(outcome.removed) == 1 and "7.2.rc1" in outcome.removed[0]
    assert len(outcome.left) == 1 and "HTTP 500" in outcome.left[0]


def test_what_is_no_image_of_today_hinders_nothing(remove: t.Callable[..., Outcome]) -> None:
    shelf = Shelf({"7.2.rc1": 1})
    shelf.documents = {"old": b'{"schemaVersion": 1}', "7.3.0": b'{"schemaVersion": 1}'}
    outcome = remove(shelf, "7.2.rc1", "7.3.0")
    assert len(outcome.removed) == 1 and "7.2.rc1" in outcome.removed[0]
    assert short(outcome.left) == ["team/x:7.3.0: was not built by this collection"]


@pytest.mark.parametrize("body", [b"<html>", b"[]", b"[" * 100000])
def test_a_list_of_tags_that_is_none_is_told(remove: t.Callable[..., Outcome], body: bytes) -> None:
    outcome = remove(lambda _request: Reply(200, {}, body), "7.2.rc1")
    assert outcome.removed == [] and "is no JSON object" in outcome.left[0]


def test_a_list_of_tags_without_an_end_is_told(remove: t.Callable[..., Outcome], monkeypatch: t.Any) -> None:
    monkeypatch.setattr(_image_remove, "_MOST_PAGES", 3)
    link = {"Link": '</v2/team/x/tags/list?last=a>; rel="next"'}
    outcome = remove(lambda _request: Reply(200, link, b'{"tags": ["a"]}'), "7.2.rc1")
    assert outcome.removed == [] and "has no end" in outcome.left[0]


@pytest.mark.parametrize(
    "manifest",
    [
        {"manifests": [3, {}, {"digest": "latest"}]},
        {"config": 3},
        {"config": {"digest": "../../other/manifests/x", "size": 3}},
        {"config": {"digest": "sha256:" + "0" * 64, "size": -1}},
        {"config": {"digest": "sha256:" + "0" * 64, "size": "3"}},
    ],
)
def test_a_manifest_of_another_form_is_not_ours(remove: t.Callable[..., Outcome], manifest: t.Any) -> None:
    shelf = Shelf({})
    shelf.tags = {"7.2.rc1": json.dumps({"schemaVersion": 2, **manifest}).encode()}
    outcome = remove(shelf, "7.2.rc1")
    assert (outcome.removed, short(outcome.left)) == ([], ["team/x:7.2.rc1: was not built by this collection"])
