# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""Options of every module that speaks to a Kubernetes API."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  kubeconfig:
    description:
      - Path of a kubeconfig file. A relative path counts from the folder in which the play was started.
      - Without it the environment variable E(KUBECONFIG) is used, then C(~/.kube/config), and then, inside a Pod, the
        Pod's own service account. With O(host) alone no file is read.
      - Several files may be joined by a colon, as kubectl takes them.
    type: path
  context:
    description:
      - Name of the context in the kubeconfig. Without it the file's C(current-context) is used.
    type: str
  host:
    description:
      - Address of the API server, for example V(https://10.0.0.1:6443). It wins over the kubeconfig's address.
    type: str
  api_key:
    description:
      - Bearer token. It wins over the kubeconfig's credentials.
    type: str
  ca_cert:
    description:
      - Path of the certificate authority that signed the API server's certificate.
    type: path
  validate_certs:
    description:
      - Whether the API server's certificate is checked. Without it the kubeconfig decides, and where that says
        nothing the certificate is checked.
    type: bool
  client_cert:
    description:
      - Path of the client certificate.
    type: path
  client_key:
    description:
      - Path of the client certificate's key.
    type: path
requirements:
  - "kubernetes >= 31 (Python package, where the module runs)"
"""
