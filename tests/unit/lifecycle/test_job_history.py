# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the cluster remembers of a job: one step back, never a step forward by itself."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Refused
from ansible_collections.mindcluster.recovery.plugins.module_utils._job_history import (
    Entry,
    History,
    delivered,
    described,
    entry_of,
    gone_back,
    history_data,
    read_history,
)
from ansible_collections.mindcluster.recovery.plugins.module_utils._manifest_documents import read_documents
from ansible_collections.mindcluster.recovery.plugins.module_utils._plan import build_plan
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._start_script import adapt_script

MANIFEST = """
apiVersion: v1
kind: Secret
metadata: {name: s}
stringData: {password: geheim}
---
apiVersion: mindxdl.gitee.com/v1
kind: AscendJob
metadata: {name: j, labels: {process-recover-enable: "on", 团队: nlp}}
spec:
  replicaSpecs:
    Master: {template: {spec: {containers: [{name: ascend, image: "r/x:%s"}, {name: side, image: other}]}}}
"""


def plan(release: str = "7.2.RC1", **request: t.Any) -> dict[str, t.Any]:
    return build_plan({"strategies": "retry", "release": release, **request})


def entry(tag: str = "1", **request: t.Any) -> Entry:
    return entry_of(read_documents([MANIFEST % tag]), plan(**request), "training")


def test_the_same_delivery_is_one_step() -> None:
    history = delivered(History(), entry())
    assert history == History(entry())
    assert delivered(history, entry()) == history


def test_another_image_another_release_or_other_scripts_are_a_step() -> None:
    first = delivered(History(), entry())
    for other in (entry("2"), entry(release="7.3.0"), entry(strategies="retry,recover")):
        second = delivered(first, other)
        assert (second.current, second.previous) == (other, entry())
    # A newer version of the collection may say more in its plan without wanting anything else.
    more = entry()._replace(plan=dict(entry().plan, new_key=1))
    assert delivered(first, more) == History(more)


def test_back_once_and_not_forward_again() -> None:
    history = delivered(delivered(History(), entry("1")), entry("2"))
    back = gone_back(history, "j")
    assert back == History(current=entry("1"), undone=entry("2"))
    assert gone_back(back, "j") == back
    assert delivered(back, entry("1")) == back
    assert delivered(back, entry("2")) == History(current=entry("2"), previous=entry("1"))


def test_nothing_to_go_back_to_is_refused() -> None:
    for history in (History(), History(entry())):
        with pytest.raises(Refused) as caught:
            gone_back(history, "training/j")
        assert caught.value.findings[0].code == "history-missing"
        assert "recovery_plan_release" in str(caught.value)


def test_it_survives_its_config_map() -> None:
    history = History(current=entry("1"), undone=entry("2"))
    assert read_history(history_data(history), "m") == history
    assert read_history({}, "m") == History()
    assert not any("geheim" in text for text in history_data(history).values())


def test_a_plan_that_comes_back_writes_the_same_script() -> None:
    stored = read_history(history_data(History(entry())), "m").current
    assert stored is not None
    assert list(stored.plan["script"]["exports"]) == list(plan()["script"]["exports"])
    script = "torchrun train.py\n"
    assert adapt_script(script, stored.plan).text == adapt_script(script, plan()).text


@pytest.mark.parametrize("spoilt", ["", "[]", "{"])
def test_a_spoilt_config_map_is_refused(spoilt: str) -> None:
    data = dict(history_data(History(entry())), **{"current.plan.json": spoilt})
    with pytest.raises(Refused, match=r"current\.plan\.json"):
        read_history(data, "m")


def test_what_an_engineer_is_told() -> None:
    documents = read_documents([entry("7").manifest])
    assert described(entry("7"), documents) == {"release": "7.2.RC1", "images": ["r/x:7"]}
    assert documents[0].namespace == "training"
    assert documents[0].data["metadata"]["labels"] == {"process-recover-enable": "on", "团队": "nlp"}


def test_an_object_without_a_namespace_is_remembered_without_one() -> None:
    queue = "{apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {name: q}}\n---\n"
    found = entry_of(read_documents([queue + MANIFEST % "1"]), plan(), "training")
    assert [document.namespace for document in read_documents([found.manifest])] == [None, "training"]
