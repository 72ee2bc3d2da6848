# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""What the reverse check of a manifest says, and how it looks at one job.

The check reads plain data, as a YAML parser gives it, and never trusts its shape: a list where a mapping should be is
a deviation of its own, never an exception.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.mindcluster.recovery.plugins.module_utils._releases import Release, release_named

Path = t.Tuple[t.Union[str, int], ...]

ERROR = "error"
WARNING = "warning"
MISSING = "(missing)"
_LONGEST = 160
_PLAIN_KEY = re.compile(r"[A-Za-z0-9_-]+\Z")


def path_text(path: Path) -> str:
    """A path as people and jq write it: C(spec.containers[0].env), keys with dots in brackets."""
    parts = []
    for step in path:
        if isinstance(step, int):
            parts.append("[%d]" % step)
        elif _PLAIN_KEY.match(step):
            parts.append(".%s" % step if parts else step)
        else:
            parts.append('["%s"]' % step)
    return "".join(parts)


def shown(value: t.Any) -> str:
    """A value in one line, with its type where that is the mistake."""
    if value is None:
        return "(empty)"
    if isinstance(value, bool):
        return "%s (a YAML boolean, not text)" % ("true" if value else "false")
    if isinstance(value, (int, float)):
        return "%s (a number, not text)" % value
    if isinstance(value, t.Mapping):
        return "a mapping of %s" % (", ".join(sorted(map(str, value))[:5]) or "nothing")
    if isinstance(value, (list, tuple)):
        return "a list of %d" % len(value)
    text = value if isinstance(value, str) else str(value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def mapping(value: t.Any) -> t.Mapping[t.Any, t.Any]:
    """The value where it is a mapping, else an empty one."""
    return value if isinstance(value, dict) else {}


def sequence(value: t.Any) -> t.Sequence[t.Any]:
    """The value where it is a list, else an empty one."""
    return value if isinstance(value, list) else ()


class Report:
    """Collects the deviations of one manifest.

    :ivar plan: the plan that the manifest is compared with.
    :ivar release: its MindCluster release.
    """

    def __init__(self, plan: t.Mapping[str, t.Any]) -> None:
        self.plan = plan
        self.release: Release = t.cast(Release, release_named(plan["release"]))
        self.items: list[dict[str, str]] = []
        self.root: Path = ()
        self.job = ""

    def add(self, code: str, path: Path, found: str, wanted: str, why: str, level: str = ERROR) -> None:
        """Note one deviation.

        :param path: inside the document that is being looked at.
        """
        self.items.append(
            {
                "code": code,
                "level": level,
                "job": self.job,
                "path": path_text(self.root + path),
                "found": found,
                "wanted": wanted,
                "why": why,
            }
        )


class Replica:
    """One replica type of a job.

    :ivar name: the type as the operator wants it, whatever the case of the key.
    :ivar path: of its entry under C(spec.replicaSpecs).
    :ivar container: the container that trains; empty where there is none.
    :ivar container_path: its path.
    """

    __slots__ = ("container", "container_path", "name", "path", "pod", "pod_path", "spec", "template")

    def __init__(self, name: str, path: Path, spec: t.Mapping[str, t.Any], container: str) -> None:
        self.name = name
        self.path = path
        self.spec = spec
        self.template = mapping(spec.get("template"))
        self.pod = mapping(self.template.get("spec"))
        self.pod_path = path + ("template", "spec")
        self.container: t.Mapping[str, t.Any] = {}
        self.container_path: Path = self.pod_path + ("containers",)
        containers = sequence(self.pod.get("containers"))
        for index, item in enumerate(containers):
            # A single container is taken for the one that trains whatever its name, so that one run tells all of it.
            if isinstance(item, dict) and (item.get("name") == container or len(containers) == 1):
                self.container = item
                self.container_path = self.pod_path + ("containers", index)
                break

    def npus(self, kind: str) -> dict[str, t.Any]:
        """The NPUs under C(requests) or C(limits): resource name to number."""
        resources = mapping(mapping(self.container.get("resources")).get(kind))
        return {str(name): count for name, count in resources.items() if str(name).startswith("huawei.com/")}

    def holds_npus(self) -> bool:
        return bool(self.npus("requests") or self.npus("limits"))
