# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""What happens inside a training image: look, install and patch, prove.

This file is copied into images and run there by the image's own Python, beside C(_torch_patcher.py). It needs Python
3.7 and the standard library, and imports nothing else of the collection. Versions and requirements are compared by the
C(packaging) library that every pip carries.

Modes: V(facts) says what the base is, V(install) installs wheels and applies the patches, V(inspect) proves what is
there. Each prints one line that starts with C(MINDCLUSTER-RESULT) and goes on in JSON.
"""

from __future__ import annotations

import importlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import typing as t

MARKER = "MINDCLUSTER-RESULT "

# Replacing one of these would put another framework under the user's training code.
_NEVER_REPLACED = ("torch", "torch-npu", "mindspore")

# Modules whose distribution has another name. Only for messages and for choosing from the wheelhouse.
_DISTRIBUTION_OF = {
    "grpc": "grpcio",
    "google": "protobuf",
    "google.protobuf": "protobuf",
    "OpenSSL": "pyopenssl",
    "yaml": "pyyaml",
}

_MISSING_LIBRARY = re.compile(r"(lib[\w.+-]+\.so[\w.]*): cannot open shared object file")

# The import itself runs in a process of its own: it may write, load libraries or end the interpreter. Modules that are
# known to be missing are replaced by empty ones, so that one run finds all that are missing.
_TRY_IMPORT = r"""
import importlib, importlib.abc, importlib.machinery, json, sys, types
name, absent = sys.argv[1], tuple(sys.argv[2:])
class Anything(object):
    # Stands for whatever is taken from a module that is not there: a function, a decorator, a base class, a version.
    def __init__(self, *args, **kwargs): pass
    def __call__(self, *args, **kwargs): return args[0] if args and callable(args[0]) else self
    def __getattr__(self, item):
        if item.startswith("__"): raise AttributeError(item)
        return Anything()
    def __getitem__(self, item): return self
    def __iter__(self): return iter(())
    def __enter__(self): return self
    def __exit__(self, *args): return False
    def __lt__(self, other): return False
    __le__ = __gt__ = __ge__ = __lt__
    def __or__(self, other): return self
    __ror__ = __or__
class Absent(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, fullname, path=None, target=None):
        if any(fullname == one or fullname.startswith(one + ".") for one in absent):
            return importlib.machinery.ModuleSpec(fullname, self, is_package=True)
    def create_module(self, spec):
        module = types.ModuleType(spec.name)
        def get(item):
            if item.startswith("__"): raise AttributeError(item)
            return Anything()
        module.__getattr__ = get
        return module
    def exec_module(self, module): pass
if absent: sys.meta_path.insert(0, Absent())
answer = {"ok": True, "missing": "", "error": "", "file": ""}
try:
    answer["file"] = getattr(importlib.import_module(name), "__file__", None) or ""
except ModuleNotFoundError as exc:
    answer.update(ok=False, missing=exc.name or "", error=str(exc))
except BaseException as exc:
    answer.update(ok=False, error="%s: %s" % (type(exc).__name__, exc))
