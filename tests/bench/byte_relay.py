# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Counts the bytes between clients and a server, without looking at them or copying them."""

from __future__ import annotations

import contextlib
import os
import socket
import threading

PIPE = 1 << 20


class ByteRelay:
    """Listens on loopback and hands connections on, as a context manager.

    :param host: of the server, with its port.
    :ivar down: bytes from the server.
    :ivar up: bytes to it.
    """

    def __init__(self, host: str) -> None:
        name, _colon, port = host.rpartition(":")
        self._server = (name, int(port))
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.down = self.up = 0

    def __enter__(self) -> ByteRelay:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_exc: object) -> None:
        self._listener.close()

    @property
    def host(self) -> str:
        return "127.0.0.1:%d" % self._listener.getsockname()[1]

    def reset(self) -> None:
        self.down = self.up = 0

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _address = self._listener.accept()
                server = socket.create_connection(self._server)
                threading.Thread(target=self._pump, args=(client, server, "up"), daemon=True).start()
                threading.Thread(target=self._pump, args=(server, client, "down"), daemon=True).start()

    def _pump(self, source: socket.socket, target: socket.socket, way: str) -> None:
        """One direction; the kernel moves the bytes."""
        reading, writing = os.pipe()
        with contextlib.suppress(OSError):
            while moved := os.splice(source.fileno(), writing, PIPE):
                setattr(self, way, getattr(self, way) + moved)
                while moved:
                    moved -= os.splice(reading, target.fileno(), moved)
            target.shutdown(socket.SHUT_WR)
        for end in (reading, writing):
            os.close(end)
