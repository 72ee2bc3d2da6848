#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Runs the main job for real on one machine: `make demo` calls it. DELIVERY is gitops (default) or apply.
# BUILDER is docker (default), or registry, for which no engine is started or used.
# A second run finds the engine's images, the registry and the site as the first one left them, and changes nothing.
set -euo pipefail

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
delivery="${DELIVERY:-gitops}"
builder="${BUILDER:-docker}"
site="${DEMO_DIR:-$root/demo-site}"
state="${XDG_CACHE_HOME:-$HOME/.cache}/mindcluster-recovery/demo"
python="$root/.venv/bin/python"
sandbox=("$python" "$root/tests/sandbox/sandbox.py")

case "$builder" in
    docker) parts=docker,registry,image-torch26,wheels ;;
    registry) parts=registry,tar-torch26,wheels ;;
    *)
        echo "BUILDER is '$builder': say BUILDER=docker (an engine builds) or BUILDER=registry (no engine at all)." >&2
        exit 2
        ;;
esac
case "$delivery" in
    gitops) ;;
    apply) parts="$parts,kube" ;;
    *)
        echo "DELIVERY is '$delivery': say DELIVERY=gitops (files, no cluster) or DELIVERY=apply (the sandbox cluster)." >&2
        exit 2
        ;;
esac

say() { printf '\n=== %s\n' "$*"; }

say "What the site stands on ($parts); the first time this is built, with progress below"
"${sandbox[@]}" up --state "$state" --with "$parts" > /dev/null
settings="$("${sandbox[@]}" env --state "$state")"
eval "$settings"

if [ "$builder" = registry ]; then
    # An engine that happens to run is out of reach, so that nothing of it can be used.
    export DOCKER_HOST=unix:///nowhere/no-engine.sock
    say "The base image goes to the registry $SANDBOX_REGISTRY as a file tree, without an engine"
    "$python" "$root/examples/demo/push_base.py" "$SANDBOX_TAR_TORCH26" "$SANDBOX_REGISTRY/base/torch26:1"
fi

if [ ! -d "$site" ]; then
    say "A site to work on: $site"
    cp -R "$root/examples/demo/site" "$site"
    if [ "$(uname -m)" = aarch64 ]; then
        # The job selects nodes of the architecture that the image is built for, which is this machine's.
        sed -i 's/host-arch: huawei-x86/host-arch: huawei-arm/' "$site/files/llama2-pretrain.yaml"
    fi
fi
"$python" "$root/examples/demo/describe_sandbox.py" "$delivery" "$builder" > "$site/inventory/group_vars/all/sandbox.yml"

if [ "$delivery" = apply ]; then
    say "Nodes for the inventory's hosts in the sandbox cluster, as a kubelet would register them"
    "$root/.venv/bin/ansible-inventory" -i "$site/inventory" --list | "$python" "$root/examples/demo/register_nodes.py"
fi

say "ansible-playbook mindcluster.recovery.site"
"$root/.venv/bin/ansible-playbook" -i "$site/inventory" mindcluster.recovery.site "$@"

say "What there is now"
echo "site:       $site (inventory, start script, job)"
# With options of one's own (--check, say) not all of it need have been made.
[ $# -gt 0 ] || "$python" "$root/examples/demo/tell_result.py" "$site" "$delivery" "$builder"
chosen="$([ "$delivery" = gitops ] || echo " DELIVERY=$delivery")$([ "$builder" = docker ] || echo " BUILDER=$builder")"
echo "again:      make demo$chosen   (changes nothing)"
echo "stop:       make demo-down; rm -r $site has the next demo begin with a new site"