print("\nMINDCLUSTER-IMPORT " + json.dumps(answer))
sys.stdout.flush()
import os
os._exit(0)
"""


class Stop(Exception):
    """The stage cannot go on; C(findings) says why."""

    def __init__(self, findings: list[dict[str, str]]) -> None:
        super().__init__("; ".join(finding["what"] for finding in findings))
        self.findings = findings


def finding(code: str, what: str, why: str, remedy: str, where: str = "") -> dict[str, str]:
    return {"code": code, "what": what, "where": where, "why": why, "remedy": remedy}


# --- what the image is ------------------------------------------------------------------------------------------------


def facts(request: dict[str, t.Any]) -> dict[str, t.Any]:
    """Python, pip, torch and the installed versions of C(request["distributions"])."""
    return {
        "python": _python_facts(),
        "pip": installed_version("pip"),
        "torch": _torch_facts(),
        "distributions": {name: installed_version(name) for name in request.get("distributions", [])},
    }


def _python_facts() -> dict[str, t.Any]:
    libc, libc_version = _libc()
    return {
        "version": platform.python_version(),
        "implementation": sys.implementation.name,
        "executable": sys.executable,
        "machine": platform.machine(),
        "bits": 64 if sys.maxsize > 2**32 else 32,
        "libc": libc,
        "libc_version": libc_version,
    }


def _libc() -> tuple[str, str]:
    try:
        name, dummy, version = (os.confstr("CS_GNU_LIBC_VERSION") or "").partition(" ")
        if name == "glibc":
            return name, version
    except (ValueError, OSError, AttributeError):
        pass
    host = "%s %s" % (sysconfig.get_config_var("HOST_GNU_TYPE"), sysconfig.get_config_var("MULTIARCH"))
    return ("musl", "") if "musl" in host else ("", "")


def _torch_facts() -> dict[str, str] | None:
    """Where torch is and which, without importing it; C(error) where it is there and cannot be used."""
    patcher = _patcher()
    try:
        torch = patcher.find_torch()
    except patcher.Refusal as exc:
        if exc.findings[0]["code"] == "torch-missing":
            return None
        return {"version": "", "path": "", "error": str(exc)}
    return {"version": torch.version, "path": torch.path}


def _patcher() -> t.Any:
    return importlib.import_module("_torch_patcher")


# --- installed distributions, without importlib.metadata on Python 3.7 ------------------------------------------------


def normalise(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def installed_version(name: str) -> str | None:
    try:
        from importlib import metadata  # novm: Python 3.7 takes the other branch
    except ImportError:
        return _installed_version_37(name)
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _installed_version_37(name: str) -> str | None:
    for library in ("pkg_resources", "pip._vendor.pkg_resources"):
        try:
            resources = importlib.import_module(library)
        except ImportError:
            continue
        return next((one.version for one in resources.WorkingSet() if normalise(one.project_name) == name), None)
    return None


# --- requirements -----------------------------------------------------------------------------------------------------


def _packaging(part: str) -> t.Any:
    """A module of the packaging library that pip, setuptools or the image itself brings."""
    for library in (
        "pip._vendor.packaging",
        "packaging",
        "setuptools._vendor.packaging",
        "pkg_resources.extern.packaging",
    ):
        try:
            return importlib.import_module("%s.%s" % (library, part))
        except ImportError:
            continue
    raise Stop(
        [
            finding(
                "base-pip-too-old",
                "the pip of the base image brings no `packaging.%s`" % part,
                "What the wheels require cannot be compared with what the image has",
                "Upgrade pip in the base image (20.0 or newer)",
                "training_image_base",
            )
        ]
    )


class ThisPython:
    """What a resolution asks of the Python that wheels are for: here the one that runs this file."""

    def __init__(self) -> None:
        #: What stands in place of this Python's own values in the markers of requirements.
        self.environment: dict[str, str] = {}

    def installed_version(self, name: str) -> str | None:
        return installed_version(name)

    def fits(self, candidate: dict[str, t.Any]) -> bool:
        """Whether a wheel's tags are among those that this Python takes."""
        tags = _packaging("tags")
        return not tags.parse_tag(candidate["tags"]).isdisjoint(set(tags.sys_tags()))


