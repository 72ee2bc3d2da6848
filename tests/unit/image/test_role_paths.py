# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A path that the build finds is found by the look and the removal after it too."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize("playbook", ["verify", "uninstall"])
@pytest.mark.parametrize(("path", "found"), [("ca.pem", True), ("lacking.pem", False)])
def test_the_authority_is_looked_for_from_the_working_directory(
    tmp_path: Path, playbook: str, path: str, found: bool
) -> None:
    (tmp_path / "ca.pem").write_text("PEM")
    variables = {
        "training_image_base": "registry.example/base:1",
        # Refused as soon as the module runs, for which the certificate has to be there.
        "training_image_repository": "127.0.0.1:1/TEAM",
        "training_image_builder": "registry",
        "training_image_registry_ca": path,
        "training_image_remove": True,
        "recovery_plan_strategies": ["retry"],
    }
    program = str(Path(sys.executable).with_name("ansible-playbook"))
    command = [program, "-i", "localhost,", f"mindcluster.recovery.{playbook}", "-e", json.dumps(variables)]
    environment = {**os.environ, "ANSIBLE_NOCOLOR": "1", "ANSIBLE_LOCALHOST_WARNING": "0", "HOME": str(tmp_path)}
    ended = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    said = ended.stdout + ended.stderr
    assert ended.returncode != 0
    assert ("it has capital letters" in said, "lacking.pem" in said) == (found, not found)
