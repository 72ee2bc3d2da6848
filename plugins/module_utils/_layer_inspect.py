# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""What the inspector inside an image would say, told from the image's files alone. Nothing of the image is run."""

from __future__ import annotations

import posixpath
import typing as t

from ansible_collections.mindcluster.recovery.plugins.module_utils import _layer_patch as patch
from ansible_collections.mindcluster.recovery.plugins.module_utils._image_inputs import plan_part
from ansible_collections.mindcluster.recovery.plugins.module_utils._image_stage import described_patches
from ansible_collections.mindcluster.recovery.plugins.module_utils._layer_distributions import (
    Distributions,
    has_module,
)
from ansible_collections.mindcluster.recovery.plugins.module_utils._layer_imports import Scan, Sources
from ansible_collections.mindcluster.recovery.plugins.module_utils._layer_python import Interpreter, find_python
from ansible_collections.mindcluster.recovery.plugins.module_utils._layer_tree import Tree

Json = t.Dict[str, t.Any]

# Modules that Python carries in itself, beside those of its folders.
_BUILT_IN = frozenset(
    "_abc _ast _codecs _collections _functools _imp _io _locale _operator _signal _sre _stat _string _symtable _thread "
    "_tracemalloc _warnings _weakref array atexit binascii builtins cmath errno faulthandler fcntl gc grp itertools "
    "marshal math posix pwd pyexpat resource select spwd sys syslog termios time unicodedata xxsubtype zlib "
    "_bisect _blake2 _csv _datetime _elementtree _heapq _json _md5 _opcode _pickle _posixsubprocess _random _sha1 "
    "_sha256 _sha2 _sha3 _sha512 _socket _statistics _struct _typing _zoneinfo".split()
)


class Facts:
    """What an image is.

    :raises Refused: its Python cannot be understood.
    """

    def __init__(self, tree: Tree, python: str, environment: t.Mapping[str, str], image: str) -> None:
        self.tree = tree
        self.python: Interpreter = find_python(tree, python, environment, image)
        self.torch = patch.find_torch(tree, self.python.search)
        self.distributions = Distributions(tree, self.python.search)

    def as_dict(self, names: t.Iterable[str] = ()) -> Json:
        """The same keys as the inspector inside an image tells."""
        return {
            "python": self.python.as_facts(),
            "pip": self.distributions.version("pip"),
            "torch": self.torch.as_facts() if self.torch else None,
            "distributions": {name: self.distributions.version(name) for name in names},
        }

    def has_module(self, module: str) -> bool:
        if module.split(".")[0] in _BUILT_IN:
            return True
        return has_module(self.tree, self.python.search, self.python.standard, module)

    @property
    def version(self) -> tuple[int, int]:
        return 3, self.python.minor


def inspect(facts: Facts, plan_image: t.Mapping[str, t.Any], distributions: t.Sequence[str]) -> Json:
    """Versions, patches by the syntax tree, and whether what the imports ask for is there."""
    seen = facts.as_dict(distributions)
    seen["patches"] = _patches(facts, plan_image)
    seen["imports"] = _imports(facts, list(plan_image.get("imports") or []))
    return seen


def _patches(facts: Facts, plan_image: t.Mapping[str, t.Any]) -> list[Json]:
    module = plan_image.get("run_py_import")
    if not module or facts.torch is None:
        return []
    return described_patches(patch.inspect(facts.tree, facts.torch.path, module, plan_part(plan_image)["rendezvous"]))


def _imports(facts: Facts, modules: list[str]) -> Json:
    """Each module with its file, or with the first one that its import would not find."""
    sources = Sources()
    places: dict[str, str] = {}
    tops = sorted({module.split(".")[0] for module in modules})
    folders = [(top, site) for top in tops for site in facts.python.search if _has(facts, site, top)]
    found = facts.tree.sources_below([posixpath.join(site, top) for top, site in folders], (".py", ".so"))
    for top, site in reversed(folders):
        real = facts.tree.real(site) or site
        for path, data in found.items():
            if path.startswith(posixpath.join(real, top) + "/"):
                name = path[len(real) + 1 :]
                # Larger ones are there, and that is all that is said of them.
                text = data if len(data) <= patch.LARGEST_PARSED else b""
                sources.add(name, lambda text=text: text)  # type: ignore[misc]
                places[name] = posixpath.join(site, name)
    return {module: _proof(facts, sources, places, module) for module in modules}


def _has(facts: Facts, site: str, top: str) -> bool:
    return facts.tree.is_folder(posixpath.join(site, top))


def _proof(facts: Facts, sources: Sources, places: t.Mapping[str, str], module: str) -> Json:
    scan = Scan(sources, facts.has_module, facts.version)
    scan.run(module)
    lacking = scan.absent + scan.missing
    if lacking:
        return {"state": "failed", "error": "No module named '%s'" % lacking[0], "file": ""}
    return {"state": "found", "error": "", "file": places.get(scan.files.get(module, ""), "")}
