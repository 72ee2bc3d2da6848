# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""The steps of building a training image with the Docker engine.

C(look) decides what is to be done and refuses what cannot work; C(pull), C(trial), C(build) and C(push) do one thing
each. The action plugin runs them one after another, so that it can say what is going on.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.mindcluster.recovery.plugins.module_utils import _image_inputs as inputs_of
from ansible_collections.mindcluster.recovery.plugins.module_utils import _image_rules as rules
from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Finding, Refused
from ansible_collections.mindcluster.recovery.plugins.module_utils._image_context import build_context, code_hashes
from ansible_collections.mindcluster.recovery.plugins.module_utils._image_engine import (
    Credentials,
    Engine,
    stage_result,
)
from ansible_collections.mindcluster.recovery.plugins.module_utils._image_inspect import (
    run_stage,
    stage_request,
)
from ansible_collections.mindcluster.recovery.plugins.module_utils._image_refs import (
    DEFAULT_REGISTRY,
    Reference,
    parse_reference,
)
from ansible_collections.mindcluster.recovery.plugins.module_utils._image_request import Request as _Request
from ansible_collections.mindcluster.recovery.plugins.module_utils._image_trust import check_insecure, install_authority
from ansible_collections.mindcluster.recovery.plugins.module_utils._wheels import ARCHITECTURES, installable_name

Json = t.Dict[str, t.Any]

_IMAGE_ID = re.compile(r"\Asha256:[0-9a-f]{64}\Z")


class Request(_Request):
    """What the user asked for, with the names of images taken apart.

    :raises Refused: where a name is wrong; everything that is wrong, together with what the controller found.
    """

    def __init__(self, params: t.Mapping[str, t.Any]) -> None:
        self.platform: str = (params["platforms"] or [""])[0]
        super().__init__(params, _parse_base, _check_platforms)

    def connect(self) -> Engine:
        """The engine, with the credentials for the target's registry."""
        params = self.params
        credentials = Credentials(self.target.registry, params["registry_username"], params["registry_password"])
        try:
            return Engine(credentials, params["docker_host"] or "")
        except Refused as exc:
            raise Refused(self.findings + exc.findings) from exc

    def stage_request(self) -> Json:
        """What the stage inside the image is told."""
        keep = ("name", "version", "requires", "modules", "tags")
        return dict(
            stage_request(self.plan_image),
            wheels=[dict(_only(one, keep), file=installable_name(one)) for one in self.wheels.values()],
            candidates=[dict(_only(one, keep), file=installable_name(one)) for one in self.wheelhouse],
        )

    def context_files(self) -> dict[str, str]:
        """Paths on this host by their names in the build context."""
        files = {"wheels/" + installable_name(one): one["path"] for one in self.wheels.values()}
        files.update({"wheelhouse/" + installable_name(one): one["path"] for one in self.wheelhouse})
        return files


def look(params: t.Mapping[str, t.Any], check_mode: bool) -> Json:
    """Decide what is to be done.

    :returns: C(next) is V(pull), V(build), V(push) or V(done); what later steps need is under C(look).
    :raises Refused: everything that cannot work.
    """
    return _Look(Request(params), check_mode).decide()


def pull(params: t.Mapping[str, t.Any]) -> Json:
    """Bring one image into the engine."""
    request = Request(params)
    request.connect().pull(parse_reference(params["_image"], "training_image_base"), request.platform)
    return {}


def trial(params: t.Mapping[str, t.Any]) -> Json:
    """Do in a throw-away container what a build would do.

    :raises Refused: what would stop the build.
    """
    request = Request(params)
    context = build_context("", request.stage_request(), request.context_files())
    command = ["-B", inputs_of.FOLDER + "/_image_stage.py", "install", inputs_of.FOLDER]
    base_id = params["_look"]["base_id"]
    code, out, err = request.connect().run(
        base_id, params["base"], params["python"], command, request.platform, context
    )
    return _stage_report(stage_result(out), request, (out + err).splitlines(), code)


