#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Runs the main job for real on one machine: `make demo` calls it. DELIVERY is gitops (default) or apply.
# A second run finds the engine's images, the registry and the site as the first one left them, and changes nothing.
set -euo pipefail

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
delivery="${DELIVERY:-gitops}"
site="${DEMO_DIR:-$root/demo-site}"
state="${XDG_CACHE_HOME:-$HOME/.cache}/mindcluster-recovery/demo"
python="$root/.venv/bin/python"
sandbox=("$python" "$root/tests/sandbox/sandbox.py")

case "$delivery" in
    gitops) parts=docker,registry,image-torch26,wheels ;;
    apply) parts=docker,registry,image-torch26,wheels,kube ;;
    *)
        echo "DELIVERY is '$delivery': say DELIVERY=gitops (files, no cluster) or DELIVERY=apply (the sandbox cluster)." >&2
        exit 2
        ;;
esac

say() { printf '\n=== %s\n' "$*"; }

say "Engine, registry, base image and wheels ($parts); the first time this builds them, with progress below"
"${sandbox[@]}" up --state "$state" --with "$parts" > /dev/null
settings="$("${sandbox[@]}" env --state "$state")"
eval "$settings"

if [ ! -d "$site" ]; then
    say "A site to work on: $site"
    cp -R "$root/examples/demo/site" "$site"
    if [ "$(uname -m)" = aarch64 ]; then
        # The job selects nodes of the architecture that the image is built for, which is this machine's.
        sed -i 's/host-arch: huawei-x86/host-arch: huawei-arm/' "$site/files/llama2-pretrain.yaml"
    fi
fi
"$python" "$root/examples/demo/describe_sandbox.py" "$delivery" > "$site/inventory/group_vars/all/sandbox.yml"

if [ "$delivery" = apply ]; then
    say "Nodes for the inventory's hosts in the sandbox cluster, as a kubelet would register them"
    "$root/.venv/bin/ansible-inventory" -i "$site/inventory" --list | "$python" "$root/examples/demo/register_nodes.py"
fi

say "ansible-playbook mindcluster.recovery.site"
"$root/.venv/bin/ansible-playbook" -i "$site/inventory" mindcluster.recovery.site "$@"

say "What there is now"
echo "site:       $site (inventory, start script, job)"
if [ "$delivery" = gitops ]; then
    echo "manifests:"
    find "$site/gitops" -type f | sort | sed 's/^/            /'
else
    echo "cluster:    export KUBECONFIG=$KUBECONFIG, then: kubectl get nodes --show-labels; kubectl get acjob"
fi
echo "engine:     export DOCKER_HOST=${DOCKER_HOST:-}"
echo "again:      make demo$([ "$delivery" = gitops ] || echo " DELIVERY=$delivery")   (changes nothing)"
echo "stop:       make demo-down"