class Resolution:
    """Which files of the wheelhouse are needed, and what is nowhere.

    :param python: what the wheels are for, if not the Python that runs this file.
    :ivar picked: wheelhouse entries by normalised name.
    :ivar unmet: findings.
    """

    def __init__(
        self,
        wheels: t.Sequence[dict[str, t.Any]],
        candidates: t.Sequence[dict[str, t.Any]],
        python: t.Any = None,
    ) -> None:
        self._python = python or ThisPython()
        self.picked: dict[str, dict[str, t.Any]] = {}
        self.unmet: list[dict[str, str]] = []
        self.unmet_names: set[str] = set()
        self._wheels = {normalise(wheel["name"]): wheel for wheel in wheels}
        self._candidates = [one for one in candidates if self._python.fits(one)]
        self._requirement = _packaging("requirements").Requirement
        self._seen: set[str] = set()

    def require(self, text: str, wanted_by: str, extras: t.Iterable[str] = ("",)) -> None:
        """Satisfy one requirement and what it brings with it."""
        key = "%s|%s" % (text, ",".join(sorted(extras)))
        if key in self._seen:
            return
        self._seen.add(key)
        try:
            requirement = self._requirement(text)
        except ValueError:
            # The resolver of pip passes over such lines too (old metadata); the import at the end decides.
            return
        if requirement.marker and not any(
            requirement.marker.evaluate(dict(self._python.environment, extra=extra)) for extra in extras
        ):
            return
        self._satisfy(requirement, text, wanted_by)

    def require_all(self, wheel: dict[str, t.Any], extras: t.Iterable[str] = ()) -> None:
        for text in wheel["requires"]:
            self.require(text, wheel["name"], tuple(extras) or ("",))

    def pick_module(self, module: str) -> bool:
        """Take the wheelhouse's file that brings a module; false where none does."""
        by_name = normalise(_DISTRIBUTION_OF.get(module, module.split(".")[0]))
        found = [one for one in self._candidates if normalise(one["name"]) == by_name]
        found = found or [one for one in self._candidates if module.split(".")[0] in one["modules"]]
        if not found or normalise(found[0]["name"]) in self.picked:
            return False
        self._pick(self._newest(found), ())
        return True

    def is_unmet_module(self, module: str) -> bool:
        """Whether a module is missing because a declared requirement is."""
        return normalise(_DISTRIBUTION_OF.get(module, module.split(".")[0])) in self.unmet_names

    def _satisfy(self, requirement: t.Any, text: str, wanted_by: str) -> None:
        name = normalise(requirement.name)
        present = self._wheels[name]["version"] if name in self._wheels else self._python.installed_version(name)
        if name in self.picked:
            present = self.picked[name]["version"]
        if present is not None and requirement.specifier.contains(present, prereleases=True):
            return
        offered = [one for one in self._candidates if normalise(one["name"]) == name]
        fitting = [one for one in offered if requirement.specifier.contains(one["version"], prereleases=True)]
        if fitting and name not in _NEVER_REPLACED and name not in self.picked:
            self._pick(self._newest(fitting), requirement.extras)
            return
        self.unmet_names.add(name)
        self.unmet.append(
            _unmet(text.split(";")[0].strip(), wanted_by, present, [one["version"] for one in offered], name)
        )

    def _pick(self, candidate: dict[str, t.Any], extras: t.Iterable[str]) -> None:
        self.picked[normalise(candidate["name"])] = candidate
        self.require_all(candidate, extras)

    def _newest(self, candidates: list[dict[str, t.Any]]) -> dict[str, t.Any]:
        parse = _packaging("version").Version
        return max(candidates, key=lambda one: parse(one["version"]))


def _unmet(text: str, wanted_by: str, present: str | None, offered: list[str], name: str) -> dict[str, str]:
    has = "the base image has %s" % present if present else "the base image has none"
    if name in _NEVER_REPLACED:
        return finding(
            "framework-version-unfit",
            "%s requires `%s`, and %s" % (wanted_by, text, has),
            "The framework of the base image is never replaced",
            "Take a base image with a fitting %s, or the wheel made for this one" % name,
            "training_image_base",
        )
    house = (
        "the wheelhouse has only %s" % ", ".join(sorted(offered)) if offered else "the wheelhouse has none that fits"
    )
    return finding(
        "requirement-unmet",
        "%s requires `%s`: %s, %s" % (wanted_by, text, has, house),
        "No package index is asked, and without it the wheel does not run",
        "Put the wheel of `%s` for this Python into training_image_wheelhouse" % text,
        "training_image_wheelhouse",
    )


# --- installing -------------------------------------------------------------------------------------------------------


def install(request: dict[str, t.Any]) -> dict[str, t.Any]:
    """Install, patch and prove.

    :raises Stop: with everything that is missing; the build ends with it, so that nothing of it is kept.
    """
    os.umask(0o022)
    folder = request["folder"]
    wheels, candidates = request["wheels"], request["candidates"]
    resolution = Resolution(wheels, candidates)
    for wheel in wheels:
        resolution.require_all(wheel)
    before = {name: installed_version(name) for name in resolution.picked}
    _pip(folder, wheels + list(resolution.picked.values()))
    undeclared = _complete_imports(request, resolution, folder)
    findings = resolution.unmet + undeclared
    if findings:
        raise Stop(findings)
    _apply_patches(request)
    result = inspect(request)
    result["installed"] = sorted(one["file"] for one in resolution.picked.values())
    result["replaced"] = [
        "%s %s -> %s" % (name, old, resolution.picked[name]["version"]) for name, old in sorted(before.items()) if old
    ]
    return result


