# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""Where MindIO's controller listens, for scripts that do not say so themselves.

The controller runs on rank 0 and listens at its Pod's address; all others reach it at MASTER_ADDR, the address that
ascend-operator gives to rank 0. The vendor's sample C(train_start.sh) sets C(TTP_ADDR) in this way, in two branches.
What the script or the Pod's environment sets stays: address and port are the user's to choose.
"""

from __future__ import annotations

from ansible_collections.mindcluster.recovery.plugins.plugin_utils._start_script_env import Environment

_ADDRESS = [
    'if [ "${RANK:-0}" = 0 ]; then',
    '    export TTP_ADDR="${TTP_ADDR:-${POD_IP:-${MASTER_ADDR:-}}}"',
    "else",
    '    export TTP_ADDR="${TTP_ADDR:-${MASTER_ADDR:-}}"',
    "fi",
]


def ttp_commands(environment: Environment, port: str | None) -> list[str]:
    """The lines of the block for C(TTP_ADDR) and C(TTP_PORT).

    :param port: the plan's C(script.ttp_port); None where the plan needs neither.
    """
    if port is None:
        return []
    lines = [] if environment.gives("TTP_ADDR") else list(_ADDRESS)
    if not environment.gives("TTP_PORT"):
        lines.append('export TTP_PORT="${TTP_PORT:-%s}"' % port)
    return lines
