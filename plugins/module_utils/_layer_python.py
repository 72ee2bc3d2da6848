# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""Which Python an image has, told from its files: where it is, its version, where it looks for modules.

The rules are Python's own (getpath, site, sysconfig) and those of the distributors that changed them: Debian's and
Ubuntu's Python installs into C(/usr/local/lib/python3.N/dist-packages), Fedora's and openEuler's below C(/usr/local).
"""

from __future__ import annotations

import posixpath
import re
import typing as t

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Finding, Refused
from ansible_collections.mindcluster.recovery.plugins.module_utils._layer_tree import Tree

_DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_LIBRARY = re.compile(r"\A(python|pypy)3\.(\d+)t?\Z")
_VERSION = re.compile(r"\A3\.(\d+)\.\d+")
_MULTIARCH = {"x86_64": "x86_64-linux-gnu", "aarch64": "aarch64-linux-gnu"}
_RPM_WORDS = {"rpm_prefix", "RPM_BUILD_ROOT"}


class Interpreter:
    """A Python inside an image.

    :ivar path: by which it is called, such as C(/usr/bin/python3).
    :ivar minor: the N of C(3.N).
    :ivar version: in full where it is known.
    :ivar search: the folders in which it looks for modules that are not its own, in its order, if they are there.
    :ivar standard: the folders of its own modules.
    :ivar scheme: where wheels go: C(purelib), C(platlib), C(scripts), C(data), C(headers).
    """

    __slots__ = (
        "path", "real", "prefix", "minor", "version", "implementation", "machine", "bits", "libc", "libc_version",
        "search", "standard", "scheme", "suffixes",
    )  # fmt: skip

    def __init__(self) -> None:
        self.path = ""
        self.real = ""
        self.prefix = ""
        self.minor = 0
        self.version = ""
        self.implementation = "cpython"
        self.machine = ""
        self.bits = 64
        self.libc = ""
        self.libc_version = ""
        self.search: list[str] = []
        self.standard: list[str] = []
        self.scheme: dict[str, str] = {}
        self.suffixes: list[str] = []

    def as_facts(self) -> dict[str, t.Any]:
        """The same keys as the inspector inside an image tells."""
        return {
            "version": self.version,
            "implementation": self.implementation,
            "executable": self.path,
            "machine": self.machine,
            "bits": self.bits,
            "libc": self.libc,
            "libc_version": self.libc_version,
        }


def find_python(tree: Tree, name: str, environment: t.Mapping[str, str], image: str) -> Interpreter:
    """The interpreter of a name or path.

    :param environment: of the image's configuration.
    :param image: its name, for messages.
    :raises Refused: there is none, or what is there cannot be understood.
    """
    python = Interpreter()
    python.path = _on_path(tree, name, environment, image)
    python.real = tree.real(python.path) or python.path
    elf = [word for word in tree.probes(python.real) if word.startswith("elf:")]
    if not elf:
        raise Refused(_no_program(image, python.path, python.real))
    dummy, bits, python.machine = elf[0].split(":")
    python.bits = int(bits)
    venv = _virtual(tree, python.path)
    home = posixpath.dirname(python.real)
    if venv:
        home = tree.real(venv[1].get("home", "")) or home
    base, library = _base(tree, python.real, home, image)
    python.prefix = venv[0] if venv else base
    _read_library(tree, python, base, library)
    python.version = _version(tree, python, base, environment, venv[1] if venv else {})
    python.libc, python.libc_version = _libc(tree, python.machine)
    _read_search(tree, python, base, environment, venv)
    return python


def _on_path(tree: Tree, name: str, environment: t.Mapping[str, str], image: str) -> str:
    if "/" in name:
        candidates = [posixpath.normpath(posixpath.join("/", name))]
    else:
        folders = environment.get("PATH", _DEFAULT_PATH).split(":")
        candidates = [posixpath.join(folder, name) for folder in folders if folder.startswith("/")]
    for candidate in candidates:
        entry = tree.entry(candidate)
        if entry is not None and tree.is_file(candidate) and entry.mode & 0o111:
            return candidate
    raise Refused(
        Finding(
            "base-without-python",
            "`%s` has no program `%s`" % (image, name),
            "Wheels are installed for the Python inside the image, and its torch is patched",
            "Name the interpreter by its full path in training_image_python, or take a base image that has one",
            "training_image_base",
        )
    )


def _no_program(image: str, path: str, real: str) -> Finding:
    return Finding(
        "base-python-unknown",
        "`%s` in `%s` (%s) is no program but a script, or one of an unknown kind" % (path, image, real),
        "Where its modules are cannot be told without running it",
        "Name the interpreter itself by its full path in training_image_python (pyenv keeps it under versions/…/bin), "
        "or use the builder docker, which runs it",
        "training_image_python",
    )


# --- where it lives ---------------------------------------------------------------------------------------------------


def _virtual(tree: Tree, path: str) -> tuple[str, dict[str, str]] | None:
    """Prefix and settings of the virtual environment that a program belongs to."""
    folder = posixpath.dirname(path)
    for place in (folder, posixpath.dirname(folder)):
        data = tree.content(posixpath.join(place, "pyvenv.cfg"))
        if data is None:
            continue
        settings = {}
        for line in data.decode("utf-8", "replace").splitlines():
            key, equals, value = line.partition("=")
            if equals:
                settings[key.strip().lower()] = value.strip()
        return posixpath.dirname(folder), settings
    return None


def _base(tree: Tree, real: str, home: str, image: str) -> tuple[str, str]:
    """The prefix under which the interpreter's own modules are, and their folder's name (C(python3.11))."""
    folder = home
    while True:
        for lib in ("lib", "lib64"):
            names = [name for name in tree.children(posixpath.join(folder, lib)) if _LIBRARY.match(name)]
            found = [name for name in names if _has_modules(tree, posixpath.join(folder, lib, name))]
            chosen = _choose(tree, found, real)
            if chosen:
                return folder, chosen
        if folder == "/":
            break
        folder = posixpath.dirname(folder)
    raise Refused(
        Finding(
            "base-python-unknown",
            "the modules of `%s` are not found in `%s`" % (real, image),
            "Which Python it is, and where wheels go, cannot be told without them",
            "Name an interpreter with its lib/python3.N beside it in training_image_python",
            "training_image_python",
        )
    )


def _has_modules(tree: Tree, folder: str) -> bool:
    return any(tree.is_file(posixpath.join(folder, name)) for name in ("os.py", "os.pyc"))


def _choose(tree: Tree, names: list[str], real: str) -> str:
    """Of several Pythons below one prefix the one that the program is: by its name, else by what is in it."""
    if len(names) < 2:
        return "".join(names)
    if posixpath.basename(real) in names:
        return posixpath.basename(real)
    inside = {"python3.%s" % match.group(1) for match in map(_VERSION.match, tree.probes(real)) if match}
    fitting = [name for name in names if name in inside]
    return fitting[0] if len(fitting) == 1 else ""


def _read_library(tree: Tree, python: Interpreter, base: str, library: str) -> None:
    match = t.cast("re.Match[str]", _LIBRARY.match(library))
    python.minor = int(match.group(2))
    python.implementation = "cpython" if match.group(1) == "python" else "pypy"
    for lib in ("lib", "lib64"):
        folder = posixpath.join(base, lib, library)
        python.standard += [one for one in (folder, posixpath.join(folder, "lib-dynload")) if tree.is_folder(one)]
    suffixes = set()
    for folder in python.standard:
        for name in tree.children(folder):
            if name.endswith(".so") and name.count(".") == 2:
                suffixes.add("." + name.split(".", 1)[1])
    python.suffixes = sorted(suffixes | {".abi3.so", ".so"})


def _version(
    tree: Tree, python: Interpreter, base: str, environment: t.Mapping[str, str], venv: t.Mapping[str, str]
) -> str:
    """The full version, out of the program or the library that it is a shell of."""
    name = "libpython3.%d.so.1.0" % python.minor
    triplet = _MULTIARCH.get(python.machine, "")
    folders = [posixpath.join(base, "lib"), posixpath.join(base, "lib64"), "/usr/lib/" + triplet, "/usr/lib64"]
    places = [python.real] + [posixpath.join(folder, name) for folder in folders]
    start = "3.%d." % python.minor
    for place in places:
        found = [word for word in tree.probes(place) if word.startswith(start)]
        if found:
            return found[0].rstrip("+")
    stated = [venv.get("version", ""), venv.get("version_info", ""), environment.get("PYTHON_VERSION", "")]
    match = [one for one in (re.match(r"3\.%d\.\d+" % python.minor, text) for text in stated) if one]
    return match[0].group(0) if match else "3.%d" % python.minor


def _libc(tree: Tree, machine: str) -> tuple[str, str]:
    triplet = _MULTIARCH.get(machine, "")
    folders = ["/lib/" + triplet, "/usr/lib/" + triplet, "/lib64", "/usr/lib64", "/lib", "/usr/lib"]
    for folder in folders:
        for name in tree.children(folder):
            if name == "libc.so.6" or re.match(r"libc-2\.\d+\.so\Z", name):
                place = posixpath.join(folder, name)
                found = [word[len("libc:") :] for word in tree.probes(place) if word.startswith("libc:")]
                named = re.search(r"libc-(2\.\d+)\.so\Z", tree.real(place) or "")
                return "glibc", found[0] if found else named.group(1) if named else ""
    if any(name.startswith("ld-musl-") for name in tree.children("/lib")):
        return "musl", ""
    return "", ""


# --- where it looks, and where wheels go ------------------------------------------------------------------------------


def _read_search(
    tree: Tree,
    python: Interpreter,
    base: str,
    environment: t.Mapping[str, str],
    venv: tuple[str, dict[str, str]] | None,
) -> None:
    words = {word for folder in python.standard for word in _words(tree, folder)}
    debian = "dist-packages" in words and base == "/usr"
    fedora = bool(words & _RPM_WORDS) and base == "/usr"
    name = ("python3.%d" if python.implementation == "cpython" else "pypy3.%d") % python.minor
    lib64 = tree.is_folder(posixpath.join(base, "lib64", name, "lib-dynload"))
    lib64 = lib64 and tree.real(posixpath.join(base, "lib64")) != tree.real(posixpath.join(base, "lib"))
    system = _system_sites(base, name, python.minor, debian, fedora)
    sites = system
    if venv:
        sites = _plain_sites(venv[0], name)
        if venv[1].get("include-system-site-packages", "").lower() == "true":
            sites = sites + system
    given = [one for one in environment.get("PYTHONPATH", "").split(":") if one.startswith("/")]
    user = [] if venv else ["/root/.local/lib/%s/site-packages" % name]
    python.search = _existing(tree, given) + _with_pth(tree, _existing(tree, user + sites))
    python.scheme = _scheme(python.prefix, name, bool(venv), debian, fedora, lib64)


def _words(tree: Tree, folder: str) -> list[str]:
    places = ("site.py", "sysconfig.py", "sysconfig/__init__.py", "distutils/command/install.py")
    return [word for place in places for word in tree.probes(posixpath.join(folder, place))]


def _system_sites(base: str, name: str, minor: int, debian: bool, fedora: bool) -> list[str]:
    if debian:
        return [
            "/usr/local/lib/%s/dist-packages" % name,
            "/usr/lib/python3/dist-packages",
            "/usr/lib/python3.%d/dist-packages" % minor,
        ]
    return (_plain_sites("/usr/local", name) if fedora else []) + _plain_sites(base, name)


def _plain_sites(prefix: str, name: str) -> list[str]:
    return [posixpath.join(prefix, lib, name, "site-packages") for lib in ("lib64", "lib")]


def _scheme(prefix: str, name: str, virtual: bool, debian: bool, fedora: bool, lib64: bool) -> dict[str, str]:
    """Where the image's own pip, run by root, would put a wheel."""
    local = (debian or fedora) and not virtual
    root = "/usr/local" if local else prefix
    packages = "dist-packages" if debian and not virtual else "site-packages"
    return {
        "purelib": posixpath.join(root, "lib", name, packages),
        "platlib": posixpath.join(root, "lib64" if lib64 else "lib", name, packages),
        "scripts": posixpath.join(root, "bin"),
        "data": root,
        "headers": posixpath.join(root, "include", name),
    }


def _existing(tree: Tree, folders: t.Iterable[str]) -> list[str]:
    found: list[str] = []
    for folder in folders:
        real = tree.real(folder)
        if real and tree.is_folder(real) and real not in [tree.real(one) for one in found]:
            found.append(folder)
    return found


def _with_pth(tree: Tree, sites: list[str]) -> list[str]:
    """Site folders, each followed by the folders that its C(.pth) files name."""
    found: list[str] = []
    for site in sites:
        named: list[str] = []
        for name in tree.children(site):
            if name.endswith(".pth"):
                text = (tree.content(posixpath.join(site, name)) or b"").decode("utf-8", "replace")
                lines = [line.strip() for line in text.splitlines()]
                named += [
                    posixpath.join(site, line)
                    for line in lines
                    if line and not line.startswith(("#", "import ", "import\t"))
                ]
        found += [site] + [one for one in named if one not in sites]
    return _existing(tree, found)
