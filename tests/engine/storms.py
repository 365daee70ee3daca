"""Servers that refuse, in a time of their own: the real engine and limiter, hours of a storm in a second."""

from __future__ import annotations

import asyncio
import random
import selectors
from contextlib import suppress
from dataclasses import dataclass, field, replace

from proctor.engine.abreast import Asking
from proctor.engine.attempts import Terms, attempts
from proctor.engine.retry import Retry
from proctor.errors import ErrorBudget, RateLimited
from proctor.providers.contract import Pacing
from proctor.providers.pacing.limiter import Limiter
from proctor.types import Chat, Gold, Grade, Item, Outcome, Reply


class _Jumping(selectors.DefaultSelector):
    """Never waits: the clock jumps to the next thing that is due."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout:
            self.now += timeout
        return super().select(0)


class OwnTime(asyncio.SelectorEventLoop):
    """An event loop whose seconds pass as quickly as the work between them allows."""

    def __init__(self) -> None:
        self._jumping = _Jumping()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.now


@dataclass
class Server:
    """Refuses a share of requests by chance, those beyond its slots, and those beyond a rate (a token bucket).

    Replies take `latency_s` on average (lognormal), refusals 2 ms.
    """

    latency_s: float = 0.2
    sigma: float = 0.4
    chance: float = 0.0
    slots: int | None = None
    queues: int | None = None
    per_s: float | None = None
    burst: float = 1.0
    window_s: float | None = None  # `per_s` as a fixed window of so many seconds instead of a bucket
    retry_after_s: float | None = None
    seed: int = 1
    serving: int = field(init=False, default=0)
    served: int = field(init=False, default=0)
    refused: int = field(init=False, default=0)
    served_at: list[float] = field(init=False, default_factory=list)
    tokens: float = field(init=False, default=0.0)
    at: float = field(init=False, default=0.0)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.tokens = self.burst
        self.turns = asyncio.Semaphore(self.queues) if self.queues else None

    def refuses(self, now: float) -> bool:
        if self.random.random() < self.chance:
            return True
        if self.slots is not None and self.serving >= self.slots:
            return True
        if self.per_s is None:
            return False
        if self.window_s is not None:
            if now // self.window_s != self.at // self.window_s:
                self.tokens = self.per_s * self.window_s
        else:
            self.tokens = min(self.burst, self.tokens + (now - self.at) * self.per_s)
        self.at = now
        if self.tokens < 1.0:
            return True
        self.tokens -= 1.0
        return False

    def after(self, now: float) -> float | None:
        if self.window_s is not None and self.per_s is not None and self.tokens < 1.0:
            return self.window_s - now % self.window_s
        return self.retry_after_s

    async def __call__(self, item: Item, repeat: int) -> Reply:
        loop = asyncio.get_running_loop()
        await asyncio.sleep(0.002)
        if self.refuses(loop.time()):
            self.refused += 1
            raise RateLimited("slow down", retry_after_s=self.after(loop.time()))
        self.serving += 1
        try:
            if self.turns is None:
                await self._serve()
            else:
                async with self.turns:
                    await self._serve()
        finally:
            self.serving -= 1
        self.served += 1
        self.served_at.append(loop.time())
        return Reply("A")

    async def _serve(self) -> None:
        mean = -(self.sigma**2) / 2
        await asyncio.sleep(self.latency_s * self.random.lognormvariate(mean, self.sigma))


@dataclass
class Storm:
    """What became of a run: replies a second in its later two thirds, refusals a reply, items without a reply."""

    per_s: float
    wasted: float
    lost: int
    limit: int
    limiter: Limiter


def storm(pattern: Server, pacing: Pacing, items: int = 4000) -> Storm:
    """A run of `items` through the real engine, against a server in its own time."""

    async def run() -> Storm:
        loop = asyncio.get_running_loop()
        server = replace(pattern)
        limiter = Limiter(pacing, loop.time)
        chance = random.Random(7)
        terms = Terms(limiter, pacing.most, Retry(draw=chance.random))
        asked = (Asking(Item(f"q/{n}", "q", Chat(), Gold("A")), n) for n in range(items))
        lost = 0
        read = Grade(Outcome.CORRECT, 1.0, "A", 1)
        with suppress(ErrorBudget):
            async for attempt in attempts(asked, server, lambda _i, _r: read, terms):
                lost += attempt.reply is None
        at = server.served_at
        first, last = len(at) // 3, len(at) - min(pacing.most, len(at) // 10)
        per_s = (last - 1 - first) / (at[last - 1] - at[first])
        return Storm(per_s, server.refused / server.served, lost, limiter.limit, limiter)

    with asyncio.Runner(loop_factory=OwnTime) as runner:
        return runner.run(run())