def _pip(folder: str, wheels: list[dict[str, t.Any]]) -> None:
    """Install exactly these wheels of the build's folder.

    What they require was resolved before, so pip needs no index and cannot replace anything else. They are named by
    version, since for a path pip would record that path, which is gone afterwards, in the image.
    """
    if not wheels:
        return
    command = [sys.executable, "-m", "pip", "install", "--no-index", "--no-deps", "--force-reinstall"]
    for place in (os.path.join(folder, "wheels"), os.path.join(folder, "wheelhouse")):
        command += ["--find-links", place] if os.path.isdir(place) else []
    command += ["--no-compile", "--no-cache-dir", "--disable-pip-version-check"]
    command += ["%s==%s" % (wheel["name"], wheel["version"]) for wheel in wheels]
    # Debian and Ubuntu 24.04 mark their Python as externally managed; older pips do not know the variable.
    environment = _quiet_environment(PIP_BREAK_SYSTEM_PACKAGES="1", PIP_ROOT_USER_ACTION="ignore", PIP_PRE="1")
    # Inside of an image there is no module whose run_command could be called.
    done = subprocess.run(  # pylint: disable=ansible-bad-function
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )
    output = done.stdout.decode("utf-8", "replace")
    sys.stdout.write(output + "\n")
    if done.returncode:
        raise Stop([_pip_failed(wheels, output)])


def _pip_failed(wheels: list[dict[str, t.Any]], output: str) -> dict[str, str]:
    errors = [line.strip() for line in output.splitlines() if "error" in line.lower()]
    names = ", ".join(wheel["file"] for wheel in wheels)
    return finding(
        "pip-failed",
        "pip could not install %s: %s" % (names, " ".join(errors) or output[-500:]),
        "The image would lack what recovery needs",
        "Check that each wheel is whole and made for this Python and architecture",
        "training_image_wheels",
    )


def _complete_imports(request: dict[str, t.Any], resolution: Resolution, folder: str) -> list[dict[str, str]]:
    """Find what the wheels import without declaring it, and take it from the wheelhouse where that has it."""
    findings: list[dict[str, str]] = []
    own = {module for wheel in request["wheels"] for module in wheel["modules"]}
    absent: list[str] = []
    for module in request["imports"]:
        for _attempt in range(30):
            answer = try_import(module, absent)
            missing = answer["missing"]
            if answer["ok"] or not missing or missing in absent:
                break
            if missing.split(".")[0] in own:
                findings.append(module_not_in_wheel(module, missing))
                break
            known = set(resolution.picked)
            if resolution.pick_module(missing):
                new = [resolution.picked[name] for name in sorted(set(resolution.picked) - known)]
                _pip(folder, new)
                continue
            absent.append(missing)
            if not resolution.is_unmet_module(missing):
                findings.append(undeclared(module, missing))
    return findings


def module_not_in_wheel(module: str, missing: str) -> dict[str, str]:
    return finding(
        "module-not-in-wheel",
        "`import %s` fails: the installed wheel has no module `%s`" % (module, missing),
        "The patch puts this import into torch's run.py, and every torchrun would end with ModuleNotFoundError",
        "Take the vendor's wheel of this release; a wheel of the same name without this module is another package",
        "training_image_wheels",
    )


def undeclared(module: str, missing: str) -> dict[str, str]:
    name = _DISTRIBUTION_OF.get(missing, missing.split(".")[0])
    return finding(
        "requirement-undeclared",
        "`import %s` needs the module `%s`, which its wheel does not declare and neither image nor wheelhouse has"
        % (module, missing),
        "With it missing the import fails, and with it every torchrun",
        "Put the wheel of `%s` for this Python into training_image_wheelhouse" % name,
        "training_image_wheelhouse",
    )


def _apply_patches(request: dict[str, t.Any]) -> None:
    if not request.get("run_py_import"):
        return
    done = _patcher().apply(import_module=request["run_py_import"], rendezvous=request["rendezvous"])
    if not done["ok"]:
        raise Stop(done["errors"])


# --- proving ----------------------------------------------------------------------------------------------------------


def inspect(request: dict[str, t.Any]) -> dict[str, t.Any]:
    """What is in the image now: versions, patches by syntax tree, and whether the imports work."""
    names = [wheel["name"] for wheel in request.get("wheels", [])] or request.get("distributions", [])
    result = facts({"distributions": names})
    result["patches"] = _patch_states(request)
    result["imports"] = {module: _proof(try_import(module, [])) for module in request.get("imports", [])}
    return result


