# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What verify.yml says of each look, good and bad."""

from __future__ import annotations

import pytest

from ansible_collections.mindcluster.recovery.plugins.filter.verify_rows import verify_rows
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._job_render import Renderer

IMAGE = {
    "image": "registry.example:5000/a:tag",
    "digest": "sha256:1",
    "landed": True,
    "missing": [],
    "torch_version": "2.6.0",
    "torch_path": "/t/torch",
    "python_version": "3.11.2",
    "patches": [
        {"name": "run_py", "file": "/t/run.py", "line": 9, "state": "patched", "recognised_by": "syntax tree: x",
         "import_module": "mindx_elastic.api"},
    ],
    "imports": {"mindio_ttp": {"state": "imported", "error": "", "file": "/t/mindio_ttp.py"}},
}  # fmt: skip


def states(rows: list[dict[str, str]]) -> list[str]:
    return [row["state"] for row in rows]


def test_a_landed_image_is_named_by_digest_and_without_its_tag() -> None:
    rows = verify_rows(IMAGE, "image")
    assert rows[0] == {"piece": "image", "state": "ok", "seen": "registry.example:5000/a@sha256:1"}
    assert states(rows) == ["ok"] * 4
    assert "/t/run.py line 9, imports mindx_elastic.api" in rows[2]["seen"]


def test_a_wheel_that_does_not_import_is_no_ok() -> None:
    broken = dict(IMAGE, imports={"mindio_ttp": {"state": "failed", "error": "no module", "file": ""}})
    assert states(verify_rows(broken, "image"))[-1] == "differs"


def test_an_image_that_is_not_there_is_a_fault_but_in_check_mode() -> None:
    gone = {"failed": True, "msg": "not found"}
    assert states(verify_rows(gone, "image")) == ["failed"]
    (row,) = verify_rows(gone, "image", check=True)
    assert row["state"] == "pending"
    assert "not found" in row["seen"], "why it could not be looked at, which may be another reason"


def test_every_row_of_a_platform_names_it() -> None:
    looped = {"ansible_loop_var": "platform", "item": "of a loop around it"}
    rows = verify_rows({**IMAGE, **looped, "platform": "linux/arm64"}, "image")
    assert {row["piece"].rpartition(" ")[2] for row in rows} == {"(linux/arm64)"}
    (gone,) = verify_rows({"failed": False, "msg": "not found", **looped, "platform": "linux/amd64"}, "image")
    assert (gone["piece"], gone["state"]) == ("image (linux/amd64)", "failed")
    assert {row["piece"].count("(") for row in verify_rows({**IMAGE, **looped, "platform": ""}, "image")} == {0}


@pytest.mark.parametrize(("check", "state"), [(False, "differs"), (True, "pending")])
def test_a_script_that_would_be_changed(check: bool, state: str) -> None:
    result = {"scripts": [{"path": "/s.sh", "changed": True}, {"path": "/t.sh", "changed": False}]}
    assert states(verify_rows(result, "scripts", check=check)) == [state, "ok"]


def test_nodes_name_the_keys_that_differ() -> None:
    result = {"counts": {"requested": 2}, "drift": [{"name": "w1", "missing": {"a": "b"}, "different": {}}]}
    rows = verify_rows(result, "nodes")
    assert states(rows) == ["differs"]
    assert "1 of 2 Nodes: w1: a" in rows[0]["seen"]


def test_nodes_that_cannot_be_their_product_are_named() -> None:
    contradiction = {"where": "w2", "what": "The device plugin has found Ascend910A3 chips"}
    rows = verify_rows({"counts": {"requested": 2}, "drift": [], "contradictions": [contradiction]}, "nodes")
    assert states(rows) == ["differs"]
    assert "w2: The device plugin has found Ascend910A3 chips" in rows[0]["seen"]


def test_what_is_wrong_with_one_node_is_one_node() -> None:
    drift = [{"name": "w2", "missing": {"a": "b"}, "different": {}, "surplus": {}}]
    result = {"counts": {"requested": 2}, "drift": drift, "contradictions": [{"where": "w2", "what": "other chips"}]}
    (row,) = verify_rows(result, "nodes")
    assert row["seen"] == "1 of 2 Nodes: w2: a, other chips"


def test_labels_that_are_no_longer_wanted_are_a_warning_and_no_fault() -> None:
    drift = [{"name": "w1", "missing": {}, "different": {}, "surplus": {"host-arch": "huawei-arm"}}]
    rows = verify_rows({"counts": {"requested": 2}, "drift": drift}, "nodes")
    assert states(rows) == ["ok", "warning"]
    assert "npu_node_prune" in rows[1]["seen"] and rows[1]["seen"].endswith("w1: host-arch")


