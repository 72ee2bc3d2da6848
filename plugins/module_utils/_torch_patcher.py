# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""Puts the two patches of resumable training into an installed PyTorch, takes them out, or says what is there.

One file that needs nothing but the standard library (Python 3.7 and newer), because it is used three ways: by the
modules, by itself inside an image build, and inside a finished image to prove what landed::

    python3 _torch_patcher.py present --json --import-module mindx_elastic.api

The two patches, as MindCluster's guide for process-level online recovery (release 7.2.RC1) has them:

* C(torch/distributed/run.py) imports the vendor's module before its own torch imports, so that the elastic agent is
  the vendor's.
* C(torch/distributed/rendezvous.py) puts each attempt's keys under a prefix of their own. PyTorch did so itself up
  to 2.5.1 and gave it up in 2.6.0.

Every decision is made by the syntax tree of the file that is there; the release is only a cross-check. All text is
handled as lines of bytes: a patch is whole lines put in, so that taking them out gives the original bytes back.

Sections: findings, where torch is, the two texts, the files on disk, byte code, proof of import, the two verbs
(:func:`inspect`, :func:`apply`), the command line.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import errno
import functools
import glob
import hashlib
import importlib.machinery
import importlib.util
import json
import os
import re
import shutil
import signal
import site
import stat
import subprocess
import sys
import tempfile
import time
import typing as t
import warnings

try:
    import fcntl
except ImportError:  # not on Linux: nothing that trains on an NPU, but the file must still be readable there
    fcntl = None  # type: ignore[assignment]

if t.TYPE_CHECKING:
    Json = dict[str, t.Any]

#: The module that release 7.2.RC1's guide puts into run.py.
DEFAULT_MODULE = "mindx_elastic.api"
#: What a vendor's command may have put into run.py: recognised, replaced and removed wherever it is found.
VENDOR_MODULES = (DEFAULT_MODULE, "taskd.python.adaptor.patch")
#: Modules that put each attempt's keys under a prefix at run time, so that rendezvous.py must stay as it is.
RUNTIME_PREFIX_MODULES = ("taskd.python.adaptor.patch",)
#: Ends the import line of any other module: without it the line could not be told from a site's own.
SIGNATURE = b"  # mindcluster.recovery"
#: The first release whose own text has no prefix.
FIRST_WITHOUT_PREFIX = (2, 6)
#: The newest release whose files were tried.
NEWEST_TRIED = (2, 15)

FUNCTION = "_create_c10d_store"
#: The tests that releases use to ask for the agent's store: up to 2.13, and from 2.14 on.
AGENT_TESTS = ("_torchelastic_use_agent_store()", "_agent_store_serves(hostname, port)")
#: The body of the vendor's block, word for word.
BLOCK = (
    "from torch.distributed import PrefixStore",
    'attempt = os.environ["TORCHELASTIC_RESTART_COUNT"]',
    "tcp_store = TCPStore(hostname, port, world_size, False, timeout)",
    'return PrefixStore(f"/worker/attempt_{attempt}", tcp_store)',
)
#: What the block's text needs to find in the file.
BLOCK_ARGUMENTS = ("hostname", "port", "world_size", "timeout")
BLOCK_GLOBALS = ("os", "TCPStore")

TEMPORARY_SUFFIX = ".mindcluster-tmp"
LOCK_SECONDS = 120
IMPORT_SECONDS = 600


# ---------------------------------------------------------------------------------------------------------------
# Findings


class Refusal(Exception):
    """What was asked for cannot be done.

    :ivar findings: the reasons, each a dictionary with C(code), C(what), C(where), C(why), C(remedy).
    """

    def __init__(self, findings: list[dict[str, str]]) -> None:
        super().__init__("; ".join(finding["what"] for finding in findings))
        self.findings = findings


def finding(code: str, what: str, why: str, remedy: str, where: str = "") -> dict[str, str]:
    """One reason or warning; the same five parts as the collection's C(Finding), which this file cannot import."""
    return {"code": code, "what": what, "where": where, "why": why, "remedy": remedy}


def refuse(code: str, what: str, why: str, remedy: str, where: str = "") -> Refusal:
    """A refusal with one reason."""
    return Refusal([finding(code, what, why, remedy, where)])


def finding_line(item: dict[str, str]) -> str:
    """A finding as one line of text."""
    where = "%s: " % item["where"] if item["where"] else ""
    return where + ". ".join(item[part].rstrip(".") for part in ("what", "why", "remedy")) + "."


# ---------------------------------------------------------------------------------------------------------------
# Where torch is


class Torch:
    """An installed torch: its folder, its version as it is written in C(torch/version.py), warnings about it."""

    def __init__(self, path: str, version: str, notes: list[dict[str, str]]) -> None:
        self.path = path
        self.version = version
        self.notes = notes

    @property
    def release(self) -> tuple[int, ...]:
        return release_of(self.version)

    def file(self, name: str) -> str:
        return os.path.join(self.path, "distributed", name)


def release_of(version: str) -> tuple[int, ...]:
    """C(2.13.0+cu130) as C((2, 13, 0)): numbers, since 2.10 is newer than 2.9."""
    match = re.match(r"\d+(\.\d+)*", version.strip())
    if match is None:
        return ()
    numbers = [int(part) for part in match.group(0).split(".")]
    return tuple(numbers + [0] * (3 - len(numbers)))


def find_torch(torch_path: str | None = None) -> Torch:
    """The torch that this interpreter would import, or the one at C(torch_path), without importing it.

    :param torch_path: the torch package's folder or the folder that holds it; default: ask the interpreter.
    :raises Refusal: there is none, it cannot be read, or its two statements of its version disagree.
    """
    folder = _given_folder(torch_path) if torch_path else _imported_folder()
    version = _read_version(folder)
    notes = _compare_metadata(folder, version, given=bool(torch_path))
    release = release_of(version)
    if release[:2] > NEWEST_TRIED:
        notes.append(
            finding(
                "torch-untried",
                "torch %s is newer than the newest release that was tried (%s)" % (version, _dotted(NEWEST_TRIED)),
                "The patches are placed by the structure of the files, which is as expected, but nobody has run it",
                "Try a worker's restart on this release before relying on it",
                folder,
            )
        )
    return Torch(folder, version, notes)


def _dotted(release: t.Iterable[int]) -> str:
    return ".".join(str(number) for number in release)


def _given_folder(torch_path: str) -> str:
    path = os.path.abspath(torch_path)
    for folder in (path, os.path.join(path, "torch")):
        if os.path.isfile(os.path.join(folder, "version.py")) and os.path.isdir(os.path.join(folder, "distributed")):
            return folder
    raise refuse(
        "torch-missing",
        "there is no torch at %s" % path,
        "Looked for version.py and the folder distributed in it and in its folder torch",
        "Give the folder of the torch package, such as /usr/lib/python3/dist-packages/torch",
        path,
    )


