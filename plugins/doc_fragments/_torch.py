# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""Options and return values of the modules that look at the patches in PyTorch."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  python:
    description:
      - The interpreter that trains, such as V(/opt/venv/bin/python). Its own import finds PyTorch, and it proves the
        import that the patch adds. It needs Python 3.7 or newer and nothing else.
      - Default is the interpreter that runs the module.
    type: path
  torch_path:
    description:
      - Folder of the C(torch) package, or the folder that holds it, where it is not the PyTorch that O(python)
        imports, such as one in an unpacked image.
      - O(import_module) is then looked for beside that folder first.
    type: path
  import_module:
    description:
      - The module that C(torch/distributed/run.py) imports before its own imports of PyTorch.
      - MindCluster up to 7.2 has V(mindx_elastic.api). From 7.3.0 on it is V(taskd.python.adaptor.patch), which also
        separates the attempts at run time, so that C(rendezvous.py) stays bare with it.
      - A line with another of the two modules is replaced, so that an environment can move on.
    type: str
    default: mindx_elastic.api
  rendezvous:
    description:
      - With V(auto), C(torch/distributed/rendezvous.py) gets the attempt prefix where this PyTorch has none of its
        own (2.6.0 and newer). What is in the file decides, not its version.
      - With V(never), it is to be without the patch.
    type: str
    choices: [auto, never]
    default: auto
requirements:
  - Python 3.7 or newer on the target
  - PyTorch 1.9.1 or newer on the target
notes:
  - PyTorch is found by asking the interpreter where it would import it from, and is never imported for that.
  - The patches are recognised by the syntax tree, so that text in a docstring is not taken for a patch.
  - Files are replaced in one step and never written in place, so that the hard-linked stores of package managers stay
    as they are.
  - The hashes in the C(RECORD) file of the package no longer match patched files. C(pip check) does not look at them.
  - An upgrade or a forced reinstallation of PyTorch removes the patches. Run the module afterwards.
"""
