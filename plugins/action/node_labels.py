# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The controller's half of node_labels: says how far a long run is."""

from __future__ import annotations

import contextlib
import tempfile
import threading
import typing as t

from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

from ansible_collections.mindcluster.recovery.plugins.module_utils._kube_progress import EVERY, read_progress

display = Display()


class ActionModule(ActionBase):
    """Call the module once, and show a line every few seconds until it ends."""

    _supports_check_mode = True
    _supports_async = True

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        result: dict[str, t.Any] = super().run(tmp, task_vars)
        arguments = dict(self._task.args)
        # On another machine the file could not be read while the module runs.
        watched = self._connection.transport == "local" and not self._task.async_val
        watched = watched and "progress_file" not in arguments
        with _shown() if watched else contextlib.nullcontext() as path:
            if path:
                arguments["progress_file"] = path
            answer = self._execute_module(module_args=arguments, task_vars=task_vars, wrap_async=self._task.async_val)
        answer.get("invocation", {}).get("module_args", {}).pop("progress_file", None)
        result.update(answer)
        return result


@contextlib.contextmanager
def _shown() -> t.Iterator[str]:
    with tempfile.NamedTemporaryFile(prefix="node_labels.") as shared:
        ended = threading.Event()
        watcher = threading.Thread(target=_watch, args=(shared.name, ended), daemon=True)
        watcher.start()
        try:
            yield shared.name
        finally:
            ended.set()
            watcher.join()


def _watch(path: str, ended: threading.Event) -> None:
    shown: tuple[int, int] | None = None
    while not ended.wait(EVERY / 2):
        seen = read_progress(path)
        if seen is not None and seen != shown:
            display.display("node_labels: %d of %d nodes that differ are done" % seen)
            shown = seen
