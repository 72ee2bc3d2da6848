# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""What stays in a user's job as it is, but is likely to hurt."""

from __future__ import annotations

import typing as t

from ansible_collections.mindcluster.recovery.plugins.module_utils._job_check_nodes import (
    RETIRED_SELECTORS,
    more_than_a_node_has,
)
from ansible_collections.mindcluster.recovery.plugins.module_utils._releases import release_named
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._job_owner import Findings, shown
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._yaml_edit import Draft, Path

# Volcano's init parameter grace-over-time as the vendor ships it, in seconds.
GRACE_OVER_TIME = 900


class JobWarnings:
    """Looks over one AscendJob.

    :param replicas: replica type to the path of its container C(ascend).
    """

    def __init__(
        self, draft: Draft, findings: Findings, plan: t.Mapping[str, t.Any], job: Path, replicas: t.Mapping[str, Path]
    ) -> None:
        self.draft = draft
        self.findings = findings
        self.plan = plan
        self.job = job
        self.replicas = replicas

    def run(self) -> None:
        for name, container in self.replicas.items():
            self.surplus_env(name, container)
            pod = container[:-2]
            if self.holds_npus(container):
                self.node_selector(name, pod)
                self.too_many(name, container)
            self.grace_period(name, pod)
            self.host_network(name, pod)
            self.restart_policy(name, pod[:-2])
        self.selectors_differ()

    def holds_npus(self, container: Path) -> bool:
        resources = self.draft.data(container + ("resources",)) or {}
        names = [str(name) for kind in ("requests", "limits") for name in resources.get(kind) or {}]
        return any(name.startswith("huawei.com/") for name in names)

    def surplus_env(self, replica: str, container: Path) -> None:
        env = self.draft.data(container + ("env",)) or ()
        for index, entry in enumerate(env):
            if isinstance(entry, dict) and entry.get("name") in self.plan["job"]["surplus"]["env"]:
                self.findings.warn(
                    "env-surplus",
                    "`%s` is set in `%s`, but no strategy of the plan needs it" % (entry["name"], replica),
                    "It switches on a recovery that the job does not ask for in `recover-strategy`",
                    "Remove it, or add its strategy to `recovery_plan_strategies`; it was left as it is",
                    self.draft.place(container + ("env", index)),
                )

    def node_selector(self, replica: str, pod: Path) -> None:
        path = pod + ("nodeSelector",)
        present = self.draft.data(path) or {}
        release = release_named(self.plan["release"])
        if release is not None and not release.product_labels:
            self.retired_selectors(replica, path, present)
        for name, wanted in self.plan["job"]["node_selector"].items():
            value = present.get(name)
            if value == wanted:
                continue
            if value is None:
                self.findings.warn(
                    "node-selector-missing",
                    "`%s` selects no `%s`" % (replica, name),
                    "The scheduler takes the product from there; without it the Pods stay Pending on this product",
                    "Add `%s: %s` to its nodeSelector" % (name, wanted),
                    self.draft.place(path),
                )
                continue
            self.findings.warn(
                "node-selector-other-product",
                "`%s` selects `%s: %s`, the plan's product `%s` has `%s`"
                % (replica, name, value, self.plan["product"], wanted),
                "On nodes of the plan's product the Pods would stay Pending",
                "Correct the nodeSelector or `recovery_plan_product`; it was left as it is",
                self.draft.place(path + (name,)),
            )

    def retired_selectors(self, replica: str, path: Path, present: t.Mapping[str, t.Any]) -> None:
        """What has the value that the plan of another release wants is taken out, so that nothing is to be said."""
        # A value may be anything that YAML has, a list too, so that no set can hold it.
        former = [(entry["name"], entry["value"]) for entry in self.plan["job"]["former"]]
        for name in RETIRED_SELECTORS:
            if name in present and (name, present[name]) not in former:
                self.findings.warn(
                    "node-selector-retired",
                    "`%s` selects `%s: %s`" % (replica, name, present[name]),
                    "Nodes of MindCluster %s do not carry this label, and the Pods would stay Pending"
                    % self.plan["release"],
                    "Remove it, unless you label the nodes yourself; it was left as it is, since it is not what "
                    "older releases want for `recovery_plan_product` (%s)" % (self.plan["product"] or "not given"),
                    self.draft.place(path + (name,)),
                )

    def too_many(self, replica: str, container: Path) -> None:
        resource = self.plan["job"]["resource"]
        path = container + ("resources", "requests", resource)
        asked = self.draft.data(path, self.draft.data(container + ("resources", "limits", resource)))
        many = more_than_a_node_has(asked, self.plan)
        if many:
            has = self.plan["job"]["npus_per_node"]
            self.findings.warn(
                "npus-more-than-node",
                "`%s` asks for %d NPUs, and a node of %s has %d" % (replica, many, self.plan["product"], has),
                "No node could ever take such a Pod, and it would stay Pending",
                "Ask for %d at most, or correct `recovery_plan_product`; it was left as it is" % has,
                self.draft.place(path),
            )

    def grace_period(self, replica: str, pod: Path) -> None:
        seconds = self.draft.data(pod + ("terminationGracePeriodSeconds",))
        if self.plan["fault_scheduling"] != "grace" or not isinstance(seconds, int):
            return
        if 0 < seconds < GRACE_OVER_TIME:
            return
        self.findings.warn(
            "grace-period",
            "`%s` has terminationGracePeriodSeconds %d" % (replica, seconds),
            "With `grace` it must be above 0 and below the scheduler's grace-over-time, %d by default; "
            "otherwise Pods are deleted by force all the same" % GRACE_OVER_TIME,
            "Choose a smaller value, such as 600; it was left as it is",
            self.draft.place(pod + ("terminationGracePeriodSeconds",)),
        )

    def host_network(self, replica: str, pod: Path) -> None:
        force = (self.draft.data(self.job + ("metadata", "labels")) or {}).get("fault-scheduling") == "force"
        if force and self.draft.data(pod + ("hostNetwork",)) is True:
            self.findings.warn(
                "force-host-network",
                "`%s` uses hostNetwork, and fault-scheduling is `force`" % replica,
                "A Pod that is deleted by force may still hold its ports on the node, which its successor cannot bind",
                "Use `grace`, or do without hostNetwork; it was left as it is",
                self.draft.place(pod + ("hostNetwork",)),
            )

    def restart_policy(self, replica: str, spec: Path) -> None:
        labels = self.draft.data(self.job + ("metadata", "labels")) or {}
        policy = self.draft.data(spec + ("restartPolicy",))
        if "fault-retry-times" in labels and policy not in (None, "Never"):
            self.findings.warn(
                "restart-policy",
                "`%s` has restartPolicy %s" % (replica, shown(policy)),
                "`fault-retry-times` is counted only with `Never`",
                "Write `restartPolicy: Never`; it was left as it is",
                self.draft.place(spec + ("restartPolicy",)),
            )

    def selectors_differ(self) -> None:
        selectors = {
            name: self.draft.data(container[:-2] + ("nodeSelector",)) or {}
            for name, container in self.replicas.items()
            if self.holds_npus(container)
        }
        if len({tuple(sorted((str(k), str(v)) for k, v in selector.items())) for selector in selectors.values()}) > 1:
            self.findings.warn(
                "node-selectors-differ",
                "%s select different nodes" % " and ".join("`%s`" % name for name in selectors),
                "Different nodeSelectors between replica types that hold NPUs break rescheduling",
                "Give them the same nodeSelector; it was left as it is",
                self.draft.place(self.job + ("spec", "replicaSpecs")),
            )
