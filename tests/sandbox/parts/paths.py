# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Where the sandbox keeps what is worth keeping: outside the checkout, in the user's cache folder."""

from __future__ import annotations

import os
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[3]
SANDBOX = CHECKOUT / "tests" / "sandbox"


def cache() -> Path:
    """The cache folder, C($XDG_CACHE_HOME/mindcluster-recovery), made when missing."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return made(Path(base).absolute() / "mindcluster-recovery")


def made(folder: Path) -> Path:
    """The folder, which exists afterwards."""
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def logs() -> Path:
    """Logs of builds and services; they stay for reading after a failure."""
    return made(cache() / "logs")
