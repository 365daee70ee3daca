"""What a fleet lets one process do now: moments at which requests may begin, places, and a gate that all wait before.

The limiter asks it before each request and tells it how each one went. Who fills it (`fleet.py`) takes moments from the
fleet a little ahead, so that no request waits for a message of its own.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from proctor.providers.wire.rates import ToldRate, Unit

LATE_S = 1.0  # a moment that nobody used for so long is lost


def _nobody() -> None:
    """Nobody has to be woken."""


@dataclass(slots=True)
class Untold:
    """What happened since the fleet was last told."""

    started: int = 0
    completed: int = 0
    tokens: int = 0  # of the completed, in and out
    refused: int = 0
    full: int = 0  # of the refused, those of a server that said it is overloaded
    retry_after_s: float = 0.0
    rates: dict[Unit, tuple[float, ToldRate]] = field(default_factory=dict)  # and when the request began


@dataclass(slots=True)
class Share:
    """One limiter's part of its fleet's quota. Times are of the limiter's clock."""

    clock: Callable[[], float]
    ready: bool = False  # False until the fleet has said anything
    paced: bool = False  # requests begin at `moments` only
    moments: deque[float] = field(default_factory=deque)
    places: int | None = None  # of the fleet's; None: as many as the limiter finds
    gate: float = 0.0
    alone: bool = False  # the fleet cannot be asked, so refusals are this process's own business
    wake: Callable[[], None] = _nobody
    told: Untold = field(default_factory=Untold)

    def wait_s(self, in_flight: int) -> float:
        """Seconds until another request may begin; inf until the fleet says more, or a place comes free."""
        if not self.ready or (self.places is not None and in_flight >= self.places):
            return math.inf
        now = self.clock()
        wait_s = max(0.0, self.gate - now)
        if not self.paced:
            return wait_s
        while self.moments and self.moments[0] < now - LATE_S:
            self.moments.popleft()
        return max(wait_s, self.moments[0] - now) if self.moments else math.inf

    def took(self) -> None:
        """A request begins."""
        self.told.started += 1
        if self.paced and self.moments:
            self.moments.popleft()

    def refused(self, retry_after_s: float | None, *, full: bool = False) -> None:
        self.told.refused += 1
        self.told.full += full
        self.told.retry_after_s = max(self.told.retry_after_s, retry_after_s or 0.0)

    def heard(self, rates: dict[Unit, ToldRate], began: float) -> None:
        """An answer's headers told of quotas, to a request that began then."""
        for unit, rate in rates.items():
            if unit not in self.told.rates or self.told.rates[unit][0] <= began:
                self.told.rates[unit] = (began, rate)

    def tell(self) -> Untold:
        """What has happened, and begin anew."""
        told, self.told = self.told, Untold()
        return told
