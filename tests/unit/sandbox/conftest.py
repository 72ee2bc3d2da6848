# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import sys
from pathlib import Path

# The sandbox is a program of its own beside the collection; its parts are imported as it imports them.
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "sandbox"))
