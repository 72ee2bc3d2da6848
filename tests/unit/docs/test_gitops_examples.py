# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The examples under docs/gitops have the form that their controllers and pipelines require."""

from __future__ import annotations

import re
import typing as t
from pathlib import Path

import pytest
import yaml

CHECKOUT = Path(__file__).resolve().parents[3]
EXAMPLES = CHECKOUT / "docs" / "gitops"
NAME = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?\Z")


class Loader(yaml.SafeLoader):
    """Refuses a key that stands twice."""

    def construct_mapping(self, node: t.Any, deep: bool = False) -> dict[t.Any, t.Any]:
        names = [key.value for key, _value in node.value]
        assert len(names) == len(set(names)), names
        return super().construct_mapping(node, deep)


def documents(name: str) -> list[dict[str, t.Any]]:
    with open(EXAMPLES / name, encoding="utf-8") as stream:
        return list(yaml.load_all(stream, Loader=Loader))


def test_every_example_is_documented_in_both_languages() -> None:
    names = sorted(path.name for path in EXAMPLES.iterdir())
    for page in ("gitops.md", "gitops.zh-CN.md"):
        text = (CHECKOUT / "docs" / page).read_text(encoding="utf-8")
        assert [name for name in names if "(gitops/%s)" % name not in text] == []


@pytest.mark.parametrize("path", sorted(EXAMPLES.iterdir()), ids=lambda path: path.name)
def test_no_host_of_anybody_elses_is_named(path: Path) -> None:
    for host in re.findall(r"https?://([\w.-]+)|image: ([\w.-]+)/", path.read_text(encoding="utf-8")):
        name = "".join(host)
        assert name.endswith(".example.com") or name == "kubernetes.default.svc", name


class TestArgoCd:
    """Both Applications have what the kind requires, and neither can delete anything."""

    @pytest.fixture(params=documents("argocd-applications.yaml"), ids=lambda one: one["metadata"]["name"])
    def application(self, request: pytest.FixtureRequest) -> dict[str, t.Any]:
        return t.cast("dict[str, t.Any]", request.param)

    def test_it_is_an_application_with_source_and_destination(self, application: dict[str, t.Any]) -> None:
        assert (application["apiVersion"], application["kind"]) == ("argoproj.io/v1alpha1", "Application")
        spec = application["spec"]
        assert set(spec) <= {"project", "source", "destination", "syncPolicy", "ignoreDifferences"}
        assert {"repoURL", "path", "targetRevision"} == set(spec["source"])
        assert {"server", "namespace"} == set(spec["destination"])
        assert NAME.match(application["metadata"]["name"])

    def test_it_deletes_nothing(self, application: dict[str, t.Any]) -> None:
        policy = application["spec"]["syncPolicy"]
        assert policy.get("automated", {"prune": False})["prune"] is False
        assert "finalizers" not in application["metadata"]

    def test_the_server_applies_and_compares(self, application: dict[str, t.Any]) -> None:
        assert "ServerSideApply=true" in application["spec"]["syncPolicy"]["syncOptions"]
        options = application["metadata"]["annotations"]["argocd.argoproj.io/compare-options"]
        assert options == "ServerSideDiff=true"


class TestFlux:
    """Both Kustomizations read one repository, prune nothing and leave jobs that run alone."""

    def test_the_kustomizations_have_what_their_kind_requires(self) -> None:
        repository, *kustomizations = documents("flux-kustomizations.yaml")
        assert (repository["apiVersion"], repository["kind"]) == ("source.toolkit.fluxcd.io/v1", "GitRepository")
        assert {"interval", "url", "ref"} == set(repository["spec"])
        for one in kustomizations:
            assert (one["apiVersion"], one["kind"]) == ("kustomize.toolkit.fluxcd.io/v1", "Kustomization")
            # The kind requires interval, prune and sourceRef.
            assert one["spec"]["prune"] is False
            assert re.fullmatch(r"([0-9]+(\.[0-9]+)?(ms|s|m|h))+", one["spec"]["interval"])
            assert one["spec"]["sourceRef"] == {"kind": "GitRepository", "name": repository["metadata"]["name"]}
        assert [one["spec"]["path"] for one in kustomizations] == ["./gitops/nodes", "./gitops/jobs"]
        names = [one["metadata"]["name"] for one in kustomizations]
        assert [link["name"] for link in kustomizations[1]["spec"]["dependsOn"]] == names[:1]

    def test_jobs_are_created_and_never_changed(self) -> None:
        patches = documents("flux-kustomizations.yaml")[2]["spec"]["patches"]
        assert [patch["target"]["kind"] for patch in patches] == ["AscendJob", "ConfigMap"]
        for patch in patches:
            change = yaml.safe_load(patch["patch"])
            assert change["kind"] == patch["target"]["kind"]
            assert change["metadata"]["annotations"] == {"kustomize.toolkit.fluxcd.io/ssa": "IfNotPresent"}


class TestTekton:
    """Every parameter and workspace that is used is declared, and none is pasted into a script."""

    def test_references_are_declared(self) -> None:
        task, pipeline = documents("tekton.yaml")
        assert [one["apiVersion"] for one in (task, pipeline)] == ["tekton.dev/v1"] * 2
        steps = {one["name"]: one for one in pipeline["spec"]["tasks"]}
        assert steps["drift"]["taskRef"]["name"] == task["metadata"]["name"]
        self._declared(task["spec"])
        self._declared(steps["clone"]["taskSpec"])
        outer = {name["name"] for name in pipeline["spec"]["params"]}
        for step in steps.values():
            assert {
                value for one in step["params"] for value in re.findall(r"\$\(params\.(\w+)\)", one["value"])
            } <= outer
            wanted = step.get("taskSpec", task["spec"])["params"]
            assert {one["name"] for one in step["params"]} == {one["name"] for one in wanted}

    def _declared(self, spec: dict[str, t.Any]) -> None:
        names = {one["name"] for one in spec["params"]}
        for step in spec["steps"]:
            used = re.findall(r"\$\(params\.(\w+)\)", str(step))
            assert set(used) <= names
            assert "$(" not in step["script"]


def test_pipelines_fail_on_drift_and_push_by_hand_only() -> None:
    (gitlab,) = documents("gitlab-ci.yml")
    assert set(gitlab) - {"default", "stages", "variables"} == {"drift", "render"}
    assert {gitlab[job]["stage"] for job in ("drift", "render")} == set(gitlab["stages"])
    assert [rule["when"] for rule in gitlab["render"]["rules"]] == ["manual"]
    assert "allow_failure" not in gitlab["drift"]
    (github,) = documents("github-actions.yml")
    assert github["permissions"] == {"contents": "read"}
    assert set(github["on"]) == {"pull_request", "workflow_dispatch"}
    assert github["jobs"]["render"]["if"].startswith("github.event_name == 'workflow_dispatch'")


def test_renderings_leave_out_what_a_site_does_not_have() -> None:
    """A part's own playbook refuses a site without that part; `site` goes past it. No image is built on a runner."""
    (gitlab,) = documents("gitlab-ci.yml")
    (github,) = documents("github-actions.yml")
    steps = [step["run"] for step in github["jobs"]["render"]["steps"] if "run" in step]
    for commands in (gitlab["render"]["script"], steps):
        (render,) = [command for command in commands if "ansible-playbook" in command]
        assert re.findall(r"mindcluster\.recovery\.\w+", render) == ["mindcluster.recovery.site"]
        assert re.findall(r"--tags (\S+)", render) == ["scripts,nodes,job"]
