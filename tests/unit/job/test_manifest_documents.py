# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Objects of manifests, and what counts as a difference."""

from __future__ import annotations

import pytest

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Refused
from ansible_collections.mindcluster.recovery.plugins.module_utils._manifest_documents import (
    cleaned,
    dropped_fields,
    read_documents,
    shown,
)


def test_documents_are_read_as_the_api_server_reads_them() -> None:
    item = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {d: 2026-01-01}}"
    (document,) = read_documents(["---\nkind: List\napiVersion: v1\nitems:\n- %s\n---\n" % item])
    assert document.title == "ConfigMap `a`"
    assert document.data["data"] == {"d": "2026-01-01"}


def test_every_mistake_of_every_manifest() -> None:
    with pytest.raises(Refused) as caught:
        read_documents(["a: [\n", "kind: ConfigMap\n", "- 1\n"])
    message = str(caught.value)
    for said in ("manifest 1, line", "not valid YAML", "it has no apiVersion", "it has no metadata.name", "no mapping"):
        assert said in message


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{apiVersion: '', kind: ConfigMap, metadata: {name: a}}", "it has no apiVersion"),
        ("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {k: !!binary aGk=}}", "no form in JSON"),
        ("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: &all [*all]}", "no end"),
        ("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {k: a, k: b}}", "line 1.*`k` stands twice"),
        ("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {k: .nan}}", "no form in JSON"),
        ("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {k: !!int many}}", "not valid YAML"),
    ],
)
def test_what_cannot_be_sent_is_refused(text: str, said: str) -> None:
    with pytest.raises(Refused, match=said):
        read_documents([text])


def test_nothing_at_all_is_refused() -> None:
    with pytest.raises(Refused, match="there is no object"):
        read_documents(["# empty\n"])


def test_what_the_server_writes_is_no_difference() -> None:
    mine = {"metadata": {"name": "a", "labels": {"x": "y"}}, "spec": {"b": 1}}
    stored = {
        "metadata": {"name": "a", "labels": {"x": "y"}, "managedFields": [1], "resourceVersion": "7", "generation": 2},
        "spec": {"b": 1},
        "status": {"conditions": []},
    }
    assert cleaned(stored) == mine


def test_fields_that_the_server_drops_are_found() -> None:
    sent = {"spec": {"containers": [{"name": "a", "imagePullPolcy": "Always", "env": []}], "x": None}}
    stored = {"spec": {"containers": [{"name": "a"}]}}
    assert dropped_fields(sent, stored) == ["spec.containers[0].imagePullPolcy"]


def test_values_of_secrets_are_not_shown() -> None:
    text = shown({"kind": "Secret", "metadata": {"name": "a"}, "stringData": {"password": "hunter2"}})
    assert "hunter2" not in text
    assert "password" in text


@pytest.mark.parametrize(("name", "job"), [("reset-config-llama", "llama"), ("rings-config-a", "a"), ("other", None)])
def test_state_of_a_job_is_known_by_its_name(name: str, job: str | None) -> None:
    (document,) = read_documents(["{apiVersion: v1, kind: ConfigMap, metadata: {name: %s}}" % name])
    assert document.state_of == job


def test_nor_are_they_in_what_kubectl_has_noted_beside_them() -> None:
    note = '{"data":{"password":"aHVudGVyMg=="}}'
    annotations = {"kubectl.kubernetes.io/last-applied-configuration": note, "team": "nlp"}
    text = shown({"kind": "Secret", "metadata": {"name": "a", "annotations": annotations}})
    assert "aHVudGVyMg==" not in text
    assert "team: nlp" in text
    assert annotations["kubectl.kubernetes.io/last-applied-configuration"] == note
