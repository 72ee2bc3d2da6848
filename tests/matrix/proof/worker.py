# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One training process of the proof: joins the group, adds numbers; rank 1 dies in its first attempt."""

from __future__ import annotations

import datetime
import json
import os
import sys

import torch
import torch.distributed as dist

MARKER = "proof/marker"


def note(**facts: object) -> None:
    """One line into the record; short enough to be written in one piece."""
    with open(os.environ["PROOF_RECORD"], "a") as stream:
        stream.write(json.dumps({"who": "worker", **facts}) + "\n")


def main() -> None:
    attempt = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
    dies = "--die" in sys.argv
    timeout = datetime.timedelta(seconds=float(os.environ["PROOF_TIMEOUT"]))
    store, rank, world = next(dist.rendezvous("env://", timeout=timeout))
    if attempt == 0:
        store.set(MARKER, "of attempt 0")
    note(event="joined", attempt=attempt, rank=rank, old_key_visible=attempt > 0 and store.check([MARKER]))
    # What init_process_group does by itself without a store, with the store in our hands.
    dist.init_process_group("gloo", store=store, rank=rank, world_size=world, timeout=timeout)
    total = torch.tensor([1.0])
    dist.all_reduce(total)
    note(event="group works", attempt=attempt, rank=rank, total=total.item())
    if dies and attempt == 0:
        if rank == 1:
            os._exit(13)
        while True:
            dist.all_reduce(total)
    dist.barrier()


if __name__ == "__main__":
    main()
