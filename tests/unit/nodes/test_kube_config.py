# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is said about a kubeconfig that cannot be used."""

from __future__ import annotations

import os
import typing as t
from pathlib import Path

import pytest
import yaml

from ansible_collections.mindcluster.recovery.plugins.module_utils import _kube_config
from ansible_collections.mindcluster.recovery.plugins.module_utils._kube import Refused, connect

TOKEN = "very-secret-token"


def config(**changes: t.Any) -> dict[str, t.Any]:
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "blue", "cluster": {"server": "https://10.1.2.3:6443"}}],
        "users": [{"name": "ops", "user": {"token": TOKEN}}],
        "contexts": [{"name": "blue-ops", "context": {"cluster": "blue", "user": "ops"}}],
        "current-context": "blue-ops",
    }
    document.update(changes)
    return document


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> t.Callable[..., str]:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.chdir(tmp_path)

    def _write(document: t.Any, name: str = "config.yml") -> str:
        text = document if isinstance(document, str) else yaml.safe_dump(document)
        (tmp_path / name).write_text(text)
        return str(tmp_path / name)

    return _write


def refusal(params: dict[str, t.Any]) -> list[dict[str, str]]:
    with pytest.raises(Refused) as caught:
        connect(params)
    assert TOKEN not in str(caught.value)
    return caught.value.as_dicts()


def test_a_good_file_is_used(write):
    client = connect({"kubeconfig": write(config())})
    assert client.configuration.host == "https://10.1.2.3:6443"


@pytest.mark.parametrize("spelling", ["config.yml", "./config.yml", "~/config.yml"])
def test_relative_and_home_paths_work(write, spelling: str):
    write(config())
    assert connect({"kubeconfig": spelling}).configuration.host == "https://10.1.2.3:6443"