def build(params: t.Mapping[str, t.Any]) -> Json:
    """Build, prove, and give the image its name.

    :returns: C(image_id), C(report).
    :raises Refused: where the build fails or the image does not show what was planned; no name points at it then.
    """
    request = Request(params)
    engine = request.connect()
    look_result: Json = params["_look"]
    context = build_context(look_result["dockerfile"], request.stage_request(), request.context_files())
    image_id, lines = engine.build(context, params["build_args"] or {}, request.platform)
    if not image_id:
        _stage_report(stage_result("".join(lines)), request, lines, 1)
    seen = _prove(engine, image_id, request)
    engine.tag(image_id, request.target)
    report = (stage_result("".join(lines)) or {}).get("result", {})
    warnings = rules.import_warnings(str(request.target), seen) + rules.replaced_warnings(report.get("replaced", []))
    return {"image_id": image_id, "patches": seen["patches"], "warnings": [finding.as_dict() for finding in warnings]}


def push(params: t.Mapping[str, t.Any]) -> Json:
    """Give an image its name where it has none yet, and send it to its registry where that is asked for.

    :raises Refused: where the image is one of an earlier run that does not show what was planned, or the push fails.
    """
    request = Request(params)
    engine = request.connect()
    look_result: Json = params["_look"]
    if not look_result.get("proved"):
        _prove(engine, look_result["image_id"], request)
    engine.tag(look_result["image_id"], request.target)
    return {"digest": engine.push(request.target) if params["push"] else ""}


def _prove(engine: Engine, image_id: str, request: Request) -> Json:
    """What the inspector sees in a new image, which is removed where that is not what was planned."""
    name = str(request.target)
    seen = run_stage(
        engine, image_id, name, request.params["python"], "inspect", request.stage_request(), request.platform
    )
    missing = rules.check_landed(name, seen, request.plan_image)
    if missing:
        engine.remove(image_id)
        raise Refused(missing)
    return seen


class _Look:
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
        if base is None or not wanted or _is_platform(base, wanted):
            return base
        if self.request.params["pull"] == "never" or str(self.request.base) in self.pulled:
            self.findings.append(_other_platform(str(self.request.base), base, wanted))
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
            return _local_identity(base, name)
        if policy == "never" or not isinstance(name, Reference):
            if not any(finding.code == "platform-missing" for finding in self.findings):
                self.findings.append(_base_missing(str(name), policy))
            return ""
        try:
            digest = self.engine.remote_digest(name)
        except Refused as exc:
            self.findings += exc.findings
            return ""
        if digest is None:
            self.findings.append(_base_missing(str(name), policy))
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
            return found, _labels(found)
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
        return dict(found, digest=digest), _labels(found)

    def _done(self, answer: Json, labels: t.Mapping[str, str]) -> Json:
        torch, target = labels.get(inputs_of.LABEL_TORCH, ""), self.request.target
        if rules.needs_torch(self.request.plan_image):
            mismatch = rules.check_torch_version(str(target), torch, self.request.plan)
            if mismatch:
                raise Refused(mismatch)
        answer["facts"] = {"torch": {"version": torch}, "python": {"version": labels.get(inputs_of.LABEL_PYTHON, "")}}
        return self._answer("done", answer)

    def _missing(self, answer: Json, base: Json | None, identity: str) -> Json:
        if base is None or not _has_identity(base, identity):
            if str(self.request.base) not in self.pulled:
                return self._pull(self.request.base, "base image")
            raise Refused(_base_changed(str(self.request.base), identity))
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
        self.warnings += _trigger_warnings(base)
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


def _parse_base(text: str) -> Reference | str:
    """A base image is named as in a registry, or by the ID that it has in the engine."""
    return text if _IMAGE_ID.match(text) else parse_reference(text, "training_image_base")


def _local_identity(base: Json, name: Reference | str) -> str:
    if isinstance(name, Reference):
        if name.digest:
            return name.digest
        own = sorted(_digests_of(base, name))
        if own:
            return own[0]
    return str(base["Id"])


def _digests_of(base: Json, name: Reference) -> list[str]:
    entries = [entry.partition("@") for entry in base.get("RepoDigests") or []]
    return [digest for repository, dummy, digest in entries if _plain(repository) == _plain(name.repository)]


def _has_identity(base: Json, identity: str) -> bool:
    digests = [entry.partition("@")[2] for entry in base.get("RepoDigests") or []]
    return identity == base["Id"] or identity in digests


def _plain(repository: str) -> str:
    """A repository's name without the parts that engines leave out."""
    for prefix in (DEFAULT_REGISTRY + "/", "library/"):
        if repository.startswith(prefix):
            repository = repository[len(prefix) :]
    return repository