def _imported_folder() -> str:
    try:
        spec = importlib.util.find_spec("torch")
    except (ImportError, ValueError, AttributeError) as exc:
        raise refuse(
            "torch-missing",
            "%s cannot look for torch: %s" % (sys.executable, exc),
            "A broken entry on the module search path stops every import",
            "Repair the Python environment",
            sys.executable,
        ) from exc
    if spec is None:
        raise refuse(
            "torch-missing",
            "%s finds no torch" % sys.executable,
            "The patches go into the torch that this interpreter imports; looked in %s"
            % (", ".join(entry for entry in sys.path if entry) or "an empty search path"),
            "Install torch for this interpreter, or name the interpreter that trains",
            sys.executable,
        )
    if not spec.origin or not os.path.basename(spec.origin).startswith("__init__."):
        found = spec.origin or ", ".join(spec.submodule_search_locations or []) or "nothing"
        raise refuse(
            "torch-missing",
            "what %s imports as torch is no installed package (%s)" % (sys.executable, found),
            "A plain folder or a file by the name of torch hides the real one or is left of an old one",
            "Remove it, or install torch for this interpreter",
            str(found),
        )
    return os.path.dirname(os.path.abspath(spec.origin))


def _read_version(folder: str) -> str:
    """The version out of C(torch/version.py), read as text: importing torch can take a minute and need a driver."""
    path = os.path.join(folder, "version.py")
    problem = "it does not set __version__ to a string"
    try:
        tree = parse(read_bytes(path))
        for node in tree.body:
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            names = [target.id for target in targets if isinstance(target, ast.Name)]
            value = text_of(getattr(node, "value", None))
            if "__version__" in names and value and release_of(value):
                return value
    except (OSError, Unparsable) as exc:
        problem = str(exc)
    raise refuse(
        "torch-version-unreadable",
        "the version of torch cannot be read",
        "%s: %s" % (path, problem),
        "Install torch anew",
        path,
    )


def _compare_metadata(folder: str, version: str, given: bool) -> list[dict[str, str]]:
    """Refuses a torch whose installation record names another release; warns when another torch is hidden."""
    parent = os.path.dirname(folder)
    records = sorted(
        glob.glob(os.path.join(glob.escape(parent), "torch-*.dist-info"))
        + glob.glob(os.path.join(glob.escape(parent), "torch-*.egg-info"))
        + glob.glob(os.path.join(glob.escape(parent), "torch.egg-info"))
    )
    wrong = []
    for record in records:
        named = _recorded_version(record)
        if named and release_of(named) != release_of(version):
            wrong.append("%s says %s" % (record, named))
    if wrong:
        raise refuse(
            "torch-version-disagrees",
            "two releases of torch are mixed in one place",
            "%s says %s, %s" % (os.path.join(folder, "version.py"), version, ", ".join(wrong)),
            "Remove the record that is left over, or install torch anew into an empty folder",
            parent,
        )
    return [] if given else _hidden_torch(folder)


def _recorded_version(record: str) -> str:
    """The version that an installation record states, or the one in its name; empty where it states none."""
    for name in ("METADATA", "PKG-INFO", ""):
        path = os.path.join(record, name) if name else record
        try:
            with open(path, "rb") as stream:
                match = re.search(rb"(?m)^Version:[ \t]*(\S+)", stream.read(1 << 20).split(b"\n\n")[0])
        except OSError:
            continue
        if match:
            return match.group(1).decode("utf-8", "replace")
    match_name = re.match(r"torch-(\d[^-]*)", os.path.basename(record))
    return match_name.group(1) if match_name else ""


def _hidden_torch(folder: str) -> list[dict[str, str]]:
    """Warnings about further torch folders behind the one that is imported."""
    hidden = []
    for entry in sys.path:
        other = os.path.join(entry or os.getcwd(), "torch")
        if os.path.isfile(os.path.join(other, "version.py")) and not _same_file(other, folder):
            hidden.append(other)
    if not hidden:
        return []
    return [
        finding(
            "torch-hidden",
            "another torch lies behind the one that is patched: %s" % ", ".join(hidden),
            "%s imports %s, as long as its search path (PYTHONPATH) stays as it is now" % (sys.executable, folder),
            "Start training with the same search path, or remove one of the two",
            folder,
        )
    ]


def _same_file(one: str, other: str) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False


# ---------------------------------------------------------------------------------------------------------------
# The two texts: pure functions from bytes to bytes


class Unparsable(Exception):
    """A text that is no Python, with the line where it stops being so."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message if line is None else "line %d: %s" % (line, message))
        self.line = line


class Text:
    """A Python file's bytes, its lines with their ends, and its syntax tree."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        # bytes.splitlines knows exactly the line ends that Python's tokenizer knows, unlike str.splitlines.
        self.lines = data.splitlines(True)
        self.tree = parse(data)

    def line(self, number: int) -> bytes:
        """Line C(number), counted from 1, without its end."""
        return self.lines[number - 1].rstrip(b"\r\n") if 0 < number <= len(self.lines) else b""

    def end(self, number: int) -> bytes:
        """How line C(number) ends; a last line without an end ends as the first one does."""
        for line in (self.lines[number - 1], self.lines[0]):
            ending = line[len(line.rstrip(b"\r\n")) :]
            if ending:
                return ending
        return b"\n"

    def without(self, numbers: t.Iterable[int]) -> bytes:
        gone = set(numbers)
        return b"".join(line for number, line in enumerate(self.lines, 1) if number not in gone)

    def with_lines(self, number: int, new: t.Sequence[bytes]) -> bytes:
        """The text with new lines put before line C(number)."""
        ending = self.end(number)
        added = [line + ending for line in new]
        return b"".join(self.lines[: number - 1] + added + self.lines[number - 1 :])


class Look:
    """What one file is.

    :ivar state: one word, see the documentation of the module C(torch_patch).
    :ivar reason: the same in a sentence: how it was recognised.
    :ivar line: where, counted from 1; C(None) where there is no such place.
    :ivar count: how many times the patch is in it.
    :ivar base: the text without any patch.
    :ivar imported: the module that run.py imports.
    :ivar problem: a finding's parts C((code, what, why, remedy)) when the patch cannot be put in or taken out.
    """

    def __init__(
        self,
        state: str,
        reason: str,
        line: int | None = None,
        count: int = 0,
        base: bytes | None = None,
        imported: str | None = None,
        problem: tuple[str, str, str, str] | None = None,
    ) -> None:
        self.state = state
        self.reason = reason
        self.line = line
        self.count = count
        self.base = base
        self.imported = imported
        self.problem = problem


@functools.lru_cache(maxsize=16)
def parse(data: bytes) -> ast.Module:
    """The syntax tree of a file's bytes; the same few texts are asked for again and again on the way to a decision.

    :raises Unparsable: it is no Python for this interpreter.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(data)
    except SyntaxError as exc:
        raise Unparsable(exc.msg or "no valid Python", exc.lineno) from exc
    except (ValueError, RecursionError, MemoryError) as exc:
        raise Unparsable(str(exc) or type(exc).__name__) from exc


def compiles(data: bytes, path: str) -> None:
    """Compiles a file's bytes, which finds more than parsing does.

    :raises Unparsable: it does not compile.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(data, path, "exec", dont_inherit=True)
    except SyntaxError as exc:
        raise Unparsable(exc.msg or "no valid Python", exc.lineno) from exc
    except (ValueError, RecursionError, MemoryError) as exc:
        raise Unparsable(str(exc) or type(exc).__name__) from exc


def text_of(node: ast.AST | None) -> str | None:
    """The string that a node stands for, or C(None); Python 3.7 has a node type of its own for it."""
    value = getattr(node, "s", None) if type(node).__name__ == "Str" else getattr(node, "value", None)
    return value if isinstance(value, str) else None


def same_code(node: ast.AST, code: str) -> bool:
    """Whether an expression is the one that C(code) is, however it is written."""
    return ast.dump(node) == ast.dump(ast.parse(code, mode="eval").body)


