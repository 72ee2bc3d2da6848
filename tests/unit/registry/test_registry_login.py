# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Where the login for a registry is found."""

from __future__ import annotations

import base64
import json
import pathlib
import typing as t

import pytest

from ansible_collections.mindcluster.recovery.plugins.module_utils._registry_errors import RegistryError
from ansible_collections.mindcluster.recovery.plugins.module_utils._registry_login import Login, find_login

HOST = "registry.example:5000"
PAIR = base64.b64encode(b"anna:s3cr3t:with:colons").decode()


def found(login: Login | None) -> tuple[str, str, str] | None:
    return None if login is None else (login.username, login.password, login.identity_token)


@pytest.fixture
def config(tmp_path: pathlib.Path) -> t.Callable[[t.Any], str]:
    def write(document: t.Any) -> str:
        text = document if isinstance(document, str) else json.dumps(document)
        (tmp_path / "config.json").write_text(text, encoding="utf-8")
        return str(tmp_path / "config.json")

    return write


@pytest.fixture
def helper(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> t.Callable[[str], None]:
    """A credential helper with the name C(test)."""

    def write(script: str) -> None:
        path = tmp_path / "docker-credential-test"
        path.write_text("#!/bin/sh\nread asked\n" + script, encoding="utf-8")
        path.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")

    return write


def test_given_user_wins(config: t.Any) -> None:
    path = config({"auths": {HOST: {"auth": PAIR}}})
    assert found(find_login(HOST, "otto", "w0rd", path)) == ("otto", "w0rd", "")


@pytest.mark.parametrize(
    ("auths", "host", "login"),
    [
        ({HOST: {"auth": PAIR}}, HOST, ("anna", "s3cr3t:with:colons", "")),
        ({f"https://{HOST}/v1/": {"auth": PAIR}}, HOST, ("anna", "s3cr3t:with:colons", "")),
        ({HOST: {"identitytoken": "1d3nt1ty", "auth": PAIR}}, HOST, ("", "", "1d3nt1ty")),
        ({"https://index.docker.io/v1/": {"auth": PAIR}}, "docker.io", ("anna", "s3cr3t:with:colons", "")),
        ({"https://index.docker.io/v1/": {"auth": PAIR}}, "registry-1.docker.io", ("anna", "s3cr3t:with:colons", "")),
        ({"other.example": {"auth": PAIR}}, HOST, None),
        ({HOST: {}}, HOST, None),
        ({}, HOST, None),
    ],
)
def test_docker_configuration(config: t.Any, auths: t.Any, host: str, login: t.Any) -> None:
    assert found(find_login(host, None, None, config({"auths": auths}))) == login


def test_folder_of_the_environment(config: t.Any, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config({"auths": {HOST: {"auth": PAIR}}})
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    assert found(find_login(HOST, None, None, None)) == ("anna", "s3cr3t:with:colons", "")
    assert find_login(HOST, None, None, str(tmp_path)) is not None
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path / "none"))
    assert find_login(HOST, None, None, None) is None


@pytest.mark.parametrize("setting", [{"credHelpers": {HOST: "test"}}, {"credsStore": "test"}])
def test_credential_helper(config: t.Any, helper: t.Any, setting: dict[str, t.Any]) -> None:
    helper('printf \'{"Username": "anna", "Secret": "for %s"}\' "$asked"')
    assert found(find_login(HOST, None, None, config(setting))) == ("anna", f"for {HOST}", "")


def test_credential_helper_with_identity_token(config: t.Any, helper: t.Any) -> None:
    helper('printf \'{"Username": "<token>", "Secret": "1d3nt1ty"}\'')
    assert found(find_login(HOST, None, None, config({"credsStore": "test"}))) == ("", "", "1d3nt1ty")


def test_credential_helper_that_knows_nothing(config: t.Any, helper: t.Any) -> None:
    helper('echo "credentials not found in native keychain"; exit 1')
    assert find_login(HOST, None, None, config({"credsStore": "test"})) is None


@pytest.mark.parametrize(
    ("document", "match"),
    [
        ("{", "it is no JSON"),
        ("[]", "it is no mapping"),
        ({"auths": {HOST: {"auth": "%%%"}}}, "no legal form"),
        ({"auths": {HOST: {"auth": base64.b64encode(b"nocolon").decode()}}}, "no legal form"),
        ({"auths": {HOST: "s3cr3t"}}, "cannot be used"),
        ({"auths": ["s3cr3t"]}, "no legal form"),
        ({"credsStore": "absent"}, "docker-credential-absent is not installed"),
        ({"credHelpers": {HOST: "absent"}}, "docker-credential-absent is not installed"),
    ],
)
def test_broken_configurations(config: t.Any, document: t.Any, match: str) -> None:
    with pytest.raises(RegistryError, match=match) as refused:
        find_login(HOST, None, None, config(document))
    assert refused.value.kind == "auth"
    assert "s3cr3t" not in str(refused.value)


@pytest.mark.parametrize(
    ("script", "match"),
    [("echo s3cr3t; exit 1", "docker-credential-test failed"), ("echo s3cr3t", "no legal form")],
)
def test_broken_helpers(config: t.Any, helper: t.Any, script: str, match: str) -> None:
    helper(script)
    with pytest.raises(RegistryError, match=match) as refused:
        find_login(HOST, None, None, config({"credsStore": "test"}))
    assert "s3cr3t" not in str(refused.value)


def test_named_configuration_has_to_be_there(tmp_path: pathlib.Path) -> None:
    with pytest.raises(RegistryError, match="there is no such file"):
        find_login(HOST, None, None, str(tmp_path / "nowhere.json"))
