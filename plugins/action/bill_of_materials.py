# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The bill of materials is made on the controller: the files, the registry's answers and pip are what it has."""

from __future__ import annotations

import os
import typing as t

from ansible.plugins.action import ActionBase

from ansible_collections.mindcluster.recovery.plugins.module_utils._atomic_file import replace_text
from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Finding, Refused
from ansible_collections.mindcluster.recovery.plugins.module_utils._image_refs import DEFAULT_REGISTRY, parse_reference
from ansible_collections.mindcluster.recovery.plugins.module_utils._wheel_inventory import collect
from ansible_collections.mindcluster.recovery.plugins.plugin_utils import _bom_parts as parts
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._bom import Item, cyclonedx, requirements, table
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._bom_python import python_packages

Json = dict[str, t.Any]

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ARGUMENT_SPEC: dict[str, Json] = {
    "directory": {"type": "str", "required": True},
    "plan": {"type": "dict", "required": True},
    "wheels": {"type": "raw"},
    "wheelhouse": {"type": "str"},
    "base": {"type": "str"},
    "repository": {"type": "str"},
    "tag": {"type": "str"},
    "jobs": {"type": "list", "elements": "dict", "default": []},
    "folders": {"type": "list", "elements": "str", "default": []},
    "requirements": {"type": "str"},
    "packages": {"type": "str"},
    "platform": {"type": "str"},
    "python_version": {"type": "str"},
    "registry_username": {"type": "str"},
    "registry_password": {"type": "str", "no_log": True},
    "registry_ca": {"type": "str"},
    "registry_insecure": {"type": "bool", "default": False},
}


_VARIABLES = {
    "requirements": "bill_of_materials_requirements",
    "packages": "bill_of_materials_packages",
    "registry_ca": "training_image_registry_ca",
}


