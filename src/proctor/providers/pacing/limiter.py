"""How many requests may be under way at one model: grows while the server keeps up, shrinks when it refuses.

It goes where throughput stops growing (`knee.py`); after refusals it grows by 5 % a clean round. What refusals mean
is measured, not assumed. The number of requests that the server did serve at once (Little's law: their time over the
round's) is what it has room for, so the limit goes there, and throughput loses nothing by it (as BBR's model of a path
does: Cardwell et al. 2016, ACM Queue 14(5)). If refusals then do not become fewer, they are not of our making: a server
that turns away 30 % by chance does so at any pace. Their share is taken as given, and the limit goes back up.
A limit below one is a request now and then. A server error stops growth for its round but cuts nothing; a
server's delay holds back the refused call, and all calls only where everything is being refused.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from proctor.providers.contract import Pacing
from proctor.providers.pacing.knee import Knee
from proctor.providers.pacing.share import Share

LOG = logging.getLogger(__name__)
ROUND_MINIMUM = 2  # completions; more make a slow server's start slow
COMPANY = (
    0.7  # of the limit must be under way when a request begins that tells of it; so many tell in a round
)
FEW_AT_ONCE = 4  # a limit of which no more than half is cut at a time
ROUND_MOST = 3  # refusals for each completion that ends a round, after which it ends without them
ENOUGH = 16  # requests of a round in which some are refused
SATURATED = 0.8  # share of the limit that must be in use before growth means anything
GROWTH = 1.05
SLOW_GROWTH = 1.25  # below one, where a round takes long
HOLD_ROUNDS = 20
REFUSED_IN_A_ROW = 3  # at the least; then new calls wait too: everything is being refused
FEW = 0.05  # share of refusals that any server may have
CHANCE_MOST = 0.6  # nobody refuses more than this whatever the load
LONG_DELAY_S = 5.0  # a server that names more has counted out a quota, which says nothing of its pace
HEADROOM = 1.2  # over what was served, which is less than could have been
SPACING = 0.5  # of the mean time between two requests: a server that counts in tenths sees no bursts
LEAST = 0.001  # of the limit
FIRST_LATENCY_S = 0.1  # until one is known


@dataclass(slots=True)
class _Round:
    """What happened since the limit was last looked at."""

    began: float
    completed: int = 0
    telling: int = 0  # of the completed, those that tell of the present limit
    refused: int = 0
    saturated: int = 0
    served_s: float = 0.0  # time that the completed took, added up
    failed: bool = False

    @property
    def tells(self) -> bool:
        """Whether there are requests enough to tell how many are refused."""
        return not self.refused or self.completed + self.refused >= ENOUGH

    @property
    def share(self) -> float:
        """Of the requests, those that were refused."""
        asked = self.completed + self.refused
        return self.refused / asked if asked else 0.0


@dataclass(frozen=True, slots=True)
class Change:
    """One change of the limit, for the run's log."""

    at: float
    limit: int
    why: str


@dataclass(frozen=True, slots=True)
class _Trial:
    """The limit was lowered to see whether that makes refusals fewer."""

    share: float
    limit: float


