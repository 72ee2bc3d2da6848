# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""TaskD's start-up in a start script, for MindCluster 7.3.0 and newer.

Sources: the vendor's pages on the training script (7.3.0 to 26.1.0): C(libtaskd.so) in LD_PRELOAD of the launcher,
and on one Pod a small C(manager.py) that calls C(init_taskd_manager) and C(start_taskd_manager) of C(taskd.api). That
Pod is rank 0 for PyTorch, where MASTER_ADDR becomes the Pod's own address, and for MindSpore the one whose POD_IP is
MS_SCHED_HOST. No sample script of the vendor's does it, and nothing of it was tried on NPU hardware.

Written differently from the page, and why:

- The page has the user fill in the numbers of nodes and processes. They follow from what ascend-operator sets; a
  Scheduler without NPU gets zeros there, so both can be given in the job's environment, as RECOVERY_NODE_NUMS and
  RECOVERY_PROC_PER_NODE.
- The page asks C(pip) for the library's place, which may belong to another Python, and preloads whatever comes out.
- The page leaves the manager's standard output open: C(train_start.sh | tee log) would never end. And a bare C(wait)
  would wait for the manager too, hence the subshell.

Not certain: whether the manager comes to its end by itself when training does (the container's end ends it in any
case), and whether anything but libtaskd reads MASTER_ADDR after DISTRIBUTED_ARGS has been put together.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.mindcluster.recovery.plugins.plugin_utils._shell import Source
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._start_script_env import Environment

if t.TYPE_CHECKING:
    from tree_sitter import Node

_OWN_MANAGER = re.compile(rb"(?:^|[/\s\"'])[\w.-]*manager\.py\b|\binit_taskd_manager\b")
_PRELOADS_TASKD = re.compile(r"libtaskd|TASKD_SO_PATH")
_KEEPS_TASKD = re.compile(r"libtaskd|TASKD_SO_PATH|\$\{?LD_PRELOAD")

# One line of Python, so that the block may be indented.
_FIND = (
    "import importlib.util as u, os; "
    'print(os.path.join(u.find_spec("taskd").submodule_search_locations[0], "python/cython_api/libs/libtaskd.so"))'
)
_PYTHON = [
    "# TaskD: the Python that has it, and its library; set TASKD_SO_PATH where that is not found by itself",
    "for taskd_python in python python3; do",
    '    taskd_found="$("$taskd_python" -c \'%s\' 2> /dev/null || true)"' % _FIND,
    '    if [ -n "$taskd_found" ]; then break; fi',
    "done",
]
_PRELOAD = [
    'TASKD_SO_PATH="${TASKD_SO_PATH:-$taskd_found}"',
    'if [ -f "$TASKD_SO_PATH" ]; then',
    '    case ":${LD_PRELOAD:-}:" in',
    '        *":$TASKD_SO_PATH:"*) ;;',
    '        *) export LD_PRELOAD="$TASKD_SO_PATH${LD_PRELOAD:+:$LD_PRELOAD}" ;;',
    "    esac",
    "else",
    '    echo "TaskD: there is no libtaskd.so (${TASKD_SO_PATH:-taskd is not installed});'
    ' training starts without recovery" >&2',
    "fi",
]
# Framework to the test for the Pod of the manager, and the variables of ascend-operator with the numbers of NPUs in the
# whole job and in one Pod.
_POD = {
    "pytorch": ('[ "${RANK:-}" = 0 ]', "WORLD_SIZE", "LOCAL_WORLD_SIZE"),
    "mindspore": (
        '[ -n "${POD_IP:-}" ] && [ "${MS_SCHED_HOST:-}" = "$POD_IP" ]',
        "MS_WORKER_NUM",
        "MS_LOCAL_WORKER",
    ),
}
_PROGRAM = [
    "import os",
    "from taskd.api import init_taskd_manager, start_taskd_manager",
    "env = os.environ",
    'per_node = int(env.get("RECOVERY_PROC_PER_NODE") or env["%(per_pod)s"])',
    'if per_node < 1: raise SystemExit("TaskD manager: %(per_pod)s is 0 here; set RECOVERY_PROC_PER_NODE and'
    ' RECOVERY_NODE_NUMS in the job")',
    'node_nums = int(env.get("RECOVERY_NODE_NUMS") or int(env["%(total)s"]) // per_node)',
    'config = {"job_id": env["MINDX_TASK_ID"], "node_nums": node_nums, "proc_per_node": per_node}',
    'raise SystemExit(None if init_taskd_manager(config) and start_taskd_manager() else "TaskD manager: not started")',
]


def _manager(framework: str) -> list[str]:
    condition, total, per_pod = _POD[framework]
    program = [line % {"total": total, "per_pod": per_pod} if "%(" in line else line for line in _PROGRAM]
    address = ['    export MASTER_ADDR="${POD_IP:-${MASTER_ADDR:-}}"'] if framework == "pytorch" else []
    return [
        "# TaskD: its manager, once, beside the launcher of one Pod",
        "if %s; then" % condition,
        *address,
        # Exported, so that a script called from here, msrun_launcher.sh for one, does not start another one.
        '    if [ -z "${RECOVERY_TASKD_MANAGER:-}" ]; then',
        "        export RECOVERY_TASKD_MANAGER=started",
        "        taskd_manager_log=taskd_log/manager.log",
        '        mkdir -p taskd_log && touch "$taskd_manager_log" || taskd_manager_log=/dev/null',
        "        (",
        "            printf '%s\\n' \\",
        *("                '%s' \\" % line for line in program),
        '                | "$taskd_python" - >> "$taskd_manager_log" 2>&1 &',
        "        )",
        "    fi",
        "fi",
    ]


class TaskD:
    """What a script does about TaskD by itself, and what it lacks.

    :param wanted: the plan's C(script.taskd_manager).
    """

    def __init__(self, source: Source, environment: Environment, framework: str, wanted: bool) -> None:
        self.source = source
        self.environment = environment
        self.framework = framework
        self.wanted = wanted

    def own_manager(self) -> int:
        """Line where the script starts a manager of its own; 0 where it does not."""
        if not self.wanted:
            return 0
        for node in self.source.nodes("command", "heredoc_body"):
            if _OWN_MANAGER.search(self.source.slice(node)) and not self.source.dead(node):
                return int(self.source.line(node.start_byte))
        return 0

    def commands(self) -> list[str]:
        """The lines of the block."""
        if not self.wanted:
            return []
        preloads = any(_PRELOADS_TASKD.search(fact.raw) for fact, _node in self.environment.settings("LD_PRELOAD"))
        lines = [*([] if preloads else _PRELOAD), *([] if self.own_manager() else _manager(self.framework))]
        return [*_PYTHON, *lines] if lines else []

    def lost_preloads(self, anchor: Node) -> list[int]:
        """Lines behind the block, which stands before the anchor, that replace LD_PRELOAD."""
        if not self.wanted:
            return []
        behind = [
            fact for fact, node in self.environment.settings("LD_PRELOAD") if node.start_byte >= anchor.start_byte
        ]
        return [fact.line for fact in behind if not (fact.append or _KEEPS_TASKD.search(fact.raw))]
