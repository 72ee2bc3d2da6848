# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""A job manifest from variables, as readable as one written by hand.

What the plan puts into a start command (flags, exports) is not written here: the text goes through the same code
as a user's own manifest afterwards.
"""

from __future__ import annotations

import textwrap
import typing as t

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Finding, Refused
from ansible_collections.mindcluster.recovery.plugins.module_utils._job_check_nodes import more_than_a_node_has
from ansible_collections.mindcluster.recovery.plugins.plugin_utils import _yaml_render as render
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._job_spec import JobSpec
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._job_volumes import mount_of, source_of

# Below the scheduler's grace-over-time (900 s), so that a Pod can end by itself before it is removed by force.
GRACE_PERIOD = 600
# The strategies that repair a running job: its processes learn of faults through the reset ConfigMap, which the node
# holds as files under /user/restore/reset.
_NEED_RESET = frozenset(("retry", "recover", "recover-in-place", "elastic-training"))

MOUNTS = {"ascend-driver": "/usr/local/Ascend/driver", "dshm": "/dev/shm", "localtime": "/etc/localtime"}
RESET_MOUNT = "/user/restore/reset/config"

_WHY_LABEL = {
    "framework": "must be exactly this word",
    "process-recover-enable": "must be exactly `on`, otherwise no process is recovered",
    "fault-scheduling": "grace or force; without it a faulty job is not rescheduled",
    "fault-retry-times": "how many faults are survived; a whole number in quotes",
    "ring-controller.atlas": "must be the same here and in each template below",
}
_WHY_PORT = {"ascendjob-port": "the name must not be changed", "ttp-port": "must be the same number as TTP_PORT"}


def needs_reset_config(plan: t.Mapping[str, t.Any]) -> bool:
    return bool(_NEED_RESET.intersection(plan["strategies"]))


def generate_job(spec: JobSpec, plan: t.Mapping[str, t.Any], where: str) -> str:
    """The manifest of a job that is described by variables.

    :param where: the variables, for messages.
    :returns: YAML text that still has to be adapted to the plan.
    :raises Refused: with everything that is missing.
    """
    npus = spec.npus_per_node or plan["job"].get("npus_per_node")
    mistakes = _missing(spec, npus, where) + _too_many(spec, plan, where) + _mounted_twice(spec, plan, where)
    if mistakes:
        raise Refused(mistakes)
    return _Writer(spec, plan, t.cast(int, npus)).text()


def _missing(spec: JobSpec, npus: t.Any, where: str) -> list[Finding]:
    wanted = {
        "name": (spec.name, "Set `training_job_name`"),
        "image": (spec.image, "Set `training_job_image`, or build an image with the role training_image first"),
        "workers": (spec.workers, "Set `training_job_workers` to the number of nodes, the leader among them"),
        "command": (
            (spec.command or "").strip(),
            "Set `training_job_command` to the shell text that starts training, such as "
            "`cd /job/code; bash scripts/train_start.sh /job/code /job/output pretrain_gpt.py`",
        ),
        "npus_per_node": (npus, "Set `training_job_npus_per_node`, or `recovery_plan_product` to take it from there"),
    }
    return [
        Finding(
            "job-%s-missing" % name.replace("_", "-"),
            "`%s` is not given" % name,
            "A job without a manifest of its own is written from variables, and this one has no sensible default",
            remedy + "; or give your own file with `training_job_manifest`",
            where,
        )
        for name, (value, remedy) in wanted.items()
        if not value
    ]


def _too_many(spec: JobSpec, plan: t.Mapping[str, t.Any], where: str) -> list[Finding]:
    has = plan["job"].get("npus_per_node")
    many = more_than_a_node_has(spec.npus_per_node, plan)
    if not many:
        return []
    return [
        Finding(
            "job-npus",
            "`npus_per_node` is %d, and a node of %s has %d" % (many, plan["product"], has),
            "No node could ever take a Pod, and all of them would stay Pending",
            "Set `training_job_npus_per_node` to %d at most, or correct `recovery_plan_product`" % has,
            where,
        )
    ]


def _mounted_twice(spec: JobSpec, plan: t.Mapping[str, t.Any], where: str) -> list[Finding]:
    taken = {path: name for name, path in MOUNTS.items()}
    if needs_reset_config(plan):
        taken[RESET_MOUNT] = "reset-config"
    found = []
    for volume in spec.extra_volumes:
        path = str(volume["mountPath"]).rstrip("/") or "/"
        if path in taken:
            found.append(
                Finding(
                    "job-volume",
                    "the volume `%s` is mounted at `%s`, where `%s` is" % (volume["name"], path, taken[path]),
                    "The API server of a cluster refuses a Pod with two volumes at one place",
                    "Mount it at another path",
                    where,
                )
            )
        taken.setdefault(path, str(volume["name"]))
    return found


def _comment(line: str, why: str | None) -> str:
    return "%s  # %s" % (line, why) if why else line


class _Writer:
    """Writes one job."""

    def __init__(self, spec: JobSpec, plan: t.Mapping[str, t.Any], npus: int) -> None:
        self.spec = spec
        self.plan = plan
        self.job = plan["job"]
        self.npus = npus
        self.reset = needs_reset_config(plan)

    def text(self) -> str:
        leader = self.job["replica_types"][0]
        lines = [
            "# AscendJob %s on %d node%s; the %s is one of them."
            % (self.spec.name, t.cast(int, self.spec.workers), "" if self.spec.workers == 1 else "s", leader),
            "# Recovery: %s, on MindCluster %s." % (", ".join(self.plan["strategies"]), self.plan["release"]),
            "---",
        ]
        if self.reset:
            lines += self.reset_config() + ["---"]
        return "\n".join(lines + self.head() + self.replicas()) + "\n"

    def reset_config(self) -> list[str]:
        return [
            "apiVersion: v1",
            "kind: ConfigMap",
            "metadata:",
            "  name: reset-config-%s  # the prefix, and behind it the name of the job, must not be changed"
            % self.spec.name,
            "  namespace: %s" % render.scalar(self.spec.namespace),
            "  labels:",
            '    reset: "true"  # must not be changed, the device plugin looks for it',
            "data:",
            "  reset.json: |",
            '    {"status":"initializing"}',
            '  checkCode: ""',
        ]

    def head(self) -> list[str]:
        lines = [
            "apiVersion: %s" % self.job["api_version"],
            "kind: %s" % self.job["kind"],
            "metadata:",
            "  name: %s" % render.scalar(self.spec.name),
            "  namespace: %s" % render.scalar(self.spec.namespace),
            "  labels:",
        ]
        labels = dict(self.job["labels"], **self.job["template_labels"])
        for name, value in labels.items():
            text = value if name == "framework" else render.Quoted(value)
            lines.append(_comment("    %s: %s" % (name, render.scalar(text)), _WHY_LABEL.get(name)))
        lines.append("  annotations:")
        for name, value in self.job["annotations"].items():
            why = "separated by commas, without blanks" if name == "recover-strategy" else None
            lines.append(_comment("    %s: %s" % (name, render.scalar(render.Quoted(value))), why))
        return lines + [
            "spec:",
            "  schedulerName: volcano  # starts all Pods together or none",
            "  runPolicy:",
            "    schedulingPolicy:",
            "      minAvailable: %d  # the number of nodes" % t.cast(int, self.spec.workers),
            "      queue: default  # the operator refuses a job without a queue",
            "  successPolicy: AllWorkers",
        ]

    def replicas(self) -> list[str]:
        leader, worker = self.job["replica_types"]
        lines = ["  replicaSpecs:"] + self.replica(leader, "1  # exactly one")
        if t.cast(int, self.spec.workers) > 1:
            lines += self.replica(worker, "%d" % (t.cast(int, self.spec.workers) - 1))
        return lines

    def replica(self, name: str, count: str) -> list[str]:
        lines = [
            "%s:  # must be written exactly so" % name,
            "  replicas: %s" % count,
            "  restartPolicy: Never  # rescheduling is MindCluster's work, not the kubelet's",
            "  template:",
        ]
        if self.job["template_labels"]:
            lines += ["    metadata:", "      labels:"]
            for label, value in self.job["template_labels"].items():
                lines.append("        %s: %s" % (label, render.scalar(render.Quoted(value))))
        lines += ["    spec:"] + ["      " + line for line in self.pod()]
        return ["    " + line for line in lines]

    def pod(self) -> list[str]:
        lines = [
            "terminationGracePeriodSeconds: %d  # above 0 and below the scheduler's grace-over-time" % GRACE_PERIOD,
            "automountServiceAccountToken: false",
        ]
        if self.spec.host_network:
            lines += ["hostNetwork: true", "dnsPolicy: ClusterFirstWithHostNet"]
        if self.spec.image_pull_secrets:
            lines += render.entry("imagePullSecrets", [{"name": name} for name in self.spec.image_pull_secrets], 0)
        if self.job["node_selector"]:
            lines.append("nodeSelector:  # must be the same in all replica types")
            lines += render.block({name: render.Quoted(value) for name, value in self.job["node_selector"].items()}, 2)
        lines += ["affinity:  # one Pod to a node"] + render.block(self.anti_affinity(), 2)
        return lines + ["containers:"] + ["  " + line for line in self.container()] + self.volumes()

    def anti_affinity(self) -> dict[str, t.Any]:
        expression = {"key": "job-name", "operator": "In", "values": [self.spec.name]}
        term = {"labelSelector": {"matchExpressions": [expression]}, "topologyKey": "kubernetes.io/hostname"}
        return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}

    def container(self) -> list[str]:
        lines = [
            "- name: %s  # must not be changed" % self.job["container"],
            "  image: %s" % render.scalar(self.spec.image),
            "  imagePullPolicy: IfNotPresent",
            "  env:",
        ]
        lines += ["    " + line for line in self.environment()]
        lines += ["  command:", "    - /bin/bash", "    - -c"]
        if self.job["args"] or self.job["exports"]:
            lines.append("  # The recovery flags on the start command, and the exports before it, must stay.")
        lines += ["  args:", "    - |"]
        lines += ["      " + line if line else "" for line in self.command()]
        lines += ["  ports:"]
        for port in self.job["ports"]:
            lines.append("    - containerPort: %d" % port["containerPort"])
            lines.append(_comment("      name: %s" % port["name"], _WHY_PORT.get(port["name"])))
        return lines + self.resources() + ["  volumeMounts:"] + ["    " + line for line in self.mounts()]

    def environment(self) -> list[str]:
        field = "metadata.annotations['%s']" % self.job["resource"]
        lines = render.block([_field("XDL_IP", "status.hostIP")], 0)
        lines += render.block([_field("ASCEND_VISIBLE_DEVICES", field)], 0)
        lines[-1] = _comment(lines[-1], "the resource that is requested below")
        for entry in self.job["env"]:
            value = {key: render.Quoted(text) if key == "value" else text for key, text in entry.items()}
            lines += render.block([value], 0)
        return lines

    def command(self) -> list[str]:
        text = textwrap.dedent(str(self.spec.command).replace("\r\n", "\n").strip("\n"))
        return [line.rstrip() for line in text.strip().split("\n")]

    def resources(self) -> list[str]:
        return [
            "  resources:  # the operator counts the NPUs under requests; both must be the same",
            "    requests:",
            "      %s: %d" % (self.job["resource"], self.npus),
            "    limits:",
            "      %s: %d" % (self.job["resource"], self.npus),
        ]

    def mounts(self) -> list[str]:
        lines = render.block([{"name": name, "mountPath": path} for name, path in MOUNTS.items()], 0)
        if self.reset:
            mount = {"name": "reset-config", "mountPath": RESET_MOUNT, "readOnly": True}
            lines += render.block([mount], 0)
        for volume in self.spec.extra_volumes:
            lines += render.block([mount_of(volume)], 0)
        return lines

    def volumes(self) -> list[str]:
        lines = ["volumes:"]
        for name in ("ascend-driver", "localtime"):
            lines += render.block([{"name": name, "hostPath": {"path": MOUNTS[name]}}], 2)
        lines += render.block([{"name": "dshm", "emptyDir": {"medium": "Memory"}}], 2)
        if self.reset:
            path = "/user/restore/reset/%s.reset-config-%s" % (self.spec.namespace, self.spec.name)
            lines += render.block([{"name": "reset-config", "hostPath": {"path": path}}], 2)
            lines[-1] = _comment(lines[-1], "namespace and name of the ConfigMap above")
        for volume in self.spec.extra_volumes:
            lines += render.block([source_of(volume)], 2)
        return lines


def _field(name: str, path: str) -> dict[str, t.Any]:
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}
