"""How fast a run goes and when it may end: a window's rate, plus the time the tail takes."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

WINDOW_S = 60.0
RECENT_S = 10.0
BUCKET_S = 0.25
ENOUGH = 20  # completions before an ETA means anything


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

    def ended(self, now: float, latency_s: float | None, output_tokens: int | None) -> None:
        self.done += 1
        self.tokens += output_tokens or 0
        if not self._recent or now >= self._recent[-1][0] + BUCKET_S:
            self._recent.append([self.began + (now - self.began) // BUCKET_S * BUCKET_S, 0, 0])
        bucket = self._recent[-1]
        bucket[1] += 1
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
        rate = self._window_rate(now, max(WINDOW_S, 4 * p50))
        if rate <= 0:
            return Eta(running=len(under_way))
        bulk_s = queued / rate
        # The end waits for the slowest of those that start last: between a typical and a slow reply.
        return Eta(bulk_s + p50, 1.15 * bulk_s + max(p95, p50), running=len(under_way))

    def _window_rate(self, now: float, window_s: float) -> float:
        while self._recent and self._recent[0][0] < now - max(window_s, RECENT_S) - BUCKET_S:
            self._recent.popleft()
        items, _, span_s = self._since(now - window_s, now)
        return items / span_s if span_s > 0 else 0.0

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
