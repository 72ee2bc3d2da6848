# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A cluster that the user names instead of the sandbox's own server."""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess

from . import apt
from .console import SandboxError, say
from .home import Home, write_private
from .kube import CRDS, LIMITED, manifests

NAMESPACE = "mindcluster-sandbox"
WISH = "SANDBOX_CLUSTER"


@functools.cache  # asked in several places, to be said once
def wanted() -> bool:
    """Whether the user's own cluster is to be used.

    KUBECONFIG alone is not enough: many have it set for good, and the tests create Nodes and a resource definition.
    """
    if not os.environ.get("KUBECONFIG"):
        return False
    if os.environ.get(WISH) == "given":
        return True
    say(f"kube: KUBECONFIG is left alone and an own server started; {WISH}=given uses the cluster that it names")
    return False


def start(home: Home) -> dict[str, str]:
    """Give the user's cluster the collection's CRD and RBAC rules, and a service account that has only these rights.

    :returns: the variables with the kubeconfig of the user and of the limited account.
    """
    if not shutil.which("kubectl"):
        apt.ensure(["kubernetes-client"])
    say(f"kube: using the cluster of {os.environ['KUBECONFIG']}")
    for path in manifests():
        # The vendor's own definitions say more than those for tests: what is there stays.
        if path.parent != CRDS or not _kubectl("get", "-f", str(path), "--ignore-not-found", "-o", "name"):
            _kubectl("apply", "-f", str(path))
    return {"KUBECONFIG": os.environ["KUBECONFIG"], "SANDBOX_KUBECONFIG_LIMITED": _limited(home)}


def _limited(home: Home) -> str:
    subject = f"{NAMESPACE}:{LIMITED}"
    _apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    _apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": LIMITED, "namespace": NAMESPACE}})
    for binding in json.loads(_kubectl("get", "clusterrolebindings,rolebindings", "-A", "-o", "json"))["items"]:
        if any(entry["kind"] == "User" and entry["name"] == LIMITED for entry in binding.get("subjects", [])):
            kind, name = binding["kind"].lower(), binding["metadata"]["name"]
            place = ["-n", binding["metadata"]["namespace"]] if kind == "rolebinding" else []
            _kubectl("set", "subject", kind, name, *place, f"--serviceaccount={subject}")
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 14400}}
    url = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{LIMITED}/token"
    token = json.loads(_kubectl("create", "--raw", url, "-f", "-", text=json.dumps(request)))["status"]["token"]
    config = json.loads(_kubectl("config", "view", "--raw", "--minify", "--flatten", "-o", "json"))
    config["users"] = [{"name": entry["name"], "user": {"token": token}} for entry in config["users"]]
    path = home.folder / f"kubeconfig-{LIMITED}"
    write_private(path, json.dumps(config, indent=1))
    return str(path)


def _apply(document: dict[str, object]) -> None:
    _kubectl("apply", "-f", "-", text=json.dumps(document))


def _kubectl(*words: str, text: str = "") -> str:
    result = subprocess.run(["kubectl", *words], input=text, capture_output=True, text=True, check=False)
    if result.returncode:
        raise SandboxError(f"`kubectl {' '.join(words)}` failed: {result.stderr.strip()}")
    return result.stdout
