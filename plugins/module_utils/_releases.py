# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""Table of the MindCluster releases. A new release is a new row.

Sources, unless a row names its own: the vendor's pages on resumable training of each release (configuring
process-level online recovery, creating node labels, environment variables) and the code of ascend-operator,
clusterd and TaskD at that release's tag.
"""

from __future__ import annotations

import typing as t


class Release(t.NamedTuple):
    """One MindCluster release and what differs between releases.

    :ivar name: as the vendor writes it.
    :ivar wheels: framework to the wheels that the training image needs, by distribution name.
    :ivar run_py_import: module that C(torch/distributed/run.py) has to import.
    :ivar rendezvous_at_run_time: TaskD wraps the rendezvous at run time, so the second patch must not be added.
    :ivar fault_scheduling: value of the label C(fault-scheduling) on the vendor's page.
    :ivar operator_injects: the operator itself sets the recovery environment from the annotation.
    :ivar elastic_agent: Elastic Agent reads C(ELASTIC_PROCESS_RECOVER_ENABLE); TaskD does not.
    :ivar max_restarts: value of torchrun's C(--max_restarts) on the vendor's page.
    :ivar monitor_interval: value of C(--monitor_interval) in seconds, or None where the page has none.
    :ivar taskd_port: port of TaskD's manager, or None where the release has no such manager for PyTorch.
    :ivar product_labels: nodes carry host-arch, accelerator and accelerator-type, and jobs select by them.
    :ivar torch_listed: torch versions that the vendor names for this release.
    """

    name: str
    wheels: dict[str, tuple[str, ...]]
    run_py_import: str
    rendezvous_at_run_time: bool
    fault_scheduling: str
    operator_injects: bool
    elastic_agent: bool
    max_restarts: str
    monitor_interval: str | None
    taskd_port: int | None
    product_labels: bool
    torch_listed: tuple[str, ...]


_ELASTIC_AGENT_WHEELS = {"pytorch": ("mindx_elastic", "mindio_ttp"), "mindspore": ("taskd", "mindio_ttp")}
_TASKD_WHEELS = {"pytorch": ("taskd", "mindio_ttp"), "mindspore": ("taskd", "mindio_ttp")}
_TASKD_TORCH = ("2.1.0", "2.3.0", "2.4.0", "2.5.0", "2.6.0", "2.7.1")

# Oldest first: the position in this tuple is the order of the releases.
RELEASES: tuple[Release, ...] = (
    Release(
        name="7.1.RC1",
        wheels=_ELASTIC_AGENT_WHEELS,
        run_py_import="mindx_elastic.api",
        rendezvous_at_run_time=False,
        fault_scheduling="force",
        operator_injects=False,
        elastic_agent=True,
        max_restarts="5",
        monitor_interval="10",
        taskd_port=None,
        product_labels=True,
        torch_listed=("2.1.0",),
    ),
    Release(
        name="7.2.RC1",
        wheels=_ELASTIC_AGENT_WHEELS,
        run_py_import="mindx_elastic.api",
        rendezvous_at_run_time=False,
        fault_scheduling="grace",
        operator_injects=True,
        elastic_agent=True,
        max_restarts="5",
        monitor_interval="10",
        taskd_port=None,
        product_labels=True,
        torch_listed=_TASKD_TORCH,
    ),
    Release(
        name="7.3.0",
        wheels=_TASKD_WHEELS,
        run_py_import="taskd.python.adaptor.patch",
        rendezvous_at_run_time=True,
        fault_scheduling="grace",
        operator_injects=True,
        elastic_agent=False,
        max_restarts="32767",
        monitor_interval=None,
        taskd_port=9601,
        product_labels=True,
        torch_listed=_TASKD_TORCH,
    ),
    Release(
        name="26.0.0",
        wheels=_TASKD_WHEELS,
        run_py_import="taskd.python.adaptor.patch",
        rendezvous_at_run_time=True,
        fault_scheduling="grace",
        operator_injects=True,
        elastic_agent=False,
        max_restarts="32767",
        monitor_interval=None,
        taskd_port=9601,
        product_labels=True,
        torch_listed=_TASKD_TORCH,
    ),
    Release(
        name="26.1.0",
        wheels=_TASKD_WHEELS,
        run_py_import="taskd.python.adaptor.patch",
        rendezvous_at_run_time=True,
        fault_scheduling="grace",
        operator_injects=True,
        elastic_agent=False,
        max_restarts="32767",
        monitor_interval=None,
        taskd_port=9601,
        product_labels=False,
        torch_listed=_TASKD_TORCH,
    ),
)

DEFAULT_RELEASE = "7.2.RC1"
RELEASE_NAMES: tuple[str, ...] = tuple(release.name for release in RELEASES)
_BY_NAME = {release.name: release for release in RELEASES}


def release_named(name: str) -> Release | None:
    """The row of a release, or None where the vendor has no such release in the table."""
    return _BY_NAME.get(name)


def is_before(name: str, other: str) -> bool:
    """Whether the release C(name) came out before C(other); both have to be in the table."""
    return RELEASE_NAMES.index(name) < RELEASE_NAMES.index(other)
