# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What may happen to a request on its way: the vocabulary of the fault proxy."""

from __future__ import annotations

import re
import typing as t

Action = t.Literal[
    "answer",  # answer `status` with `headers` and `body`; the server never hears of the request
    "answer_after",  # the server does the work, and the client gets that answer instead of the server's
    "drop",  # close the connection; the server never hears of the request
    "drop_after",  # the server does the work, and the connection closes without an answer
    "drop_request",  # close both connections after `after_bytes` of the request's body
    "drop_body",  # close the connection after `after_bytes` of the answer's body
    "truncate",  # end the answer's body after `after_bytes`, as if that were all of it
    "corrupt",  # flip bits of the answer's body from `after_bytes` on, as many bytes as `body` is long (at least one)
    "corrupt_request",  # the same with the request's body
    "delay",  # wait `delay` seconds, then hand the request on
    "delay_after",  # hand the request on, and the server's answer back `delay` seconds later
    "call",  # only call `before`: what somebody else does just then
]
ACTIONS: tuple[str, ...] = t.get_args(Action)
AFTER_THE_WORK: tuple[Action, ...] = ("answer_after", "drop_after")


class Fault:
    """What happens to the requests that match.

    :param method: the request's method, or C(*).
    :param path: a regular expression that is searched in path and query.
    :param times: how many of the matching requests are hit; 0 for all.
    :param skip: how many matching requests pass before.
    :param delay: seconds to wait before any action; with C(delay_after) after the server's answer.
    :param before: is called before the request is handed on.
    """

    def __init__(
        self,
        method: str,
        path: str,
        action: Action,
        *,
        times: int = 1,
        skip: int = 0,
        status: int = 503,
        headers: t.Mapping[str, str] | None = None,
        body: bytes | str = b"",
        delay: float = 0.0,
        after_bytes: int = 0,
        before: t.Callable[[], object] | None = None,
    ) -> None:
        if action not in ACTIONS:
            raise ValueError(f"no such action: {action}")
        self.action = action
        self.status = status
        self.headers = dict(headers or {})
        self.body = body.encode() if isinstance(body, str) else body
        self.delay = delay
        self.after_bytes = after_bytes
        self.before = before
        self.hits = 0
        self._method = method.upper()
        self._path = re.compile(path)
        self._left = times or -1
        self._skip = skip

    def takes(self, method: str, path: str) -> bool:
        """Whether this request is hit; it counts. The caller holds the proxy's lock."""
        if self._left == 0 or self._method not in ("*", method) or not self._path.search(path):
            return False
        if self._skip:
            self._skip -= 1
            return False
        self._left -= 1 if self._left > 0 else 0
        self.hits += 1
        return True

    def is_(self, *actions: Action) -> bool:
        return self.action in actions


class Seen(t.NamedTuple):
    """One request.

    :ivar path: with the query.
    :ivar status: what the client was told; 0 where it was told nothing.
    :ivar upstream: what the server answered; 0 where it was not asked, or did not answer.
    """

    method: str
    path: str
    status: int
    upstream: int


def first(pieces: t.Iterable[bytes], size: int) -> t.Iterator[bytes]:
    """The first bytes of a body."""
    if size <= 0:
        return
    for piece in pieces:
        yield piece[:size]
        size -= len(piece)
        if size <= 0:
            return


def corrupted(pieces: t.Iterable[bytes], fault: Fault) -> t.Iterator[bytes]:
    """A body of the same length with some bytes flipped."""
    start, end, place = fault.after_bytes, fault.after_bytes + max(1, len(fault.body)), 0
    for piece in pieces:
        changed = bytearray(piece)
        for index in range(max(start - place, 0), min(end - place, len(piece))):
            changed[index] ^= 0xFF
        place += len(piece)
        yield bytes(changed)