# run.py ........................................................................................................

_IMPORT_LINE = re.compile(rb"import[ \t]+([A-Za-z0-9_.]+)[ \t]*(#.*)?")


# The same bytes are looked at several times on the way from the plan to the proof.
@functools.lru_cache(maxsize=16)
def look_at_run(data: bytes, module: str) -> Look:
    """What C(torch/distributed/run.py) is.

    :param data: the file's bytes.
    :param module: the module that it should import.
    """
    try:
        text = Text(data)
    except Unparsable as exc:
        return _broken(exc)
    statements, strays = _recovery_lines(text, module)
    by_hand = _imports_by_hand(text, module, statements)
    if by_hand is not None:
        return Look(
            "foreign",
            "imports it in a way that is not this patch's: %s" % _shown(text.line(by_hand)),
            by_hand,
            problem=(
                "run-import-by-hand",
                "run.py imports the recovery module in a way that somebody wrote by hand",
                "Line %d is %s; it can be neither relied on nor taken out safely"
                % (by_hand, _shown(text.line(by_hand))),
                "Take that import out by hand, or install torch anew, and run again",
            ),
        )
    base = text.without(list(statements) + strays)
    imported = next(iter(statements.values()), None)
    look = Look("unpatched", "", None, len(statements), base, imported)
    try:
        anchor = _run_anchor(Text(base))
    except Unparsable as exc:
        return _broken(exc)
    if anchor is None:
        look.problem = (
            "run-anchor-missing",
            "run.py is not as any known release has it",
            "Looked for a top-level `import os` or `import torch` that no other import of torch comes before",
            "Install an unchanged torch; on a new release, report it to the collection with the file",
        )
    return _judge_run(look, data, module, statements, strays)


def _judge_run(look: Look, data: bytes, module: str, statements: dict[int, str], strays: list[int]) -> Look:
    first = min(statements) if statements else None
    look.line = first
    if not statements and not strays:
        if look.problem:
            look.state, look.reason = "unsupported", look.problem[2]
        else:
            look.reason = "no top-level import of a recovery module"
    elif look.problem is None and look.imported and put_in_run(t.cast(bytes, look.base), look.imported) == data:
        look.state = "patched" if look.imported == module else "other"
        look.reason = "one top-level statement `import %s`, before the first import of torch" % look.imported
    elif len(statements) == 1 and not strays:
        look.state = "misplaced"
        look.reason = "one top-level statement `import %s`, but not where the patch puts it" % look.imported
    else:
        look.state = "repeated"
        look.line = min(list(statements) + strays)
        counts = (len(statements), len(strays))
        look.reason = "%d top-level statements and %d lines inside a string, as repeated commands leave them" % counts
    return look


def _recovery_lines(text: Text, module: str) -> tuple[dict[int, str], list[int]]:
    """The lines that a patch put in: statements (line to module), and lines that landed inside a string.

    C(sed '/import os/i ...') also matches a picture in the docstring of releases up to 2.6.0 and puts the import there,
    where it does nothing.
    """
    top = {node.lineno for node in text.tree.body if isinstance(node, ast.Import) and node.col_offset == 0}
    anywhere = {node.lineno for node in ast.walk(text.tree) if isinstance(node, (ast.Import, ast.ImportFrom))}
    known = set(VENDOR_MODULES) | {module}
    statements: dict[int, str] = {}
    strays: list[int] = []
    waiting: list[int] = []
    for number in range(1, len(text.lines) + 1):
        line = text.line(number)
        match = _IMPORT_LINE.fullmatch(line)
        name = match.group(1).decode("ascii") if match else ""
        if match and (name in known or line.endswith(SIGNATURE)):
            if number in top:
                statements[number] = name
            elif number not in anywhere:
                waiting.append(number)
            continue
        if b"import os" in line:
            strays.extend(waiting)
        waiting = []
    return statements, strays


def _imports_by_hand(text: Text, module: str, statements: dict[int, str]) -> int | None:
    """The line of an import of a recovery module that no patch put there."""
    known = set(VENDOR_MODULES) | {module}
    for node in ast.walk(text.tree):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names = [node.module or ""] + ["%s.%s" % (node.module, alias.name) for alias in node.names]
        if known.intersection(names) and t.cast(t.Any, node).lineno not in statements:
            return int(t.cast(t.Any, node).lineno)
    return None


def _run_anchor(text: Text) -> int | None:
    """The line before which the import goes: C(import os), else the first import of torch; C(None): neither."""
    for node in text.tree.body:
        at_start = node.col_offset == 0 and text.line(node.lineno).startswith((b"import ", b"from "))
        if isinstance(node, ast.Import) and at_start and [(a.name, a.asname) for a in node.names] == [("os", None)]:
            return node.lineno
        if _imports_torch(node):
            return node.lineno if at_start and isinstance(node, (ast.Import, ast.ImportFrom)) else None
    return None


def _imports_torch(statement: ast.stmt) -> bool:
    """Whether running a top-level statement imports torch."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return False
    for node in ast.walk(statement):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and not node.level:
            names = [node.module or ""]
        if any(name.split(".")[0] == "torch" for name in names):
            return True
    return False


def put_in_run(base: bytes, module: str) -> bytes:
    """An unpatched run.py with the import put in; the same bytes as the vendor's command leaves where that works."""
    text = Text(base)
    anchor = t.cast(int, _run_anchor(text))
    signature = b"" if module in VENDOR_MODULES else SIGNATURE
    return text.with_lines(anchor, [b"import " + module.encode("ascii") + signature])


# rendezvous.py .................................................................................................


@functools.lru_cache(maxsize=16)
def look_at_rendezvous(data: bytes) -> Look:
    """What C(torch/distributed/rendezvous.py) is: C(native), C(patched), C(repeated), C(unpatched), C(unsupported)."""
    try:
        text = Text(data)
    except Unparsable as exc:
        return _broken(exc)
    blocks = _own_blocks(text)
    base = text.without(number for start in blocks for number in range(start, start + 1 + len(BLOCK)))
    look = Look("unpatched", "", None, len(blocks), base)
    look.line = blocks[0] if blocks else None
    try:
        base_text = Text(base)
    except Unparsable as exc:
        return _broken(exc)
    native = _native_prefix(base_text)
    if native is not None:
        return _judge_native(look, native, blocks)
    anchor, problem = _rendezvous_anchor(base_text)
    if anchor is None:
        look.state, look.reason = "unsupported", problem
        look.problem = (
            "rendezvous-unsupported",
            "rendezvous.py is not as any known release has it",
            "Looked in %s for a returned attempt prefix, `if %s:` or `if %s:`; %s"
            % ((FUNCTION,) + AGENT_TESTS + (problem,)),
            "Install an unchanged torch; on a new release, report it to the collection with the file",
        )
    elif not blocks:
        look.line = anchor
        look.reason = "%s asks for the agent's store and returns it without a prefix" % FUNCTION
    elif put_in_rendezvous(base) == data:
        look.state = "patched"
        look.reason = "the first `if` on the agent's store in %s returns it under /worker/attempt_N" % FUNCTION
    else:
        look.state = "repeated"
        look.reason = "%d blocks in %s that return the prefix, not one as the patch puts it" % (len(blocks), FUNCTION)
    return look


