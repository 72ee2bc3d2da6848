# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Jobs written from variables, and any number of jobs in one call."""

from __future__ import annotations

import pathlib
import typing as t

import pytest
from ansible.errors import AnsibleFilterError
from conftest import Recorder, container_of, env_of, fixture, job_of, make_plan, objects

from ansible_collections.mindcluster.recovery.plugins.filter.recovery_job import recovery_job
from ansible_collections.mindcluster.recovery.plugins.filter.training_jobs_render import training_jobs_render
from ansible_collections.mindcluster.recovery.plugins.module_utils._products import PRODUCT_NAMES, PRODUCTS, Product

COMMAND = "cd /job/code\nbash scripts/train_start.sh /job/code \\\n  --bf16\n"
IMAGE = "r/x@sha256:" + 64 * "1"
JOB: dict[str, t.Any] = {"name": "llama", "image": IMAGE, "workers": 3, "npus_per_node": 8, "command": COMMAND}


def render(job: dict[str, t.Any], **request: t.Any) -> dict[str, t.Any]:
    return training_jobs_render([job], request={"strategies": "retry", **request})[0]


class TestGenerated:
    """A job from variables has everything that the components need."""

    def test_a_pytorch_job_on_three_nodes(self) -> None:
        job = job_of(render(JOB, product="atlas-800t-a3")["text"])
        specs = job["spec"]["replicaSpecs"]
        assert {name: spec["replicas"] for name, spec in specs.items()} == {"Master": 1, "Worker": 2}
        assert job["spec"]["runPolicy"]["schedulingPolicy"] == {"minAvailable": 3, "queue": "default"}
        for name, spec in specs.items():
            container = container_of(job, name)
            assert container["resources"]["requests"] == container["resources"]["limits"]
            assert spec["restartPolicy"] == "Never"
            pod = spec["template"]["spec"]
            assert 0 < pod["terminationGracePeriodSeconds"] < 900
            assert "hostNetwork" not in pod
            assert pod["nodeSelector"]["accelerator-type"] == "module-a3-16"
            assert {m["name"] for m in container["volumeMounts"]} == {v["name"] for v in pod["volumes"]}

    def test_the_npus_of_the_plan_are_made_visible(self) -> None:
        container = container_of(job_of(render(JOB, product="atlas-800t-a2")["text"]), "Worker")
        field = env_of(container)["ASCEND_VISIBLE_DEVICES"]["fieldRef"]["fieldPath"]
        (resource,) = container["resources"]["requests"]
        assert field == "metadata.annotations['%s']" % resource

    @pytest.mark.parametrize("product", PRODUCT_NAMES)
    @pytest.mark.parametrize("framework", ["pytorch", "mindspore"])
    def test_it_needs_no_correction_for_any_product(self, product: str, framework: str) -> None:
        plan = make_plan("dump", product=product, framework=framework)
        npus = plan["job"]["npus_per_node"] or 8
        rendered = training_jobs_render([{**JOB, "npus_per_node": npus}], plan=plan)[0]
        assert rendered["deviations"] == []
        assert rendered["notices"] == []
        assert recovery_job(rendered["text"], plan) == rendered["text"]

    @pytest.mark.parametrize("framework", ["pytorch", "mindspore"])
    @pytest.mark.parametrize("workers", [1, 2])
    def test_the_leader_is_one_of_the_nodes(self, framework: str, workers: int) -> None:
        specs = job_of(render({**JOB, "workers": workers}, framework=framework)["text"])["spec"]["replicaSpecs"]
        assert sum(spec["replicas"] for spec in specs.values()) == workers
        assert len(specs) == workers

    def test_the_reset_config_map_carries_the_jobs_name_and_namespace(self) -> None:
        text = render({**JOB, "namespace": "team-a"})["text"]
        config = objects(text)[0]
        assert config["metadata"] == {
            "name": "reset-config-llama",
            "namespace": "team-a",
            "labels": {"reset": "true"},
        }
        volumes = job_of(text)["spec"]["replicaSpecs"]["Master"]["template"]["spec"]["volumes"]
        paths = [volume["hostPath"]["path"] for volume in volumes if "hostPath" in volume]
        assert "/user/restore/reset/team-a.reset-config-llama" in paths

    def test_a_job_that_only_exits_needs_no_reset_config_map(self) -> None:
        rendered = training_jobs_render([JOB], request={"strategies": "exit"})[0]
        assert [document["kind"] for document in objects(rendered["text"])] == ["AscendJob"]

    def test_the_command_runs_with_the_flags(self, recorder: Recorder) -> None:
        container = container_of(job_of(render({**JOB, "extra_args": ["--name", "a b"]})["text"]), "Master")
        (launch,) = recorder.run([*container["command"], *container["args"]])
        assert launch[-5:] == ["--enable-high-availability", "--enable-hbmfault-repair", "--name", "a b", "env:1"]

    def test_tabs_stay_tabs_since_some_heredocs_end_with_them_alone(self, recorder: Recorder) -> None:
        command = "cd /job/code\ncat > config <<-EOF\n\ta: 1\n\tEOF\nbash scripts/train_start.sh"
        container = container_of(job_of(render({**JOB, "command": command})["text"]), "Master")
        (launch,) = recorder.run([*container["command"], *container["args"]])
        assert "--enable-high-availability" in launch
        assert (recorder.work / "config").read_text() == "a: 1\n"

    def test_what_must_not_be_changed_says_so(self) -> None:
        lines = render(JOB)["text"].splitlines()
        for start in ("- name: ascend ", "name: reset-config-llama ", "process-recover-enable: ", "Master: "):
            assert any(line.strip().startswith(start) and "  # " in line and "must" in line for line in lines), start

    def test_the_same_variables_give_the_same_bytes(self) -> None:
        assert render(JOB)["text"] == render(dict(reversed(JOB.items())))["text"]

    def test_extras_reach_every_replica_type(self) -> None:
        volume = {"name": "data", "mountPath": "/data", "readOnly": True, "persistentVolumeClaim": {"claimName": "d"}}
        extras = {"extra_env": {"A": 1}, "extra_volumes": [volume], "image_pull_secrets": ["s"], "host_network": True}
        job = job_of(render({**JOB, **extras})["text"])
        for name, spec in job["spec"]["replicaSpecs"].items():
            pod = spec["template"]["spec"]
            assert env_of(container_of(job, name))["A"] == "1"
            assert pod["imagePullSecrets"] == [{"name": "s"}]
            assert pod["hostNetwork"] is True
            assert {"name": "data", "persistentVolumeClaim": {"claimName": "d"}} in pod["volumes"]
            mount = {"name": "data", "mountPath": "/data", "readOnly": True}
            assert mount in container_of(job, name)["volumeMounts"]

    @pytest.mark.parametrize("product", [product for product in PRODUCTS if product.npus])
    def test_more_npus_than_a_node_has_are_refused(self, product: Product) -> None:
        plan = make_plan("dump", product=product.name, arch=product.archs[0])
        with pytest.raises(AnsibleFilterError, match=r"a node of %s has %d" % (product.name, product.npus)):
            training_jobs_render([{**JOB, "npus_per_node": int(product.npus or 0) + 1}], plan=plan)

    @pytest.mark.parametrize("path", ["/dev/shm", "/etc/localtime/", "/user/restore/reset/config", "/data"])
    def test_two_volumes_at_one_place_are_refused(self, path: str) -> None:
        volumes = [{"name": name, "mountPath": path, "emptyDir": {}} for name in ("one", "two")]
        with pytest.raises(AnsibleFilterError, match="`two` is mounted at `%s`, where `" % path.rstrip("/")):
            render({**JOB, "extra_volumes": volumes})