class ActionModule(ActionBase):
    """Collect everything, with all mistakes at once, then write the files."""

    _requires_connection = False
    _supports_check_mode = True
    _supports_diff = True

    def run(self, tmp: str | None = None, task_vars: Json | None = None) -> Json:
        result: Json = super().run(tmp, task_vars)
        _validation, options = self.validate_argument_spec(argument_spec=ARGUMENT_SPEC)
        self._folders = [*options["folders"], os.getcwd()]
        try:
            items, warnings = self._collect(options)
            result.update(self._write(items, options), warnings=warnings)
        except Refused as exc:
            result.update(failed=True, changed=False, msg=str(exc), errors=exc.as_dicts())
        return result

    # Collecting

    def _collect(self, options: Json) -> tuple[list[Item], list[str]]:
        items: list[Item] = []
        findings: list[Finding] = []
        needed = self._needed(options)
        inventory = collect(options["wheels"] or {}, options["wheelhouse"], needed, self._resolve, several=True)
        findings += inventory.findings
        for key, wheel in inventory.wheels.items():
            items += [self._wheel("wheel", each) for each in inventory.variants.get(key, [wheel])]
        items += [self._wheel("wheelhouse", wheel) for wheel in inventory.wheelhouse]
        for part in (self._images, self._collections, self._packages):
            try:
                items += part(options)
            except Refused as exc:
                findings += exc.findings
        if findings:
            raise Refused(list(dict.fromkeys(findings)))
        return items, [finding.line() for finding in inventory.warnings]

    def _needed(self, options: Json) -> list[str]:
        """A site whose image is made elsewhere needs no wheels."""
        return list(options["plan"]["image"]["wheels"]) if options["base"] or options["wheels"] else []

    def _wheel(self, kind: str, wheel: Json) -> Item:
        """A path below the working directory is told from there, so that two checkouts give the same bytes."""
        path = os.path.relpath(wheel["path"])
        path = wheel["path"] if path.startswith(os.pardir) else path
        return Item(kind, wheel["name"], wheel["version"], path, wheel["filename"], wheel["sha256"])

    def _images(self, options: Json) -> list[Item]:
        ask = self._asker(options)
        wanted = [("base-image", options["base"], "training_image_base")] if options["base"] else []
        findings: list[Finding] = []
        for job in options["jobs"]:
            try:
                wanted += self._job_images(job, bool(options["repository"]))
            except Refused as exc:
                findings += exc.findings
        items = []
        for kind, name, where in dict.fromkeys(wanted):
            try:
                items.append(parts.image(kind, name, where, ask))
            except Refused as exc:
                findings += exc.findings
        if findings:
            raise Refused(findings)
        if options["repository"]:
            tag = options["tag"] or str(options["plan"]["release"]).lower()
            items.append(parts.result_image(options["repository"], tag, ask))
        return items

    def _asker(self, options: Json) -> parts.Ask:
        home = DEFAULT_REGISTRY
        if options["repository"]:
            home = parse_reference(options["repository"], "training_image_repository").registry
        return parts.asker(
            options["registry_username"] or "",
            options["registry_password"] or "",
            self._named(options, "registry_ca") or "",
            options["registry_insecure"],
            home,
        )

    def _job_images(self, job: Json, made_here: bool) -> list[tuple[str, str, str]]:
        found = [("job-image", str(job["image"]), "training_job_image")] if job.get("image") else []
        if job.get("manifest"):
            path = self._resolve(job["manifest"]) or str(job["manifest"])
            names = parts.manifest_images(path, made_here or bool(job.get("image")))
            found += [("job-image", name, "training_job_manifest") for name in names]
        return found

    def _collections(self, _options: Json) -> list[Item]:
        return parts.collections(ROOT)

    def _packages(self, options: Json) -> list[Item]:
        return python_packages(
            self._named(options, "requirements") or os.path.join(ROOT, "requirements", "controller.txt"),
            self._named(options, "packages") or "",
            options["platform"] or "",
            options["python_version"] or "",
        )

    def _resolve(self, path: str | None) -> str | None:
        """The file or folder that a path of the user's means, or None where there is none."""
        if not path:
            return None
        places = [os.path.join(folder, os.path.expanduser(str(path))) for folder in self._folders]
        return next((place for place in places if os.path.exists(place)), None)

    def _named(self, options: Json, option: str) -> str | None:
        """What an option names; never something else in its place because it is not there.

        :raises Refused: where there is no such file or folder.
        """
        if not options[option]:
            return None
        found = self._resolve(options[option])
        if found is None:
            raise Refused(_not_there(options[option], _VARIABLES[option]))
        return found

    # Writing

    def _write(self, items: list[Item], options: Json) -> Json:
        own = next(item for item in items if item.kind == "collection")
        plan = options["plan"]
        texts = {
            "bill-of-materials.json": cyclonedx(items, own, plan),
            "bill-of-materials.md": table(items, plan),
            "python-packages.txt": requirements(items),
        }
        folder = os.path.abspath(os.path.expanduser(options["directory"]))
        answer: Json = {"changed": False, "paths": [], "components": len(items)}
        diffs = []
        for name, text in texts.items():
            path = os.path.join(folder, name)
            before = self._before(path)
            answer["paths"].append(path)
            if before == text:
                continue
            answer["changed"] = True
            diffs.append({"before_header": path, "after_header": path, "before": before or "", "after": text})
            if not self._task.check_mode:
                self._replace(path, text)
        if self._task.diff:
            answer["diff"] = diffs
        return answer

    def _before(self, path: str) -> str | None:
        try:
            with open(path, encoding="utf-8", errors="replace", newline="") as stream:
                return stream.read()
        except FileNotFoundError:
            return None
        except OSError as exc:
            raise Refused(_not_written(path, exc.strerror or str(exc))) from exc

    def _replace(self, path: str, text: str) -> None:
        try:
            replace_text(path, text)
        except OSError as exc:
            raise Refused(_not_written(path, exc.strerror or str(exc))) from exc


def _not_written(path: str, why: str) -> Finding:
    return Finding(
        "bom-not-written",
        f"`{path}` cannot be written: {why}",
        "There is no bill then, or an old one",
        "Name a folder in which you may write",
        "bill_of_materials_dir",
    )


def _not_there(path: str, where: str) -> Finding:
    return Finding(
        "bom-path-missing",
        f"`{path}` is not there",
        "The bill would be made from something else than what was named",
        "Correct the path; a relative one counts from the folder of the inventory, then from the working directory",
        where,
    )
