# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""The steps of building a training image without an engine.

C(look) decides what is to be done with as few requests as can be; C(build) makes the layers and pushes them. The action
plugin runs one after the other, so that it can say what is going on.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import typing as t

from ansible_collections.mindcluster.recovery.plugins.module_utils import _image_inputs as inputs_of
from ansible_collections.mindcluster.recovery.plugins.module_utils import _image_rules as rules
from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Finding, Refused
from ansible_collections.mindcluster.recovery.plugins.module_utils._layer_compose import (
    Composed,
    Order,
    check,
    compose,
)
from ansible_collections.mindcluster.recovery.plugins.module_utils._layer_image import (
    Document,
    Image,
    Made,
    choose_platform,
    index_kind,
    is_index,
    load,
    make_image,
    make_index,
    platforms_of,
)
from ansible_collections.mindcluster.recovery.plugins.module_utils._layer_inspect import Facts
from ansible_collections.mindcluster.recovery.plugins.module_utils._layer_push import Push
from ansible_collections.mindcluster.recovery.plugins.module_utils._layer_request import Request, connected
from ansible_collections.mindcluster.recovery.plugins.module_utils._layer_store import Store, choose
from ansible_collections.mindcluster.recovery.plugins.module_utils._wheels import ARCHITECTURES

Json = t.Dict[str, t.Any]


# --- look -------------------------------------------------------------------------------------------------------------


def look(params: t.Mapping[str, t.Any]) -> Json:
    """Decide what is to be done.

    :returns: C(next) is V(build) or V(done); what the build needs is under C(look).
    :raises Refused: everything that can be told to be wrong so far.
    """
    request = Request(params)
    with connected(request) as (base_store, target_store):
        return _Look(request, base_store, target_store).decide()