def test_nodes_without_npus_are_a_warning_beside_their_labels() -> None:
    rows = verify_rows({"counts": {"requested": 9}, "without_npus": ["w%d" % number for number in range(9)]}, "nodes")
    assert states(rows) == ["ok", "warning"]
    assert "9 Nodes offer none" in rows[1]["seen"] and rows[1]["seen"].endswith("w4 and 4 more")


def test_many_drifted_nodes_stay_one_line() -> None:
    drift = [{"name": "w%d" % number, "missing": {"a": "b"}} for number in range(100)]
    rows = verify_rows({"counts": {"requested": 100}, "drift": drift}, "nodes")
    assert len(rows) == 1 and "and 95 more" in rows[0]["seen"]


def test_files_and_jobs() -> None:
    files = {"paths": ["/a", "/b"], "changed_paths": ["/b"]}
    assert states(verify_rows(files, "job")) == ["ok", "differs"]
    jobs = {"objects": [{"kind": "AscendJob", "name": "j", "namespace": "default", "action": "unchanged"},
                        {"kind": "AscendJob", "name": "k", "namespace": "default", "action": "replaced"}]}  # fmt: skip
    assert states(verify_rows(jobs, "jobs")) == ["ok", "differs"]


MANIFEST = """\
apiVersion: mindxdl.gitee.com/v1
kind: AscendJob
metadata: {name: j, labels: {framework: pytorch}}
spec:
  runPolicy: {schedulingPolicy: {minAvailable: 1, queue: default}}
  replicaSpecs:
    Master:
      replicas: 1
      template:
        spec:
          containers:
            - name: ascend
              image: a:b
              command: [bash, -c]
              args: ["bash scripts/train_start.sh /job/code --context-parallel-size 2"]
              env:
                - {name: MINDIO_WAIT_MINDX_TIME, value: "120"}
              resources: {limits: {huawei.com/Ascend910: 8}, requests: {huawei.com/Ascend910: 8}}
"""


def render(tmp_path: object, **request: object) -> dict:
    path = "%s/job.yaml" % tmp_path
    with open(path, "w", encoding="utf-8") as handle:
        handle.write(MANIFEST.replace("huawei.com/Ascend910: 8", "huawei.com/Ascend910: %s" % request.pop("npus", 8)))
    spec = {"manifest": path, "strict": request.pop("strict", False)}
    return Renderer({"strategies": "elastic-training", **request}).render([spec], {}, "training_job")[0]


def test_what_the_user_got_wrong_beside_the_plan_is_told_and_fails_the_verification(tmp_path: object) -> None:
    job = render(tmp_path)
    assert any("context-parallel-size" in found["what"] + found["why"] for found in job["deviations"])
    assert any("context-parallel-size" in notice for notice in job["notices"])
    assert set(states(verify_rows(job["deviations"], "deviations"))) == {"differs"}


def test_a_legal_wait_of_the_users_stays(tmp_path: object) -> None:
    job = render(tmp_path)
    assert 'value: "120"' in job["text"]
    assert not any("MINDIO_WAIT_MINDX_TIME" in notice for notice in job["notices"])


def test_an_owned_label_that_the_user_sets_on_purpose_is_no_deviation(tmp_path: object) -> None:
    path = "%s/job.yaml" % tmp_path
    with open(path, "w", encoding="utf-8") as handle:
        handle.write(MANIFEST)
    spec = {"manifest": path, "extra_labels": {"process-recover-enable": "off"}}
    job = Renderer({"strategies": "retry"}).render([spec], {}, "training_job")[0]
    assert not any("process-recover-enable" in found["what"] for found in job["deviations"])


def test_a_node_selector_of_the_users_is_told_once_and_fails_nothing(tmp_path: object) -> None:
    job = render(tmp_path, strategies="retry", product="atlas-800t-a2")
    selectors = [found for found in job["deviations"] if "node-selector" in found["code"]]
    assert len(selectors) == 2
    assert set(states(verify_rows(selectors, "deviations"))) == {"warning"}
    assert len([notice for notice in job["notices"] if "accelerator-type" in notice]) == 1


def test_more_npus_than_a_node_has_are_told_once_and_stand_in_the_table(tmp_path: object) -> None:
    job = render(tmp_path, strategies="retry", product="atlas-800t-a2", npus=16)
    many = [found for found in job["deviations"] if found["code"] == "job-npus-more-than-node"]
    assert [row["state"] for row in verify_rows(many, "deviations")] == ["warning"]
    assert "16, wanted is 8 at most" in verify_rows(many, "deviations")[0]["seen"]
    assert len([notice for notice in job["notices"] if "16 NPUs" in notice]) == 1
