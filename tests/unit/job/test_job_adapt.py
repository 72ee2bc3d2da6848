# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A user's own job gets what the plan asks for, and nothing else of it changes."""

from __future__ import annotations

import json
import typing as t

import pytest
from conftest import changed_lines, container_of, env_of, fixture, job_of, make_plan, objects

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Refused
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._job_adapt import AdaptResult, adapt_job

SMALL = """\
apiVersion: mindxdl.gitee.com/v1
kind: AscendJob
metadata:
  name: small
  labels:
    framework: pytorch%(labels)s
spec:
  replicaSpecs:
    Master:
      template:
        spec:%(pod)s
          containers:
            - name: ascend
              image: a:1%(container)s
              args: ["bash", "-c", "bash train_start.sh%(flags)s"]
"""


def small(labels: str = "", pod: str = "", container: str = "", flags: str = "") -> str:
    return SMALL % {
        "labels": labels and "\n    " + labels,
        "pod": pod and "\n          " + pod,
        "container": container and "\n              " + container,
        "flags": flags,
    }


def adapt(text: str, strategies: str = "retry", **options: t.Any) -> AdaptResult:
    return adapt_job(text, make_plan(strategies), **options)


def codes(text: str, plan: dict[str, t.Any] | None = None, **options: t.Any) -> list[str]:
    with pytest.raises(Refused) as caught:
        adapt_job(text, plan or make_plan(), **options)
    return [finding.code for finding in caught.value.findings]


@pytest.fixture(name="result", scope="module")
def bare_job_adapted() -> AdaptResult:
    return adapt_job(fixture("bare_pytorch.yaml"), make_plan(product="atlas-800t-a2"))


class TestBareJob:
    """A job that has nothing of the vendor's page yet."""

    def test_every_label_of_the_page_is_there(self, result: AdaptResult) -> None:
        metadata = job_of(result.text)["metadata"]
        assert metadata["labels"] == {
            "framework": "pytorch", "ring-controller.atlas": "ascend-910b", "owner": "li-wei",
            "process-recover-enable": "on", "fault-scheduling": "grace",
        }  # fmt: skip
        assert metadata["annotations"] == {"recover-strategy": "retry"}

    @pytest.mark.parametrize("replica", ["Master", "Worker"])
    def test_every_variable_and_port_is_there_on_both_replica_types(self, result: AdaptResult, replica: str) -> None:
        container = container_of(job_of(result.text), replica)
        env = env_of(container)
        assert env["PROCESS_RECOVER"] == "on"
        assert env["TTP_PORT"] == "8000"
        assert env["POD_IP"] == {"fieldRef": {"fieldPath": "status.podIP"}}
        assert {port["name"]: port["containerPort"] for port in container["ports"]} == {
            "ascendjob-port": 2222,
            "ttp-port": 8000,
        }

    def test_npus_under_limits_alone_are_requested_too(self, result: AdaptResult) -> None:
        resources = container_of(job_of(result.text), "Worker")["resources"]
        assert resources["requests"] == resources["limits"] == {"huawei.com/Ascend910": 8}

    def test_the_diff_reads_like_a_colleagues(self, result: AdaptResult) -> None:
        assert changed_lines(fixture("bare_pytorch.yaml"), result.text) == [
            '+    process-recover-enable: "on"',
            '+    fault-scheduling: "grace"',
            "+  annotations:",
            '+    recover-strategy: "retry"',
            "+            env:",
            "+            - name: PROCESS_RECOVER",
            '+              value: "on"',
            "+            - name: TTP_PORT",
            '+              value: "8000"',
            "+            - name: POD_IP",
            "+              valueFrom:",
            "+                fieldRef:",
            "+                  fieldPath: status.podIP",
            "+              export ELASTIC_PROCESS_RECOVER_ENABLE=1",
            "-                --bf16 2>&1 | tee /job/output/train.log",
            "+                --bf16 \\",
            "+                --enable-high-availability \\",
            "+                --enable-hbmfault-repair 2>&1 | tee /job/output/train.log",
            "+            ports:",
            "+            - containerPort: 2222",
            "+              name: ascendjob-port",
            "+            - containerPort: 8000",
            "+              name: ttp-port",
            "+            - name: PROCESS_RECOVER",
            '+              value: "on"',
            "+            - name: TTP_PORT",
            '+              value: "8000"',
            "+            - name: POD_IP",
            "+              valueFrom:",
            "+                fieldRef:",
            "+                  fieldPath: status.podIP",
            "-              bash scripts/train_start.sh /job/code /job/output pretrain_glm.py",
            "-              --bf16",
            "+              export ELASTIC_PROCESS_RECOVER_ENABLE=1; bash scripts/train_start.sh /job/code "
            "/job/output pretrain_glm.py",
            "+              --bf16 --enable-high-availability --enable-hbmfault-repair",
            "+            - containerPort: 8000",
            "+              name: ttp-port",
            "+              requests:",
            "+                huawei.com/Ascend910: 8",
        ]

    def test_nothing_was_there_so_nothing_is_corrected(self, result: AdaptResult) -> None:
        assert result.corrections == []
        assert result.warnings == []

    def test_other_documents_stay(self, result: AdaptResult) -> None:
        assert objects(result.text)[0] == objects(fixture("bare_pytorch.yaml"))[0]
        assert result.text.endswith("...\n")


