# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""Brings the collection's code into containers: as a build context, or as one command where nothing may be written."""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import io
import json
import os
import tarfile
import tempfile
import typing as t
import zlib

from ansible_collections.mindcluster.recovery.plugins.module_utils import _image_stage, _torch_patcher
from ansible_collections.mindcluster.recovery.plugins.module_utils._image_inputs import FOLDER

# A context larger than this goes through a temporary file instead of memory.
_IN_MEMORY = 64 * 1024 * 1024

_BOOTSTRAP = """
import base64, json, sys, types, zlib
sys.path[:] = [place for place in sys.path if place]
mode, request, bundle = json.loads(zlib.decompress(base64.b64decode(%s)).decode())
for name, source in bundle:
    module = types.ModuleType(name)
    module.__file__ = name + ".py"
    sys.modules[name] = module
    exec(compile(source, module.__file__, "exec"), module.__dict__)
sys.exit(module.run(mode, request))
"""


def sources() -> list[tuple[str, str]]:
    """Name and text of each file that runs inside an image, the one with the entry last."""
    return [
        (module.__name__.rpartition(".")[2], source_of(module.__name__)) for module in (_torch_patcher, _image_stage)
    ]


def code_hashes() -> dict[str, str]:
    """The sha256 of each of these files."""
    return {name: hashlib.sha256(text.encode()).hexdigest() for name, text in sources()}


def one_command(mode: str, request: t.Mapping[str, t.Any]) -> list[str]:
    """Arguments for an image's Python that run a mode of the stage without any file in the container."""
    packed = zlib.compress(json.dumps([mode, request, sources()]).encode(), 9)
    return ["-B", "-c", _BOOTSTRAP % repr(base64.b64encode(packed).decode())]


def build_context(
    dockerfile: str, request: t.Mapping[str, t.Any], files: t.Mapping[str, str]
) -> tempfile.SpooledTemporaryFile[bytes]:
    """A build context as a tar stream; equal contents give equal bytes, so that the engine's cache works.

    :param files: paths on this host by their names below the folder, such as C(wheels/taskd-1-py3-none-any.whl).
    """
    stream: tempfile.SpooledTemporaryFile[bytes] = tempfile.SpooledTemporaryFile(  # noqa: SIM115 (the caller reads it)
        max_size=_IN_MEMORY
    )
    top = FOLDER.lstrip("/")
    texts = {"%s/%s.py" % (top, name): text for name, text in sources()}
    texts["%s/request.json" % top] = json.dumps(request, sort_keys=True)
    texts["Dockerfile"] = dockerfile
    with tarfile.open(fileobj=t.cast(t.IO[bytes], stream), mode="w") as archive:
        for name in sorted(texts):
            _add(archive, name, io.BytesIO(texts[name].encode()), len(texts[name].encode()))
        for name in sorted(files):
            with open(files[name], "rb") as source:
                _add(archive, "%s/%s" % (top, name), source, os.path.getsize(files[name]))
    stream.seek(0)
    return stream


def _add(archive: tarfile.TarFile, name: str, source: t.IO[bytes], size: int) -> None:
    member = tarfile.TarInfo(name)
    member.size = size
    member.mode = 0o644
    archive.addfile(member, source)


def source_of(name: str) -> str:
    """The text of a module of the collection, also where it was shipped in an archive."""
    spec = importlib.util.find_spec(name)
    loader: t.Any = spec.loader if spec else None
    text: str | None = loader.get_source(name) if loader else None
    if text is None:
        raise RuntimeError("the source of %s cannot be read" % name)
    return text
