# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The controller's half of training_image_layer: reads the wheels, and says what goes on while layers are read."""

from __future__ import annotations

import typing as t

from ansible_collections.mindcluster.recovery.plugins.module_utils import _image_inputs as inputs_of
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._image_action import ImageAction

Json = dict[str, t.Any]


class ActionModule(ImageAction):
    """Look, and make what is not there."""

    MODULE = "mindcluster.recovery.training_image_layer"
    SEVERAL = True

    def make_image(self) -> Json:
        inventory = self._read_wheels()
        look = self._step("look", inventory)
        seen, is_new = look["look"], look["next"] == "build"
        made = seen
        if is_new:
            self._transfer(inventory)
            with self.progress(self._doing(seen)):
                made = self._step("build", inventory, _look=seen)
        answer = self._answer(seen, made, is_new)
        if self._play_context.diff and is_new:
            answer["diff"] = _diff(seen, made)
        return answer

    def _doing(self, seen: Json) -> str:
        """What takes long: layers that no earlier run has read."""
        layers, size = seen["unread"]
        reading = "reading %d layers of %s (%.0f MB), " % (layers, self._arg("base"), size / 1e6) if layers else ""
        return "%s%s %s" % (reading, "composing" if self._task.check_mode else "writing", self._name)

    def _answer(self, seen: Json, made: Json, is_new: bool) -> Json:
        inputs = _one(seen["inputs"])
        answer: Json = {
            "changed": is_new,
            "built": is_new,
            "pushed": is_new,
            "ref": "%s@%s" % (self._arg("repository"), made["digest"]),
            "inputs": dict(inputs, sha256=inputs_of.inputs_hash(inputs)),
            "images": made.get("images", []),
            "statistics": _sum(seen["statistics"], made["statistics"]) if is_new else seen["statistics"],
        }
        for key in ("digest", "image_id", "torch_version", "python_version"):
            answer[key] = made[key]
        if is_new:
            answer["patches"] = made["patches"]
        return answer


def _one(by_platform: Json) -> Json:
    """The inputs of the one image, or those of each platform's."""
    return next(iter(by_platform.values())) if len(by_platform) == 1 else {"platforms": by_platform}


def _sum(one: Json, other: Json) -> Json:
    return {key: one[key] + other[key] for key in one}


def _diff(seen: Json, made: Json) -> list[Json]:
    before = {platform: inputs for platform, inputs in seen["before"].items() if inputs}
    paths = ["%s %s" % (image["platform"], path) for image in made["images"] for path in image["paths"]]
    return [
        {
            "before_header": "inputs of the image that is there",
            "after_header": "inputs of the image to build",
            "before": inputs_of.describe(_one(before) if before else None),
            "after": inputs_of.describe(_one(seen["inputs"])),
        },
        {
            "before_header": "the base image's files",
            "after_header": "files of the new layer (-: taken away)",
            "before": "",
            "after": "".join(path + "\n" for path in paths),
        },
    ]
