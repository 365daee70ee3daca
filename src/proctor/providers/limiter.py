"""How many requests may be under way at one model: grows while the server keeps up, shrinks when it refuses.

It doubles until throughput stops growing or the first 429, then grows by 5 % a clean round; x0.8 on a
429, with 15 s between cuts; a server error stops growth for its round but cuts nothing; a server's delay
holds back the refused call, not the limiter.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from proctor.providers.contract import Pacing

LOG = logging.getLogger(__name__)
ROUND_MINIMUM = 4  # completions; fewer tell nothing about throughput, more make a slow server's start slow
SATURATED = 0.8  # share of the limit that must be in use before growth means anything
CUT = 0.8
COOLDOWN_S = 15.0
GROWTH = 1.05
GAIN = 0.97  # a concurrency within 3 % of the best throughput is as good as the best
OVERSHOOT = 1.25  # how far growth may go beyond that concurrency before it goes back to it
HOLD_ROUNDS = 20
REFUSED_IN_A_ROW = 3  # then new calls wait too: everything is being refused


@dataclass(slots=True)
class _Round:
    """What happened since the limit was last looked at."""

    began: float
    completed: int = 0
    saturated: int = 0
    clean: bool = True


@dataclass(frozen=True, slots=True)
class Change:
    """One change of the limit, for the run's log."""

    at: float
    limit: int
    why: str


@dataclass(slots=True)
class Limiter:
    """One per (provider, endpoint, key, model), shared by all runs in the process. Not for threads.

    `acquire` before a request; `release` after it, then `completed`, `refused` or `failed` to say how
    it went.
    """

    pacing: Pacing
    clock: Callable[[], float] = time.monotonic
    in_flight: int = 0
    changes: list[Change] = field(default_factory=list)
    _limit: float = 0.0
    _doubling: bool = True
    _hold: int = 0
    _cut_at: float = float("-inf")
    _refused: int = 0
    _gate: float = 0.0
    _rates: dict[int, float] = field(default_factory=dict)
    _again: deque[asyncio.Future[None]] = field(default_factory=deque)
    _waiting: deque[asyncio.Future[None]] = field(default_factory=deque)
    _round: _Round = field(default_factory=lambda: _Round(0.0))

    def __post_init__(self) -> None:
        self._limit = float(min(self.pacing.start, self.pacing.most))
        self._doubling = not self.pacing.fixed
        self._round = _Round(self.clock())

    @property
    def limit(self) -> int:
        return int(self._limit)

    async def acquire(self, *, again: bool = False) -> None:
        """Wait for a place. First come, first served; those who send a request again before all others.

        Otherwise an item whose request failed would wait behind everybody in line, and leave a gap
        in what is settled beyond which a run that stops early scores nothing.
        """
        if self._gate and (wait_s := self._gate - self.clock()) > 0:
            await asyncio.sleep(wait_s)
        if self.in_flight < self.limit and not self._again and (again or not self._waiting):
            self.in_flight += 1
            return
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        (self._again if again else self._waiting).append(place)
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():
                self.release()  # the place was given at the very moment of the cancellation
            raise

    def release(self) -> None:
        self.in_flight -= 1
        self._admit()

    def _admit(self) -> None:
        while (line := self._again or self._waiting) and self.in_flight < self.limit:
            place = line.popleft()
            if not place.done():
                self.in_flight += 1
                place.set_result(None)

    def completed(self) -> None:
        """A reply came (call before `release`)."""
        self._refused = 0
        current = self._round
        current.completed += 1
        current.saturated += self.in_flight >= SATURATED * self.limit
        if current.completed >= max(self.limit, ROUND_MINIMUM):
            self._end_round()

    def refused(self, retry_after_s: float | None) -> None:
        """A 429, or a server that is full."""
        now = self.clock()
        self._refused += 1
        self._round.clean = False
        self._doubling = False
        if self._refused >= REFUSED_IN_A_ROW and retry_after_s:
            self._gate = max(self._gate, now + retry_after_s)
        if now - self._cut_at >= COOLDOWN_S:
            self._cut_at = now
            self._set(max(1.0, self._limit * CUT), "the server refused a request")
            # Both are of the knee that was found before: to hold there would leave it where the cuts lead.
            self._rates.clear()
            self._hold = 0

    def failed(self) -> None:
        """A server error, a broken connection or a timeout: no growth in this round."""
        self._round.clean = False

    def _end_round(self) -> None:
        now = self.clock()
        ended, self._round = self._round, _Round(now)
        busy = ended.saturated >= SATURATED * ended.completed
        if not ended.clean or not busy or now <= ended.began:
            return
        if self.pacing.fixed:
            self._grow(GROWTH, "a clean round")
            return
        self._rates[self.limit] = ended.completed / (now - ended.began)
        best = max(self._rates.values())
        knee = min(limit for limit, rate in self._rates.items() if rate >= GAIN * best)
        if self.limit > OVERSHOOT * knee:
            self._doubling = False
            self._hold = HOLD_ROUNDS
            self._rates = {knee: self._rates[knee]}
            self._set(float(knee), "throughput stopped growing")
        elif self._hold:
            self._hold -= 1
        elif self._doubling:
            self._grow(2.0, "throughput grows")
        else:
            self._grow(GROWTH, "a clean round")

    def _grow(self, factor: float, why: str) -> None:
        grown = min(float(self.pacing.most), max(self._limit * factor, self._limit + 1))
        if grown > self._limit:
            self._set(grown, why)

    def _set(self, limit: float, why: str) -> None:
        before = self.limit
        self._limit = limit
        if self.limit != before:
            self.changes.append(Change(self.clock(), self.limit, why))
            LOG.info("%d requests at once, %d before: %s", self.limit, before, why)
        self._admit()
