# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Work in a thread of its own, and how it ends."""

from __future__ import annotations

import itertools
import threading
import typing as t

import pytest

from ansible_collections.mindcluster.recovery.plugins.module_utils._beside import Beside


def numbered(count: int, ended: list[str]) -> t.Iterator[bytes]:
    try:
        for number in range(count):
            yield b"%d" % number
    finally:
        ended.append("closed")


def test_the_same_pieces_in_order() -> None:
    ended: list[str] = []
    assert list(Beside(numbered(100, ended))) == [b"%d" % number for number in range(100)]
    assert ended == ["closed"]


def test_the_error_of_the_other_thread() -> None:
    def broken() -> t.Iterator[bytes]:
        yield b"one"
        raise ValueError("here")

    beside = Beside(broken())
    assert next(beside) == b"one"
    for _again in range(2):
        with pytest.raises(ValueError, match="here"):
            next(beside)


def test_closing_ends_the_thread_and_the_source() -> None:
    before = threading.active_count()
    ended: list[str] = []
    beside = Beside(numbered(10**9, ended))
    assert list(itertools.islice(beside, 3)) == [b"0", b"1", b"2"]
    beside.close()
    beside.close()
    assert (ended, threading.active_count()) == (["closed"], before)
    assert list(beside) == []


def test_it_does_not_run_far_ahead() -> None:
    made = itertools.count()
    beside = Beside(b"%d" % next(made) for _ever in itertools.count())
    for _piece in range(10):
        next(beside)
    beside.close()
    assert next(made) < 30
