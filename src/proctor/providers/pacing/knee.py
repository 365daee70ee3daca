"""Where more requests at once gain nothing more: the knee of throughput, found by how long requests take.

By Little's law (1961, Operations Research 9(3)) throughput is the requests under way over the time of one. So nothing
but that time has to be measured at each number of requests: where twice as many take twice as long, nothing was gained.
The gain from one number to a higher is the slope of log throughput over log requests: 1 where each request takes as
long as before, 0 where they only queue. A higher number is better where the gain is at least `WORTH`, which is to look
for the greatest power, throughput^r / time with r = 3 (Kleinrock 1979, ICC): servers that batch slow each request down
and serve more all the same, so time alone would stop too early. A request never takes less time because there are more
of them, so the times are fitted by isotonic regression (Ayer et al. 1955, Annals of Mathematical Statistics 26(4)).

The search doubles until that gains nothing, then tries numbers beside the best one, more and more seldom. A trial lasts
until the gain is known well enough; what was learned is kept, and corrects what too few requests had said.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple

WORTH = 0.25  # doubling must add 19 % of throughput
STEEP = 0.4  # a gain above which the search doubles again
FULL = 0.6  # a gain that one round shows, and that is tried again while it cannot be ruled out
DOUBTED = 0.5  # of the standard error, before a higher number is given up; a whole one before it is taken
NEAR = 1.5  # numbers closer than this differ by little, so a trial needs requests enough
STEP = 1.25
PATIENCE = 4  # rounds at the best number before another is tried; doubles after each trial
PATIENT_REQUESTS = 24  # at the least; a short run ends before a second trial
ENOUGH = 96  # requests after which a trial ends by what is likeliest
MEMORY = 192.0  # requests of a number that count; older ones fade
CHANGED = math.log(1.5)  # in the time of a request, beyond chance
SPREAD, SPREAD_WEIGHT = 0.5, 4.0  # of times, as a share of their mean, before so many requests have shown it
LEAST_S = 1e-6


class _Gain(NamedTuple):
    """Slope of log throughput over log requests between two numbers, and its standard error."""

    slope: float
    error: float


@dataclass(slots=True)
class _Seen:
    """Times of the requests at one number, in seconds."""

    count: float = 0.0
    total: float = 0.0
    squares: float = 0.0

    def add(self, seconds: float) -> None:
        if self.count >= MEMORY:
            self.fade()
        self.count += 1.0
        self.total += seconds
        self.squares += seconds * seconds

    def fade(self) -> None:
        self.count, self.total, self.squares = self.count / 2, self.total / 2, self.squares / 2

    @property
    def mean(self) -> float:
        return self.total / self.count

    @property
    def spread(self) -> float:
        """The squared coefficient of variation."""
        return max(0.0, self.squares / self.count / self.mean**2 - 1.0)


@dataclass(slots=True)
class Knee:
    """The search for one server's knee: `took` for each request, `after_round` for where to go next."""

    most: int
    best: int = 0  # 0: nothing is known
    _seen: dict[int, _Seen] = field(default_factory=dict)
    _climbing: bool = True
    _patience: int = PATIENCE
    _held: int = 0  # rounds
    _upwards: bool = False  # the direction of the last trial
    _had: float = 0.0  # requests known of a number before its trial
    _round: _Seen = field(default_factory=_Seen)

    def took(self, at: int, seconds: float) -> None:
        """A request that had the company of `at`, itself counted, took so long."""
        self._seen.setdefault(at, _Seen()).add(max(seconds, LEAST_S))
        self._round.add(max(seconds, LEAST_S))

    def after_round(self, at: int) -> int:
        """How many requests to have under way next; `at` itself to stay."""
        if at not in self._seen:
            return at
        self.best = self.best or at
        if at == self.best:
            self._notice_change()
        goal = self._from_best() if at == self.best else self._after_trial(at)
        self._round = _Seen()
        if goal != at:
            if goal in self._seen and goal != self.best:
                self._seen[goal].fade()  # it may have changed since
            self._had = self._count(goal)
        return goal

    def _notice_change(self) -> None:
        """A server that has become slower or faster is another one: what was seen of it before is forgotten."""
        now, before = self._round, self._seen[self.best]
        if not now.count:  # every request of the round was refused
            return
        doubt = 4.0 * math.sqrt(max(before.spread, now.spread) / now.count)
        if abs(math.log(now.mean / before.mean)) > max(CHANGED, doubt):
            self._seen = {self.best: now}
            self._held, self._patience, self._climbing = 0, PATIENCE, False

    def _after_trial(self, at: int) -> int:
        better = self._better(at)
        if better is None:
            return at
        if not better:
            if at > self.best:
                self._climbing = False
            lower, _ = self._neighbours()
            return self.best if lower else max(1, self.best // 2)
        if at > self.best:
            gain = self._gain(self.best, at)
            self._climbing = self._climbing or gain.slope - gain.error > STEEP
        self.best, self._patience, self._held, self._upwards = at, PATIENCE, 0, False
        return self._from_best()

    def _better(self, at: int) -> bool | None:
        """Whether it is better there than at the best number so far; None: not known yet."""
        low, high = sorted((at, self.best))
        count = self._count(at)
        near = high < NEAR * low and not self._climbing
        if near and count - self._had < 2 * at + 8:
            return None
        slope, error = self._gain(low, high)
        if count >= min(ENOUGH, max(16.0, 3.0 * self._count(self.best))):
            error = 0.0
        # The requests that fill up a higher limit may find the server emptier than they count.
        plain = slope > FULL or count >= 2 * at or near
        if slope - error > WORTH and plain:
            return at == high
        if slope + DOUBTED * error < WORTH or not error:
            return at == low
        return None

    def _from_best(self) -> int:
        best = self.best
        self._climbing = self._climbing and best < self.most
        if self._climbing:
            return min(2 * best, self.most)
        lower, upper = self._neighbours()
        if not lower and best > 1:
            return best // 2  # the first number was a guess, and nothing says that fewer would not do
        if upper:
            gain = self._gain(best, upper)
            if gain.slope - gain.error > WORTH:  # as it is known by now
                self._climbing = upper >= NEAR * best
                return upper
        self._held += 1
        if self._held < self._patience or self._held * best < PATIENT_REQUESTS:
            return best
        self._held, self._patience, self._upwards = 0, 2 * self._patience, not self._upwards
        return self._up(upper) if self._upwards or not lower else self._down(lower)

    def _up(self, upper: int) -> int:
        if upper and upper <= 2 * self.best and sum(self._gain(self.best, upper)) > FULL:
            return upper
        return min(self.most, max(self.best + 1, round(STEP * self.best)))

    def _down(self, lower: int) -> int:
        """So many as would do if each took the time that it takes in less company."""
        times = self._times()
        served = round(self.best * times[lower][0] / times[self.best][0])
        return min(self.best - 1, max(lower, served)) if served < 0.95 * self.best else self.best

    def _neighbours(self) -> tuple[int, int]:
        """The numbers below and above the best one of which something is known; 0: there is none."""
        lower = max((n for n in self._seen if n < self.best), default=0)
        return lower, min((n for n in self._seen if n > self.best), default=0)

    def _count(self, at: int) -> float:
        return self._seen[at].count if at in self._seen else 0.0

    def _gain(self, low: int, high: int) -> _Gain:
        times, span = self._times(), math.log(high / low)
        (low_s, lows), (high_s, highs) = times[low], times[high]
        count = SPREAD_WEIGHT + sum(seen.count for seen in self._seen.values())
        spread = SPREAD_WEIGHT * SPREAD**2 + sum(seen.count * seen.spread for seen in self._seen.values())
        error = math.sqrt(spread / count * (1.0 / lows + 1.0 / highs))
        return _Gain(1.0 - math.log(high_s / low_s) / span, error / span)

    def _times(self) -> dict[int, tuple[float, float]]:
        """Seconds of a request at each number, never falling, and of how many requests that is the mean."""
        blocks: list[tuple[float, float, list[int]]] = []
        for number in sorted(self._seen):
            total, count, numbers = self._seen[number].total, self._seen[number].count, [number]
            while blocks and blocks[-1][0] / blocks[-1][1] >= total / count:
                more, requests, before = blocks.pop()
                total, count, numbers = total + more, count + requests, before + numbers
            blocks.append((total, count, numbers))
        return {number: (total / count, count) for total, count, numbers in blocks for number in numbers}