def _patch_states(request: dict[str, t.Any]) -> list[dict[str, t.Any]]:
    """Each patch as the syntax tree of its file shows it."""
    module = request.get("run_py_import")
    if not module:
        return []
    return described_patches(_patcher().inspect(import_module=module, rendezvous=request["rendezvous"], prove=False))


def described_patches(seen: dict[str, t.Any]) -> list[dict[str, t.Any]]:
    """What the patcher saw, as the modules return it."""
    patches = []
    for name in ("run_py", "rendezvous"):
        look = seen[name]
        if look is None:
            reason = "; ".join(one["what"] for one in seen["errors"])
            look = {
                "path": "",
                "state": "unreadable",
                "reason": reason,
                "line": None,
                "count": 0,
                "import_module": None,
            }
        patches.append(
            {
                "name": name,
                "file": look["path"],
                "line": look["line"],
                "state": look["state"],
                "count": look["count"],
                "recognised_by": "syntax tree: %s" % look["reason"],
                "import_module": look["import_module"],
            }
        )
    return patches


def try_import(module: str, absent: list[str]) -> dict[str, t.Any]:
    """Import a module in a process of its own, in an empty folder that is gone afterwards.

    TaskD writes taskd_log/ into the working directory, which must not stay in a layer.
    """
    place = tempfile.mkdtemp()
    # The device's driver comes from the host at run time, so torch must not load torch_npu by itself here.
    environment = _quiet_environment(
        TORCH_DEVICE_BACKEND_AUTOLOAD="0", TASKD_LOG_PATH=place, HOME=place, TMPDIR=place, PYTHONNOUSERSITE="1"
    )
    try:
        done = subprocess.run(  # pylint: disable=ansible-bad-function
            [sys.executable, "-B", "-c", _TRY_IMPORT, module] + absent,
            cwd=place,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=600,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return {"ok": False, "missing": "", "error": "the import did not end within 600 seconds", "file": ""}
    finally:
        shutil.rmtree(place, ignore_errors=True)
    return _import_answer(done)


def _import_answer(done: t.Any) -> dict[str, t.Any]:
    for line in reversed(done.stdout.decode("utf-8", "replace").splitlines()):
        if line.startswith("MINDCLUSTER-IMPORT "):
            answer: dict[str, t.Any] = json.loads(line[len("MINDCLUSTER-IMPORT ") :])
            return answer
    tail = done.stderr.decode("utf-8", "replace").strip()[-300:]
    return {"ok": False, "missing": "", "error": "Python ended with code %d: %s" % (done.returncode, tail), "file": ""}


def _proof(answer: dict[str, t.Any]) -> dict[str, t.Any]:
    library = _MISSING_LIBRARY.search(answer["error"])
    state = "imported" if answer["ok"] else "needs-library" if library else "failed"
    return {"state": state, "error": answer["error"], "file": answer["file"]}


def _quiet_environment(**changes: str) -> dict[str, str]:
    environment = dict(os.environ, PYTHONDONTWRITEBYTECODE="1")
    environment.update(changes)
    return environment


# --- entry ------------------------------------------------------------------------------------------------------------

_MODES: dict[str, t.Callable[[dict[str, t.Any]], dict[str, t.Any]]] = {
    "facts": facts,
    "install": install,
    "inspect": inspect,
}


def run(mode: str, request: dict[str, t.Any]) -> int:
    """Run one mode and print its result; 1 where it had to stop."""
    sys.dont_write_bytecode = True
    code = 0
    try:
        answer = {"ok": True, "result": _MODES[mode](request)}
    except Stop as exc:
        answer, code = {"ok": False, "findings": exc.findings}, 1
    sys.stdout.write("\n" + MARKER + json.dumps(answer, sort_keys=True) + "\n")
    sys.stdout.flush()
    return code


def main() -> int:
    """C(_image_stage.py MODE FOLDER): the request lies in the folder, which is removed at the end."""
    mode, folder = sys.argv[1], sys.argv[2]
    with open(os.path.join(folder, "request.json"), "rb") as stream:
        request = json.loads(stream.read().decode("utf-8"))
    request["folder"] = folder
    try:
        return run(mode, request)
    finally:
        os.chdir("/")
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    raise SystemExit(main())
