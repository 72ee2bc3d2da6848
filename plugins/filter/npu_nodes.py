# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The nodes of the inventory with the labels that they shall carry."""

from __future__ import annotations

DOCUMENTATION = r"""
name: npu_nodes
short_description: The nodes of the inventory with the labels that they shall carry
version_added: 0.1.0
author:
  - mindcluster.recovery contributors (@mindcluster)
description:
  - Makes the list for the option O(mindcluster.recovery.node_labels#module:nodes) out of the groups C(npu_master) and
    C(npu_worker).
  - Of each host it reads the variables C(npu_node_name), C(npu_node_product), C(npu_node_arch) and
    C(npu_node_extra_labels) and of the others the names alone, so that the time is linear in the number of hosts.
positional: _input, hostvars
options:
  _input:
    description: The inventory's C(groups).
    type: dict
    required: true
  hostvars:
    description: The variable C(hostvars).
    type: dict
    required: true
  play_hosts:
    description:
      - The hosts of the play, usually C(ansible_play_hosts_all); other members of the groups are left out.
      - Where none of them is in the groups, as in a play on localhost, all members are taken. So are they without it.
    type: list
    elements: str
  release:
    description: MindCluster release.
    type: str
    default: 7.2.RC1
  product:
    description: Product of the workers that name none; V(auto) as none at all.
    type: str
  arch:
    description: Architecture of the hosts that name none.
    type: str
  find_product:
    description:
      - Whether the module shall find the product of a worker for which none is given, as far as the release has labels
        that differ from product to product; the node gets C(product=auto) then. Otherwise such a host is a mistake.
    type: bool
    default: false
  play_vars:
    description:
      - The same variables as the play sees them for O(current_host). A value that differs from what the inventory says
        about that host was set in the play or on the role, which has precedence over the inventory for every host.
    type: dict
  current_host:
    description:
      - The variable C(inventory_hostname). Where it is a localhost that is in neither group, all members are taken.
    type: str
"""

EXAMPLES = r"""
- name: Show what the nodes shall carry
  ansible.builtin.debug:
    msg: "{{ (groups | mindcluster.recovery.npu_nodes(hostvars, product='atlas-800t-a2')).nodes }}"
"""

RETURN = r"""
_value:
  description:
    - A mapping with C(nodes), the list for the module; C(errors), every mistake with code, what, where, why and remedy;
      C(message), the mistakes as one text; and C(unread), of each host that has some the list of its variables that
      look like one of the roles' and that none of them reads. Where there are errors, C(nodes) is empty.
  type: dict
"""

import typing as t
from collections import abc

from ansible.errors import AnsibleFilterError

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Refused
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._npu_nodes import (
    Defaults,
    members,
    node_requests,
    read_host,
)
from ansible_collections.mindcluster.recovery.plugins.plugin_utils._variables import unread

_PER_PLAY = ("npu_node_product", "npu_node_arch", "npu_node_extra_labels")


def npu_nodes(
    groups: t.Any,
    hostvars: t.Any,
    play_hosts: list[str] | None = None,
    release: str = "7.2.RC1",
    product: str | None = None,
    arch: str | None = None,
    find_product: bool = False,
    play_vars: abc.Mapping[str, t.Any] | None = None,
    current_host: str | None = None,
) -> dict[str, t.Any]:
    """Filter C(npu_nodes), see DOCUMENTATION."""
    if not isinstance(groups, abc.Mapping) or not isinstance(hostvars, abc.Mapping):
        raise AnsibleFilterError("npu_nodes expects `groups | npu_nodes(hostvars)`, got %s" % type(groups).__name__)
    chosen = members(groups, play_hosts, current_host)
    override = _set_in_play(play_vars or {}, hostvars, current_host)
    defaults = Defaults(product or None, arch or None)
    hosts, misspelt = {}, {}
    for name in dict.fromkeys(name for members_of in chosen.values() for name in members_of):
        # Ansible merges the variables of a host anew each time that it is asked for them.
        own = hostvars[name]
        hosts[name] = read_host(name, own, defaults, override)
        found = unread(own)
        if found:
            misspelt[name] = found
    result: dict[str, t.Any] = {"unread": misspelt}
    try:
        return {**result, "nodes": node_requests(chosen, hosts, release, find_product), "errors": [], "message": ""}
    except Refused as exc:
        return {**result, "nodes": [], "errors": exc.as_dicts(), "message": str(exc)}


def _set_in_play(play_vars: abc.Mapping[str, t.Any], hostvars: t.Any, current_host: str | None) -> dict[str, t.Any]:
    """The variables that the play or the role sets, as against those that the inventory has for the current host."""
    if current_host is None or current_host not in hostvars:
        return dict(play_vars)
    own = hostvars[current_host]
    return {key: play_vars[key] for key in _PER_PLAY if play_vars.get(key) and play_vars[key] != own.get(key)}


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"npu_nodes": npu_nodes}
