"""What a run looks like while it goes on: a snapshot for whoever shows it."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, field

from proctor.engine.attempts import Traffic
from proctor.engine.pace import Eta, Pace
from proctor.service.runs.waits import NONE, Waits, waits_of
from proctor.types import NOTHING_USED, Attempt, Limits, Run, Usage

LOOK_EVERY_S = 0.25


@dataclass(frozen=True, slots=True)
class Progress:
    """A run at one moment. `done` counts committed items, with those of earlier sittings."""

    run: Run
    done: int
    total: int
    elapsed_s: float
    items_per_s: float
    tokens_per_s: float
    in_flight: int
    retries: int
    outcomes: dict[str, int]
    errors: dict[str, int]
    cost_usd: float | None  # of the replies that count
    eta: Eta
    ended: bool = False
    waits: Waits = NONE
    unused: Usage = NOTHING_USED


Watch = Callable[[Progress], None]


@dataclass(slots=True)
class Meter:
    """Counts attempts as they end and makes snapshots of them."""

    run: Run
    before: int  # items settled in earlier sittings
    parallel: int
    clock: Callable[[], float] = time.monotonic
    traffic: Traffic = field(default_factory=Traffic)
    committed: int = 0
    cost_usd: float | None = None
    costed: int = 0
    tokens: int = 0  # in and out, as far as they were reported, with those of replies that were of no use
    unused: Usage = NOTHING_USED
    answered: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    _pace: Pace = field(init=False)

    def __post_init__(self) -> None:
        self._pace = Pace(self.clock(), self.run.planned - self.before, self.parallel)

    def count(self, attempt: Attempt) -> None:
        self.outcomes[attempt.grade.outcome] += 1
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

    def spending(self) -> float:
        """Dollars spent, with what the requests under way will cost if they are like the others."""
        spent = self.cost_usd or 0.0
        wasted = self.unused.cost_usd or 0.0
        return spent + wasted + len(self.traffic.in_flight) * (spent / self.costed if self.costed else 0.0)

    def elapsed_s(self) -> float:
        return self.clock() - self._pace.began

    def look(self, *, ended: bool = False) -> Progress:
        now = self.clock()
        items, tokens = self._pace.per_second(now)
        under_way = list(self.traffic.in_flight.values())
        return Progress(
            run=self.run,
            done=self.before + self.committed,
            total=self.run.planned,
            elapsed_s=now - self._pace.began,
            items_per_s=items,
            tokens_per_s=tokens,
            in_flight=len(under_way),
            retries=self.traffic.retries,
            outcomes=dict(self.outcomes),
            errors=dict(self.errors),
            cost_usd=self.cost_usd,
            eta=self._pace.eta(now, under_way),
            ended=ended,
            waits=waits_of(self.traffic),
            unused=self.unused,
        )


async def keep_showing(meter: Meter, watch: Watch) -> None:
    """Show the run a few times a second until cancelled."""
    while True:
        watch(meter.look())
        await asyncio.sleep(LOOK_EVERY_S)


def asked_of(run: Run, address: str, settled: int, limits: Limits) -> str:
    """Who is asked what, how, and within which limits: for the log."""
    drawn = {name: value for name, value in asdict(run.cell.sampling).items() if value not in (None, ())}
    bounds = {name: value for name, value in asdict(limits).items() if value is not None}
    missing = f"{run.planned - settled:,} of {run.planned:,} askings of {run.source_title} are missing"
    return f"{run.cell.model} at {address}: {missing}; {drawn}; limits {bounds}"