def _judge_native(look: Look, native: int, blocks: list[int]) -> Look:
    if blocks:
        look.state = "repeated"
        look.reason = "this torch has the attempt prefix itself, and %d needless blocks before it" % len(blocks)
        return look
    look.state, look.line = "native", native
    look.reason = "%s returns the agent's store under /worker/attempt_N by itself" % FUNCTION
    return look


def _broken(exc: Unparsable) -> Look:
    return Look(
        "broken",
        str(exc),
        exc.line,
        problem=(
            "file-broken",
            "the file is no valid Python for %s" % _python_version(),
            str(exc),
            "Install torch anew; a command such as sed may have cut into it",
        ),
    )


def _function(text: Text) -> ast.FunctionDef | None:
    found = [node for node in text.tree.body if isinstance(node, ast.FunctionDef) and node.name == FUNCTION]
    return found[0] if len(found) == 1 else None


def _own_blocks(text: Text) -> list[int]:
    """First lines of the blocks that are the vendor's, word for word, in whatever indentation."""
    function = _function(text)
    blocks = []
    for node in function.body if function else []:
        if isinstance(node, ast.If) and len(node.body) == len(BLOCK) and not node.orelse:
            words = [text.line(node.lineno + offset).strip() for offset in range(1 + len(BLOCK))]
            tests = [("if %s:" % test).encode("ascii") for test in AGENT_TESTS]
            if words[0] in tests and words[1:] == [line.encode("ascii") for line in BLOCK]:
                blocks.append(node.lineno)
    return blocks


