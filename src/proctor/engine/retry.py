"""When a failed request is worth sending again, and after how long."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from proctor.errors import Overloaded, ProviderError, RateLimited


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

    def wait_s(self, retry: int, error: ProviderError) -> float | None:
        """Seconds before retry number `retry`, which counts from 1; None to give up.

        A delay that the server names is waited for in full, and after a few times our own if it is longer.

        >>> Retry(draw=lambda: 0.5).wait_s(3, RateLimited("slow down"))
        2.0
        >>> Retry().wait_s(1, ProviderError("no")) is None
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
        # A server that names a short delay again and again does not know itself when there will be room.
        return named_s if retry <= self.believed else max(named_s, jitter_s)
