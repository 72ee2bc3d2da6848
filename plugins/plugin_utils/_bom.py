# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""A bill of materials: what a site needs, as CycloneDX for programs and as a table for people.

CycloneDX is written as plain data here: the Python package for it would be one more thing to carry into a network
without internet. The tests hold what comes out to its schema. Neither a serial number nor a time stands in it, so that
the same site has the same bytes.
"""

from __future__ import annotations

import dataclasses
import json
import re
import typing as t
import urllib.parse

Json = dict[str, t.Any]

SPEC = "1.6"
# The order of the table, and what each kind is called there.
KINDS = {
    "wheel": "vendor's wheel",
    "wheelhouse": "wheel beside it",
    "base-image": "base image",
    "job-image": "image of a job",
    "result-image": "image made here",
    "collection": "Ansible collection",
    "python": "Python package",
}
_CONTAINERS = ("base-image", "job-image", "result-image")
_NAMESPACE = "mindcluster.recovery:"


@dataclasses.dataclass(frozen=True)
class Item:
    """One thing that a site needs.

    :ivar kind: out of KINDS.
    :ivar where: path or reference by which the site names it; empty where it has none.
    :ivar filename: name of the file to bring; empty where it is no file.
    :ivar sha256: of that file, or the digest of the image; empty where there is none yet.
    """

    kind: str
    name: str
    version: str
    where: str = ""
    filename: str = ""
    sha256: str = ""

    @property
    def purl(self) -> str:
        """The package URL: kind of package, name, version and what tells it from others of that name."""
        version = f"@{_quoted(self.version)}" if self.version else ""
        if self.kind in _CONTAINERS:
            digest = f"@{_quoted('sha256:' + self.sha256)}" if self.sha256 else ""
            short = self.name.rpartition("/")[2].lower()
            return f"pkg:oci/{_quoted(short)}{digest}?repository_url={_quoted(self.name)}"
        if self.kind in ("python", "wheelhouse"):
            return f"pkg:pypi/{_quoted(_normal(self.name))}{version}"
        return f"pkg:generic/{_quoted(self.name)}{version}"

    def component(self) -> Json:
        """The item as CycloneDX has it."""
        properties = {"kind": self.kind, "where": self.where, "file": self.filename}
        found: Json = {
            "type": "container" if self.kind in _CONTAINERS else "library",
            "bom-ref": f"{self.kind}/{self.name}/{self.filename or self.version or self.where}",
            "name": self.name,
            "version": self.version,
            "purl": self.purl,
            "properties": [{"name": _NAMESPACE + name, "value": value} for name, value in properties.items() if value],
        }
        if self.sha256:
            found["hashes"] = [{"alg": "SHA-256", "content": self.sha256}]
        return found


def in_order(items: t.Iterable[Item]) -> list[Item]:
    """Each item once, in the order of the table."""
    order = list(KINDS)
    return sorted(set(items), key=lambda item: (order.index(item.kind), *dataclasses.astuple(item)))


def cyclonedx(items: t.Iterable[Item], collection: Item, plan: t.Mapping[str, t.Any]) -> str:
    """The bill as CycloneDX in JSON.

    :param collection: this collection, which the bill is for.
    """
    made_for = {"release": plan["release"], "framework": plan["framework"], "strategies": ",".join(plan["strategies"])}
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": SPEC,
        "version": 1,
        "metadata": {
            "component": {**collection.component(), "type": "application", "bom-ref": "site"},
            "properties": [{"name": _NAMESPACE + name, "value": str(value)} for name, value in made_for.items()],
        },
        "components": [item.component() for item in in_order(items)],
    }
    return json.dumps(document, indent=2, ensure_ascii=False, sort_keys=True) + "\n"


def table(items: t.Iterable[Item], plan: t.Mapping[str, t.Any]) -> str:
    """The bill as a Markdown page with one table."""
    rows = [["what", "name", "version", "file or reference", "sha256"], ["---"] * 5]
    for item in in_order(items):
        shown = item.where or item.filename
        rows.append([KINDS[item.kind], item.name, item.version, f"`{shown}`" if shown else "", _shown(item)])
    made_for = f"MindCluster {plan['release']}, {plan['framework']}, {', '.join(plan['strategies'])}"
    head = f"# Bill of materials\n\nWhat this site needs for {made_for}.\n\n"
    return head + "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |\n" for row in rows)


def requirements(items: t.Iterable[Item]) -> str:
    """The Python packages as pip reads them: with it files are fetched outside, and proved inside, by their hashes."""
    packages = [item for item in in_order(items) if item.kind == "python"]
    return "".join(f"{item.name}=={item.version} --hash=sha256:{item.sha256}\n" for item in packages)


def _shown(item: Item) -> str:
    if item.sha256:
        return f"`{item.sha256}`"
    return "not made yet" if item.kind == "result-image" else ""


def _quoted(text: str) -> str:
    return urllib.parse.quote(text, safe=".-_~")


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