def _asks_for_agent_store(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and any(same_code(node.test, test) for test in AGENT_TESTS)


def _native_prefix(text: Text) -> int | None:
    """The line of the C(if) on the agent's store whose branch returns the attempt prefix."""
    function = _function(text)
    for node in function.body if function else []:
        if not _asks_for_agent_store(node):
            continue
        for inner in t.cast(ast.If, node).body:
            if isinstance(inner, ast.Return) and _is_attempt_prefix(inner.value):
                return node.lineno
    return None


def _is_attempt_prefix(node: ast.AST | None) -> bool:
    """Whether an expression is C(PrefixStore(f"/worker/attempt_{...}", ...))."""
    if not isinstance(node, ast.Call) or not node.args:
        return False
    name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
    prefix = node.args[0]
    start = text_of(prefix.values[0]) if isinstance(prefix, ast.JoinedStr) and prefix.values else None
    return name == "PrefixStore" and start is not None and start.startswith("/worker/attempt_")


def _rendezvous_anchor(text: Text) -> tuple[int | None, str]:
    """The line before which the block goes, or C(None) and the reason why there is none."""
    function = _function(text)
    if function is None:
        return None, "there is no top-level function %s, or more than one" % FUNCTION
    if any(getattr(node, "id", getattr(node, "attr", "")) == "PrefixStore" for node in ast.walk(function)):
        return None, "%s uses PrefixStore in a way that is not known" % FUNCTION
    anchors = [node for node in function.body if _asks_for_agent_store(node)]
    if len(anchors) != 1:
        return None, "%s asks for the agent's store in %d statements of its own" % (FUNCTION, len(anchors))
    anchor = anchors[0]
    if not text.line(anchor.lineno).lstrip().startswith((b"if ", b"if(")):
        return None, "the `if` in line %d does not start its line" % anchor.lineno
    before = function.body[: function.body.index(anchor)]
    if any(isinstance(node, (ast.Return, ast.Raise)) for node in before):
        return None, "the `if` in line %d is never reached" % anchor.lineno
    missing = _missing_names(text, function)
    if missing:
        return None, "the names that the patch needs are not there: %s" % ", ".join(missing)
    return anchor.lineno, ""


def _missing_names(text: Text, function: ast.FunctionDef) -> list[str]:
    arguments = {argument.arg for argument in function.args.args + function.args.kwonlyargs}
    bound: set[str] = set()
    for node in text.tree.body:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            bound.update((alias.asname or alias.name).split(".")[0] for alias in node.names)
    missing = [name for name in BLOCK_ARGUMENTS if name not in arguments]
    return missing + [name for name in BLOCK_GLOBALS if name not in bound]


def put_in_rendezvous(base: bytes) -> bytes:
    """An unpatched rendezvous.py with the block put in, in the indentation and line ends that are there."""
    text = Text(base)
    number = t.cast(int, _rendezvous_anchor(text)[0])
    node = next(n for n in t.cast(ast.FunctionDef, _function(text)).body if n.lineno == number)
    test = next(test for test in AGENT_TESTS if same_code(t.cast(ast.If, node).test, test))
    outer = _indent(text.line(number))
    inner = _indent(text.line(t.cast(ast.If, node).body[0].lineno))
    if not inner.startswith(outer) or inner == outer:
        inner = outer + (b"\t" if outer.startswith(b"\t") else b"    ")
    lines = [outer + ("if %s:" % test).encode("ascii")]
    return text.with_lines(number, lines + [inner + line.encode("ascii") for line in BLOCK])


def _indent(line: bytes) -> bytes:
    return line[: len(line) - len(line.lstrip(b" \t"))]


def _shown(line: bytes) -> str:
    return "`%s`" % line.strip().decode("utf-8", "replace")


# What is to become of a text ....................................................................................


class Change:
    """One file's way from what was found to what is wanted.

    :ivar name: C(run_py) or C(rendezvous).
    :ivar found: the :class:`Look` at what is there.
    :ivar after: the :class:`Look` at what will be there.
    """

    def __init__(self, name: str, path: str, old: bytes, new: bytes, found: Look, after: Look) -> None:
        self.name = name
        self.path = path
        self.old = old
        self.new = new
        self.found = found
        self.after = after


def plan_run(path: str, data: bytes, module: str, present: bool, torch: Torch) -> Change:
    """What becomes of run.py.

    :raises Refusal: the import can neither be put in nor taken out.
    """
    found = look_at_run(data, module)
    if found.base is None or (present and found.problem):
        raise _cannot(found, path, torch)
    new = put_in_run(found.base, module) if present else found.base
    after = look_at_run(new, module)
    _check_result(path, new, found.base, after, ("patched",) if present else ("unpatched", "unsupported"), torch)
    return Change("run_py", path, data, new, found, after)


def plan_rendezvous(path: str, data: bytes, wanted: bool, torch: Torch) -> Change:
    """What becomes of rendezvous.py.

    :param wanted: put the block in where the release has no prefix of its own; otherwise take it out.
    :raises Refusal: the block can neither be put in nor taken out.
    """
    found = look_at_rendezvous(data)
    if found.base is None or (wanted and found.problem):
        raise _cannot(found, path, torch)
    bare = look_at_rendezvous(found.base)
    put_in = wanted and bare.state == "unpatched"
    new = put_in_rendezvous(found.base) if put_in else found.base
    after = look_at_rendezvous(new)
    _check_result(path, new, found.base, after, ("patched",) if put_in else (bare.state,), torch)
    return Change("rendezvous", path, data, new, found, after)


def _cannot(look: Look, path: str, torch: Torch) -> Refusal:
    code, what, why, remedy = t.cast("tuple[str, str, str, str]", look.problem)
    where = path if look.line is None else "%s:%d" % (path, look.line)
    return refuse(code, "torch %s: %s" % (torch.version, what), why, remedy, where)


def _check_result(path: str, new: bytes, base: bytes, after: Look, states: t.Sequence[str], torch: Torch) -> None:
    """The proof on paper, before anything is written: it compiles, it is as wanted, and it can be taken out again."""
    problem = ""
    try:
        compiles(new, path)
    except Unparsable as exc:
        problem = str(exc)
    if not problem and after.state not in states:
        problem = "it would be %s: %s" % (after.state, after.reason)
    if not problem and after.base != base:
        problem = "taking the patch out again would not give the original bytes"
    if problem:
        raise refuse(
            "patch-does-not-fit",
            "torch %s: the patched file would not be right" % torch.version,
            problem,
            "Install an unchanged torch; on a new release, report it to the collection with the file",
            path,
        )


def cross_check(change: Change, torch: Torch) -> list[dict[str, str]]:
    """A warning where a rendezvous.py is not what its release is known to carry."""
    old = torch.release[:2] < FIRST_WITHOUT_PREFIX
    native = change.after.state == "native"
    if old == native or change.after.state == "unsupported":
        return []
    known = "has" if old else "lacks"
    return [
        finding(
            "rendezvous-unexpected",
            "torch %s %s the attempt prefix, this rendezvous.py is otherwise" % (torch.version, known),
            "Somebody else has changed the file; the decision was made by what is in it: %s" % change.after.reason,
            "Install an unchanged torch if that is not meant to be so",
            change.path,
        )
    ]


# ---------------------------------------------------------------------------------------------------------------
# The files on disk


def read_bytes(path: str) -> bytes:
    with open(path, "rb") as stream:
        return stream.read()


def read_source(torch: Torch, name: str) -> tuple[str, bytes]:
    """A file of torch and its bytes.

    :raises Refusal: it is not there, is there as byte code only, or cannot be read.
    """
    path = torch.file(name)
    try:
        return path, read_bytes(path)
    except FileNotFoundError:
        pass
    except OSError as exc:
        raise refuse(
            "file-unreadable", "%s cannot be read" % path, str(exc), "Run as a user who may read it", path
        ) from exc
    if os.path.exists(path + "c"):
        raise refuse(
            "file-sourceless",
            "torch %s is installed as byte code only" % torch.version,
            "There is %sc and no %s, so there is no text that a patch could go into" % (path, name),
            "Install torch with its sources",
            path,
        )
    raise refuse(
        "file-missing",
        "torch %s has no distributed/%s" % (torch.version, name),
        "The elastic agent came with torch 1.9; without the file there is nothing to patch",
        "Install torch 1.9.1 or newer",
        path,
    )


def obstacles(changes: t.Sequence[Change], stale: t.Sequence[str]) -> list[dict[str, str]]:
    """Why the changed files could not be replaced; all of it is found before the first one is touched."""
    found = []
    mounts = _mount_points()
    for change in changes:
        if change.old == change.new:
            continue
        if os.path.realpath(change.path) in mounts or os.path.abspath(change.path) in mounts:
            found.append(
                finding(
                    "mount-point",
                    "the file is a mount of its own",
                    "A mounted file cannot be replaced in one step, and is never written in place: whoever mounted it "
                    "would get the change too",
                    "Patch the file where it is mounted from, or take the mount away",
                    change.path,
                )
            )
        folder = os.path.dirname(change.path)
        if not os.access(folder, os.W_OK | os.X_OK):
            found.append(_not_writable(folder))
    for folder in sorted({os.path.dirname(path) for path in stale}):
        if not os.access(folder, os.W_OK | os.X_OK):
            found.append(_not_writable(folder))
    return found


def _not_writable(folder: str) -> dict[str, str]:
    return finding(
        "not-writable",
        "%s may not write in the folder" % _user(),
        "The new file is written beside the old one and takes its place in one step",
        "Run as the owner of the installation (such as with become), or make the file system writable",
        folder,
    )


def _user() -> str:
    return "user %d" % os.geteuid() if hasattr(os, "geteuid") else "this user"


def _mount_points() -> set[str]:
    """Where something is mounted, as the kernel says; empty where it cannot be known."""
    points = set()
    with contextlib.suppress(OSError):
        for line in read_bytes("/proc/self/mountinfo").splitlines():
            fields = line.split(b" ")
            if len(fields) > 4:
                point = re.sub(rb"\\([0-7]{3})", lambda match: bytes([int(match.group(1), 8)]), fields[4])
                points.add(os.fsdecode(point))
    return points


def sharing_notes(torch: Torch, changes: t.Sequence[Change]) -> list[dict[str, str]]:
    """Warnings about files and folders that other environments use too."""
    notes = []
    for folder in (torch.path, os.path.join(torch.path, "distributed")):
        if os.path.islink(folder):
            notes.append(
                finding(
                    "shared-folder",
                    "the folder is a symbolic link to %s" % os.path.realpath(folder),
                    "Every environment that links to that folder gets the change",
                    "Install torch into this environment by copy if the others must stay as they are",
                    folder,
                )
            )
    for change in changes:
        if change.old == change.new:
            continue
        if os.path.islink(change.path):
            what = "the file is a symbolic link to %s; it becomes a file of its own" % os.path.realpath(change.path)
        elif os.stat(change.path).st_nlink > 1:
            what = (
                "the file has %d names (hard links); this one becomes a file of its own" % os.stat(change.path).st_nlink
            )
        else:
            continue
        notes.append(
            finding(
                "shared-file",
                what,
                "A package store that is shared between environments stays as it is, and so do the other environments",
                "Run this for every environment that trains",
                change.path,
            )
        )
    return notes


@contextlib.contextmanager
def locked(folder: str) -> t.Iterator[None]:
    """Lets one run at a time change a folder. The folder itself is the lock, so that no file is left behind.

    :raises Refusal: another run held it for two minutes.
    """
    if fcntl is None:
        yield
        return
    with contextlib.ExitStack() as stack:
        handle = os.open(folder, os.O_RDONLY)
        stack.callback(os.close, handle)
        if not _try_lock(handle):
            handle = _lock_file(folder)
            stack.callback(os.close, handle)
            _try_lock(handle)
        yield


def _try_lock(handle: int) -> bool:
    """Takes the lock; false where this file system cannot lock a folder."""
    deadline = time.monotonic() + LOCK_SECONDS
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except OSError as exc:
            if exc.errno not in (errno.EWOULDBLOCK, errno.EACCES, errno.EINTR):
                return False
        if time.monotonic() > deadline:
            raise refuse(
                "locked",
                "another run has been at work on the same torch for %d seconds" % LOCK_SECONDS,
                "Two at once could lose each other's change",
                "Wait for it, or end it, and run again",
            )
        time.sleep(0.05)


def _lock_file(folder: str) -> int:
    """The lock for file systems (some network ones) that cannot lock a folder."""
    name = hashlib.sha256(os.fsencode(os.path.realpath(folder))).hexdigest()[:16]
    path = os.path.join(tempfile.gettempdir(), "mindcluster-recovery-%s.lock" % name)
    return os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)


def write_all(changes: t.Sequence[Change]) -> None:
    """Replaces the files, both or none.

    :raises Refusal: it could not be done; the files are as they were.
    """
    staged: list[tuple[str, str]] = []
    done: list[Change] = []
    path = ""
    try:
        for change in changes:
            path = change.path
            _sweep(path)
            staged.append((_stage(path, change.new), path))
        for change, (temporary, path) in zip(changes, staged):
            _replace(temporary, path)
            done.append(change)
    except OSError as exc:
        for change in done:
            _replace(_stage(change.path, change.old), change.path)
        raise refuse(
            "write-failed",
            "the file could not be replaced: %s" % (exc.strerror or exc),
            "Nothing was changed",
            "Make room or give the rights that are missing, and run again",
            path,
        ) from exc
    finally:
        for temporary, _path in staged:
            with contextlib.suppress(OSError):
                os.unlink(temporary)


