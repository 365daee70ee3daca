"""How fast a run goes and when it may end: a window's rate, plus the time the tail takes."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

WINDOW_S = 60.0
RECENT_S = 10.0
BUCKET_S = 0.25
ENOUGH = 20  # completions before an ETA means anything
SURE = 1.645  # standard errors on either side of nine ranges in ten
LEAST_SPREAD = 0.08  # of the time that the queue takes: servers are never quite as steady as chance alone


@dataclass(frozen=True, slots=True)
class Eta:
    """Seconds left, as a range. When the queue is empty there is no range, only what is still running."""

    low_s: float | None = None
    high_s: float | None = None
    running: int = 0
    oldest_s: float | None = None
    p95_s: float | None = None


@dataclass(slots=True)
class Pace:
    """Fed with every ended attempt; asked a few times a second. Times are monotonic seconds.

    `done` counts what was done in this stretch: resumed items do not make the model look fast.
    """

    began: float
    total: int
    parallel: int = 1
    done: int = 0
    tokens: int = 0
    # [start, items, output tokens] of each quarter of a second: a quick server ends thousands in ten
    # seconds, and walking through them four times a second would cost more than scoring them.
    _recent: deque[list[float]] = field(default_factory=deque)
    _latencies_s: deque[float] = field(default_factory=lambda: deque(maxlen=1000))

    def ended(self, now: float, latency_s: float | None, output_tokens: int | None, items: int = 1) -> None:
        """An item has ended; or several that other processes had at work."""
        self.done += items
        self.tokens += output_tokens or 0
        if not self._recent or now >= self._recent[-1][0] + BUCKET_S:
            self._recent.append([self.began + (now - self.began) // BUCKET_S * BUCKET_S, 0, 0])
        bucket = self._recent[-1]
        bucket[1] += items
        bucket[2] += output_tokens or 0
        if latency_s is not None:
            self._latencies_s.append(latency_s)

    def per_second(self, now: float) -> tuple[float, float]:
        """Items and output tokens a second over the last ten seconds."""
        items, tokens, span_s = self._since(now - RECENT_S, now)
        return (items / span_s, tokens / span_s) if span_s > 0 else (0.0, 0.0)

    def eta(self, now: float, under_way: Sequence[float]) -> Eta:
        """`under_way` holds the starts of the requests now running."""
        ordered = sorted(self._latencies_s)
        queued = self.total - self.done - len(under_way)
        if self.done < max(ENOUGH, self.parallel // 2) or not ordered:
            return Eta(running=len(under_way))
        p50, p95 = _quantile(ordered, 0.5), _quantile(ordered, 0.95)
        if queued <= 0:
            oldest = now - min(under_way) if under_way else None
            return Eta(running=len(under_way), oldest_s=oldest, p95_s=p95)
        window_s = max(WINDOW_S, 4 * p50)
        ended, span_s = self._window(now, window_s)
        mean = sum(ordered) / len(ordered)
        varies = (sum((each - mean) ** 2 for each in ordered) / len(ordered)) / mean**2 if mean else 0.0
        if now - self.began <= window_s:
            # Nothing ends while the first requests are under way: what a renewal process has ended by then is less
            # than its rate says, by so much for each of them (Cox, Renewal Theory, 1962, section 4.2).
            ended += len(under_way) * (1 - varies) / 2
        if ended <= 0 or span_s <= 0:
            return Eta(running=len(under_way))
        bulk_s = queued * span_s / ended
        spread = max(LEAST_SPREAD, SURE * math.sqrt(varies * (1 / ended + 1 / queued)))
        drain = partial(_drain, ordered, len(under_way) or 1)
        return Eta(
            bulk_s * (1 - min(spread, 1.0)) + drain(0.05),
            bulk_s * (1 + spread) + drain(0.95),
            running=len(under_way),
        )

    def _window(self, now: float, window_s: float) -> tuple[float, float]:
        """What ended in the last seconds, and of how many seconds that is."""
        while self._recent and self._recent[0][0] < now - max(window_s, RECENT_S) - BUCKET_S:
            self._recent.popleft()
        items, _, span_s = self._since(now - window_s, now)
        return items, span_s

    def _since(self, since: float, now: float) -> tuple[float, float, float]:
        """Items, output tokens and seconds of the whole quarters from about `since` on."""
        items = tokens = 0.0
        first = max(self.began, since)
        for start, counted, amount in reversed(self._recent):
            if start < first - BUCKET_S / 2:
                break
            items += counted
            tokens += amount
        # The oldest quarter may begin a little before or after `since`; the rest of the time was idle.
        return items, tokens, now - first


def _quantile(ordered: Sequence[float], share: float) -> float:
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def _drain(ordered: Sequence[float], at_once: int, chance: float) -> float:
    """Seconds in which, with this chance, all of `at_once` requests that are somewhere on their way have ended.

    What is left of a request found under way at a random moment is longer than t with probability
    E[(L - t)+] / E[L], for requests that take L (the residual life of a renewal process).

    >>> _drain([2.0] * 50, 1, 0.5), _drain([2.0] * 50, 1000, 0.95) > 1.99
    (1.0, True)
    """
    left: float = (1 - math.pow(chance, 1 / at_once)) * sum(ordered)
    above = 0.0
    for count, latency in enumerate(reversed(ordered), 1):
        above += latency
        below = ordered[-count - 1] if count < len(ordered) else 0.0
        if above - count * below >= left:
            return (above - left) / count
    return 0.0
