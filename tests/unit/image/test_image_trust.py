# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.mindcluster.recovery.plugins.module_utils import _image_refs as refs
from ansible_collections.mindcluster.recovery.plugins.module_utils import _image_trust as trust
from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Refused
from ansible_collections.mindcluster.recovery.plugins.module_utils._image_engine_errors import explain

PEM = "-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----\n"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('Get "http://127.0.0.1:9/v2/": dial tcp 127.0.0.1:9: connect: connection refused', "registry-unreachable"),
        ('Get "https://x/v2/": dial tcp: lookup x on 10.0.0.1:53: no such host', "registry-unreachable"),
        ('Head "http://r/v2/x/manifests/1": no basic auth credentials', "registry-auth"),
        ("unauthorized: authentication required", "registry-auth"),
        ("denied: requested access to the resource is denied", "registry-auth"),
        ('Get "https://r/v2/": http: server gave HTTP response to HTTPS client', "registry-plain-http"),
        ('Get "https://r/v2/": x509: certificate signed by unknown authority', "registry-untrusted"),
        ("manifest for r/x:1 not found: manifest unknown: manifest unknown", "image-missing"),
        ('exec: "python3": executable file not found in $PATH: unknown', "base-without-python"),
        ("exec user process caused: exec format error", "platform-cannot-run"),
        ("write /var/lib/docker/x: no space left on device", "disk-full"),
        ("toomanyrequests: too many", "registry-trouble"),
        ("something new", "engine-refused"),
    ],
)
def test_what_the_engine_says_is_explained(text: str, code: str) -> None:
    finding = explain(text, 500, "push `r/x:1`", "r")
    assert finding.code == code
    assert text in finding.what
    assert finding.remedy


def test_an_authority_is_installed_once(tmp_path: Path) -> None:
    target = tmp_path / "r.example:5000" / "ca.crt"
    assert trust.install_authority("r.example:5000", PEM, check=True, root=str(tmp_path)) is True
    assert not target.exists()
    assert trust.install_authority("r.example:5000", PEM, check=False, root=str(tmp_path)) is True
    assert target.read_text() == PEM
    assert trust.install_authority("r.example:5000", PEM, check=False, root=str(tmp_path)) is False
    assert [path.name for path in target.parent.iterdir()] == ["ca.crt"]


def test_what_is_no_certificate_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="no certificate"):
        trust.install_authority("r", "hello", check=False, root=str(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "r").write_text("a file is in the way")
    with pytest.raises(Refused, match="Run with become"):
        trust.install_authority("r", PEM, check=False, root=str(tmp_path))


@pytest.mark.parametrize(
    ("registry", "allowed", "good"),
    [
        ("127.0.0.1:5000", [], True),
        ("10.1.2.3:5000", ["10.0.0.0/8"], True),
        ("r.example:5000", ["r.example:5000"], True),
        ("r.example:5000", ["127.0.0.0/8", "other:5000"], False),
    ],
)
def test_plain_http_is_for_the_engine_to_allow(registry: str, allowed: list[str], good: bool) -> None:
    findings = trust.check_insecure(refs.parse_repository(registry + "/x"), allowed)
    assert [finding.code for finding in findings] == ([] if good else ["registry-insecure-refused"])


def test_a_certificate_with_windows_line_endings_is_written_once(tmp_path: Path) -> None:
    pem = PEM.replace("\n", "\r\n")
    assert trust.install_authority("r.example:5000", pem, check=False, root=str(tmp_path)) is True
    assert trust.install_authority("r.example:5000", pem, check=False, root=str(tmp_path)) is False


def test_a_renewed_certificate_keeps_the_files_mode(tmp_path: Path) -> None:
    path = tmp_path / "r.example:5000" / "ca.crt"
    path.parent.mkdir()
    path.write_text(PEM.replace("BEGIN", "BEGIN OLD"), encoding="utf-8")
    path.chmod(0o640)
    assert trust.install_authority("r.example:5000", PEM, check=False, root=str(tmp_path)) is True
    assert path.stat().st_mode & 0o777 == 0o640
    assert [entry.name for entry in path.parent.iterdir()] == ["ca.crt"]