def _sweep(path: str) -> None:
    """Removes what a run that was killed has left beside the file."""
    pattern = os.path.join(glob.escape(os.path.dirname(path)), ".%s.*%s" % (os.path.basename(path), TEMPORARY_SUFFIX))
    for leftover in glob.glob(pattern):
        os.unlink(leftover)


def _stage(path: str, data: bytes) -> str:
    """A complete new file beside the old one, with its mode, owner and extended attributes."""
    status = os.stat(path)
    handle, temporary = tempfile.mkstemp(
        prefix=".%s." % os.path.basename(path), suffix=TEMPORARY_SUFFIX, dir=os.path.dirname(path)
    )
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            fresh = os.fstat(stream.fileno())
            if (fresh.st_uid, fresh.st_gid) != (status.st_uid, status.st_gid):
                os.fchown(stream.fileno(), status.st_uid, status.st_gid)
            os.fchmod(stream.fileno(), stat.S_IMODE(status.st_mode))
            _copy_attributes(path, temporary)
            os.fsync(stream.fileno())
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    return temporary


def _copy_attributes(source: str, target: str) -> None:
    """Extended attributes: the SELinux context, access control lists."""
    # Hashes of the old text do not belong to the new one; the kernel makes them anew.
    if not hasattr(os, "listxattr"):
        return
    try:
        names = os.listxattr(source)
    except OSError:  # this file system has none
        return
    for name in set(names) - {"security.ima", "security.evm"}:
        value = os.getxattr(source, name)
        with contextlib.suppress(OSError):
            if os.getxattr(target, name) == value:
                continue
        try:
            os.setxattr(target, name, value)
        except OSError:
            # Inside a container nobody may set a context; the file has the one that the policy gives it then.
            if name != "security.selinux":
                raise


