# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pathlib
import sys

# The gates are a program of their own; its parts are imported as it imports them.
sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "gates"))