class _Look:
    def __init__(self, request: Request, base_store: Store, target_store: Store) -> None:
        self.request = request
        self.base_store = base_store
        self.target_store = target_store
        self.findings = list(request.findings)
        self._base: Document | None = None

    def decide(self) -> Json:
        existing, labels = self._existing()
        bases = self._bases(labels)
        if self.findings:
            self._refuse()
        inputs = {platform: self.request.inputs(digest, platform) for platform, digest in bases.items()}
        answer: Json = {
            "inputs": inputs,
            "before": {platform: inputs_of.built_from(labels.get(platform, {})) for platform in inputs},
        }
        if existing is not None and all(
            labels.get(platform, {}).get(inputs_of.LABEL_INPUTS) == inputs_of.inputs_hash(one)
            for platform, one in inputs.items()
        ):
            return self._done(answer, existing, labels)
        return self._build(answer)

    # --- what is there

    def _existing(self) -> tuple[Document | None, dict[str, dict[str, str]]]:
        """What the target's tag names, and for each platform that is wanted the labels of what is there."""
        request, store = self.request, self.target_store
        try:
            document = store.document(request.target.tag)
            if document is None:
                return None, {}
            if not request.is_for_several:
                own = {} if is_index(document) else self._labels(document)
                return document, {request.wanted()[0]: own}
            if not is_index(document):
                return document, {}
            return document, self._labels_of_parts(document)
        except Refused as exc:
            self.findings += exc.findings
            return None, {}

    def _labels(self, document: Document) -> dict[str, str]:
        annotations = load(document.body, str(self.request.target)).get("annotations") or {}
        if inputs_of.LABEL_INPUTS in annotations:
            return dict(annotations)
        return self.target_store.image(str(self.request.target), document).labels

    def _labels_of_parts(self, index: Document) -> dict[str, dict[str, str]]:
        found = {}
        parts = platforms_of(load(index.body, str(self.request.target)))
        for wanted in self.request.wanted():
            chosen = choose_platform(wanted, parts)
            if chosen is None:
                continue
            annotations = parts[chosen].get("annotations") or {}
            if inputs_of.LABEL_INPUTS in annotations:
                found[wanted] = dict(annotations)
                continue
            document = self.target_store.document(str(parts[chosen]["digest"]))
            found[wanted] = self._labels(document) if document else {}
        return found

    # --- what it would be built on

    def _bases(self, labels: t.Mapping[str, t.Mapping[str, str]]) -> dict[str, str]:
        """Digest of the base image for each platform.

        With the policy V(missing) the base image that the existing image was made from is taken for its name, as an
        engine takes the one that it has.
        """
        bases = {}
        for platform in self.request.wanted():
            own = labels.get(platform, {})
            same = own.get(inputs_of.LABEL_BASE_NAME) == str(self.request.base)
            known = own.get(inputs_of.LABEL_BASE_DIGEST, "") if same else ""
            if known and self.request.params["pull"] == "missing":
                bases[platform] = known
                continue
            try:
                bases[platform] = choose(self.base_store, self.request.base, self._base_document(), platform).digest
            except Refused as exc:
                self.findings += [one for one in exc.findings if one not in self.findings]
        return bases

    def _base_document(self) -> Document:
        """What the base image's name names now.

        :raises Refused: nothing, or the registry cannot be asked.
        """
        if self._base is None:
            base = self.request.base
            self._base = self.base_store.document(base.digest or base.tag or "latest")
            if self._base is None:
                raise Refused(_base_missing(str(base)))
        return self._base

    # --- answers

    def _done(self, answer: Json, existing: Document, labels: t.Mapping[str, t.Mapping[str, str]]) -> Json:
        own = next(iter(labels.values()))
        torch = own.get(inputs_of.LABEL_TORCH, "")
        if rules.needs_torch(self.request.plan_image):
            mismatch = rules.check_torch_version(str(self.request.target), torch, self.request.plan)
            if mismatch:
                raise Refused(mismatch)
        config = load(existing.body, str(self.request.target)).get("config") or {}
        answer.update(
            digest=existing.digest,
            image_id=str(config.get("digest", "")),
            torch_version=torch,
            python_version=own.get(inputs_of.LABEL_PYTHON, ""),
            statistics=self._statistics(),
        )
        return {"next": "done", "look": answer, "warnings": []}

    def _build(self, answer: Json) -> Json:
        """Where something is to be built, the base image is read, so that its name counts as it is now."""
        documents, unread = {}, {}
        for platform in self.request.wanted():
            document = choose(self.base_store, self.request.base, self._base_document(), platform)
            image = self.base_store.image(str(self.request.base), document)
            documents[platform] = document.digest
            _check_platform(image, platform)
            for layer in self.base_store.unread(image):
                unread[str(layer["digest"])] = int(layer["size"])
        answer["inputs"] = {platform: self.request.inputs(digest, platform) for platform, digest in documents.items()}
        answer.update(bases=documents, unread=[len(unread), sum(unread.values())], statistics=self._statistics())
        return {"next": "build", "look": answer, "warnings": []}

    def _refuse(self) -> t.NoReturn:
        """Raise what was found; where the base image was read before, also what does not fit it."""
        with contextlib.suppress(Refused):
            for platform in self.request.wanted():
                order = self.request.order(platform)
                document = choose(self.base_store, self.request.base, self._base_document(), platform)
                image = self.base_store.image(str(self.request.base), document)
                if self.base_store.unread(image):
                    continue
                try:
                    facts = Facts(self.base_store.tree(image), order.python, image.environment, image.name)
                    self.findings += check(image, facts.as_dict(), order)
                except Refused as exc:
                    self.findings += exc.findings
        raise Refused(_distinct(self.findings))

    def _statistics(self) -> Json:
        return statistics(self.base_store, self.target_store)


# --- build ------------------------------------------------------------------------------------------------------------


class _Part(t.NamedTuple):
    """The new image for one platform, and where its layer's file is."""

    image: Image
    composed: Composed
    made: Made
    labels: dict[str, str]


def build(params: t.Mapping[str, t.Any], check_mode: bool) -> Json:
    """Make the image for each platform, and push it.

    :raises Refused: everything that cannot work; the tag is as it was then.
    """
    request = Request(params)
    workspace = tempfile.mkdtemp(prefix="mindcluster-layer-")
    try:
        with connected(request) as (base_store, target_store):
            parts = _make_all(request, base_store, params["_look"], workspace)
            index = None
            if request.is_for_several:
                images = {part.image.platform: (part.made, part.labels) for part in parts.values()}
                index = make_index(index_kind(made for made, dummy in images.values()), images)
            if not check_mode:
                _push_all(request, base_store, target_store, parts, index)
            return _answer(request, parts, index, statistics(base_store, target_store))
    finally:
        shutil.rmtree(workspace, ignore_errors=True)


def _make_all(request: Request, store: Store, seen: Json, workspace: str) -> dict[str, _Part]:
    parts: dict[str, _Part] = {}
    findings: list[Finding] = []
    for number, (platform, digest) in enumerate(seen["bases"].items()):
        place = os.path.join(workspace, "%d" % number)
        os.mkdir(place)
        try:
            parts[platform] = _make(request, store, digest, platform, seen["inputs"][platform], place)
        except Refused as exc:
            findings += exc.findings
    if findings:
        raise Refused(_distinct(findings))
    return parts


