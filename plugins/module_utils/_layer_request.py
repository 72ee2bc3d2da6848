# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""What the user of the builder without an engine asked for, and the repositories that it is about."""

from __future__ import annotations

import contextlib
import tempfile
import typing as t

from ansible_collections.mindcluster.recovery.plugins.module_utils import _image_inputs as inputs_of
from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Finding, Refused
from ansible_collections.mindcluster.recovery.plugins.module_utils._image_refs import Reference, parse_reference
from ansible_collections.mindcluster.recovery.plugins.module_utils._image_request import Request as _Request
from ansible_collections.mindcluster.recovery.plugins.module_utils._layer_cache import Cache, default_folder
from ansible_collections.mindcluster.recovery.plugins.module_utils._layer_code import code_hashes
from ansible_collections.mindcluster.recovery.plugins.module_utils._layer_compose import Order
from ansible_collections.mindcluster.recovery.plugins.module_utils._layer_image import engine_name
from ansible_collections.mindcluster.recovery.plugins.module_utils._layer_store import Store
from ansible_collections.mindcluster.recovery.plugins.module_utils._registry_client import Registry
from ansible_collections.mindcluster.recovery.plugins.module_utils._wheels import ARCHITECTURES, for_machine

Json = t.Dict[str, t.Any]


class Request(_Request):
    """What the user asked for.

    :raises Refused: where a name is wrong; everything that is wrong, together with what the controller found.
    """

    def __init__(self, params: t.Mapping[str, t.Any]) -> None:
        super().__init__(params, _parse_base, _check_platforms)
        self.cache = Cache(params["cache"] or default_folder())
        self.platforms: list[str] = list(params["platforms"] or [])
        self._variants: dict[str, list[Json]] = params.get("_variants") or {}
        if self._variants and self.wanted() == [""]:
            self.findings.append(_wheels_for_which(sorted(self._variants)))

    @property
    def is_for_several(self) -> bool:
        return len(self.platforms) > 1

    def wanted(self) -> list[str]:
        """Platforms to build; an empty name where the plan does not say and the base image decides."""
        return self.platforms or [engine_name(self.plan.get("arch"))]

    def wheels_for(self, platform: str) -> dict[str, Json]:
        """The wheels of a platform, where there is a file for each architecture."""
        arch = ARCHITECTURES.get(platform.partition("/")[2].partition("/")[0], "")
        chosen = {key: dict(for_machine(files, arch)) for key, files in self._variants.items()}
        return dict(self.wheels, **chosen)

    def order(self, platform: str) -> Order:
        return Order(self.plan, self.wheels_for(platform), self.wheelhouse, self.params["python"])

    def inputs(self, base_digest: str, platform: str) -> Json:
        return inputs_of.collect_inputs(
            base_digest,
            self.plan_image,
            self.wheels_for(platform),
            self.wheelhouse,
            code_hashes(),
            self.params["python"],
            platform,
        )


@contextlib.contextmanager
def connected(request: Request) -> t.Iterator[tuple[Store, Store]]:
    """The repository of the base image and that of the finished one."""
    with contextlib.ExitStack() as stack:
        params, base, target = request.params, request.base, request.target
        ca_file = stack.enter_context(authority(params.get("_ca_pem") or ""))
        target_registry = Registry(
            target.registry,
            username=params["registry_username"],
            password=params["registry_password"],
            ca_file=ca_file,
            insecure=params["registry_insecure"],
        )
        base_registry = target_registry if base.registry == target.registry else Registry(base.registry)
        yield Store(base_registry, base.path, request.cache), Store(target_registry, target.path, request.cache)


@contextlib.contextmanager
def authority(pem: str) -> t.Iterator[str | None]:
    """A file with the certificate of the registry's authority, as long as it is needed."""
    if not pem:
        yield None
        return
    with tempfile.NamedTemporaryFile("w", suffix=".pem") as stream:
        stream.write(pem)
        stream.flush()
        yield stream.name


# --- what is refused --------------------------------------------------------------------------------------------------


def _parse_base(text: str) -> Reference:
    if text.startswith("sha256:"):
        raise Refused(
            Finding(
                "base-not-in-registry",
                "`%s` is an ID that an image has in an engine" % text,
                "The builder registry reads the base image from a registry",
                "Push it to a registry and name it there, or use the builder docker",
                "training_image_base",
            )
        )
    return parse_reference(text, "training_image_base")


def _check_platforms(platforms: list[str]) -> list[Finding]:
    wrong = [one for one in platforms if one.count("/") not in (1, 2) or not all(one.split("/"))]
    findings = [
        Finding(
            "platform-invalid",
            "`%s` is no platform" % one,
            "Which image is meant cannot be told",
            "Write the system and the architecture, such as linux/arm64",
            "training_image_platforms",
        )
        for one in wrong
    ]
    if len(set(platforms)) < len(platforms):
        findings.append(
            Finding(
                "platform-twice",
                "a platform is named twice: %s" % ", ".join(platforms),
                "An index has one image for each",
                "Name each once",
                "training_image_platforms",
            )
        )
    return findings


def _wheels_for_which(names: list[str]) -> Finding:
    return Finding(
        "wheel-list-without-platform",
        "several files are given for %s, and nothing says which architecture is meant" % ", ".join(names),
        "Each is for one architecture",
        "Name the platforms in training_image_platforms, or the product or architecture in the plan "
        "(recovery_plan_product, recovery_plan_arch)",
        "training_image_wheels",
    )
