# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""Options of the modules that speak to a Docker engine."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  docker_host:
    description:
      - Address of the Docker engine, such as V(unix:///var/run/docker.sock).
      - Without it E(DOCKER_HOST), E(DOCKER_TLS_VERIFY) and E(DOCKER_CERT_PATH) decide, and then the usual socket.
    type: str
  registry_username:
    description:
      - User at the registry. It is used for that registry only and stays in memory.
      - Without it the Docker configuration of the user who runs the module is used, credential helpers included.
    type: str
  registry_password:
    description: Password or token of O(registry_username).
    type: str
requirements:
  - "Python library C(docker) 7.1.0 or newer"
  - Docker engine 20.10 or newer
notes:
  - Only the Docker engine is spoken to, and the engine speaks to the registry. Its proxy settings, mirrors and trusted
    certificates count.
"""
