# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The folder that a set of services lives in: a throw-away one for one command, or a state folder that stays."""

from __future__ import annotations

import json
import os
import socket
import tempfile
import time
import typing as t
from pathlib import Path

from . import paths

LOG_DAYS = 2


class Home:
    """Data, ports and process records of one set of services.

    :param folder: where everything lies; private to the user, since it holds tokens and passwords.
    :ivar lasting: whether services outlive the command that starts them.
    """

    def __init__(self, folder: Path, lasting: bool) -> None:
        self.folder = folder
        self.lasting = lasting
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o700)

    @classmethod
    def temporary(cls) -> Home:
        """A fresh folder for one command."""
        return cls(Path(tempfile.mkdtemp(prefix="mindcluster-sandbox.")), lasting=False)

    @classmethod
    def at(cls, folder: Path) -> Home:
        """The state folder of services that stay."""
        return cls(folder.absolute(), lasting=True)

    def part(self, name: str) -> Path:
        """The folder of one service."""
        return paths.made(self.folder / name)

    def log(self, name: str) -> Path:
        """The log of a service; that of a throw-away home outlives it for some days, for reading after a failure."""
        if self.lasting:
            return self.folder / f"{name}.log"
        folder = paths.made(paths.logs() / "services")
        for old in folder.iterdir():
            if old.stat().st_mtime < time.time() - LOG_DAYS * 86400:
                old.unlink(missing_ok=True)
        return folder / f"{name}.{self.folder.name.rpartition('.')[2]}.log"

    def port(self, name: str) -> int:
        """The loopback port of a service: the same one whenever it is asked for, a free one at first."""
        ports = self.read("ports.json")
        if name not in ports:
            ports[name] = free_port(taken=ports.values())
            self.write("ports.json", ports)
        return int(ports[name])

    def read(self, name: str) -> dict[str, t.Any]:
        """A record of this folder; empty where there is none."""
        try:
            record: dict[str, t.Any] = json.loads((self.folder / name).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        return record

    def write(self, name: str, record: t.Mapping[str, t.Any]) -> None:
        """Write a record whole or not at all."""
        write_private(self.folder / name, json.dumps(record, indent=1, sort_keys=True) + "\n")


def free_port(taken: t.Iterable[int] = ()) -> int:
    """A loopback port that nobody listens on now."""
    avoid = set(taken)
    while True:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port: int = probe.getsockname()[1]
        if port not in avoid:
            return port


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner may read, whole or not at all."""
    draft = path.with_name(path.name + ".new")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as output:
        output.write(text)
    os.replace(draft, path)