def _is_platform(image: Json, wanted: str) -> bool:
    parts = wanted.split("/")
    return image.get("Os") == parts[0] and (len(parts) < 2 or image.get("Architecture") == parts[1])


def _labels(image: Json) -> dict[str, str]:
    return dict((image.get("Config") or {}).get("Labels") or {})


def _dockerfile_of(inputs: Json | None, labels: t.Mapping[str, str]) -> str:
    """The Dockerfile by which an existing image was built, as far as its labels tell."""
    if inputs is None:
        return ""
    own = {name: value for name, value in labels.items() if name.startswith("mindcluster.recovery.")}
    own.update({name: labels.get(name, "") for name in (inputs_of.LABEL_BASE_NAME, inputs_of.LABEL_BASE_DIGEST)})
    base_name = labels.get(inputs_of.LABEL_BASE_NAME, "")
    return inputs_of.render_dockerfile(inputs["base"], base_name, inputs["python"], "", own, inputs["build_args"])


def _only(wheel: Json, keys: t.Iterable[str]) -> Json:
    return {key: wheel[key] for key in keys}


def _stage_report(answer: Json | None, request: Request, lines: list[str], code: int) -> Json:
    """What the stage inside the image said, or why it did not come so far."""
    if answer is None:
        tail = " ".join(line.strip() for line in lines if line.strip())[-600:]
        raise Refused(
            Finding(
                "build-failed",
                "the build on `%s` ended with code %d: %s" % (request.base, code, tail),
                "No image was made, nothing was pushed",
                "Read the words above; run the same Dockerfile by hand (--diff shows it)",
                "training_image_base",
            )
        )
    if not answer["ok"]:
        raise Refused([Finding(**finding) for finding in answer["findings"]])
    report: Json = answer["result"]
    return {
        "report": report,
        "warnings": [finding.as_dict() for finding in rules.replaced_warnings(report.get("replaced", []))],
    }


def _trigger_warnings(base: Json) -> list[Finding]:
    triggers = (base.get("Config") or {}).get("OnBuild") or []
    if not triggers:
        return []
    return [
        Finding(
            "base-has-triggers",
            "the base image runs %d ONBUILD instructions of its own in this build" % len(triggers),
            "What they do is not looked at",
            "Take a base image without ONBUILD",
            "training_image_base",
        )
    ]


def _base_missing(name: str, policy: str) -> Finding:
    asked = "neither the engine nor its registry has it" if policy != "never" else "the engine does not have it"
    remedy = "Check its spelling, or load it into the engine (docker load, docker pull)"
    if policy == "never":
        remedy += ", or set training_image_pull to missing"
    return Finding(
        "base-missing",
        "there is no image `%s`: %s" % (name, asked),
        "The build starts from it",
        remedy,
        "training_image_base",
    )


def _other_platform(name: str, base: Json, wanted: str) -> Finding:
    return Finding(
        "platform-missing",
        "`%s` is an image for %s/%s, and %s is asked for" % (name, base.get("Os"), base.get("Architecture"), wanted),
        "The build starts from it",
        "Name a base image for this platform, or leave training_image_platforms out",
        "training_image_platforms",
    )


def _base_changed(name: str, identity: str) -> Finding:
    return Finding(
        "base-changed",
        "`%s` was pulled and is not %s any more" % (name, identity),
        "Somebody pushed it anew in between, so what was looked at is not what would be built on",
        "Run again, or name the base image by its digest",
        "training_image_base",
    )


def _check_platforms(platforms: list[str]) -> list[Finding]:
    if len(platforms) < 2:
        return []
    return [
        Finding(
            "platforms-too-many",
            "%d platforms are asked for: %s" % (len(platforms), ", ".join(platforms)),
            "The Docker engine's own builder makes an image for one platform at a time",
            "Name one, and run once for each, or use the builder registry",
            "training_image_platforms",
        )
    ]


def _authority_elsewhere() -> Finding:
    return Finding(
        "registry-ca-elsewhere",
        "the engine is on another host than the module",
        "The certificate must lie on the engine's host, under /etc/docker/certs.d",
        "Put it there by hand and leave training_image_registry_ca out",
        "training_image_registry_ca",
    )
