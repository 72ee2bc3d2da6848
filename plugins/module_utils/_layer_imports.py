# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""What the import of a module would ask for, told from its source: for images that are not started.

Only what is sure to run counts: statements of the module itself, of its packages, and of what it imports from the same
wheels. What stands in a function, under a condition that cannot be judged, or in a C(try) that takes the failure, does
not.
"""

from __future__ import annotations

import ast
import typing as t
import warnings

_CATCHES = {"ImportError", "ModuleNotFoundError", "Exception", "BaseException"}


class Sources:
    """Modules by the names of their files (C(taskd/python/__init__.py)), which are read when they are looked at."""

    def __init__(self) -> None:
        self._files: dict[str, t.Callable[[], bytes]] = {}
        self._folders: set[str] = set()

    def add(self, name: str, read: t.Callable[[], bytes]) -> None:
        self._files[name] = read
        while "/" in name:
            name = name.rpartition("/")[0]
            self._folders.add(name)

    def tops(self) -> set[str]:
        """Names of top-level modules and packages."""
        return {name.split("/")[0].split(".")[0] for name in self._files}

    def find(self, module: str) -> tuple[str, bytes | None] | None:
        """Name and text of a module's file; no text for a compiled one, an empty name for a folder without a file."""
        path = module.replace(".", "/")
        for name in (path + "/__init__.py", path + ".py"):
            if name in self._files:
                return name, self._files[name]()
        start = path + "."
        for name in self._files:
            if name.startswith(start) and name.endswith(".so") and "/" not in name[len(start) :]:
                return name, None
        return ("", None) if path in self._folders else None

    def is_package(self, module: str) -> bool:
        return module.replace(".", "/") in self._folders


class Scan:
    """The scan of some modules.

    :param sources: what is going to be installed.
    :param has_outside: whether the image has a module of a dotted name.
    :param version: of the image's Python, such as C((3, 11)).
    :ivar missing: modules that nobody has, in the order in which an import would find them missing.
    :ivar absent: modules that the installed wheels lack themselves.
    """

    def __init__(self, sources: Sources, has_outside: t.Callable[[str], bool], version: tuple[int, int]) -> None:
        self._sources = sources
        self._has_outside = has_outside
        self._version = version
        self._seen: set[str] = set()
        self.missing: list[str] = []
        self.absent: list[str] = []
        self.files: dict[str, str] = {}

    def run(self, module: str) -> None:
        """Follow the import of a module."""
        parts = module.split(".")
        for end in range(1, len(parts) + 1):
            if not self._visit(".".join(parts[:end])):
                return

    def _visit(self, module: str) -> bool:
        """Look at one module; false where the import would end here."""
        if module in self._seen:
            return module not in self.missing and module not in self.absent
        self._seen.add(module)
        found = self._sources.find(module)
        if found is None:
            return self._outside(module)
        name, text = found
        self.files[module] = name
        if text is not None:
            package = module if name.endswith("/__init__.py") else module.rpartition(".")[0]
            for imported, names in _imports(text, package, self._version):
                self.run(imported)
                self._from(imported, names)
        return True

    def _outside(self, module: str) -> bool:
        if self._has_outside(module):
            return True
        own = module.split(".")[0] in self._sources.tops()
        (self.absent if own else self.missing).append(module)
        return False

    def _from(self, module: str, names: t.Sequence[str]) -> None:
        """Names taken from a module may be modules below it."""
        found = self._sources.find(module)
        for name in names:
            inner = "%s.%s" % (module, name)
            if found is not None and self._sources.find(inner) is not None:
                self._visit(inner)
            elif (found is None or not found[0]) and module not in self.missing + self.absent:
                self._visit(inner)


def _imports(text: bytes, package: str, version: tuple[int, int]) -> list[tuple[str, list[str]]]:
    """Modules that a source is sure to import, each with the names taken from it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        # For another Python than the one that reads here; only the real import could tell.
        return []
    found: list[tuple[str, list[str]]] = []
    _collect(tree.body, package, version, found)
    return found


def _collect(
    body: t.Sequence[ast.stmt], package: str, version: tuple[int, int], found: list[tuple[str, list[str]]]
) -> None:
    for node in body:
        if isinstance(node, ast.Import):
            found += [(alias.name, []) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            module = _absolute(node, package)
            if module:
                found.append((module, [alias.name for alias in node.names if alias.name != "*"]))
        else:
            _collect(_sure_to_run(node, version), package, version, found)


def _sure_to_run(node: ast.stmt, version: tuple[int, int]) -> list[ast.stmt]:
    """The statements inside a statement that run whenever it does, and whose failure nobody takes."""
    if isinstance(node, ast.If):
        verdict = _judge(node.test, version)
        return [] if verdict is None else node.body if verdict else node.orelse
    if isinstance(node, ast.Try):
        return ([] if _takes_failure(node) else node.body + node.orelse) + node.finalbody
    if isinstance(node, ast.With):
        return [] if any("suppress" in ast.dump(item.context_expr) for item in node.items) else node.body
    return node.body if isinstance(node, ast.ClassDef) else []


def _absolute(node: ast.ImportFrom, package: str) -> str:
    if not node.level:
        return node.module or ""
    parts = package.split(".")
    parts = parts[: len(parts) - (node.level - 1)]
    return ".".join(parts + ([node.module] if node.module else []))


def _takes_failure(node: ast.Try) -> bool:
    for handler in node.handlers:
        if handler.type is None:
            return True
        types = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
        if any(getattr(one, "id", getattr(one, "attr", "")) in _CATCHES for one in types):
            return True
    return False


def _judge(test: ast.expr, version: tuple[int, int]) -> bool | None:
    """Whether a condition holds: C(TYPE_CHECKING), or the version of Python compared; None where it cannot be said."""
    if getattr(test, "id", getattr(test, "attr", "")) == "TYPE_CHECKING":
        return False
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return None
    if ast.dump(test.left) != ast.dump(ast.parse("sys.version_info", mode="eval").body):
        return None
    try:
        wanted = tuple(ast.literal_eval(test.comparators[0]))[:2]
    except (ValueError, TypeError):
        return None
    compare: dict[type, t.Callable[[t.Any, t.Any], bool]] = {
        ast.Lt: lambda a, b: a < b,
        # The version has further parts, so that it is greater than its own first two.
        ast.LtE: lambda a, b: a < b,
        ast.Gt: lambda a, b: a >= b,
        ast.GtE: lambda a, b: a >= b,
    }
    judge = compare.get(type(test.ops[0]))
    return judge(version[: len(wanted)], wanted) if judge else None
