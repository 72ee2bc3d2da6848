# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The controller's half of training_image_build: reads the wheels, and says what goes on while long steps run.

A module's output is shown only when it has ended, so each long step is a module call of its own.
"""

from __future__ import annotations

import typing as t

from ansible_collections.mindcluster.recovery.plugins.module_utils import _image_inputs as inputs_of
from ansible_collections.mindcluster.recovery.plugins.module_utils._wheel_inventory import Inventory
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._image_action import ImageAction

Json = dict[str, t.Any]

_PLACEHOLDER_TAG = "not-built-yet"


class ActionModule(ImageAction):
    """Look, and do what the look says is to be done."""

    MODULE = "mindcluster.recovery.training_image_build"

    def make_image(self) -> Json:
        inventory = self._read_wheels()
        look = self._look(inventory)
        step, seen = look["next"], look["look"]
        answer = self._answer(seen, changed=step != "done" or look["trust_changed"])
        answer.update(built=step == "build", pushed=step != "done" and self._push)
        if self._play_context.diff and step != "done":
            answer["diff"] = _diff(seen)
        if step == "done":
            answer["ref"] = self._ref(seen["digest"])
            return answer
        if step == "build":
            self._transfer(inventory)
        if self._task.check_mode:
            if step == "build":
                self._try_build(inventory, seen)
            return dict(answer, ref="%s:%s" % (self._arg("repository"), _PLACEHOLDER_TAG), digest="", image_id="")
        return self._build_and_push(answer, inventory, seen, step)

    def _build_and_push(self, answer: Json, inventory: Inventory, seen: Json, step: str) -> Json:
        answer["image_id"], answer["digest"] = seen["image_id"], ""
        if step == "build":
            with self.progress("building %s on %s" % (self._name, self._arg("base"))):
                built = self._step("build", inventory, _look=seen)
            answer["image_id"], answer["patches"] = built["image_id"], built["patches"]
            seen = dict(seen, image_id=built["image_id"], proved=True)
        if self._push or step == "push":
            with self.progress("%s %s" % ("pushing" if self._push else "naming", self._name)):
                answer["digest"] = self._step("push", inventory, _look=seen)["digest"]
        answer["ref"] = self._ref(answer["digest"])
        return answer

    def _look(self, inventory: Inventory) -> Json:
        """Look, pull what the look needs, and look again; the base image and the image at the tag, at most."""
        pulled: list[str] = []
        trust_changed = False
        while True:
            look = self._step("look", inventory, _pulled=pulled)
            # Only the first look finds the registry's authority missing, for it puts it there.
            trust_changed = trust_changed or look["trust_changed"]
            if look["next"] != "pull":
                return dict(look, trust_changed=trust_changed)
            image = look["look"]["pull"]
            with self.progress("pulling %s (%s)" % (image, look["look"]["pull_what"])):
                self._step("pull", inventory, _image=image)
            pulled.append(image)

    def _try_build(self, inventory: Inventory, seen: Json) -> None:
        with self.progress("trying the build of %s in a container that is thrown away" % self._name):
            self._step("trial", inventory, _look=seen)

    # --- answers

    def _answer(self, seen: Json, changed: bool) -> Json:
        facts = seen["facts"]
        return {
            "changed": changed,
            "digest": seen["digest"],
            "image_id": seen["image_id"],
            "inputs": dict(seen["inputs"], sha256=inputs_of.inputs_hash(seen["inputs"])),
            "torch_version": (facts.get("torch") or {}).get("version", ""),
            "python_version": facts["python"]["version"],
        }

    def _ref(self, digest: str) -> str:
        return "%s@%s" % (self._arg("repository"), digest) if digest else self._name

    @property
    def _push(self) -> bool:
        from ansible.module_utils.parsing.convert_bool import boolean

        value = self._arg("push")
        return True if value is None else bool(boolean(value, strict=False))


def _diff(seen: Json) -> list[Json]:
    return [
        {
            "before_header": "inputs of the image that is there",
            "after_header": "inputs of the image to build",
            "before": inputs_of.describe(seen["before"]),
            "after": inputs_of.describe(seen["inputs"]),
        },
        {
            "before_header": "Dockerfile of the image that is there",
            "after_header": "Dockerfile of the image to build",
            "before": inputs_of.shown_dockerfile(seen["before_dockerfile"]),
            "after": inputs_of.shown_dockerfile(seen["dockerfile"]),
        },
    ]
