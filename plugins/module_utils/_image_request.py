# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""What the user of an image builder asked for, with the names of images taken apart."""

from __future__ import annotations

import typing as t

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Finding, Refused
from ansible_collections.mindcluster.recovery.plugins.module_utils._image_refs import check_tag, parse_repository

Json = t.Dict[str, t.Any]


class Request:
    """The options of a build.

    :param parse_base: takes the base image's name apart.
    :param check_platforms: says what is wrong with the platforms.
    :raises Refused: where a name is wrong; everything that is wrong, together with what the controller found.
    """

    def __init__(
        self,
        params: t.Mapping[str, t.Any],
        parse_base: t.Callable[[str], t.Any],
        check_platforms: t.Callable[[list[str]], list[Finding]],
    ) -> None:
        self.params = params
        self.findings = [Finding(**finding) for finding in params["_findings"] or []]
        self.plan: Json = params["plan"]
        self.plan_image: Json = params["plan"].get("image") or {}
        self.wheels: dict[str, Json] = params["_wheels"] or {}
        self.wheelhouse: list[Json] = params["_wheelhouse"] or []
        self.base = self._take(parse_base, params["base"])
        self.target = self._take(parse_repository, params["repository"])
        self.findings += check_tag(params["tag"])
        self.findings += check_platforms(params["platforms"] or [])
        if self.base is None or self.target is None or check_tag(params["tag"]):
            raise Refused(self.findings)
        self.target.tag = params["tag"]

    def _take(self, parse: t.Callable[..., t.Any], text: str) -> t.Any:
        try:
            return parse(text)
        except Refused as exc:
            self.findings += exc.findings
            return None
