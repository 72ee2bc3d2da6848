# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The reverse check: a job that recovers has no deviation, and each mistake that users make is found where it is."""

from __future__ import annotations

import functools
import json
import pathlib
import random
import typing as t

import pytest
import yaml
from ansible.errors import AnsibleFilterError

from ansible_collections.mindcluster.recovery.plugins.filter.recovery_job_errors import recovery_job_errors
from ansible_collections.mindcluster.recovery.plugins.module_utils._job_check import check_job
from ansible_collections.mindcluster.recovery.plugins.module_utils._plan import build_plan

GOLDEN = pathlib.Path(__file__).parent / "golden"
MANIFESTS = pathlib.Path(__file__).parent / "files"
PYTORCH = (MANIFESTS / "pytorch.yml").read_text(encoding="utf-8")
MINDSPORE = (MANIFESTS / "mindspore.yml").read_text(encoding="utf-8")
REQUEST: dict[str, t.Any] = {"strategies": "retry,recover", "product": "atlas-800t-a2"}
GLM: dict[str, t.Any] = {"strategies": "retry", "framework": "mindspore", "product": "atlas-800t-a2"}
MASTER = "documents[1].spec.replicaSpecs.Master"
WORKER = "documents[1].spec.replicaSpecs.Worker"
CONTAINER = ".template.spec.containers[0]"
KEYS = ["code", "level", "job", "path", "found", "wanted", "why"]


def broken(*changes: tuple[str, str], text: str = PYTORCH, count: int = -1) -> str:
    """A manifest with some text replaced; a text that is not there is a mistake of the test."""
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new, count)
    return text


def found(text: str, **request: t.Any) -> list[tuple[str, str]]:
    """Code and path of each deviation."""
    errors = recovery_job_errors(text, {**REQUEST, **request})
    for error in errors:
        assert list(error) == KEYS
        assert all(isinstance(value, str) for value in error.values())
        assert error["why"] and error["wanted"] and error["found"]
    return [(error["code"], error["path"]) for error in errors]


def glm(text: str, **request: t.Any) -> list[tuple[str, str]]:
    return found(text, **{**GLM, **request})


