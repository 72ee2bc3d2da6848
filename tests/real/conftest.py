# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the tests against real parts share. A part that does not run is a failure, never a skip.

python3 tests/sandbox/sandbox.py run --with kube -- .venv/bin/python -m pytest tests/real/test_….py
"""

from __future__ import annotations

import itertools
import os
import pathlib
import sys
import typing as t

import pytest

# The sandbox is a program of its own beside the collection; the tests import its parts and each other's helpers.
sys.path.insert(0, str(pathlib.Path(__file__).parent))
sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "sandbox"))

from kube_site import KubeSite

Need = t.Callable[[str], str]


@pytest.fixture(scope="session")
def need() -> Need:
    """The value of a variable of the sandbox."""

    def value(name: str) -> str:
        if not os.environ.get(name):
            pytest.fail(
                f"{name} is not set: this test needs a part of the sandbox that does not run. Run it as\n"
                "python3 tests/sandbox/sandbox.py run --with PARTS -- .venv/bin/python -m pytest tests/real\n"
                "(tests/sandbox/README.md lists the parts and their variables), or all of them: make real",
                pytrace=False,
            )
        return os.environ[name]

    return value


@pytest.fixture(scope="session")
def kube(need: Need) -> KubeSite:
    """The cluster as its administrator."""
    return KubeSite(pathlib.Path(need("KUBECONFIG")))


@pytest.fixture(scope="session")
def limited_kube(need: Need) -> KubeSite:
    """The cluster as a user with the rights of docs/rbac alone."""
    return KubeSite(pathlib.Path(need("SANDBOX_KUBECONFIG_LIMITED")))


_numbers = itertools.count(1)


@pytest.fixture
def fresh_name() -> str:
    """A name that no other test has, of this run or another one's."""
    return f"t{os.getpid()}-{next(_numbers)}-{os.urandom(3).hex()}"


@pytest.fixture
def namespace(kube: KubeSite, fresh_name: str) -> str:
    """A namespace of the test's own."""
    kube.create_namespace(fresh_name)
    return fresh_name
