# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""A vendor's C(sed) on torch inside a start script.

MindCluster's guides put the line that patches C(torch/distributed/run.py) into the image as well as into
C(train_start.sh). In the script it patches torch once more at each start, so that the import stands there twice,
three times and so on; and it does so past any proof of the image.
"""

from __future__ import annotations

import dataclasses
import re
import typing as t

from ansible_collections.mindcluster.recovery.plugins.plugin_utils._shell import Source, is_step

if t.TYPE_CHECKING:
    from tree_sitter import Node

_TORCH_TEXT = re.compile(
    rb"torch/distributed/(run|rendezvous)\.py|import mindx_elastic|import taskd\.|_torchelastic_use_agent_store"
)


@dataclasses.dataclass(frozen=True)
class TorchSed:
    """One C(sed -i) on torch.

    :ivar removable: whether it has lines of its own, so that it can be taken out without touching anything else.
    """

    node: Node
    line: int
    shown: str
    removable: bool


def find_torch_seds(source: Source) -> list[TorchSed]:
    found = []
    for command in source.nodes("command"):
        words = [word.text for word in source.words(command)]
        if not words or words[0].rpartition("/")[2] != "sed" or not any(_in_place(word) for word in words[1:]):
            continue
        if not _TORCH_TEXT.search(source.slice(command)):
            continue
        shown = source.slice(command).decode("utf-8", "surrogateescape").splitlines()[0]
        found.append(TorchSed(command, source.line(command.start_byte), shown[:80], _alone(source, command)))
    return found


def _in_place(word: str) -> bool:
    return re.match(r"-[a-zA-Z]*i|--in-place", word) is not None


def _alone(source: Source, command: Node) -> bool:
    end = source.raw.find(b"\n", command.end_byte)
    rest = source.raw[command.end_byte : end if end != -1 else len(source.raw)].strip()
    return is_step(command) and source.first_on_line(command.start_byte) and (not rest or rest.startswith(b"#"))
