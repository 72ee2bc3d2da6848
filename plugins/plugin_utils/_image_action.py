# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""What the action plugins of the two image builders share: wheels of the controller, steps of the module, progress."""

from __future__ import annotations

import os
import time
import typing as t

from ansible.errors import AnsibleError
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Finding, summary
from ansible_collections.mindcluster.recovery.plugins.module_utils._wheel_inventory import Inventory, collect

Json = dict[str, t.Any]

display = Display()


class Failed(Exception):
    """A step failed; the module's own answer says why."""

    def __init__(self, answer: Json) -> None:
        super().__init__(answer.get("msg", ""))
        self.answer = answer


class ImageAction(ActionBase):
    """The controller's half of a module that makes images."""

    TRANSFERS_FILES = True
    _supports_check_mode = True
    _supports_async = False

    #: The module by its full name.
    MODULE = ""
    #: Whether a wheel may be a list, one file for each architecture.
    SEVERAL = False

    def make_image(self) -> Json:
        """The order of steps.

        :raises Failed: a step failed.
        """
        raise NotImplementedError

    def run(self, tmp: str | None = None, task_vars: Json | None = None) -> Json:
        result: Json = super().run(tmp, task_vars)
        self._task_vars = task_vars or {}
        self._invocation: Json | None = None
        self._warnings: list[str] = []
        try:
            answer = self.make_image()
        except Failed as exc:
            answer = exc.answer
        finally:
            self._remove_tmp_path(self._connection._shell.tmpdir)
        result.update(answer)
        if self._warnings:
            result["warnings"] = list(result.get("warnings") or []) + self._warnings
        if self._invocation is not None:
            result["invocation"] = self._invocation
        return result

    def _read_wheels(self) -> Inventory:
        plan = self._arg("plan")
        image = plan.get("image") if isinstance(plan, dict) else None
        if not isinstance(image, dict):
            raise Failed(failure([_no_plan()]))
        wheels = {} if self._arg("wheels") is None else self._arg("wheels")
        inventory = collect(wheels, self._arg("wheelhouse"), image.get("wheels") or [], self._resolve, self.SEVERAL)
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
            raise Failed(failure([_no_ca(path)]))
        with open(found, encoding="utf-8", errors="replace") as stream:
            return stream.read()

    def _transfer(self, inventory: Inventory) -> None:
        """Bring the wheels to the builder, where it is another host than the controller."""
        if self._connection.transport == "local":
            return
        variants = [wheel for files in inventory.variants.values() for wheel in files]
        given = [wheel for key, wheel in inventory.wheels.items() if key not in inventory.variants]
        wheels = variants + given + inventory.wheelhouse
        with self.progress("copying %d wheels to the builder" % len(wheels)):
            folder = self._make_tmp_path()
            for number, wheel in enumerate(wheels):
                target = self._connection._shell.join_path(folder, "%d.whl" % number)
                self._transfer_file(wheel["path"], target)
                wheel["path"] = target
            self._fixup_perms2([folder] + [wheel["path"] for wheel in wheels])

    def _step(self, step: str, inventory: Inventory, **internal: t.Any) -> Json:
        """One module call.

        :raises Failed: where it failed.
        """
        arguments = dict(self._task.args)
        plan = self._arg("plan")
        arguments["plan"] = {key: plan.get(key) for key in ("image", "torch_version", "arch")}
        arguments["_handover"] = dict(
            internal,
            _step=step,
            _findings=[finding.as_dict() for finding in inventory.findings],
            _wheels=inventory.wheels,
            _variants=inventory.variants,
            _wheelhouse=inventory.wheelhouse,
            _ca_pem=self._ca_pem(),
        )
        answer = self._execute_module(module_name=self.MODULE, module_args=arguments, task_vars=self._task_vars)
        self._keep_invocation(answer)
        if answer.get("failed") or "step" not in answer:
            raise Failed({key: value for key, value in answer.items() if key != "step"})
        done: Json = answer["step"]
        self._warn(line(warning) for warning in done.get("warnings", []))
        return done

    def _keep_invocation(self, answer: Json) -> None:
        """Show the user's own options at -vvv, as the module masked them, and not what the steps hand over."""
        arguments = (answer.pop("invocation", None) or {}).get("module_args")
        if arguments and self._invocation is None:
            own = {name: value for name, value in arguments.items() if not name.startswith("_")}
            self._invocation = {"module_args": own}

    @property
    def _name(self) -> str:
        return "%s:%s" % (self._arg("repository"), self._arg("tag") or "latest")

    def _arg(self, name: str) -> t.Any:
        return self._task.args.get(name)

    def progress(self, what: str) -> Progress:
        return Progress(self.MODULE, what)

    def _warn(self, lines: t.Iterable[str]) -> None:
        self._warnings += [line for line in lines if line not in self._warnings]


class Progress:
    """Says that a long step begins, and how long it took."""

    def __init__(self, module: str, what: str) -> None:
        self._module = module.rpartition(".")[2]
        self._what = what

    def __enter__(self) -> None:
        self._start = time.monotonic()
        display.display("%s: %s …" % (self._module, self._what))

    def __exit__(self, kind: t.Any, *rest: t.Any) -> None:
        word = "done" if kind is None else "failed"
        display.display("%s: %s after %.0f s" % (self._module, word, time.monotonic() - self._start))


def failure(findings: list[Finding]) -> Json:
    return {"failed": True, "msg": summary(findings), "errors": [finding.as_dict() for finding in findings]}


def line(warning: t.Mapping[str, str]) -> str:
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