class TestManyJobs:
    """One call renders them all, or says everything that is wrong with them."""

    def test_each_job_has_a_plan_of_its_own(self, tmp_path: pathlib.Path) -> None:
        (tmp_path / "own.yaml").write_bytes(fixture("several.yaml").encode())
        one, other = training_jobs_render(
            [JOB, {"manifest": "own.yaml", "name": "second", "plan": {"framework": "mindspore"}}],
            request={"strategies": "retry"},
            folders=[str(tmp_path)],
        )
        assert (one["filename"], other["filename"]) == ("default.llama.yaml", "default.second.yaml")
        assert (one["plan"]["framework"], other["plan"]["framework"]) == ("pytorch", "mindspore")
        assert other["source"] == str(tmp_path / "own.yaml")

    def test_every_mistake_of_every_job_in_one_message(self, tmp_path: pathlib.Path) -> None:
        (tmp_path / "latin.yaml").write_bytes(b"# \xe9\n")
        jobs = [
            {"nam": "a"},
            {**JOB, "name": "Upper"},
            {**JOB, "name": "b", "workers": 0},
            {**JOB, "name": "c", "extra_env": {"X": True}},
            {**JOB, "name": "d", "extra_volumes": [{"name": "v", "mountPath": "data", "nsf": {}}]},
            {"name": "e"},
            {"manifest": str(tmp_path / "none.yaml")},
            {"manifest": str(tmp_path / "latin.yaml")},
            {**JOB, "name": "f", "plan": {"strategies": "Retry"}},
            {**JOB, "name": "g", "manifest": "x.yaml"},
            {**JOB, "name": "i", "extra_labels": {"a b": "c", "team": "é", "n": 5}, "extra_annotations": {"/x": "y"}},
            {**JOB, "name": "k", "npus_per_node": 0},
            {**JOB, "name": "l", "image": "registry.example.com/llama2@sha256:89ab…"},
            "h",
        ]
        with pytest.raises(AnsibleFilterError) as caught:
            training_jobs_render(jobs, request={"strategies": "retry"})
        message = str(caught.value)
        for said in (
            "training_jobs[0]: `nam` is not known", "Did you mean `name`", "`name` is `Upper`", "`workers` is `0`",
            "`X` in `extra_env` is a boolean", "no absolute mountPath", "Did you mean `nfs`", "`image` is not given",
            "`command` is not given", "none.yaml` does not exist", "is not UTF-8", "did you mean",
            "both a manifest and", "not by `h`", "`a b` is no legal label key", "`/x` is no legal label key",
            "`é` is no legal value for the label `team`", "`npus_per_node` is `0`",
            "sha256:89ab…` is not the name of an image: what follows the @ is not sha256: and 64 digits",
        ):  # fmt: skip
            assert said.lower() in message.lower(), said

    def test_collected_mistakes_do_not_raise(self) -> None:
        result = training_jobs_render([{"name": "a"}], request={"strategies": "retry"}, collect=True)
        assert result["jobs"] == []
        assert {error["code"] for error in result["errors"]} >= {"job-image-missing", "job-command-missing"}

    def test_the_same_job_twice_is_refused(self) -> None:
        with pytest.raises(AnsibleFilterError, match=r"the job `default/llama` is asked for twice"):
            training_jobs_render([JOB, JOB], request={"strategies": "retry"})

    def test_a_job_is_no_text(self) -> None:
        with pytest.raises(AnsibleFilterError, match="a list of mappings"):
            training_jobs_render("llama", request={"strategies": "retry"})

    def test_what_has_no_effect_on_a_manifest_is_told_for_the_job_that_has_it(self, tmp_path: pathlib.Path) -> None:
        (tmp_path / "own.yaml").write_text(render(JOB)["text"])
        own = {"manifest": str(tmp_path / "own.yaml"), "namespace": "default"}
        for given, told in (
            ({"npus_per_node": 4, "host_network": True}, ["npus_per_node", "host_network"]),
            ({"host_network": False, "workers": 3}, []),
        ):
            found = training_jobs_render([{**own, **given}], request={"strategies": "retry"})[0]["warnings"]
            codes = [one["what"] for one in found if one["code"] == "job-variable-unused"]
            assert [name for name in told if any("`%s`" % name in what for what in codes)] == told
            assert len(codes) == len(told)
        defaults = {"npus_per_node": 4}
        (job,) = training_jobs_render([own], request={"strategies": "retry"}, defaults=defaults)
        assert not [one for one in job["warnings"] if one["code"] == "job-variable-unused"]

    def test_a_manifest_is_read_byte_for_byte(self, tmp_path: pathlib.Path) -> None:
        text = fixture("bare_pytorch.yaml").replace("\n", "\r\n") + "\r\n\r\n"
        (tmp_path / "a.yaml").write_bytes(text.encode())
        rendered = training_jobs_render([{"manifest": str(tmp_path / "a.yaml")}], request={"strategies": "retry"})[0]
        assert rendered["text"].endswith("...\r\n\r\n\r\n")
        assert "\n" not in rendered["text"].replace("\r\n", "")