def test_environment_variable_is_the_default(write, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("KUBECONFIG", write(config()))
    assert connect({}).configuration.host == "https://10.1.2.3:6443"


def test_environment_variable_with_several_files(write, monkeypatch: pytest.MonkeyPatch):
    users = write(config(clusters=[], contexts=[]), "users.yml")
    rest = write(config(users=[]), "rest.yml")
    monkeypatch.setenv("KUBECONFIG", os.pathsep.join([users, "/nowhere", rest]))
    assert connect({}).configuration.host == "https://10.1.2.3:6443"


def test_options_win_over_the_file(write):
    client = connect(
        {"kubeconfig": write(config()), "host": "https://other:1/", "api_key": "x", "validate_certs": False}
    )
    assert client.configuration.host == "https://other:1"
    assert client.configuration.verify_ssl is False
    assert [setting["value"] for setting in client.configuration.auth_settings().values()] == ["Bearer x"]


def test_missing_file(write):
    (error,) = refusal({"kubeconfig": "kube/confg"})
    assert error["code"] == "kubeconfig-missing"
    assert os.path.abspath("kube/confg") in error["what"]


def test_missing_file_of_the_environment_variable_is_named_as_such(write, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("KUBECONFIG", "/nowhere/config")
    (error,) = refusal({})
    assert error["where"] == "environment variable KUBECONFIG"


def test_nothing_given_and_nothing_there(write):
    (error,) = refusal({})
    assert error["code"] == "kubeconfig-missing"
    assert "gitops" in error["remedy"]


def test_a_folder(write, tmp_path: Path):
    (error,) = refusal({"kubeconfig": str(tmp_path)})
    assert error["code"] == "kubeconfig-is-directory"


def test_invalid_yaml_names_the_line_and_not_the_token(write):
    path = write("clusters: []\nusers:\n- user: {token: %s\ncontexts: [}\n" % TOKEN)
    (error,) = refusal({"kubeconfig": path})
    assert error["code"] == "kubeconfig-not-yaml"
    assert error["where"] == path + ":4"


@pytest.mark.parametrize("text", ["", "just text", "- a\n- list\n", "clusters: many\n", "{}"])
def test_not_a_kubeconfig(write, text: str):
    (error,) = refusal({"kubeconfig": write(text)})
    assert error["code"] == "kubeconfig-invalid"


def test_binary_file(write, tmp_path: Path):
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    (error,) = refusal({"kubeconfig": "binary"})
    assert error["code"] == "kubeconfig-unreadable"


def test_unknown_context_suggests_the_nearest(write):
    (error,) = refusal({"kubeconfig": write(config()), "context": "blue-op"})
    assert error["code"] == "kubeconfig-context-unknown"
    assert "Did you mean `blue-ops`?" in error["remedy"]


def test_no_current_context(write):
    document = config()
    del document["current-context"]
    (error,) = refusal({"kubeconfig": write(document)})
    assert error["code"] == "kubeconfig-no-context"
    assert "blue-ops" in error["remedy"]


def test_context_that_points_nowhere_names_both_gaps(write):
    errors = refusal({"kubeconfig": write(config(clusters=[{"name": "red", "cluster": {}}], users=[]))})
    assert [error["code"] for error in errors] == ["kubeconfig-cluster-missing", "kubeconfig-user-missing"]
    assert "red" in errors[0]["remedy"]


@pytest.mark.parametrize("cluster", [{}, None, {"server": "https://x", "certificate-authority": "/nowhere/ca.crt"}])
def test_cluster_without_what_it_needs(write, cluster: t.Any):
    (error,) = refusal({"kubeconfig": write(config(clusters=[{"name": "blue", "cluster": cluster}]))})
    assert error["code"] == "kubeconfig-invalid"


def test_missing_certificate_files_are_all_named(write):
    errors = refusal({"host": "https://x:1", "ca_cert": "/nowhere/ca", "client_key": "/nowhere/key"})
    assert [error["where"] for error in errors] == ["ca_cert", "client_key"]


def test_host_without_scheme(write):
    (error,) = refusal({"host": "10.0.0.1:6443"})
    assert error["code"] == "kube-host-invalid"
    assert "https://10.0.0.1:6443" in error["remedy"]


def test_missing_python_package(write, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(_kube_config, "IMPORT_ERROR", ImportError("No module named 'kubernetes'"))
    (error,) = refusal({"host": "https://x:1"})
    assert error["code"] == "python-package-missing"
    assert "pip install kubernetes" in error["remedy"]


PLUGIN = {"apiVersion": "client.authentication.k8s.io/v1", "interactiveMode": "Never"}


@pytest.mark.parametrize(
    ("plugin", "code", "said"),
    [
        ({**PLUGIN, "command": "no-such-login-plugin"}, "kubeconfig-plugin-missing", "is not in the PATH"),
        ({**PLUGIN, "command": "false"}, "kubeconfig-plugin-failed", "has given none"),
        ({**PLUGIN, "command": "echo", "args": ["no credentials"]}, "kubeconfig-plugin-failed", "has given none"),
        ({"command": "true"}, "kubeconfig-plugin-failed", "has given none"),
    ],
)
def test_a_credential_plugin_that_gives_nothing(
    write: t.Callable[..., str], plugin: dict[str, t.Any], code: str, said: str
) -> None:
    path = write(config(users=[{"name": "ops", "user": {"exec": plugin}}]))
    (finding,) = refusal({"kubeconfig": path})
    assert finding["code"] == code
    assert "`%s`" % plugin["command"] in finding["what"]
    assert said in finding["what"]


def test_a_credential_plugin_that_gives_a_token(write: t.Callable[..., str]) -> None:
    answer = '{"apiVersion":"%s","kind":"ExecCredential","status":{"token":"abc"}}' % PLUGIN["apiVersion"]
    plugin = {**PLUGIN, "command": "echo", "args": [answer]}
    path = write(config(users=[{"name": "ops", "user": {"exec": plugin}}]))
    assert "Bearer abc" in _kube_config.configuration({"kubeconfig": path}).api_key.values()


def test_what_the_client_quotes_of_a_user_is_not_shown(write: t.Callable[..., str]) -> None:
    provider = {"name": "oidc", "config": {"client-secret": TOKEN, "refresh-token": TOKEN}}
    path = write(config(users=[{"name": "ops", "user": {"auth-provider": provider}}]))
    (finding,) = refusal({"kubeconfig": path})
    assert finding["code"] == "kubeconfig-invalid"
    assert "id-token" in finding["what"]


@pytest.mark.parametrize("value", ["!!bool maybe", "!!int ''", "2026-13-45"])
def test_a_value_that_does_not_fit_its_tag(write: t.Callable[..., str], value: str) -> None:
    (finding,) = refusal({"kubeconfig": write("clusters: []\nx: %s\n" % value)})
    assert finding["code"] == "kubeconfig-not-yaml"


@pytest.mark.parametrize("kind", ["contexts", "users"])
def test_a_list_that_is_none(write: t.Callable[..., str], kind: str) -> None:
    (finding,) = refusal({"kubeconfig": write(config(**{kind: 5}))})
    assert finding["code"] in ("kubeconfig-context-unknown", "kubeconfig-user-missing")
