# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""Table of the MindCluster releases. A new release is a new row.

Each row names its source: the vendor's pages on resumable training (断点续训) of that release, and the code of
ascend-operator, clusterd and TaskD at that release's tag in the vendor's repository mind-cluster.
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
    :ivar retry_torch: torch versions that the page on online recovery itself names; empty where it names none.
    :ivar retry_suite: MindSpeed-LLM that the same page names: lowest and highest version, or None.
    :ivar cann: major and minor of the CANN that the release is paired with, or None where the vendor names none.
    :ivar wheel_versions: how the version of this release's own wheels stands in their file names, as glob patterns.
    :ivar tft_quoted: the operator writes C(MS_ENABLE_TFT) with literal single quotes around it.
    :ivar most_replicas: most replicas of one type that the operator accepts.
    :ivar images_of_all: the operator refuses any container without an image, not only the one that trains.
    :ivar refuses_by_condition: a job that the operator refuses gets a condition; before, only a Warning Event is sent.
    :ivar source: where the row comes from.
    """

    name: str
    wheels: t.Mapping[str, tuple[str, ...]]
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
    retry_torch: tuple[str, ...]
    retry_suite: tuple[str, str | None] | None
    cann: tuple[int, int] | None
    wheel_versions: tuple[str, ...]
    tft_quoted: bool
    most_replicas: int
    images_of_all: bool
    refuses_by_condition: bool
    source: str


_ELASTIC_AGENT_WHEELS = {"pytorch": ("mindx_elastic", "mindio_ttp"), "mindspore": ("taskd", "mindio_ttp")}
_TASKD_WHEELS = {"pytorch": ("taskd", "mindio_ttp"), "mindspore": ("taskd", "mindio_ttp")}
# TaskD's documentation, "supported versions".
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
        retry_torch=("2.1.0",),
        retry_suite=("1.0.0", None),
        cann=(8, 2),
        wheel_versions=("7.1rc1*", "7.1.RC1*"),
        tft_quoted=False,
        most_replicas=15000,
        images_of_all=True,
        refuses_by_condition=False,
        source="pages of 7.1.RC1: Dockerfile, job YAML (force), constraints (PyTorch 2.1.0, MindSpeed-LLM from 1.0.0); "
        "ascend-operator v7.1.RC1 pkg/controllers/v1/env.go appends nothing. CANN pair inferred from torch_npu 7.1.0",
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
        retry_torch=(),
        retry_suite=None,
        cann=(8, 3),
        wheel_versions=("7.2rc1*", "7.2.RC1*"),
        tft_quoted=True,
        most_replicas=15000,
        images_of_all=True,
        refuses_by_condition=False,
        source="page of 7.2.RC1 on configuring process-level online recovery (Dockerfile, job YAML, script); "
        "ascend-operator v7.2.RC1 env.go, ascendjob_validate.go. CANN pair inferred from torch_npu 7.2.0",
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
        retry_torch=("2.7.1",),
        retry_suite=("2.3.0", "2.3.0"),
        cann=(8, 5),
        wheel_versions=("7.3.*",),
        tft_quoted=True,
        most_replicas=20000,
        images_of_all=True,
        refuses_by_condition=False,
        source="pages of 7.3.0: TaskD instead of Elastic Agent, constraints (PyTorch 2.7.1, MindSpeed-LLM 2.3.0); "
        "CANN 8.5; TaskD v7.3.0 wraps distributed_c10d.rendezvous; ascend-operator v7.3.0 env.go",
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
        retry_torch=(),
        retry_suite=None,
        cann=None,
        wheel_versions=("26.0.*",),
        tft_quoted=False,
        most_replicas=20000,
        images_of_all=False,
        refuses_by_condition=True,
        source="pages of 26.0.0; ascend-operator v26.0.0: env.go without quotes (71a34b9b), ascendjob_validate.go",
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
        retry_torch=("2.7.1",),
        retry_suite=None,
        cann=(9, 1),
        wheel_versions=("26.1.*",),
        tft_quoted=False,
        most_replicas=20000,
        images_of_all=False,
        refuses_by_condition=True,
        source="pages of 26.1.0: node labels written by the device plugin, MindIO (torch 2.7.1, CANN 9.1.0); "
        "device plugin v26.1.0 nodeSelector; ascend-operator v26.1.0",
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
