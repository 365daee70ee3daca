"""What a run looks like while it goes on: one snapshot, shown here and written down for who watches from elsewhere."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

from proctor.engine.attempts import Traffic
from proctor.engine.pace import Pace
from proctor.errors import StoreError
from proctor.findings.looks import Decision
from proctor.service.runs.pace.waits import waits_of
from proctor.store import Store
from proctor.store.queue import waits
from proctor.store.write import throughput
from proctor.store.write.throughput import Progress
from proctor.types import NOTHING_USED, Attempt, Limits, Outcome, Run, Usage

__all__ = ["Meter", "Progress", "Watch", "asked_of", "keep_showing", "keep_telling", "longest_gap_s"]

LOOK_EVERY_S = 0.25
TELL_EVERY_S = 2.0
SHARE = 1 / 200  # of the time gone: a run of hours leaves hundreds of rows, not thousands
LATE_S = 15.0  # how much later than it should be a row may come while its process is at work

Watch = Callable[[Run, Progress], None]


@dataclass(slots=True)
class Meter:
    """Counts attempts as they end and makes snapshots of them."""

    run: Run
    before: int  # items settled in earlier sittings
    parallel: int
    clock: Callable[[], float] = time.monotonic
    traffic: Traffic = field(default_factory=Traffic)
    committed: int = 0
    settled: int = 0  # with an outcome
    elsewhere: int = 0  # settled by other processes at work on the run, since this one began
    cost_usd: float | None = None
    costed: int = 0
    tokens: int = 0  # in and out, as far as they were reported, with those of replies that were of no use
    unused: Usage = NOTHING_USED
    answered: int = 0
    decision: Callable[[], Decision | None] = lambda: None  # of runs that are asked side by side
    errors: Counter[str] = field(default_factory=Counter)
    _pace: Pace = field(init=False)

    def __post_init__(self) -> None:
        self._pace = Pace(self.clock(), self.run.planned - self.before, self.parallel)

    def count(self, attempt: Attempt) -> None:
        self.settled += attempt.grade.outcome is not Outcome.ERROR
        if attempt.failure is not None:
            self.errors[attempt.failure.slug] += 1
        if attempt.unused is not NOTHING_USED:
            self.unused += attempt.unused
            self.tokens += (attempt.unused.input_tokens or 0) + (attempt.unused.output_tokens or 0)
        reply = attempt.reply
        if reply is not None:
            self.answered += 1
            self.tokens += (reply.input_tokens or 0) + (reply.output_tokens or 0)
            if reply.cost_usd is not None:
                self.cost_usd = (self.cost_usd or 0.0) + reply.cost_usd
                self.costed += 1
        latency_s, tokens = (reply.latency_s, reply.output_tokens) if reply else (None, None)
        self._pace.ended(self.clock(), latency_s, tokens)

    def count_others(self, settled: int) -> None:
        """So many items of the whole run have an outcome by now, whoever asked them."""
        more = settled - self.before - self.settled - self.elsewhere
        if more > 0:
            self.elsewhere += more
            self._pace.ended(self.clock(), None, None, more)

    def spent_usd(self) -> float:
        return (self.cost_usd or 0.0) + (self.unused.cost_usd or 0.0)

    def spending(self) -> float:
        """Dollars spent, with what the requests under way will cost if they are like the others."""
        each = (self.cost_usd or 0.0) / self.costed if self.costed else 0.0
        return self.spent_usd() + len(self.traffic.in_flight) * each

    def elapsed_s(self) -> float:
        return self.clock() - self._pace.began

    def look(self, *, ended: bool = False) -> Progress:
        now = self.clock()
        items, tokens = self._pace.per_second(now)
        under_way = list(self.traffic.in_flight.values())
        eta = self._pace.eta(now, under_way)
        return Progress(
            at=time.time(),
            done=self.before + self.committed + self.elsewhere,
            in_flight=len(under_way),
            items_per_s=items,
            tokens_per_s=tokens,
            retries=self.traffic.retries,
            errors=self.errors.total(),
            cost_usd=self.cost_usd,
            low_s=eta.low_s,
            high_s=eta.high_s,
            failed=dict(self.errors),
            unused=self.unused,
            waits=waits_of(self.traffic),
            oldest_s=eta.oldest_s,
            p95_s=eta.p95_s,
            elapsed_s=now - self._pace.began,
            ended=ended,
            decision=self.decision(),
        )


async def keep_showing(meter: Meter, watch: Watch) -> None:
    """Show the run a few times a second until cancelled."""
    while True:
        watch(meter.run, meter.look())
        await asyncio.sleep(LOOK_EVERY_S)


def longest_gap_s(gone_s: float) -> float:
    """A run at work for so long writes a row at least this often; a longer gap means that nobody was at work.

    >>> longest_gap_s(0.0), longest_gap_s(7200.0)
    (15.0, 51.0)
    """
    return LATE_S + gone_s * SHARE


async def keep_telling(store: Store, meter: Meter, home: Path) -> None:
    """Write down how the run goes, and what it waits for, until cancelled; a store that cannot take it ends no run."""
    due_s = 0.0
    try:
        while True:
            await asyncio.sleep(TELL_EVERY_S)
            seen = meter.look()
            waits.tell(home, meter.run.id, seen.waits)
            if seen.elapsed_s < due_s:
                continue
            with suppress(StoreError):
                await asyncio.to_thread(throughput.add, store, meter.run.id, seen)
            due_s = seen.elapsed_s + seen.elapsed_s * SHARE
    finally:
        waits.tell(home, meter.run.id, waits.NONE)


def asked_of(run: Run, address: str, settled: int, limits: Limits) -> str:
    """Who is asked what, how, and within which limits: for the log."""
    drawn = {name: value for name, value in asdict(run.cell.sampling).items() if value not in (None, ())}
    bounds = {name: value for name, value in asdict(limits).items() if value is not None}
    missing = f"{run.planned - settled:,} of {run.planned:,} askings of {run.source_title} are missing"
    return f"{run.cell.model} at {address}: {missing}; {drawn}; limits {bounds}"
