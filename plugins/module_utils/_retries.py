# Copyright (c) 2026, mindcluster.recovery contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: may change at any time.

"""How often a request is sent again, and how long is waited before: for the Kubernetes API and for registries."""

from __future__ import annotations

import email.utils
import math
import random
import time
import typing as t

#: What passes: too many requests, and a server that is overloaded, starting or behind a proxy that lost it.
RETRIED_STATUSES = frozenset((429, 500, 502, 503, 504))


class RetryPolicy:
    """How often and how long to wait.

    :param attempts: how many times a request is sent at most.
    :param first: seconds before the second attempt; doubled each time, with a random part so that many clients
        do not come back at once.
    :param longest: no pause is longer, whatever the server asks for.
    :param sleep: replaced by tests.
    """

    def __init__(
        self,
        attempts: int = 6,
        first: float = 0.2,
        longest: float = 20.0,
        sleep: t.Callable[[float], None] = time.sleep,
    ) -> None:
        self.attempts = attempts
        self.first = first
        self.longest = longest
        self.sleep = sleep

    def pause(self, attempt: int, retry_after: str | None) -> None:
        """Wait after the attempt of that number (from 1 on)."""
        backoff = self.first * 2 ** (attempt - 1) * random.uniform(0.75, 1.25)
        asked = seconds_of(retry_after)
        self.sleep(min(self.longest, backoff if asked is None else max(asked, backoff)))


def seconds_of(retry_after: str | None) -> float | None:
    """The header Retry-After in seconds (a number or a date); None where it is absent or not legal."""
    if not retry_after:
        return None
    try:
        seconds = float(retry_after)
        return max(0.0, seconds) if math.isfinite(seconds) else None
    except ValueError:
        pass
    try:
        return max(0.0, email.utils.parsedate_to_datetime(retry_after).timestamp() - time.time())
    except (TypeError, ValueError, OverflowError):
        return None
