# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What has to come out for each torch release. Every row was looked at by a person in the files themselves."""

from __future__ import annotations

import typing as t


class Expected(t.NamedTuple):
    """Where the patches land in one release.

    :ivar run_line: line of the import in the patched run.py.
    :ivar rendezvous: C(native), the release has the attempt prefix itself, or C(patched), it needs the block.
    :ivar rendezvous_line: line of the C(if) that returns the prefix.
    :ivar sed_run: how many lines of run.py the vendor's first command matches.
    :ivar sed_rendezvous: how many lines of rendezvous.py the vendor's second command matches.
    """

    run_line: int
    rendezvous: str
    rendezvous_line: int
    sed_run: int
    sed_rendezvous: int


TABLE = {
    "1.9.1": Expected(309, "native", 152, 2, 1),
    "1.10.0": Expected(330, "native", 151, 2, 1),
    "1.10.1": Expected(330, "native", 151, 2, 1),
    "1.10.2": Expected(330, "native", 151, 2, 1),
    "1.11.0": Expected(335, "native", 154, 2, 1),
    "1.12.0": Expected(372, "native", 182, 2, 1),
    "1.12.1": Expected(372, "native", 182, 2, 1),
    "1.13.0": Expected(373, "native", 171, 2, 1),
    "1.13.1": Expected(373, "native", 171, 2, 1),
    "2.0.0": Expected(373, "native", 170, 2, 1),
    "2.0.1": Expected(373, "native", 170, 2, 1),
    "2.1.0": Expected(373, "native", 166, 2, 1),
    "2.1.1": Expected(373, "native", 166, 2, 1),
    "2.1.2": Expected(373, "native", 166, 2, 1),
    "2.2.0": Expected(375, "native", 168, 2, 1),
    "2.2.1": Expected(375, "native", 168, 2, 1),
    "2.2.2": Expected(375, "native", 168, 2, 1),
    "2.3.0": Expected(375, "native", 168, 2, 1),
    "2.3.1": Expected(375, "native", 168, 2, 1),
    "2.4.0": Expected(397, "native", 179, 2, 1),
    "2.4.1": Expected(397, "native", 179, 2, 1),
    "2.5.0": Expected(397, "native", 183, 2, 1),
    "2.5.1": Expected(397, "native", 183, 2, 1),
    "2.6.0": Expected(396, "patched", 183, 2, 1),
    "2.7.0": Expected(370, "patched", 187, 1, 1),
    "2.7.1": Expected(370, "patched", 187, 1, 1),
    "2.8.0": Expected(370, "patched", 187, 1, 1),
    "2.9.0": Expected(370, "patched", 187, 1, 1),
    "2.9.1": Expected(370, "patched", 187, 1, 1),
    "2.10.0": Expected(372, "patched", 189, 1, 1),
    "2.11.0": Expected(385, "patched", 188, 1, 1),
    "2.12.0": Expected(385, "patched", 188, 1, 1),
    "2.12.1": Expected(385, "patched", 188, 1, 1),
    "2.13.0": Expected(385, "patched", 188, 1, 1),
    "2.14.0": Expected(433, "patched", 204, 1, 0),
    "2.14.1": Expected(433, "patched", 204, 1, 0),
    "2.15.0": Expected(433, "patched", 204, 1, 0),
}

UNKNOWN = """torch %(version)s is on the package index and not in tests/matrix/torch_table.py. Look at:
  1. torch/distributed/run.py: is `import os` still a top-level statement before the first import of torch, and does
     torchrun still go through this file?
  2. torch/distributed/rendezvous.py, _create_c10d_store: does it return an attempt prefix by itself, or ask for the
     agent's store by one of %(tests)s, or in a new way? Does the agent still keep its store over a restart?
  3. TCPStore's first five arguments: host, port, world size, is_master, timeout?
Then add a row, set NEWEST_TRIED in plugins/module_utils/_torch_patcher.py, and run `make prove` with that release."""


def expected_of(version: str, agent_tests: t.Sequence[str]) -> Expected:
    """The row of a release.

    :raises AssertionError: there is none; it says what to look at.
    """
    assert version in TABLE, UNKNOWN % {"version": version, "tests": " or ".join("`%s`" % one for one in agent_tests)}
    return TABLE[version]
