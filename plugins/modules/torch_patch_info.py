#!/usr/bin/python

# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: torch_patch_info
short_description: Say whether the patches of resumable training are in an installed PyTorch
version_added: 0.1.0
author:
  - mindcluster.recovery contributors (@mindcluster)
description:
  - Looks at both files of M(mindcluster.recovery.torch_patch), says where each patch is and how it was recognised, and
    tries the import.
  - It fails where there is no PyTorch to look at. A patch that is not there is an answer and no failure.
extends_documentation_fragment:
  - mindcluster.recovery._torch
  - mindcluster.recovery._attributes
  - mindcluster.recovery._attributes.actiongroup_recovery
attributes:
  check_mode:
    support: full
    details: It never changes anything.
  diff_mode:
    support: none
    details: It never changes anything.
  idempotent:
    support: full
options:
  try_import:
    description: Whether to try the import of O(import_module) as well.
    type: bool
    default: true
seealso:
  - module: mindcluster.recovery.torch_patch
"""

EXAMPLES = r"""
- name: Look at the PyTorch of a virtual environment
  mindcluster.recovery.torch_patch_info:
    python: /opt/venv/bin/python
  register: torch

- name: Require both patches
  ansible.builtin.assert:
    that: torch.satisfied
    fail_msg: "{{ torch.run_py.reason }}; {{ torch.rendezvous.reason }}"
"""

RETURN = r"""
satisfied:
  description:
    - Whether everything is as M(mindcluster.recovery.torch_patch) would leave it with the same options.
    - That is both files, no byte code of another text, and the import, where it was tried.
  type: bool
  returned: success
torch_path:
  description: Folder of the C(torch) package.
  type: str
  returned: when it was found
  sample: /opt/venv/lib/python3.11/site-packages/torch
torch_version:
  description: What C(torch/version.py) says.
  type: str
  returned: when it was found
  sample: 2.6.0+cpu
python_version:
  description: Version of the interpreter.
  type: str
  returned: when it could be asked
  sample: 3.11.7
run_py:
  description: C(torch/distributed/run.py), as M(mindcluster.recovery.torch_patch) returns it.
  type: dict
  returned: when it was found
  sample:
    path: /opt/venv/lib/python3.11/site-packages/torch/distributed/run.py
    found: patched
    state: patched
    reason: one top-level statement `import mindx_elastic.api`, before the first import of torch
    line: 396
    count: 1
    import_module: mindx_elastic.api
rendezvous:
  description: C(torch/distributed/rendezvous.py), as M(mindcluster.recovery.torch_patch) returns it.
  type: dict
  returned: when it was found
  sample:
    path: /opt/venv/lib/python3.11/site-packages/torch/distributed/rendezvous.py
    found: native
    state: native
    reason: _create_c10d_store returns the agent's store under /worker/attempt_N by itself
    line: 183
    count: 0
    import_module: null
import:
  description: The attempt to import O(import_module).
  type: dict
  returned: when it was made
  sample:
    module: mindx_elastic.api
    ok: true
    error: null
    missing_module: null
    file: /opt/venv/lib/python3.11/site-packages/mindx_elastic/api.py
errors:
  description: Every reason why there was nothing to look at, each with code, what, where, why and remedy.
  type: list
  elements: dict
  returned: failure
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Refused
from ansible_collections.mindcluster.recovery.plugins.module_utils._torch_run import TorchModule, argument_spec


def main() -> None:
    spec = argument_spec()
    spec["try_import"] = {"type": "bool", "default": True}
    module = AnsibleModule(argument_spec=spec, supports_check_mode=True)
    patcher = TorchModule(module)
    try:
        result = patcher.run("inspect", [] if module.params["try_import"] else ["--no-import"])
    except Refused as refused:
        module.fail_json(msg=str(refused), errors=refused.as_dicts(), **patcher.returned())
    module.exit_json(changed=False, satisfied=result["satisfied"], **patcher.returned())


if __name__ == "__main__":
    main()
