# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Writes down that it was imported, by which process, and whether the elastic agent's code was there already."""

from __future__ import annotations

import json
import os
import sys

if "PROOF_RECORD" in os.environ:
    with open(os.environ["PROOF_RECORD"], "a") as stream:
        loaded = "torch.distributed.elastic.agent.server.api" in sys.modules
        stream.write(
            json.dumps({"who": "mindx_elastic", "worker": "RANK" in os.environ, "agent_loaded": loaded}) + "\n"
        )
