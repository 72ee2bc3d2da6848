# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Progress lines with the time since the start, and the one error that ends a run with a message."""

from __future__ import annotations

import sys
import threading
import time

_START = time.monotonic()
_LOCK = threading.Lock()


class SandboxError(Exception):
    """Something that the person at the keyboard can act on; shown without a traceback."""


def elapsed(seconds: float) -> str:
    """Seconds as people read them: C(7s), C(1m20s)."""
    whole = int(seconds)
    return f"{whole // 60}m{whole % 60:02d}s" if whole >= 60 else f"{whole}s"


def say(text: str) -> None:
    """One progress line; on stderr, so that stdout stays what the command asked for."""
    with _LOCK:
        print(f"[sandbox {elapsed(time.monotonic() - _START):>6}] {text}", file=sys.stderr, flush=True)