def _make(request: Request, store: Store, digest: str, platform: str, inputs: Json, workspace: str) -> _Part:
    document = store.document(digest)
    if document is None:
        raise Refused(_base_missing("%s@%s" % (request.base.repository, digest)))
    image = store.image(str(request.base), document)
    order = request.order(platform)
    composed = compose(image, store.tree(image), order, workspace)
    labels = inputs_of.labels_for(inputs, str(request.base), "", composed.facts)
    layer = composed.layer
    made = make_image(
        image, (layer.digest, layer.size, layer.diff_id) if layer else None, labels, _created_by(order, composed)
    )
    return _Part(image, composed, made, labels)


def _created_by(order: Order, composed: Composed) -> str:
    """The line that the image's history shows."""
    wheels = [wheel["filename"] for wheel in order.wheels.values()]
    patches = [patch["name"] for patch in composed.seen["patches"] if patch["state"] == "patched"]
    return "mindcluster.recovery: install %s; patch %s" % (", ".join(wheels) or "-", ", ".join(patches) or "-")


def _push_all(
    request: Request, base_store: Store, target_store: Store, parts: t.Mapping[str, _Part], index: Document | None
) -> None:
    """Blobs first, then the manifests, and the tag at the very end."""
    push = Push(base_store, target_store)
    tag = request.target.tag
    for part in parts.values():
        push.image(part.image, part.made, part.composed.layer, part.composed.path)
    for part in parts.values():
        manifest = part.made.manifest
        push.manifest(manifest, manifest.digest if index else tag)
    if index is not None:
        push.manifest(index, tag)


def _answer(request: Request, parts: t.Mapping[str, _Part], index: Document | None, counted: Json) -> Json:
    first = next(iter(parts.values()))
    name = str(request.target)
    warnings: list[Finding] = []
    for part in parts.values():
        arch = ARCHITECTURES.get(str(part.image.config.get("architecture")), "")
        warnings += part.composed.warnings + rules.plan_warnings(request.plan, arch)
        warnings += rules.replaced_warnings(part.composed.replaced) + rules.import_warnings(name, part.composed.seen)
    return {
        "digest": (index or first.made.manifest).digest,
        "image_id": "" if index else first.made.config.digest,
        "torch_version": (first.composed.facts["torch"] or {}).get("version", ""),
        "python_version": first.composed.facts["python"]["version"],
        "patches": first.composed.seen["patches"],
        "images": [_image_answer(part) for part in parts.values()],
        "statistics": counted,
        "warnings": [finding.as_dict() for finding in _distinct(warnings)],
    }


def _image_answer(part: _Part) -> Json:
    layer = part.composed.layer
    return {
        "platform": part.image.platform,
        "digest": part.made.manifest.digest,
        "base_digest": part.image.digest,
        "layer": {"digest": layer.digest, "diff_id": layer.diff_id, "size": layer.size} if layer else {},
        "paths": layer.paths if layer else [],
    }


def statistics(*stores: Store) -> Json:
    """Requests and bytes of all registries that were spoken to."""
    counted = {"requests": 0, "bytes_down": 0, "bytes_up": 0}
    for registry in {id(store.registry): store.registry for store in stores}.values():
        for key in counted:
            counted[key] += int(getattr(registry.statistics, key))
    return counted


def _distinct(findings: t.Iterable[Finding]) -> list[Finding]:
    return list(dict.fromkeys(findings))


# --- what is refused --------------------------------------------------------------------------------------------------


def _check_platform(image: Image, wanted: str) -> None:
    if wanted and choose_platform(wanted, [image.platform]) is None:
        raise Refused(
            Finding(
                "platform-missing",
                "`%s` is an image for %s, and %s is needed" % (image.name, image.platform, wanted),
                "The build starts from it, and the plan's nodes could not run it",
                "Name a base image for this platform, or correct training_image_platforms, recovery_plan_product or "
                "recovery_plan_arch",
                "training_image_base",
            )
        )


def _base_missing(name: str) -> Finding:
    return Finding(
        "base-missing",
        "there is no image `%s` in its registry" % name,
        "The build starts from it, and without an engine it can come from a registry only",
        "Check its spelling, or push it there",
        "training_image_base",
    )
