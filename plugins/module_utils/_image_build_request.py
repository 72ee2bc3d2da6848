# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""What M(training_image_build) is asked for."""

from __future__ import annotations

import typing as t

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Finding, Refused
from ansible_collections.mindcluster.recovery.plugins.module_utils._image_base import parse_base
from ansible_collections.mindcluster.recovery.plugins.module_utils._image_engine import Credentials, Engine
from ansible_collections.mindcluster.recovery.plugins.module_utils._image_inspect import stage_request
from ansible_collections.mindcluster.recovery.plugins.module_utils._image_request import Request as _Request
from ansible_collections.mindcluster.recovery.plugins.module_utils._wheels import installable_name

Json = t.Dict[str, t.Any]


class Request(_Request):
    """What the user asked for, with the names of images taken apart.

    :raises Refused: where a name is wrong; everything that is wrong, together with what the controller found.
    """

    def __init__(self, params: t.Mapping[str, t.Any]) -> None:
        self.platform: str = (params["platforms"] or [""])[0]
        super().__init__(params, parse_base, _check_platforms)

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


def _only(wheel: Json, keys: t.Iterable[str]) -> Json:
    return {key: wheel[key] for key in keys}


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