class TestSoundJobs:
    def test_pytorch(self) -> None:
        assert found(PYTORCH) == []

    def test_mindspore_with_a_scheduler_that_selects_other_nodes(self) -> None:
        assert glm(MINDSPORE) == []

    def test_plan_instead_of_a_request(self) -> None:
        assert recovery_job_errors(PYTORCH, build_plan(REQUEST)) == []

    def test_data_instead_of_text_and_lists_of_both(self) -> None:
        documents = list(yaml.safe_load_all(PYTORCH))
        assert recovery_job_errors(documents[1], REQUEST) == []
        assert recovery_job_errors(documents, REQUEST) == []
        assert recovery_job_errors([PYTORCH, documents[1]], REQUEST) == []

    def test_kubernetes_list(self) -> None:
        items = list(yaml.safe_load_all(PYTORCH))
        assert recovery_job_errors({"apiVersion": "v1", "kind": "List", "items": items}, REQUEST) == []

    def test_pause_is_a_state_of_clusterds(self) -> None:
        assert found(broken(('process-recover-enable: "on"', "process-recover-enable: pause"))) == []

    def test_order_of_the_strategies_does_not_matter(self) -> None:
        assert found(broken(("retry,recover", "recover,retry"))) == []

    def test_ports_and_retries_that_the_user_chose(self) -> None:
        changed = broken(('value: "8000"', 'value: "9000"'), ("containerPort: 8000", "containerPort: 9000"))
        assert found(broken(('fault-retry-times: "3"', 'fault-retry-times: "12"'), text=changed)) == []

    def test_flags_in_a_variable(self) -> None:
        flags = "--enable-high-availability --enable-hbmfault-repair --enable-worker-reboot"
        text = broken(
            ("                  bash scripts/train_start.sh /job/code pretrain_gpt.py --use-distributed-optimizer \\\n"
             "                    %s # the worker's" % flags,
             '                  FLAGS="%s"\n                  bash scripts/train_start.sh train.py $FLAGS' % flags),
        )  # fmt: skip
        assert found(text) == []

    def test_command_substitution_and_redirection_do_not_end_the_command(self) -> None:
        text = broken(
            ("--use-distributed-optimizer \\\n                    --enable-high-availability --enable-h",
             "--load $(ls -t /ckpt | head -1) 2>&1 --enable-high-availability --enable-h"),
        )  # fmt: skip
        assert found(text) == []

    def test_words_without_a_shell(self) -> None:
        documents = list(yaml.safe_load_all(PYTORCH))
        container = documents[1]["spec"]["replicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]
        flags = ["--enable-high-availability", "--enable-hbmfault-repair", "--enable-worker-reboot"]
        container.update(command=["torchrun"], args=["train.py", *flags])
        container["env"] = [*container["env"], {"name": "ELASTIC_PROCESS_RECOVER_ENABLE", "value": "1"}]
        assert recovery_job_errors(documents, REQUEST) == []


MISTAKES = {row["mistake"]: row for row in yaml.safe_load((GOLDEN / "mistakes.yml").read_text(encoding="utf-8"))}
PLACES = {"MASTER": MASTER, "WORKER": WORKER, ".CONTAINER": CONTAINER}


def full(path: str) -> str:
    for short, place in PLACES.items():
        path = path.replace(short, place)
    return path


def change(name: str) -> tuple[str, str]:
    return MISTAKES[name]["replace"], MISTAKES[name]["by"]


@pytest.mark.parametrize("name", MISTAKES)
def test_mistake_is_found_and_nothing_else(name: str) -> None:
    got = found(broken(change(name)))
    expected = MISTAKES[name]["found"]
    assert [code for code, _path in got] == [row["code"] for row in expected]
    for (_code, path), row in zip(got, expected, strict=True):
        assert full(row.get("path", path)) == path


def on_the_template(kind: str, name: str) -> str:
    """The manifest with a label or annotation of the job moved to the Master's template."""
    documents = list(yaml.safe_load_all(PYTORCH))
    value = documents[1]["metadata"][kind].pop(name)
    metadata = documents[1]["spec"]["replicaSpecs"]["Master"]["template"]["metadata"]
    metadata.setdefault(kind, {})[name] = value
    return yaml.safe_dump_all(documents)


class TestWrongPlace:
    def test_label_on_the_pod(self) -> None:
        path = MASTER + ".template.metadata.labels.fault-scheduling"
        assert found(on_the_template("labels", "fault-scheduling")) == [("label-on-template", path)]

    def test_annotation_on_the_template(self) -> None:
        path = MASTER + ".template.metadata.annotations.recover-strategy"
        errors = found(on_the_template("annotations", "recover-strategy"))
        assert errors == [("annotation-on-template", path)]

    def test_annotation_written_as_a_label(self) -> None:
        text = broken(('  annotations:\n    recover-strategy: "retry,recover"\n', "    recover-strategy: retry\n"))
        assert found(text) == [("annotation-on-job-as-label", "documents[1].metadata.labels.recover-strategy")]


class TestLevels:
    """What this release's operator makes good is a warning, what nobody makes good an error."""

    CHANGES: t.ClassVar[dict[str, tuple[str, str]]] = {
        "label-missing": ('    process-recover-enable: "on"\n', ""),
        "export-missing": ("                  export ELASTIC_PROCESS_RECOVER_ENABLE=1\n", ""),
        "env-missing": ('                - name: PROCESS_RECOVER\n                  value: "on"\n', ""),
    }

    @pytest.mark.parametrize("code", CHANGES)
    @pytest.mark.parametrize(("release", "level"), [("7.1.RC1", "error"), ("7.2.RC1", "warning")])
    def test_by_release(self, release: str, level: str, code: str) -> None:
        errors = recovery_job_errors(
            broken(self.CHANGES[code]), {**REQUEST, "release": release, "fault_scheduling": "grace"}
        )
        assert {(error["code"], error["level"]) for error in errors} == {(code, level)}

    def test_flag_that_the_suite_sets_by_itself(self) -> None:
        text = broken(("--enable-high-availability --enable-hbmfault-repair", "--enable-high-availability"))
        for version, level in (("2.2.0", "warning"), ("1.0.0", "error")):
            errors = recovery_job_errors(text, {**REQUEST, "suite_version": version})
            assert [(error["code"], error["level"]) for error in errors] == [("flag-missing", level)]

    def test_force_where_grace_is_wanted_recovers_all_the_same(self) -> None:
        errors = recovery_job_errors(broken(('"grace"', '"force"')), REQUEST)
        assert [(error["code"], error["level"]) for error in errors] == [("label-value", "warning")]


class TestReleases:
    def test_old_node_selector_on_26_1(self) -> None:
        codes = [code for code, _path in found(PYTORCH, release="26.1.0")]
        assert codes.count("node-selector-retired") == 4
        assert "annotation-missing" in codes

    def test_sidecar_without_image_is_refused_up_to_7_3(self) -> None:
        text = broken(("              ports: *ports\n", "              ports: *ports\n            - name: logs\n"))
        moved = text.replace("            - name: logs\n              resources", "              resources")
        documents = list(yaml.safe_load_all(moved))
        containers = documents[1]["spec"]["replicaSpecs"]["Worker"]["template"]["spec"]["containers"]
        containers.append({"name": "logs"})
        codes = {release: [e["code"] for e in recovery_job_errors(documents, {**REQUEST, "release": release})]
                 for release in ("7.2.RC1", "7.3.0", "26.0.0")}  # fmt: skip
        assert "image-missing" in codes["7.2.RC1"] and "image-missing" in codes["7.3.0"]
        assert "image-missing" not in codes["26.0.0"]

    def test_port_of_taskd_from_7_3_on(self) -> None:
        assert [code for code, _path in found(PYTORCH, release="7.3.0")] == ["port-missing", "port-missing"]

    @pytest.mark.parametrize(("release", "legal"), [("7.2.RC1", 15000), ("7.3.0", 20000)])
    def test_most_replicas(self, release: str, legal: int) -> None:
        documents = list(yaml.safe_load_all(PYTORCH))
        worker = documents[1]["spec"]["replicaSpecs"]["Worker"]
        for count, expected in ((legal, False), (legal + 1, True)):
            worker["replicas"] = count
            codes = [error["code"] for error in recovery_job_errors(documents, {**REQUEST, "release": release})]
            assert ("replicas" in codes) is expected

    def test_external_scheduling_came_with_26_1(self) -> None:
        text = broken(('"grace"', "external-grace"))
        assert [code for code, _path in found(text)] == ["label-too-new"]
        assert "label-too-new" not in [code for code, _path in found(text, release="26.1.0")]

    def test_hot_switch_loses_retry_on_7_2_only(self) -> None:
        text = broken(("    framework: pytorch\n", "    framework: pytorch\n    subHealthyStrategy: hotSwitch\n"))
        assert "retry-hot-switch" not in [code for code, _path in found(text, release="7.3.0")]

    def test_flag_that_the_suite_does_not_know(self) -> None:
        codes = [code for code, _path in found(PYTORCH, suite_version="2.1.0")]
        assert codes == ["flag-unknown", "flag-unknown"]


class TestNumberOfNpus:
    @pytest.mark.parametrize("count", ["16", '"16"'])
    def test_more_than_a_node_has(self, count: str) -> None:
        text = broken(("huawei.com/Ascend910: 8", "huawei.com/Ascend910: %s" % count))
        places = [(code, path.partition(".template")[0]) for code, path in found(text)]
        assert places == [("npus-more-than-node", MASTER), ("npus-more-than-node", WORKER)]

    def test_less_than_a_node_has(self) -> None:
        assert found(broken(("huawei.com/Ascend910: 8", "huawei.com/Ascend910: 4"))) == []


class TestElastic:
    REQUEST: t.ClassVar[dict[str, str]] = {"strategies": "recover,elastic-training"}

    def elastic(self, more: str) -> list[str]:
        text = broken(
            ('"retry,recover"', '"recover,elastic-training"'),
            (" --enable-hbmfault-repair", " --enable-elastic-training"),
            ("--data-path $DATA_PATH", more),
        )  # fmt: skip
        return [code for code, _path in found(text, **self.REQUEST)]

    def test_sound(self) -> None:
        assert self.elastic("--expert-model-parallel-size 1") == []

    @pytest.mark.parametrize("option", ["--expert-model-parallel-size", "--context-parallel-size"])
    def test_expert_or_context_parallel(self, option: str) -> None:
        assert self.elastic("%s 2" % option) == self.elastic("%s=2" % option) == ["elastic-parallel"]

    @pytest.mark.parametrize("flag", ["--use-custom-fsdp", "--reuse-fp32-param"])
    def test_flags_that_it_refuses(self, flag: str) -> None:
        assert self.elastic(flag) == ["flag-conflict"]

    def test_waiting_time_without_recover(self) -> None:
        text = broken(('"retry,recover"', "elastic-training"))
        errors = recovery_job_errors(text, {**REQUEST, "strategies": "elastic-training"})
        missing = [error for error in errors if error["code"] == "env-missing"]
        assert {error["wanted"] for error in missing} == {"MINDIO_WAIT_MINDX_TIME: 60"}


class TestMindSpore:
    EXPORT = "export MS_ENABLE_TFT='{UCE:1, HCCE:1}'; "

    def test_export_with_less_than_the_set(self) -> None:
        errors = glm(broken(("{UCE:1, HCCE:1}", "{TTP:1 UCE:1}"), text=MINDSPORE))
        assert errors == [("tft-incomplete", "spec.replicaSpecs.Worker.template.spec.containers[0].args[0]")]

    def test_tre_with_uce(self) -> None:
        assert [code for code, _p in glm(broken(("HCCE:1}", "HCCE:1, TRE:1}"), text=MINDSPORE))] == ["tft-tre"]

    def test_environment_whose_value_carries_quotes(self) -> None:
        line = '                - {name: TTP_PORT, value: "8000"}\n'
        text = MINDSPORE.replace(
            line, line + "                - {name: MS_ENABLE_TFT, value: \"'{UCE:1,HCCE:1}'\"}\n", 1
        )
        assert [code for code, _path in glm(text)] == ["env-quotes"]

    def test_watchdog(self) -> None:
        line = '                - {name: TTP_PORT, value: "8000"}\n'
        text = MINDSPORE.replace(
            line, line + "                - {name: MS_ENABLE_THM, value: '{HCCL_WATCHDOG:1}'}\n", 1
        )
        assert [code for code, _path in glm(text)] == ["watchdog-on"]

    def test_worker_only(self) -> None:
        documents = list(yaml.safe_load_all(MINDSPORE))
        del documents[0]["spec"]["replicaSpecs"]["Scheduler"]
        assert [e["code"] for e in recovery_job_errors(documents, GLM)] == ["replica-type-missing"]

    def test_ports_of_the_types_differ(self) -> None:
        text = MINDSPORE.replace('value: "8000"', 'value: "8001"', 1).replace(
            "containerPort: 8000", "containerPort: 8001", 1
        )
        assert [code for code, _path in glm(text)] == ["ttp-port-differs"]

    def test_everything_by_hand_on_7_1(self) -> None:
        codes = [code for code, _path in glm(MINDSPORE, release="7.1.RC1", fault_scheduling="grace")]
        assert codes.count("env-missing") == 6


class TestOtherDocuments:
    PLUGIN = "kind: DaemonSet\nspec: {template: {spec: {containers: [{args: [device-plugin -volcanoType=true %s]}]}}}"

    @pytest.mark.parametrize(
        ("option", "expected"), [("-hotReset=1", True), ("-hotReset=2", False), ("-hotReset=-1", False)]
    )
    def test_device_plugin(self, option: str, expected: bool) -> None:
        codes = [code for code, _path in found(PYTORCH + "---\n" + self.PLUGIN % option)]
        assert ("hot-reset" in codes) is expected

    def test_volcano_job(self) -> None:
        text = "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {labels: {process-recover-enable: 'on'}}"
        assert found(text) == [("job-volcano", "kind")]

    @pytest.mark.parametrize("text", ["", "---\n", "kind: Pod", "a: b"])
    def test_no_job(self, text: str) -> None:
        assert [code for code, _path in found(text)] == ["job-missing"]

    def test_each_of_several_jobs_is_named(self) -> None:
        second = (
            PYTORCH.split("---\n")[2].replace("name: llama\n", "name: other\n").replace("queue: default", "queue: ''")
        )
        errors = recovery_job_errors(PYTORCH + "---\n" + second, REQUEST)
        assert [(error["code"], error["job"]) for error in errors] == [("queue-missing", "other")]


def test_carriage_returns_in_args() -> None:
    documents = list(yaml.safe_load_all(PYTORCH))
    container = documents[1]["spec"]["replicaSpecs"]["Master"]["template"]["spec"]["containers"][0]
    container["args"][0] = container["args"][0].replace("\n", "\r\n")
    assert found(yaml.safe_dump_all(documents)) == [("args-crlf", MASTER + CONTAINER + ".args[0]")]


def test_carriage_returns_of_the_file_itself_are_harmless() -> None:
    assert found(PYTORCH.replace("\n", "\r\n")) == []


def test_every_mistake_is_told_at_once() -> None:
    changes = [
        change(name)
        for name in ("on without quotes", "blank between strategies", "schedulingPolicy without queue",
                     "NPUs under limits only", "TTP_PORT and ttp-port disagree")
    ]  # fmt: skip
    codes = {code for code, _path in found(broken(*changes))}
    assert codes == {"label-type", "strategy-blank", "queue-missing", "npu-limits-only", "ttp-port-differs"}


class TestRefusals:
    """Where nothing can be compared, one clear message says so."""

    @pytest.mark.parametrize(
        ("text", "says"),
        [
            ("a: [1", "line"), ("a: 1\na: 2", "stands twice"), ("? {a: 1}\n: 2", "unhashable"),
            # How deep is too deep, and the words for it, are libyaml's.
            ("a: 2020-13-45", "month"), ("[" * 5000, ""), ("!!python/object:os.system x", "constructor"),
            ("\x07", ""), ("a: &a {b: *a}", "no end"),
            ("\n".join("a%d: &a%d [%s]" % (n, n, ", ".join(["*a%d" % (n - 1)] * 9 if n else "x")) for n in range(30)),
             "more than"),
        ],
    )  # fmt: skip
    def test_invalid_yaml(self, text: str, says: str) -> None:
        with pytest.raises(AnsibleFilterError, match="no valid YAML") as caught:
            recovery_job_errors(text, REQUEST, where="job.yaml")
        assert "job.yaml" in str(caught.value) and says in str(caught.value)

    @pytest.mark.parametrize("manifest", [5, None, True])
    def test_no_manifest(self, manifest: object) -> None:
        with pytest.raises(AnsibleFilterError, match="The manifest is"):
            recovery_job_errors(manifest, REQUEST)

    def test_request_with_mistakes(self) -> None:
        with pytest.raises(AnsibleFilterError, match="`retry`"):
            recovery_job_errors(PYTORCH, {"strategies": "Retry"})


@functools.cache
def as_json(text: str) -> str:
    return json.dumps(list(yaml.safe_load_all(text)))


def copied(text: str) -> t.Any:
    """The documents of a text, for a test to break."""
    return json.loads(as_json(text))


def paths_of(value: t.Any, path: tuple[t.Any, ...] = ()) -> list[tuple[t.Any, ...]]:
    """Every path in some data."""
    found_paths = [path]
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        found_paths += paths_of(item, (*path, key))
    return found_paths


@pytest.mark.parametrize(("text", "request_"), [(PYTORCH, REQUEST), (MINDSPORE, GLM)])
def test_any_value_at_any_place_is_answered(text: str, request_: dict[str, t.Any]) -> None:
    plan = build_plan(request_)
    junk = [None, True, 0, -1, 1.5, "", "\x00", "'", "$(", [], [None], [[]], {}, {"a": None}, {1: 2}, {"name": 1}]
    for path in paths_of(list(yaml.safe_load_all(text))):
        for value in junk if path else ():
            documents = copied(text)
            parent = documents
            for step in path[:-1]:
                parent = parent[step]
            parent[path[-1]] = value
            for error in check_job(documents, plan):
                assert all(isinstance(item, str) for item in error.values())


def test_random_shell_text_is_answered() -> None:
    plan = build_plan(REQUEST)
    document = copied(PYTORCH)
    container = document[1]["spec"]["replicaSpecs"]["Master"]["template"]["spec"]["containers"][0]
    rng = random.Random(4)
    pieces = ["bash ", "train_start.sh ", "'", '"', "`", "$(", ")", "(", "\\", "\n", "#", "${", "}", "A=", "export ",
              ";", "&&", "|", ">", "2>&1", "--enable-high-availability ", "torchrun ", "=(", " ", "\r\n"]  # fmt: skip
    for _round in range(500):
        container["args"] = ["".join(rng.choices(pieces, k=rng.randint(1, 40)))]
        check_job(document, plan)
