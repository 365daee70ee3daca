"""When a failed request is worth sending again, and after how long."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from proctor.errors import AttemptError, Overloaded, RateLimited

SHORTEST_S = 0.05  # what a named delay is taken to be at the least, where it is doubled


@dataclass(frozen=True, slots=True)
class Retry:
    """Retries inside one attempt.

    A refusal (429, 503) says nothing about the item, so it may be repeated more often than a broken
    connection or a server error.
    """

    most: int = 5
    most_refusals: int = 20
    believed: int = 3  # retries for which a delay that the server names is enough
    first_s: float = 1.0
    cap_s: float = 30.0
    draw: Callable[[], float] = random.random

    def wait_s(self, retry: int, error: AttemptError) -> float | None:
        """Seconds before retry number `retry`, which counts from 1; None to give up.

        A delay that the server names is waited for in full, and after a few times one that doubles from it.

        >>> Retry(draw=lambda: 0.5).wait_s(3, RateLimited("slow down"))
        2.0
        >>> round(Retry(draw=lambda: 1.0).wait_s(7, RateLimited("slow down", retry_after_s=0.05)), 3)
        1.6
        >>> Retry().wait_s(1, AttemptError("no")) is None
        True
        """
        refusal = isinstance(error, RateLimited | Overloaded)
        if not error.retryable or retry > (self.most_refusals if refusal else self.most):
            return None
        # Full jitter: requests that failed together must not come back together.
        jitter_s = self.draw() * min(self.first_s * 2.0 ** (retry - 1), self.cap_s)
        if error.retry_after_s is None:
            return jitter_s
        named_s = error.retry_after_s + min(jitter_s, 0.1 * error.retry_after_s)
        if retry <= self.believed:
            return named_s
        # A server that names a short delay again and again does not know itself when there will be room. It is
        # doubled, from what the server named: where refusals are chance, seconds would be waited for nothing.
        grown_s = max(error.retry_after_s, SHORTEST_S) * 2.0 ** (retry - self.believed + 1)
        return max(named_s, self.draw() * min(grown_s, self.cap_s))