@dataclass(slots=True)
class Limiter:
    """One per (provider, endpoint, key, model), shared by all runs in the process. Not for threads.

    `acquire` before a request gives how many are under way with it; `release` after it, then `completed`,
    `refused` or `failed` to say how it went.
    """

    pacing: Pacing
    clock: Callable[[], float] = time.monotonic
    in_flight: int = 0
    changes: list[Change] = field(default_factory=list)
    chance: float = 0.0  # share of refusals that does not depend on us
    share: Share | None = None  # of a fleet's quota, while a run is asked that shares one
    _limit: float = 0.0
    _doubling: bool = True
    _hold: int = 0
    _refused: int = 0  # in a row
    _gate: float = 0.0
    _served_at: float = float("-inf")
    _latency_s: float = FIRST_LATENCY_S
    _next: float = 0.0  # when the next request may begin, while they are spaced
    _spaced: bool = False
    _trial: _Trial | None = None
    _settling: bool = False
    _held: deque[float] = field(default_factory=deque)  # until when refused requests keep their places
    _again: deque[asyncio.Future[int]] = field(default_factory=deque)
    _waiting: deque[asyncio.Future[int]] = field(default_factory=deque)
    _timer: asyncio.TimerHandle | None = None
    _knee: Knee = field(init=False)
    _round: _Round = field(default_factory=lambda: _Round(0.0))

    def __post_init__(self) -> None:
        self._limit = float(min(self.pacing.start, self.pacing.most))
        self._doubling = not self.pacing.fixed
        self._knee = Knee(self.pacing.most)
        self._round = _Round(self.clock())

    @property
    def limit(self) -> int:
        """How many may be under way at the server; below one they are spaced."""
        return max(1, int(self._limit))

    @property
    def wanted(self) -> int:
        """How many requests wait for a place."""
        return len(self._again) + len(self._waiting)

    @property
    def latency_s(self) -> float:
        """Of a reply, lately on average."""
        return self._latency_s

    async def acquire(self, *, again: bool = False) -> int:
        """Wait for a place. First come, first served; those who send a request again before all others.

        Otherwise an item whose request failed would wait behind everybody in line, and leave a gap
        in what is settled beyond which a run that stops early scores nothing.
        """
        if not self._again and (again or not self._waiting) and self._wait_s() == 0.0:
            return self._take()
        place: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        (self._again if again else self._waiting).append(place)
        self._admit()
        try:
            return await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():
                self.release()  # the place was given at the very moment of the cancellation
            raise

    def release(self) -> None:
        self.in_flight -= 1
        self._admit()

    def _take(self) -> int:
        self.in_flight += 1
        if self.share is not None:
            self.share.took()
        if self._spaced:
            share = SPACING if self._limit >= 1.0 else 1.0
            self._next = self.clock() + share * self._latency_s * (1.0 - self.chance) / self._limit
        return self.in_flight

    def _wait_s(self) -> float:
        """Seconds until another request may begin; inf while that takes a place that comes free."""
        if self.in_flight >= self.limit:
            return math.inf
        if self.share is not None and (shared_s := self.share.wait_s(self.in_flight)) > 0.0:
            return shared_s
        if not (self._held or self._gate or self._spaced):
            return 0.0  # as nearly always
        now = self.clock()
        while self._held and self._held[0] <= now:
            self._held.popleft()
        wait_s = max(self._gate - now, self._next - now if self._spaced else 0.0, 0.0)
        # Twice as many as chance refuses on average, for it does not refuse evenly.
        places = self.limit * (1.0 + 2.0 * self.chance / (1.0 - self.chance))
        if self._held and self.in_flight + len(self._held) >= places:
            wait_s = max(wait_s, self._held[0] - now)
        if wait_s == 0.0:
            self._gate = 0.0
        return wait_s

    def look(self) -> None:
        """The share of a fleet's quota has changed."""
        self._admit()

    def _admit(self) -> None:
        while line := self._again or self._waiting:
            if (wait_s := self._wait_s()) > 0.0:
                self._look_again(wait_s)
                return
            place = line.popleft()
            if not place.done():
                place.set_result(self._take())

    def _look_again(self, wait_s: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self.share is not None and wait_s == math.inf:
            self.share.wake()
        if wait_s < math.inf:
            self._timer = asyncio.get_running_loop().call_later(wait_s, self._admit)

    def completed(self, latency_s: float, company: int, tokens: int = 0) -> None:
        """A reply of so many tokens came after so long to a request whose `acquire` gave `company`.

        Call it before `release`.
        """
        self._refused = 0
        self._served_at = self.clock()
        if self.share is not None:
            self.share.told.completed += 1
            self.share.told.tokens += tokens
        self._latency_s += 0.1 * (latency_s - self._latency_s)
        current = self._round
        current.completed += 1
        current.served_s += latency_s
        current.saturated += self.in_flight >= SATURATED * self.limit
        if COMPANY * self.limit <= company <= self.limit:
            current.telling += 1
            self._knee.took(self.limit, latency_s)
        if current.completed >= max(self.limit, ROUND_MINIMUM) and current.tells and self._told(current):
            self._end_round()

    def _told(self, current: _Round) -> bool:
        """Whether enough is known of the limit itself: what began under another one tells nothing about it."""
        sought = self._knee.best and not (self.pacing.fixed or current.refused)
        return not sought or current.telling >= COMPANY * self.limit

    def refused(self, retry_after_s: float | None, *, full: bool = False) -> None:
        """A 429, or (`full`) a server that is. Its place stays taken for as long as a reply would have taken it."""
        if self.share is not None:
            self.share.refused(retry_after_s, full=full)
            if not self.share.alone:
                return  # what refusals mean is judged for the whole fleet
        now = self.clock()
        self._refused += 1
        self._round.refused += 1
        self._held.append(now + self._latency_s)
        silent = now - self._served_at > self._latency_s
        if retry_after_s and silent and self._refused >= self._all_refused():
            self._gate = max(self._gate, now + retry_after_s)
            self._refused = 0
            if retry_after_s > LONG_DELAY_S:
                self._round = _Round(self._gate)
        elif self._round.refused >= ROUND_MOST * self.limit and self._round.tells:
            self._end_round()

    def _all_refused(self) -> float:
        """So many refusals in a row are no chance: once in a thousand."""
        by_chance = math.log(0.001) / math.log(self.chance) if self.chance else 0.0
        return max(REFUSED_IN_A_ROW, self.limit, by_chance)

    def failed(self) -> None:
        """A server error, a broken connection or a timeout: no growth in this round."""
        self._round.failed = True

    def _end_round(self) -> None:
        now = self.clock()
        ended, self._round = self._round, _Round(now)
        if now <= ended.began:
            return
        if self._settling:  # what was under way before the limit was lowered has had its time
            self._settling = False
            return
        if self._refusals_lead(ended, now):
            return
        if ended.failed or ended.saturated < SATURATED * ended.completed:
            return
        if self.pacing.fixed:
            self._grow_slowly()
            return
        self._find_knee()

    def _refusals_lead(self, ended: _Round, now: float) -> bool:
        """Judge the refusals of a round; True if they changed the limit."""
        trial, self._trial = self._trial, None
        share = ended.share
        if trial is not None and share - self.chance > (trial.share - self.chance) / 2:
            self.chance = min(share, trial.share)
            self._spaced = False
            self._restart(max(trial.limit, self._limit), "refusals do not depend on the limit")
            return True
        usual = max(self.chance, FEW)
        asked = ended.completed + ended.refused
        if share <= usual + 2.0 * math.sqrt(usual * (1.0 - usual) / asked):
            if self.chance:
                self.chance += (share - self.chance) / 8
            return False
        room = HEADROOM if self._limit >= 1.0 else 1.0
        # Small numbers of requests mislead: no more than half of the limit goes at once where few are served.
        least = self._limit / 2.0 if self._limit <= FEW_AT_ONCE else LEAST
        served = max(LEAST, least, room * ended.served_s / (now - ended.began))
        served = float(math.ceil(served - 0.25)) if served >= 1.0 else served
        if served < self._limit:
            if share <= CHANCE_MOST:
                self._trial = _Trial(share, self._limit)
            self._spaced = True
            self._restart(served, "the server refused the rest")
            self._settling = True
            self._doubling = False
            self._hold = int(HOLD_ROUNDS / max(1.0, self._limit))
        return True

    def _restart(self, limit: float, why: str) -> None:
        """What was found about throughput before is of other circumstances."""
        self._knee = Knee(self.pacing.most)
        self._hold = 0
        self._doubling = not self.pacing.fixed
        self._set(limit, why)

    def _find_knee(self) -> None:
        goal = self._knee.after_round(self.limit) if self._limit >= 1.0 else self.limit
        if goal < self.limit:
            self._set(float(goal), "throughput is no lower")
        elif not self._doubling:
            self._grow_slowly()
        elif goal > self.limit:
            self._set(float(goal), "to see whether throughput grows")

    def _grow_slowly(self) -> None:
        if self._hold:
            self._hold -= 1
        else:
            self._grow(GROWTH, "a clean round")

    def _grow(self, factor: float, why: str) -> None:
        step = self._limit + 1.0 if self._limit >= 1.0 else min(1.0, self._limit * SLOW_GROWTH)
        grown = min(float(self.pacing.most), max(self._limit * factor, step))
        if grown > self._limit:
            self._set(grown, why)

    def _set(self, limit: float, why: str) -> None:
        before = self.limit
        self._limit = limit
        if self.limit != before:
            self.changes.append(Change(self.clock(), self.limit, why))
            LOG.info("%d requests at once, %d before: %s", self.limit, before, why)
        self._admit()