@pytest.mark.parametrize("name", ["bare_pytorch.yaml", "anchors.yaml", "json_style.yaml"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("strategies", ["retry", "retry,recover,dump", "recover-in-place,elastic-training"])
def test_twice_is_once(name: str, newline: str, strategies: str) -> None:
    text = fixture(name).replace("\n", newline)
    once = adapt(text, strategies, image="registry.example.com/x@sha256:" + 64 * "1")
    again = adapt(once.text, strategies, image="registry.example.com/x@sha256:" + 64 * "1")
    assert again.text == once.text
    assert again.corrections == []
    assert newline == "\n" or "\n" not in once.text.replace("\r\n", "")


class TestForms:
    """YAML as people write it."""

    def test_anchors_are_edited_once_and_serve_both_replica_types(self) -> None:
        result = adapt(fixture("anchors.yaml"))
        job = job_of(result.text)
        for replica in ("Master", "Worker"):
            container = container_of(job, replica)
            assert env_of(container)["PROCESS_RECOVER"] == "on"
            assert container["args"][0].count("--enable-high-availability") == 1
        assert result.text.count("name: PROCESS_RECOVER") == 1
        assert "<<: *replica" in result.text

    def test_a_value_that_is_shared_with_another_document_is_not_changed_behind_its_back(self) -> None:
        text = small(labels="fault-scheduling: &mode force") + "  note: *mode\n"
        assert codes(text) == ["yaml-shared-value"]

    def test_a_job_written_as_json_stays_json(self) -> None:
        result = adapt(fixture("json_style.yaml"))
        container = container_of(job_of(result.text), "Master")
        assert container["args"] == [
            "export ELASTIC_PROCESS_RECOVER_ENABLE=1; cd /job/code && bash train_start.sh --bf16 "
            '--enable-high-availability --enable-hbmfault-repair > "out put.log" 2>&1'
        ]
        assert '      "process-recover-enable": "on",\n      "fault-scheduling": "grace"\n    }' in result.text
        assert json.loads(result.text)["kind"] == "AscendJob"

    def test_an_end_without_line_break_stays_one(self) -> None:
        text = small().rstrip("\n")
        assert not adapt(text).text.endswith("\n")
        assert adapt(text).text + "\n" == adapt(small()).text

    def test_a_byte_order_mark_stays(self) -> None:
        assert adapt("\ufeff" + small()).text == "\ufeff" + adapt(small()).text

    def test_an_empty_labels_key_is_filled(self) -> None:
        text = small().replace("  labels:\n    framework: pytorch\n", "  labels:   # 标签\n")
        labels = job_of(adapt(text).text)["metadata"]["labels"]
        assert labels["framework"] == "pytorch"
        assert labels["process-recover-enable"] == "on"


class TestOwnership:
    """Owned values are added or corrected, adjustable ones stay, surplus ones are told."""

    def test_another_value_is_corrected_and_told_with_its_line(self) -> None:
        result = adapt(small(labels="fault-scheduling: 'force'  # 强制"), where="job.yaml")
        assert "fault-scheduling: 'grace'  # 强制" in result.text
        (told,) = result.corrections
        assert told.where == "job.yaml, line 7"
        assert "`force`" in told.what and "`grace`" in told.what

    def test_strict_refuses_every_other_value_at_once(self) -> None:
        text = small(labels="fault-scheduling: force\n    process-recover-enable: 'off'")
        assert codes(text, strict=True) == ["label-corrected", "label-corrected"]

    def test_strict_still_adds_what_is_missing(self) -> None:
        assert adapt(small(), strict=True).text == adapt(small()).text

    def test_an_unquoted_on_is_no_text_for_kubernetes_and_is_corrected(self) -> None:
        result = adapt(small(labels="process-recover-enable: on"))
        assert '    process-recover-enable: "on"\n' in result.text
        assert "a boolean" in result.corrections[0].what

    @pytest.mark.parametrize(("value", "left"), [('"3"', "3"), ('"zero"', "10"), ('"0"', "10"), ("5", "5")])
    def test_a_legal_number_of_retries_stays(self, value: str, left: str) -> None:
        result = adapt(small(labels="fault-retry-times: %s" % value), "recover")
        assert job_of(result.text)["metadata"]["labels"]["fault-retry-times"] == left

    def test_the_order_of_strategies_does_not_count(self) -> None:
        once = adapt(small(), "retry,dump").text.replace('"retry,dump"', '"dump,retry"')
        assert adapt(once, "retry,dump").text == once

    def test_a_users_ttp_port_counts_everywhere(self) -> None:
        text = fixture("bare_pytorch.yaml").replace(
            '- {name: HCCL_CONNECT_TIMEOUT, value: "1800"}', '- {name: TTP_PORT, value: "9100"}'
        )
        job = job_of(adapt(text).text)
        for replica in ("Master", "Worker"):
            container = container_of(job, replica)
            assert env_of(container)["TTP_PORT"] == "9100"
            assert {p["name"]: p["containerPort"] for p in container["ports"]}["ttp-port"] == 9100

    def test_a_variable_taken_from_elsewhere_is_replaced_whole(self) -> None:
        taken = "valueFrom: {fieldRef: {fieldPath: spec.x}}"
        env = "env:\n                - name: PROCESS_RECOVER\n                  " + taken
        result = adapt(small(container=env))
        assert env_of(container_of(job_of(result.text), "Master"))["PROCESS_RECOVER"] == "on"
        assert [finding.code for finding in result.corrections] == ["env-corrected"]

    def test_a_flag_of_another_strategy_stays_and_is_told(self) -> None:
        result = adapt(small(flags=" --enable-worker-reboot"))
        assert "--enable-worker-reboot" in result.text
        assert [finding.code for finding in result.warnings] == ["flag-surplus"]

    def test_another_products_nodes_stay_and_are_told(self) -> None:
        pod = "nodeSelector: {accelerator-type: module, host-arch: huawei-arm}"
        text = small(pod=pod, container="resources: {limits: {huawei.com/Ascend910: 8}}")
        result = adapt_job(text, make_plan(product="atlas-800t-a2"))
        assert pod in result.text
        assert [finding.code for finding in result.warnings] == ["node-selector-other-product"]

    def test_more_npus_than_a_node_has_are_told(self) -> None:
        selector = "nodeSelector: {accelerator-type: module-910b-8, host-arch: huawei-arm}"
        text = small(pod=selector, container="resources: {limits: {huawei.com/Ascend910: 16}}")
        result = adapt_job(text, make_plan(product="atlas-800t-a2"))
        assert [finding.code for finding in result.warnings] == ["npus-more-than-node"]

    def test_force_with_host_network_is_told(self) -> None:
        result = adapt_job(small(pod="hostNetwork: true"), make_plan(fault_scheduling="force"))
        assert [finding.code for finding in result.warnings] == ["force-host-network"]

    def test_extras_win_over_the_plan(self) -> None:
        result = adapt(
            small(),
            extra_labels={"fault-scheduling": "force", "team": "vision"},
            extra_annotations={"note": "夜间"},
            extra_env={"TTP_PORT": "9000", "NODE": {"valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}},
            extra_args=["--save-interval", "20"],
            extra_volumes=[{"name": "code", "mountPath": "/job", "nfs": {"server": "10.0.0.1", "path": "/c"}}],
            image_pull_secrets=["pull"],
        )
        job = job_of(result.text)
        container = container_of(job, "Master")
        pod = job["spec"]["replicaSpecs"]["Master"]["template"]["spec"]
        assert job["metadata"]["labels"]["fault-scheduling"] == "force"
        assert job["metadata"]["annotations"] == {"recover-strategy": "retry", "note": "夜间"}
        assert env_of(container)["TTP_PORT"] == "9000"
        assert {p["name"]: p["containerPort"] for p in container["ports"]}["ttp-port"] == 9000
        assert container["args"][2].endswith("--save-interval 20")
        assert container["volumeMounts"] == [{"name": "code", "mountPath": "/job"}]
        assert pod["volumes"] == [{"name": "code", "nfs": {"server": "10.0.0.1", "path": "/c"}}]
        assert pod["imagePullSecrets"] == [{"name": "pull"}]
        assert result.corrections == []

    def test_a_namespace_is_written_only_where_none_is(self) -> None:
        text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: b}\n---\n" + small()
        first, second = objects(adapt(text, namespace="team-a").text)
        assert first["metadata"]["namespace"] == "b"
        assert second["metadata"]["namespace"] == "team-a"


class TestMindSpore:
    """Scheduler and Worker; recovery is switched on by variables, not by flags."""

    def test_the_scheduler_without_npus_is_adapted_too(self) -> None:
        plan = make_plan(framework="mindspore", product="atlas-800t-a2")
        text = fixture("several.yaml")
        result = adapt_job(text, plan, job_name="second")
        job = job_of(result.text, "second")
        for replica in ("Scheduler", "Worker"):
            assert env_of(container_of(job, replica))["PROCESS_RECOVER"] == "on"
            assert container_of(job, replica)["args"] == ["cd /job/code; bash scripts/train_start.sh"]
        assert job_of(result.text, "first") == job_of(text, "first")
        assert result.text.startswith("%YAML 1.1\n---\n# first\n")
        assert result.text.endswith("# 无换行结尾")

    def test_a_worker_alone_is_refused(self) -> None:
        text = fixture("several.yaml").replace("Scheduler:", "Worker_:").split("---")[2]
        assert "replica-type-missing" in codes(text, make_plan(framework="mindspore"))


class TestRefused:
    """What cannot work is refused with all its reasons."""

    @pytest.mark.parametrize(
        ("text", "code"),
        [
            (small().replace("name: ascend", "name: Ascend"), "container-missing"),
            (small().replace("Master:", "master:"), "replica-type"),
            (small().replace("Master:", "Worker:"), "replica-type-missing"),
            (small().replace("Master:", "Chief:"), "replica-type"),
            (small().replace("      template:", "      replicas: 2\n      template:"), "leader-replicas"),
            (small().replace("              image: a:1\n", ""), "container-image-missing"),
            (small().replace("mindxdl.gitee.com/v1", "mindxdl.gitee.com/v2"), "job-api-version"),
            (small().replace("framework: pytorch", "framework: mindspore"), "job-framework"),
            (small().replace("spec:\n  rep", "spec:\n  runPolicy: {schedulingPolicy: {minAvailable: 1}}\n  rep", 1),
             "queue-missing"),
            (small().replace("  name: small\n", ""), "job-unnamed"),
            (small() + "---\n" + small(), "job-ambiguous"),
            ("kind: ConfigMap\napiVersion: v1\n", "job-missing"),
            ("", "job-missing"),
            ("just text\n", "job-missing"),
            ("apiVersion: v1\nkind: List\nitems: []\n", "job-list"),
            (small().replace("name: small", "name: ../../etc/x"), "job-name"),
            (small().replace("name: small", "name: Small"), "job-name"),
            (small().replace("name: small", "name: 训练"), "job-name"),
            (small().replace("name: small", "name: 123"), "job-name"),
            (small().replace("name: small", "name: [a]"), "job-name"),
            (small().replace("name: small", "name: " + "a" * 64), "job-name"),
            (small().replace("name: small", "name: small\n  namespace: ../x"), "job-name"),
            ("a: &a {b: *a}\n" + small(), "yaml-invalid"),
            ("\n".join("a%d: &a%d [%s]" % (n, n, ", ".join(["*a%d" % (n - 1)] * 9 if n else "x")) for n in range(30)),
             "yaml-invalid"),
            ("apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: a}\n", "job-volcano"),
            (small() + "  replicaSpecs: {}\n", "yaml-duplicate-key"),
            (small() + "\tspec: 1\n", "yaml-invalid"),
            (small().replace("bash train_start.sh", "sleep 1"), "start-command-missing"),
            (small().replace('args: ["bash", "-c", "bash train_start.sh"]', "workingDir: /"), "start-command-missing"),
            (small().replace("bash train_start.sh", "if true; then bash train_start.sh"), "shell-syntax"),
            (small().replace('["bash", "-c", "bash train_start.sh"]', "bash train_start.sh"), "job-shape"),
        ],
    )  # fmt: skip
    def test_one_reason(self, text: str, code: str) -> None:
        assert code in codes(text)

    def test_all_reasons_in_one_run(self) -> None:
        text = small().replace("name: ascend", "name: main").replace("pytorch", "mindspore")
        assert codes(text) == ["job-framework", "container-missing"]

    def test_the_message_names_the_line_and_the_remedy(self) -> None:
        with pytest.raises(Refused) as caught:
            adapt_job(small().replace("Master:", "master:"), make_plan(), where="/srv/job.yaml")
        message = str(caught.value)
        assert "/srv/job.yaml, line 9" in message
        assert "Write `Master`" in message

    def test_an_unknown_job_name_shows_what_there_is(self) -> None:
        with pytest.raises(Refused, match=r"no AscendJob in this file is named `secnd`.*Did you mean `second`"):
            adapt_job(fixture("several.yaml"), make_plan(), job_name="secnd")
