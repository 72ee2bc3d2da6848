# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""verify.yml of the role training_image asks for each platform, however these are written."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import typing as t
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

LOOK = """
- hosts: localhost
  connection: local
  gather_facts: false
  tasks:
    - ansible.builtin.include_role: {name: mindcluster.recovery.training_image, tasks_from: verify}
      vars: {training_image_repository: "{{ registry }}/{{ item }}"}
      loop: [own]
    - ansible.builtin.copy: {content: "{{ training_image_verified | to_json }}", dest: "{{ rows }}", mode: "0600"}
"""


@pytest.fixture
def registry() -> t.Iterator[str]:
    """A registry that has nothing."""

    class Empty(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_error(404)

        do_HEAD = do_GET

        def log_message(self, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Empty) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield "127.0.0.1:%d" % server.server_address[1]
        server.shutdown()


@pytest.mark.parametrize(
    ("given", "pieces"),
    [
        ("linux/amd64, linux/arm64", ["image (linux/amd64)", "image (linux/arm64)"]),  # as with -e on the command line
        (["linux/arm64"], ["image (linux/arm64)"]),
        ([], ["image"]),
    ],
)
def test_each_platform_has_its_row(registry: str, tmp_path: Path, given: t.Any, pieces: list[str]) -> None:
    variables = {
        "ansible_python_interpreter": sys.executable,
        "registry": registry,
        "recovery_plan_strategies": ["retry"],
        "rows": str(tmp_path / "rows"),
        "training_image_builder": "registry",
        "training_image_platforms": given,
        "training_image_registry_insecure": True,
    }
    (tmp_path / "look.yml").write_text(LOOK)
    program = str(Path(sys.executable).with_name("ansible-playbook"))
    command = [program, "-i", "localhost,", "look.yml", "-e", json.dumps(variables)]
    environment = {**os.environ, "ANSIBLE_NOCOLOR": "1", "HOME": str(tmp_path)}
    ended = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "already in use" not in ended.stdout + ended.stderr
    rows = json.loads((tmp_path / "rows").read_text(encoding="utf-8"))
    assert [row["piece"] for row in rows] == pieces
    assert all(f"{registry}/own" in row["seen"] for row in rows)
