# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""The decision what is to be done with a training image, and the refusal of what cannot work."""

from __future__ import annotations

import typing as t

from ansible_collections.mindcluster.recovery.plugins.module_utils import _image_inputs as inputs_of
from ansible_collections.mindcluster.recovery.plugins.module_utils import _image_rules as rules
from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Finding, Refused
from ansible_collections.mindcluster.recovery.plugins.module_utils._image_base import (
    base_changed,
    base_missing,
    has_identity,
    is_platform,
    labels_of,
    local_identity,
    other_platform,
    trigger_warnings,
)
from ansible_collections.mindcluster.recovery.plugins.module_utils._image_build_request import Request
from ansible_collections.mindcluster.recovery.plugins.module_utils._image_context import code_hashes
from ansible_collections.mindcluster.recovery.plugins.module_utils._image_inspect import run_stage
from ansible_collections.mindcluster.recovery.plugins.module_utils._image_refs import Reference
from ansible_collections.mindcluster.recovery.plugins.module_utils._image_trust import check_insecure, install_authority
from ansible_collections.mindcluster.recovery.plugins.module_utils._wheels import ARCHITECTURES

Json = t.Dict[str, t.Any]


class Look:
    """The decision, one question after the other."""

    def __init__(self, request: Request, check_mode: bool) -> None:
        self.request = request
        self.check_mode = check_mode
        self.engine = request.connect()
        self.findings = list(request.findings)
        self.warnings: list[Finding] = []
        self.pulled: list[str] = request.params["_pulled"] or []
        self.trust_changed = False

    def decide(self) -> Json:
        self._trust()
        base = self._base()
        identity = self._identity(base)
        existing, labels = self._existing()
        if self.findings:
            self._refuse(base)
        inputs = self._inputs(identity)
        if existing is None:
            return self._pull(self.request.target, "image that is in the registry, to see what it was built from")
        answer: Json = {"inputs": inputs, "image_id": existing.get("Id", ""), "digest": existing.get("digest", "")}
        answer["before"] = inputs_of.built_from(labels)
        answer["before_dockerfile"] = _dockerfile_of(answer["before"], labels)
        if labels.get(inputs_of.LABEL_INPUTS) == inputs_of.inputs_hash(inputs):
            return self._done(answer, labels)
        return self._missing(answer, base, identity)

    def _base(self) -> Json | None:
        """The base image as the engine has it; None where it has none for the platform that is asked for."""
        base = self.engine.inspect(str(self.request.base))
        wanted = self.request.platform
        if base is None or not wanted or is_platform(base, wanted):
            return base
        if self.request.params["pull"] == "never" or str(self.request.base) in self.pulled:
            self.findings.append(other_platform(str(self.request.base), base, wanted))
        return None

    def _trust(self) -> None:
        params, target = self.request.params, self.request.target
        if params["_ca_pem"]:
            if not self.engine.is_local:
                self.findings.append(_authority_elsewhere())
                return
            # What the controller has found already will be refused, so nothing may be touched here.
            only_look = self.check_mode or bool(self.findings)
            try:
                self.trust_changed = install_authority(target.registry, params["_ca_pem"], only_look)
            except Refused as exc:
                self.findings += exc.findings
        if params["registry_insecure"]:
            self.findings += check_insecure(target, self.engine.insecure_registries())

    def _identity(self, base: Json | None) -> str:
        """What the base is, by its digest in the registry, or by its ID where it has none."""
        policy, name = self.request.params["pull"], self.request.base
        if base is not None and policy != "always":
            return local_identity(base, name)
        if policy == "never" or not isinstance(name, Reference):
            if not any(finding.code == "platform-missing" for finding in self.findings):
                self.findings.append(base_missing(str(name), policy))
            return ""
        try:
            digest = self.engine.remote_digest(name)
        except Refused as exc:
            self.findings += exc.findings
            return ""
        if digest is None:
            self.findings.append(base_missing(str(name), policy))
        return digest or ""

    def _refuse(self, base: Json | None) -> t.NoReturn:
        """Raise what was found, and with a base at hand also what does not fit it."""
        if base is not None:
            try:
                self.findings += self._check(self._probe(base["Id"]))
            except Refused as exc:
                self.findings += exc.findings
        raise Refused(self.findings)

    def _inputs(self, identity: str) -> Json:
        request = self.request
        return inputs_of.collect_inputs(
            identity,
            request.plan_image,
            request.wheels,
            request.wheelhouse,
            code_hashes(),
            request.params["python"],
            request.platform,
            request.params["build_args"],
        )

    def _existing(self) -> tuple[Json | None, dict[str, str]]:
        """The image that has the target's name now, and its labels; None where it must be pulled to be read."""
        target = self.request.target
        if not self.request.params["push"]:
            found = self.engine.inspect(str(target)) or {}
            return found, labels_of(found)
        if self.check_mode and self.trust_changed:
            # The registry cannot be asked before the engine trusts it.
            return {}, {}
        try:
            digest = self.engine.remote_digest(target)
        except Refused as exc:
            self.findings += exc.findings
            return {}, {}
        if digest is None:
            return {}, {}
        found = self.engine.inspect("%s@%s" % (target.repository, digest)) or {}
        if not found and str(target) not in self.pulled:
            return None, {}
        return dict(found, digest=digest), labels_of(found)

    def _done(self, answer: Json, labels: t.Mapping[str, str]) -> Json:
        torch, target = labels.get(inputs_of.LABEL_TORCH, ""), self.request.target
        if rules.needs_torch(self.request.plan_image):
            mismatch = rules.check_torch_version(str(target), torch, self.request.plan)
            if mismatch:
                raise Refused(mismatch)
        answer["facts"] = {"torch": {"version": torch}, "python": {"version": labels.get(inputs_of.LABEL_PYTHON, "")}}
        return self._answer("done", answer)

    def _missing(self, answer: Json, base: Json | None, identity: str) -> Json:
        if base is None or not has_identity(base, identity):
            if str(self.request.base) not in self.pulled:
                return self._pull(self.request.base, "base image")
            raise Refused(base_changed(str(self.request.base), identity))
        facts = self._probe(base["Id"])
        refused = self._check(facts)
        if refused:
            raise Refused(refused)
        arch = ARCHITECTURES.get(base.get("Architecture", ""), facts["python"]["machine"])
        self.warnings += rules.wheel_warnings(self.request.wheels, facts) + rules.plan_warnings(self.request.plan, arch)
        built = self.engine.find_by_label(inputs_of.LABEL_INPUTS, inputs_of.inputs_hash(answer["inputs"]))
        labels = inputs_of.labels_for(answer["inputs"], str(self.request.base), base["Id"], facts)
        answer.update(
            facts=facts,
            base_id=base["Id"],
            image_id=built or "",
            dockerfile=inputs_of.render_dockerfile(
                base["Id"],
                str(self.request.base),
                self.request.params["python"],
                (base.get("Config") or {}).get("User") or "",
                labels,
                self.request.params["build_args"] or {},
            ),
        )
        self.warnings += trigger_warnings(base)
        return self._answer("push" if built else "build", answer)

    def _probe(self, base_id: str) -> Json:
        request = self.request
        return run_stage(
            self.engine, base_id, str(request.base), request.params["python"], "facts", {}, request.platform
        )

    def _check(self, facts: Json) -> list[Finding]:
        return rules.check_base(str(self.request.base), facts, self.request.plan) + rules.check_wheels(
            self.request.wheels, facts
        )

    def _pull(self, image: t.Any, what: str) -> Json:
        return self._answer("pull", {"pull": str(image), "pull_what": what})

    def _answer(self, step: str, answer: Json) -> Json:
        return {
            "next": step,
            "look": answer,
            "trust_changed": self.trust_changed,
            "warnings": [finding.as_dict() for finding in self.warnings],
        }


def _dockerfile_of(inputs: Json | None, labels: t.Mapping[str, str]) -> str:
    """The Dockerfile by which an existing image was built, as far as its labels tell."""
    if inputs is None:
        return ""
    own = {name: value for name, value in labels.items() if name.startswith("mindcluster.recovery.")}
    own.update({name: labels.get(name, "") for name in (inputs_of.LABEL_BASE_NAME, inputs_of.LABEL_BASE_DIGEST)})
    base_name = labels.get(inputs_of.LABEL_BASE_NAME, "")
    return inputs_of.render_dockerfile(inputs["base"], base_name, inputs["python"], "", own, inputs["build_args"])


def _authority_elsewhere() -> Finding:
    return Finding(
        "registry-ca-elsewhere",
        "the engine is on another host than the module",
        "The certificate must lie on the engine's host, under /etc/docker/certs.d",
        "Put it there by hand and leave training_image_registry_ca out",
        "training_image_registry_ca",
    )