def _replace(temporary: str, path: str) -> None:
    os.replace(temporary, path)
    handle = os.open(os.path.dirname(path), os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as exc:
        if exc.errno != errno.EINVAL:  # some network file systems cannot sync a folder
            raise
    finally:
        os.close(handle)


# ---------------------------------------------------------------------------------------------------------------
# Byte code


def byte_code_files(path: str) -> list[str]:
    """The compiled forms of a source file, of every interpreter, and where PYTHONPYCACHEPREFIX puts them."""
    stem = os.path.splitext(os.path.basename(path))[0]
    folders = {os.path.join(os.path.dirname(path), "__pycache__")}
    with contextlib.suppress(NotImplementedError):
        folders.add(os.path.dirname(importlib.util.cache_from_source(path)))
    found: set[str] = set()
    for folder in folders:
        found.update(glob.glob(os.path.join(glob.escape(folder), glob.escape(stem) + ".*.pyc")))
    return sorted(found)


def stale_byte_code(path: str, source: bytes) -> list[str]:
    """Byte code that this interpreter would load although the source is another: compiled as never to be checked."""
    stale = []
    for compiled in byte_code_files(path):
        try:
            with open(compiled, "rb") as stream:
                head = stream.read(16)
        except OSError:
            continue
        unchecked = head[:4] == importlib.util.MAGIC_NUMBER and int.from_bytes(head[4:8], "little") == 1
        if unchecked and head[8:16] != importlib.util.source_hash(source):
            stale.append(compiled)
    return stale


def remove_byte_code(paths: t.Sequence[str]) -> list[str]:
    """Removes compiled files; Python makes them anew from the source.

    :raises Refusal: one of them stays.
    """
    for path in paths:
        try:
            os.unlink(path)
        except FileNotFoundError:
            pass
        except OSError as exc:
            raise refuse(
                "byte-code-stays",
                "stale byte code cannot be removed: %s" % (exc.strerror or exc),
                "Python may go on running the code of before",
                "Remove it by hand",
                path,
            ) from exc
    return list(paths)


# ---------------------------------------------------------------------------------------------------------------
# Proof of import

_IMPORT_CODE = """
import importlib, json, sys, traceback
module, report = sys.argv[1:3]
sys.path[:] = sys.argv[3:] + [entry for entry in sys.path if entry]
found = {"ok": False, "error": None, "missing_module": None, "file": None}
try:
    found["file"] = getattr(importlib.import_module(module), "__file__", None)
    found["ok"] = True
except BaseException as exc:
    found["error"] = "%s: %s" % (type(exc).__name__, exc)
    if isinstance(exc, ModuleNotFoundError):
        found["missing_module"] = exc.name
    frames = [f for f in traceback.extract_tb(exc.__traceback__) if "importlib" not in f.filename][1:]
    if frames:
        found["error"] += " (%s:%d)" % (frames[-1].filename, frames[-1].lineno)
with open(report, "w") as stream:
    json.dump(found, stream)
"""


def prove_import(module: str, beside: str | None = None) -> Json:
    """Imports a module in a process of its own, the way the elastic agent will.

    That it can be found is not enough: what it needs itself may be missing. The attempt runs in a folder of its own
    that is removed, writes no byte code, and nothing that it starts outlives it.

    :param beside: a folder to look in first.
    :returns: C(module), C(ok), C(error), C(missing_module), C(file).
    """
    result: Json = {"module": module, "ok": False, "error": None, "missing_module": None, "file": None}
    folder = tempfile.mkdtemp(prefix="mindcluster-import-")
    try:
        report = os.path.join(folder, "report.json")
        command = [sys.executable, "-B", "-c", _IMPORT_CODE, module, report] + ([beside] if beside else [])
        with open(os.path.join(folder, "output"), "wb+") as output:
            status = _run_bounded(command, _import_environment(folder), folder, output)
            output.seek(0)
            last_words = output.read()[-2000:].decode("utf-8", "replace").strip().splitlines()
        try:
            result.update(json.loads(read_bytes(report).decode("utf-8")))
        except (OSError, ValueError):
            result["error"] = "%s%s" % (status, ": " + last_words[-1] if last_words else "")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return result


def _import_environment(folder: str) -> dict[str, str]:
    environment = dict(os.environ)
    environment.update(HOME=folder, TMPDIR=folder, PYTHONDONTWRITEBYTECODE="1")
    if "PYTHONPATH" in environment:  # the attempt runs in another folder than this process
        entries = environment["PYTHONPATH"].split(os.pathsep)
        environment["PYTHONPATH"] = os.pathsep.join(os.path.abspath(entry) for entry in entries if entry)
    # Another home must not hide what is installed for the user.
    environment["PYTHONUSERBASE"] = site.getuserbase()
    # A build host has no NPU driver: torch must not load the device's backend on its own for this.
    environment.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")
    return environment


def _run_bounded(command: list[str], environment: dict[str, str], folder: str, output: t.IO[bytes]) -> str:
    """Runs a command, ends it and all that it started; how it ended, in words."""
    # This file runs by itself too, where there is no module whose run_command could be called.
    process = subprocess.Popen(  # pylint: disable=ansible-bad-function
        command,
        env=environment,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        code = process.wait(IMPORT_SECONDS)
        return "the process was ended by signal %d" % -code if code < 0 else "the process ended with status %d" % code
    except subprocess.TimeoutExpired:
        return "it took longer than %d seconds" % IMPORT_SECONDS
    finally:
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def import_finding(proof: Json, where: str) -> dict[str, str]:
    """Why the import that the patch adds would stop training."""
    module, missing = proof["module"], proof["missing_module"]
    why = "With the patch in, torchrun would end with the same error on every start: %s" % proof["error"]
    if missing and (module == missing or module.startswith(missing + ".")):
        what = "%s is not installed for %s" % (module, sys.executable)
        remedy = "Install the wheel that brings %s first" % module.split(".")[0]
        return finding("import-missing", what, why, remedy, where)
    if missing:
        what = "%s is installed, but %s, which it needs, is not" % (module, missing)
        return finding("import-incomplete", what, why, "Install the package that brings %s" % missing, where)
    return finding("import-failed", "%s cannot be imported" % module, why, "Repair what the error names", where)


# ---------------------------------------------------------------------------------------------------------------
# The verbs


def inspect(
    torch_path: str | None = None,
    import_module: str = DEFAULT_MODULE,
    rendezvous: str = "auto",
    prove: bool = True,
) -> Json:
    """Looks at both patches and changes nothing.

    :param torch_path: the torch package's folder; default: the torch that this interpreter imports.
    :param import_module: the module that run.py should import.
    :param rendezvous: C(auto), or C(never) where rendezvous.py should be without the patch.
    :param prove: also try the import.
    :returns: see the documentation of the module C(torch_patch_info); C(satisfied) is whether everything is as
        :func:`apply` would leave it. What C(errors) has is why it could not look.
    """
    result = _result("inspect", import_module)
    try:
        _check_request(import_module, rendezvous)
        torch = find_torch(torch_path)
        _note_torch(result, torch)
        run_path, run_data = read_source(torch, "run.py")
        rdzv_path, rdzv_data = read_source(torch, "rendezvous.py")
        run, rdzv = look_at_run(run_data, import_module), look_at_rendezvous(rdzv_data)
        result["run_py"] = _described(run_path, run, run)
        result["rendezvous"] = _described(rdzv_path, rdzv, rdzv)
        stale = stale_byte_code(run_path, run_data) + stale_byte_code(rdzv_path, rdzv_data)
        result["warnings"].extend(_stale_note(path) for path in stale)
        wanted = _block_wanted(True, import_module, rendezvous)
        _name_runtime(result, import_module)
        if prove:
            result["import"] = prove_import(import_module, _beside(torch_path, torch))
        result["satisfied"] = (
            run.state == "patched"
            and (rdzv.state in ("native", "patched") if wanted else rdzv.base == rdzv_data)
            and not stale
            and (not prove or bool(result["import"]["ok"]))
        )
    except Refusal as exc:
        result["errors"] = exc.findings
    except OSError as exc:
        result["errors"] = [_unexpected(exc)]
    result["ok"] = not result["errors"]
    return result


def apply(
    state: str = "present",
    torch_path: str | None = None,
    import_module: str = DEFAULT_MODULE,
    rendezvous: str = "auto",
    check: bool = False,
    prove: bool = True,
) -> Json:
    """Brings both files to what is wanted.

    :param state: C(present), or C(absent) for the original bytes.
    :param torch_path: the torch package's folder; default: the torch that this interpreter imports.
    :param import_module: the module that run.py is to import.
    :param rendezvous: C(auto) puts the second patch in where this torch needs it; C(never) takes it out.
    :param check: only say what would be done.
    :param prove: refuse where the module cannot be imported; not for files that another machine will run.
    :returns: see the documentation of the module C(torch_patch); what C(errors) has are reasons why nothing was done.
    """
    result = _result(state, import_module)
    try:
        _check_request(import_module, rendezvous, state)
        torch = find_torch(torch_path)
        _note_torch(result, torch)
        _look_ahead(result, torch, state, import_module, rendezvous, _beside(torch_path, torch), prove)
        if check:
            _bring(result, torch, state, import_module, rendezvous, write=False)
        else:
            with locked(os.path.join(torch.path, "distributed")):
                _bring(result, torch, state, import_module, rendezvous, write=True)
    except Refusal as exc:
        result.update(errors=exc.findings, changed=False, diff=[])
    except OSError as exc:
        result.update(errors=[_unexpected(exc)], changed=False, diff=[])
    result["ok"] = not result["errors"]
    return result


def _unexpected(exc: OSError) -> dict[str, str]:
    """What no rule foresaw, such as no room for a temporary folder."""
    return finding(
        "unexpected",
        "the system refused a file operation: %s" % (exc.strerror or exc),
        str(exc),
        "Remove the cause, and run again",
        os.fsdecode(exc.filename or ""),
    )


def _look_ahead(
    result: Json, torch: Torch, state: str, module: str, rendezvous: str, beside: str | None, prove: bool
) -> None:
    """Everything that can be refused without touching anything, all of it at once."""
    reasons: list[dict[str, str]] = []
    changes, stale = _plan(result, torch, state, module, rendezvous, reasons)
    reasons.extend(obstacles(changes, stale))
    if state == "present" and prove:
        result["import"] = prove_import(module, beside)
        if not result["import"]["ok"]:
            reasons.append(import_finding(result["import"], torch.path))
    if reasons:
        raise Refusal(reasons)


def _plan(
    result: Json, torch: Torch, state: str, module: str, rendezvous: str, reasons: list[dict[str, str]]
) -> tuple[list[Change], list[str]]:
    """The two changes, and the byte code that must go; what stands against a change is added to C(reasons)."""
    changes: list[Change] = []
    stale: list[str] = []
    present = state == "present"
    wanted = _block_wanted(present, module, rendezvous)
    for key, name in (("run_py", "run.py"), ("rendezvous", "rendezvous.py")):
        try:
            path, data = read_source(torch, name)
            found = look_at_run(data, module) if key == "run_py" else look_at_rendezvous(data)
            result[key] = _described(path, found, found)
            if key == "run_py":
                change = plan_run(path, data, module, present, torch)
            else:
                change = plan_rendezvous(path, data, wanted, torch)
        except Refusal as exc:
            reasons.extend(exc.findings)
            continue
        changes.append(change)
        stale.extend(byte_code_files(path) if change.old != change.new else stale_byte_code(path, change.new))
    return changes, stale


def _bring(result: Json, torch: Torch, state: str, module: str, rendezvous: str, write: bool) -> None:
    """Plans once more (another run may have been at work until the lock was free), writes, and looks again."""
    reasons: list[dict[str, str]] = []
    changes, stale = _plan(result, torch, state, module, rendezvous, reasons)
    if reasons:
        raise Refusal(reasons)
    for change in changes:
        result[change.name] = _described(change.path, change.found, change.after)
    if state == "present":
        _name_runtime(result, module)
        result["warnings"].extend(note for change in changes[1:] for note in cross_check(change, torch))
    result["warnings"].extend(sharing_notes(torch, changes))
    todo = [change for change in changes if change.old != change.new]
    result["byte_code_removed"] = stale
    result["changed"] = bool(todo or stale)
    result["diff"] = [_diff(change) for change in todo]
    if not write:
        return
    write_all(todo)
    remove_byte_code(stale)
    for change in changes:
        _prove_landed(change, module, state)


def _prove_landed(change: Change, module: str, state: str) -> None:
    """Looks at the file once more, and at the code that Python loads for it.

    :raises Refusal: it is not what was written.
    """
    problem = ""
    if read_bytes(change.path) != change.new:
        problem = "the file on disk is not what was written"
    elif stale_byte_code(change.path, change.new):
        problem = "Python would load byte code of another text"
    elif change.name == "run_py" and (module in _loaded_code(change.path).co_names) != (state == "present"):
        problem = "the code that Python loads is not that of the file"
    if problem:
        raise refuse(
            "not-landed",
            "the change did not stay: %s" % problem,
            "Something else works on the same file",
            "End it, and run again",
            change.path,
        )


def _loaded_code(path: str) -> t.Any:
    """The code object that an import would run."""
    writes, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return importlib.machinery.SourceFileLoader("torch.distributed.run", path).get_code("torch.distributed.run")
    finally:
        sys.dont_write_bytecode = writes


def _block_wanted(present: bool, module: str, rendezvous: str) -> bool:
    return present and rendezvous == "auto" and module not in RUNTIME_PREFIX_MODULES


def _beside(torch_path: str | None, torch: Torch) -> str | None:
    return os.path.dirname(torch.path) if torch_path else None


def _check_request(module: str, rendezvous: str, state: str = "present") -> None:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*", module or ""):
        raise refuse(
            "module-name",
            "`%s` is no module's name" % module,
            "It becomes an import statement in run.py",
            "Give a dotted name such as %s" % DEFAULT_MODULE,
            "import_module",
        )
    if module.split(".")[0] in _standard_modules() + ("torch",):
        raise refuse(
            "module-not-recovery",
            "`%s` is a module of Python or of torch" % module,
            "run.py imports such modules itself, so that its own line could not be told from the patch",
            "Give the module that the vendor's wheel brings, such as %s" % DEFAULT_MODULE,
            "import_module",
        )
    for name, value, legal in (("rendezvous", rendezvous, ("auto", "never")), ("state", state, ("present", "absent"))):
        if value not in legal:
            raise refuse(
                "option-value",
                "`%s` is no legal value" % value,
                "It decides what is written",
                "One of %s" % ", ".join(legal),
                name,
            )


def _standard_modules() -> tuple[str, ...]:
    """Python's own modules, for those before 3.10 the ones that a run.py of their time imports."""
    old = ("argparse", "collections", "importlib", "logging", "os", "sys", "typing", "uuid")
    return tuple(getattr(sys, "stdlib_module_names", old)) + tuple(sys.builtin_module_names)


def _name_runtime(result: Json, module: str) -> None:
    """A rendezvous.py that is bare on purpose, because the module supplies the prefix, has a state of its own."""
    entry = result["rendezvous"]
    if module in RUNTIME_PREFIX_MODULES and entry and entry["state"] == "unpatched":
        entry["state"] = "runtime"
        entry["reason"] = (
            "%s puts the prefix on at run time in every process that imports it; the file stays bare" % module
        )


def _result(state: str, module: str) -> Json:
    return {
        "ok": False,
        "state": state,
        "changed": False,
        "satisfied": False,
        "torch_path": None,
        "torch_version": None,
        "python": sys.executable,
        "python_version": _python_version(),
        "run_py": None,
        "rendezvous": None,
        "import": {"module": module, "ok": None, "error": None, "missing_module": None, "file": None},
        "byte_code_removed": [],
        "diff": [],
        "warnings": [],
        "errors": [],
    }


def _python_version() -> str:
    return "%d.%d.%d" % sys.version_info[:3]


def _note_torch(result: Json, torch: Torch) -> None:
    result["torch_path"] = torch.path
    result["torch_version"] = torch.version
    result["warnings"].extend(torch.notes)


def _described(path: str, found: Look, look: Look) -> Json:
    return {
        "path": path,
        "found": found.state,
        "state": look.state,
        "reason": look.reason,
        "line": look.line,
        "count": look.count,
        "import_module": look.imported,
    }


def _stale_note(path: str) -> dict[str, str]:
    return finding(
        "byte-code-stale",
        "Python loads this byte code, which is of another text than the source beside it",
        "It was compiled as never to be checked against its source",
        "Apply the patch with this collection, or remove the file",
        path,
    )


def _diff(change: Change) -> dict[str, str]:
    return {
        "before": change.old.decode("utf-8", "backslashreplace"),
        "after": change.new.decode("utf-8", "backslashreplace"),
        "before_header": change.path,
        "after_header": change.path,
    }


# ---------------------------------------------------------------------------------------------------------------
# The command line


def main(arguments: t.Sequence[str] | None = None) -> int:
    """Runs one verb; 0: done, 1: refused, 2: the command line is wrong, 3: C(inspect --require) is not satisfied."""
    parser = argparse.ArgumentParser(prog="_torch_patcher.py", description="The two patches of resumable training")
    parser.add_argument("verb", choices=("present", "absent", "inspect"))
    parser.add_argument("--torch-path", help="folder of the torch package (default: what this Python imports)")
    parser.add_argument("--import-module", default=DEFAULT_MODULE, help="module that run.py is to import")
    parser.add_argument("--rendezvous", choices=("auto", "never"), default="auto")
    parser.add_argument("--check", action="store_true", help="only say what would be done")
    parser.add_argument("--no-import", action="store_true", help="inspect: do not try the import")
    parser.add_argument("--require", action="store_true", help="inspect: fail unless everything is in place")
    parser.add_argument("--json", action="store_true", help="the whole result as one line of JSON")
    options = parser.parse_args(arguments)
    _forget_own_folder()
    if options.verb == "inspect":
        result = inspect(options.torch_path, options.import_module, options.rendezvous, not options.no_import)
    else:
        result = apply(options.verb, options.torch_path, options.import_module, options.rendezvous, options.check)
    _print(json.dumps(result, sort_keys=True) if options.json else _in_words(result))
    if not result["ok"]:
        return 1
    return 3 if options.require and options.verb == "inspect" and not result["satisfied"] else 0


def _print(text: str) -> None:
    """Prints a line in whatever encoding the terminal has: a path may hold what it cannot show."""
    encoding = sys.stdout.encoding or "utf-8"
    # Here the file runs by itself, not inside a module.
    print(text.encode(encoding, "backslashreplace").decode(encoding))  # pylint: disable=ansible-bad-function


def _forget_own_folder() -> None:
    """Python puts the script's folder (or the current one) first on its search path; training does not have it."""
    if getattr(sys.flags, "safe_path", False) or not sys.path:
        return
    own = os.path.dirname(os.path.abspath(__file__)) if "__file__" in globals() else ""
    if sys.path[0] == "" or (own and os.path.abspath(sys.path[0]) == own):
        del sys.path[0]


def _in_words(result: Json) -> str:
    lines = []
    if result["torch_version"]:
        lines.append("torch %s at %s" % (result["torch_version"], result["torch_path"]))
    for name in ("run_py", "rendezvous"):
        entry = result[name]
        if entry:
            place = entry["path"] + (":%d" % entry["line"] if entry["line"] else "")
            lines.append("%s: %s (%s)" % (place, entry["state"], entry["reason"]))
    lines.extend("warning: " + finding_line(item) for item in result["warnings"])
    lines.extend("error: " + finding_line(item) for item in result["errors"])
    if result["state"] == "inspect":
        lines.append("in place" if result["satisfied"] else "not in place")
    elif result["ok"]:
        lines.append("changed" if result["changed"] else "nothing to change")
    else:
        lines.append("refused, nothing was changed")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())  # pylint: disable=ansible-bad-function
