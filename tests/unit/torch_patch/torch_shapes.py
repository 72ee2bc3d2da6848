# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Small files with the shapes that the two files of torch have had, written for these tests.

C(tests/matrix) does the same on the real files of every release; these need no network.
"""

from __future__ import annotations

import dataclasses
import pathlib
import subprocess

RECOVERY_MODULE = "mindx_elastic.api"
TASKD_MODULE = "taskd.python.adaptor.patch"

#: Up to 2.6.0 the docstring has a picture in which a sed on `import os` finds a second place.
PICTURE = """
    |    import argparse   |     import os   |
    |    args = parse()    |     rank = 0    |
"""
RUN = '''#!/usr/bin/env python3
"""
Starts workers.
%s
"""
%simport os
import sys
from argparse import ArgumentParser

import torch
from torch.distributed.launcher.api import elastic_launch


def main(args=None):
    elastic_launch(args)


if __name__ == "__main__":
    main()
'''
RENDEZVOUS = '''import os
import sys

from torch.distributed import %sStore, TCPStore


def _torchelastic_use_agent_store() -> bool:
    return os.environ.get("TORCHELASTIC_USE_AGENT_STORE", None) == str(True)


def _agent_store_serves(hostname, port) -> bool:
    return _torchelastic_use_agent_store() and os.environ.get("MASTER_ADDR") == hostname


def _create_c10d_store(hostname, port, rank, world_size, timeout, use_libuv=True) -> Store:
    """Creates a store."""
    # check if port is uint16_t
    if not 0 <= port < 2**16:
        raise ValueError(f"port must have value from 0 to 65535 but was {port}.")

    if %s:
%s
    else:
        return TCPStore(hostname, port, world_size, rank == 0, timeout)
'''
NATIVE_BODY = """\
        attempt = os.environ["TORCHELASTIC_RESTART_COUNT"]
        tcp_store = TCPStore(hostname, port, world_size, False, timeout)
        return PrefixStore(f"/worker/attempt_{attempt}", tcp_store)"""
BARE_BODY = """\
        # We create a new TCPStore for every retry so no need to add prefix for each attempt.
        return TCPStore(hostname, port, world_size, False, timeout)"""


@dataclasses.dataclass(frozen=True)
class Shape:
    """One shape: a release that has it, its files, and where the patches have to land in it."""

    version: str
    run: str
    rendezvous: str
    native: bool
    sed_places_in_run: int
    sed_places_in_rendezvous: int


def _shape(version: str, *, logging: bool, picture: bool, native: bool, test: str) -> Shape:
    run = RUN % (PICTURE if picture else "", "import logging\n" if logging else "")
    rendezvous = RENDEZVOUS % ("PrefixStore, " if native else "", test, NATIVE_BODY if native else BARE_BODY)
    old_test = test.startswith("_torchelastic")
    return Shape(version, run, rendezvous, native, 2 if picture else 1, 1 if old_test else 0)


SHAPES = (
    _shape("2.5.1", logging=True, picture=True, native=True, test="_torchelastic_use_agent_store()"),
    _shape("2.6.0", logging=False, picture=True, native=False, test="_torchelastic_use_agent_store()"),
    _shape("2.13.0", logging=False, picture=False, native=False, test="_torchelastic_use_agent_store()"),
    _shape("2.15.0", logging=False, picture=False, native=False, test="_agent_store_serves(hostname, port)"),
)


def shape(version: str) -> Shape:
    """The shape that a release has."""
    return next(one for one in SHAPES if one.version == version)


@dataclasses.dataclass
class Site:
    """A folder like site-packages, with a torch of some shape and what a patch imports."""

    folder: pathlib.Path

    @property
    def torch(self) -> pathlib.Path:
        return self.folder / "torch"

    @property
    def run_py(self) -> pathlib.Path:
        return self.torch / "distributed" / "run.py"

    @property
    def rendezvous_py(self) -> pathlib.Path:
        return self.torch / "distributed" / "rendezvous.py"

    def texts(self) -> tuple[bytes, bytes]:
        return self.run_py.read_bytes(), self.rendezvous_py.read_bytes()

    def write(self, name: str, text: str) -> pathlib.Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path


def make_site(folder: pathlib.Path, version: str) -> Site:
    """A torch of the shape that C(version) has, with both recovery modules beside it."""
    site, wanted = Site(folder), shape(version)
    site.write("torch/__init__.py", "")
    site.write("torch/version.py", "__version__ = '%s+cpu'\ndebug = False\n" % version)
    site.write("torch/distributed/__init__.py", "")
    site.write("torch/distributed/run.py", wanted.run)
    site.write("torch/distributed/rendezvous.py", wanted.rendezvous)
    for module in (RECOVERY_MODULE, TASKD_MODULE):
        parts = module.split(".")
        for depth in range(1, len(parts)):
            site.write("/".join(parts[:depth]) + "/__init__.py", "")
        site.write("/".join(parts) + ".py", "")
    return site


#: The two commands of the vendor's page (release 7.2.RC1), without the look-up of the path.
SED_RUN = r"/import os/i import mindx_elastic.api"
SED_RENDEZVOUS = (
    r"/if _torchelastic_use_agent_store():/i\    \if _torchelastic_use_agent_store():\n"
    r"        from torch.distributed import PrefixStore\n"
    r'        attempt = os.environ["TORCHELASTIC_RESTART_COUNT"]\n'
    r"        tcp_store = TCPStore(hostname, port, world_size, False, timeout)\n"
    r'        return PrefixStore(f"\/worker\/attempt_{attempt}", tcp_store)'
)


def vendor_sed(site: Site, times: int = 1) -> None:
    """Patches as the vendor's page says, with the real sed."""
    for _round in range(times):
        subprocess.run(["sed", "-i", SED_RUN, str(site.run_py)], check=True)
        subprocess.run(["sed", "-i", SED_RENDEZVOUS, str(site.rendezvous_py)], check=True)
