# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The controller's half of training_image_build: reads the wheels, and says what goes on while long steps run.

A module's output is shown only when it has ended, so each long step is a module call of its own.
"""

from __future__ import annotations

import os
import time
import typing as t

from ansible.errors import AnsibleError
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

from ansible_collections.mindcluster.recovery.plugins.module_utils import _image_inputs as inputs_of
from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Finding, summary
from ansible_collections.mindcluster.recovery.plugins.module_utils._wheel_inventory import Inventory, collect

Json = dict[str, t.Any]

_MODULE = "mindcluster.recovery.training_image_build"
_PLACEHOLDER_TAG = "not-built-yet"

display = Display()


class _Failed(Exception):
    """A step failed; the module's own answer says why."""

    def __init__(self, answer: Json) -> None:
        super().__init__(answer.get("msg", ""))
        self.answer = answer


class ActionModule(ActionBase):
    """Look, and do what the look says is to be done."""

    TRANSFERS_FILES = True
    _supports_check_mode = True
    _supports_async = False

    def run(self, tmp: str | None = None, task_vars: Json | None = None) -> Json:
        result: Json = super().run(tmp, task_vars)
        self._task_vars = task_vars or {}
        self._invocation: Json | None = None
        self._warnings: list[str] = []
        try:
            answer = self._make_image()
        except _Failed as exc:
            answer = exc.answer
        finally:
            self._remove_tmp_path(self._connection._shell.tmpdir)
        result.update(answer)
        if self._warnings:
            result["warnings"] = list(result.get("warnings") or []) + self._warnings
        if self._invocation is not None:
            result["invocation"] = self._invocation
        return result

    # --- the order of steps

    def _make_image(self) -> Json:
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
            with _Progress("building %s on %s" % (self._name, self._arg("base"))):
                built = self._step("build", inventory, _look=seen)
            answer["image_id"], answer["patches"] = built["image_id"], built["patches"]
            seen = dict(seen, image_id=built["image_id"], proved=True)
        if self._push or step == "push":
            with _Progress("%s %s" % ("pushing" if self._push else "naming", self._name)):
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
            with _Progress("pulling %s (%s)" % (image, look["look"]["pull_what"])):
                self._step("pull", inventory, _image=image)
            pulled.append(image)

    def _try_build(self, inventory: Inventory, seen: Json) -> None:
        with _Progress("trying the build of %s in a container that is thrown away" % self._name):
            self._step("trial", inventory, _look=seen)

    # --- what the steps need

    def _read_wheels(self) -> Inventory:
        plan = self._arg("plan")
        image = plan.get("image") if isinstance(plan, dict) else None
        if not isinstance(image, dict):
            raise _Failed(_failure([_no_plan()]))
        wheels = {} if self._arg("wheels") is None else self._arg("wheels")
        inventory = collect(wheels, self._arg("wheelhouse"), image.get("wheels") or [], self._resolve)
        self._warn(finding.line() for finding in inventory.warnings)
        return inventory

    def _resolve(self, path: t.Any) -> str | None:
        """The file or folder on the controller that a path means, looked for as copy does, then where the user is."""
        if not isinstance(path, str):
            return None
        try:
            return str(self._find_needle("files", os.path.expanduser(path)))
        except AnsibleError:
            # The playbooks of this collection are not where the user's files are.
            found = os.path.abspath(os.path.expanduser(path))
            return found if os.path.exists(found) else None

    def _ca_pem(self) -> str:
        path = self._arg("registry_ca")
        if not path:
            return ""
        found = self._resolve(path)
        if not found or not os.path.isfile(found):
            raise _Failed(_failure([_no_ca(path)]))
        with open(found, encoding="utf-8", errors="replace") as stream:
            return stream.read()

    def _transfer(self, inventory: Inventory) -> None:
        """Bring the wheels to the builder, where it is another host than the controller."""
        if self._connection.transport == "local":
            return
        wheels = list(inventory.wheels.values()) + inventory.wheelhouse
        with _Progress("copying %d wheels to the builder" % len(wheels)):
            folder = self._make_tmp_path()
            for number, wheel in enumerate(wheels):
                target = self._connection._shell.join_path(folder, "%d.whl" % number)
                self._transfer_file(wheel["path"], target)
                wheel["path"] = target
            self._fixup_perms2([folder] + [wheel["path"] for wheel in wheels])

    def _step(self, step: str, inventory: Inventory, **internal: t.Any) -> Json:
        """One module call.

        :raises _Failed: where it failed.
        """
        arguments = dict(self._task.args)
        plan = self._arg("plan")
        arguments["plan"] = {key: plan.get(key) for key in ("image", "torch_version", "arch")}
        arguments["_handover"] = dict(
            internal,
            _step=step,
            _findings=[finding.as_dict() for finding in inventory.findings],
            _wheels=inventory.wheels,
            _wheelhouse=inventory.wheelhouse,
            _ca_pem=self._ca_pem(),
        )
        answer = self._execute_module(module_name=_MODULE, module_args=arguments, task_vars=self._task_vars)
        self._keep_invocation(answer)
        if answer.get("failed") or "step" not in answer:
            raise _Failed({key: value for key, value in answer.items() if key != "step"})
        done: Json = answer["step"]
        self._warn(_line(warning) for warning in done.get("warnings", []))
        return done

    def _keep_invocation(self, answer: Json) -> None:
        """Show the user's own options at -vvv, as the module masked them, and not what the steps hand over."""
        arguments = (answer.pop("invocation", None) or {}).get("module_args")
        if arguments and self._invocation is None:
            own = {name: value for name, value in arguments.items() if not name.startswith("_")}
            self._invocation = {"module_args": own}

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
    def _name(self) -> str:
        return "%s:%s" % (self._arg("repository"), self._arg("tag") or "latest")

    @property
    def _push(self) -> bool:
        from ansible.module_utils.parsing.convert_bool import boolean

        value = self._arg("push")
        return True if value is None else bool(boolean(value, strict=False))

    def _arg(self, name: str) -> t.Any:
        return self._task.args.get(name)

    def _warn(self, lines: t.Iterable[str]) -> None:
        self._warnings += [line for line in lines if line not in self._warnings]


class _Progress:
    """Says that a long step begins, and how long it took."""

    def __init__(self, what: str) -> None:
        self._what = what

    def __enter__(self) -> None:
        self._start = time.monotonic()
        display.display("training_image_build: %s …" % self._what)

    def __exit__(self, kind: t.Any, *rest: t.Any) -> None:
        word = "done" if kind is None else "failed"
        display.display("training_image_build: %s after %.0f s" % (word, time.monotonic() - self._start))


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


def _failure(findings: list[Finding]) -> Json:
    return {"failed": True, "msg": summary(findings), "errors": [finding.as_dict() for finding in findings]}


def _line(warning: t.Mapping[str, str]) -> str:
    return Finding(**warning).line()


def _no_plan() -> Finding:
    return Finding(
        "plan-missing",
        "`plan` is no plan: it has no key `image`",
        "The plan says which wheels and patches the image needs",
        "Give what the module recovery_plan returns as `plan`",
        "plan",
    )


def _no_ca(path: str) -> Finding:
    return Finding(
        "registry-ca-missing",
        "there is no file `%s` on the controller" % path,
        "The engine would not trust the registry",
        "Correct the path",
        "training_image_registry_ca",
    )
