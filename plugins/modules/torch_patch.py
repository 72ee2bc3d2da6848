#!/usr/bin/python

# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: torch_patch
short_description: Put the patches of resumable training into an installed PyTorch
version_added: 0.1.0
author:
  - mindcluster.recovery contributors (@mindcluster)
description:
  - Puts C(import mindx_elastic.api) into C(torch/distributed/run.py), so that the elastic agent is MindCluster's.
  - Puts the attempt prefix into C(torch/distributed/rendezvous.py) of PyTorch 2.6.0 and newer, so that a restarted
    worker does not meet the keys of the attempt before.
  - Files that C(sed) commands have patched before, once or many times, are brought to exactly one clean patch. With
    O(state=absent) they get their original bytes back.
  - Before anything is written, the result is parsed, compiled and taken out again on paper, and O(import_module) is
    really imported. A file that is not as any known release has it is refused, with what was looked for.
  - Stale byte code is removed, also such that Python would never compare with its source.
extends_documentation_fragment:
  - mindcluster.recovery._torch
  - mindcluster.recovery._attributes
  - mindcluster.recovery._attributes.actiongroup_recovery
attributes:
  check_mode:
    support: full
    details: Everything is refused that would be refused otherwise; the import is tried as well, which writes nothing.
  diff_mode:
    support: full
  idempotent:
    support: full
options:
  state:
    description:
      - With V(present), both patches are where they belong, once each.
      - With V(absent), both files have their original bytes.
    type: str
    choices: [present, absent]
    default: present
seealso:
  - module: mindcluster.recovery.torch_patch_info
"""

EXAMPLES = r"""
- name: Patch the PyTorch of a virtual environment
  mindcluster.recovery.torch_patch:
    python: /opt/venv/bin/python

- name: Move it on to the agent of release 7.3.0
  mindcluster.recovery.torch_patch:
    python: /opt/venv/bin/python
    import_module: taskd.python.adaptor.patch

- name: Patch the PyTorch in an unpacked image
  mindcluster.recovery.torch_patch:
    torch_path: /srv/rootfs/usr/lib/python3/dist-packages/torch

- name: Give the virtual environment's PyTorch its original files back
  mindcluster.recovery.torch_patch:
    python: /opt/venv/bin/python
    state: absent
"""

RETURN = r"""
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
  description: C(torch/distributed/run.py) as it is afterwards, in check mode as it would be.
  type: dict
  returned: when it was found
  contains:
    path:
      description: The file.
      type: str
    found:
      description: Its state before.
      type: str
    state:
      description:
        - V(patched), one import of O(import_module) before the first import of PyTorch.
        - V(unpatched), none.
        - V(other), one, of another recovery module.
        - V(misplaced), one, in another place.
        - V(repeated), several, or one inside a docstring, as C(sed) leaves them.
        - V(foreign), one that somebody wrote by hand, which is refused.
        - V(unsupported), no place that the patch could go to, which is refused.
        - V(broken), the file is no valid Python, which is refused.
      type: str
    reason:
      description: How the state was recognised.
      type: str
    line:
      description: Line of the patch, or of what the state is about.
      type: int
    count:
      description: How many import statements of recovery modules there are.
      type: int
    import_module:
      description: The module that it imports.
      type: str
  sample:
    path: /opt/venv/lib/python3.11/site-packages/torch/distributed/run.py
    found: unpatched
    state: patched
    reason: one top-level statement `import mindx_elastic.api`, before the first import of torch
    line: 396
    count: 1
    import_module: mindx_elastic.api
rendezvous:
  description: C(torch/distributed/rendezvous.py) as it is afterwards, in check mode as it would be.
  type: dict
  returned: when it was found
  contains:
    path:
      description: The file.
      type: str
    found:
      description: Its state before.
      type: str
    state:
      description:
        - V(native), this PyTorch has the attempt prefix itself.
        - V(patched), one block that adds it.
        - V(unpatched), it has none, as asked for.
        - V(runtime), it has none, since O(import_module) puts the prefix on at run time.
        - V(repeated), blocks more than needed, as C(sed) leaves them.
        - V(unsupported), no place that the patch could go to, which is refused where it is needed.
        - V(broken), the file is no valid Python, which is refused.
      type: str
    reason:
      description: How the state was recognised.
      type: str
    line:
      description: Line of the prefix, or of the place where it would go.
      type: int
    count:
      description: How many blocks of the patch there are.
      type: int
    import_module:
      description: Always V(none).
      type: str
  sample:
    path: /opt/venv/lib/python3.11/site-packages/torch/distributed/rendezvous.py
    found: unpatched
    state: patched
    reason: the first `if` on the agent's store in _create_c10d_store returns it under /worker/attempt_N
    line: 183
    count: 1
    import_module: null
import:
  description: The attempt to import O(import_module), made with O(state=present) only.
  type: dict
  returned: when it was made
  contains:
    module:
      description: The module.
      type: str
    ok:
      description: Whether it imports.
      type: bool
    error:
      description: What went wrong.
      type: str
    missing_module:
      description: The module that is not installed, which may be one that O(import_module) needs.
      type: str
    file:
      description: Where it was imported from.
      type: str
byte_code_removed:
  description: Compiled files that were removed, or would be.
  type: list
  elements: str
  returned: success
errors:
  description: Every reason why nothing was done, each with code, what, where, why and remedy.
  type: list
  elements: dict
  returned: failure
  sample:
    - code: import-missing
      what: mindx_elastic.api is not installed for /opt/venv/bin/python
      where: /opt/venv/lib/python3.11/site-packages/torch
      why: "With the patch in, torchrun would end with the same error on every start: No module named 'mindx_elastic'"
      remedy: Install the wheel that brings mindx_elastic first
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.mindcluster.recovery.plugins.module_utils._findings import Refused
from ansible_collections.mindcluster.recovery.plugins.module_utils._torch_run import TorchModule, argument_spec


def main() -> None:
    spec = argument_spec()
    spec["state"] = {"type": "str", "choices": ["present", "absent"], "default": "present"}
    module = AnsibleModule(argument_spec=spec, supports_check_mode=True)
    patcher = TorchModule(module)
    try:
        result = patcher.run(module.params["state"], ["--check"] if module.check_mode else [])
    except Refused as refused:
        module.fail_json(msg=str(refused), errors=refused.as_dicts(), **patcher.returned())
    answer = patcher.returned()
    if module._diff:
        answer["diff"] = result["diff"]
    module.exit_json(changed=result["changed"], **answer)


if __name__ == "__main__":
    main()
