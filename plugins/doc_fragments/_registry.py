# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""Options of the modules that speak to a registry themselves."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  registry_insecure:
    description:
      - The registry speaks plain HTTP. Registries on loopback addresses are asked how they speak, so that they need
        nothing.
      - A login is never sent over plain HTTP to another machine. A registry that asks for one needs TLS.
    type: bool
    default: false
  cache:
    description:
      - Folder, on the host where the module runs, that keeps an index of each layer that was read, and small documents
        of images, all by digest. It is made for its owner only, and may be removed at any time.
      - The default is C(mindcluster-recovery/layers) below E(XDG_CACHE_HOME), or below C(~/.cache).
    type: path
"""
