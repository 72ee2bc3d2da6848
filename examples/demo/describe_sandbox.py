# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Print the variables that tie the demo's site to this machine: registry, base image, wheels, delivery."""

from __future__ import annotations

import json
import os
import platform
import sys
from pathlib import Path

import yaml


def main() -> None:
    wheels = Path(os.environ["SANDBOX_WHEELS"])
    catalogue = json.loads((wheels / "wheels.json").read_text(encoding="utf-8"))
    delivery, builder = sys.argv[1:3]
    variables = {
        "recovery_plan_arch": platform.machine(),
        "training_image_builder": builder,
        "training_image_repository": "%s/training/llama2" % os.environ["SANDBOX_REGISTRY"],
        "training_image_wheels": {name: catalogue[name] for name in ("mindx_elastic", "mindio_ttp")},
        "training_image_wheelhouse": str(wheels / "wheelhouse"),
        "training_job_delivery": delivery,
        "npu_node_delivery": delivery,
    }
    if builder == "docker":
        variables.update(training_image_base=os.environ["SANDBOX_BASE_TORCH26"], training_image_pull="never")
    else:
        variables["training_image_base"] = "%s/base/torch26:1" % os.environ["SANDBOX_REGISTRY"]
    if delivery == "apply":
        variables["training_job_kubeconfig"] = os.environ["KUBECONFIG"]
        variables["npu_node_kubeconfig"] = os.environ["KUBECONFIG"]
        # The job of an earlier demo has another image; here nothing trains that could be lost.
        variables["training_job_replace"] = True
    print("---\n# Written by the demo at each run: what belongs to this machine.")
    print(yaml.safe_dump(variables, sort_keys=True), end="")


if __name__ == "__main__":
    main()
