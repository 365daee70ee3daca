"""What may be used of tokens, money and calls, and what is: looked at before a call is sent, with what is under way."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from proctor.providers.prices import Price

LEAST_BESIDE = (
    1024  # tokens of a reply for which a call is sent beside others; with less left it waits for them
)
MOST_REPLY = 65_536  # tokens of a reply where nobody asked for fewer, so that one call holds no whole budget


class SpendingBounds(Protocol):
    """What may be used. None: not bounded."""

    @property
    def max_tokens(self) -> int | None: ...

    @property
    def max_cost_usd(self) -> float | None: ...

    @property
    def max_calls(self) -> int | None: ...


class UsedUp(Exception):
    """A call that may not be sent; its words say which limit forbids it."""


@dataclass(frozen=True, slots=True)
class Demand:
    """A call before it is sent. `reads` is how many tokens its request has by estimate, `at_worst` at the most.

    `wants` is the most that its reply is to have, None where that is not told; `price` None: not known. `alone`: its
    server does not let the length of a reply be bounded, so nothing may be under way beside it.
    """

    reads: int
    at_worst: int
    wants: int | None = None
    price: Price | None = None
    alone: bool = False

    @property
    def least(self) -> int:
        return min(self.wants or LEAST_BESIDE, LEAST_BESIDE)


@dataclass(frozen=True, slots=True, eq=False)
class Hold:
    """What a call under way may come to: its reply has `most` tokens at the most, None where that is not bounded."""

    demand: Demand
    most: int | None

    @property
    def tokens(self) -> float:
        return self.demand.at_worst + (math.inf if self.most is None else self.most)

    @property
    def cost_usd(self) -> float:
        price = self.demand.price
        if price is None:
            return math.inf  # nobody can say: it goes alone
        most = math.inf if self.most is None else self.most
        written = most * price.output if price.output else 0.0
        return (self.demand.at_worst * price.input + written) / 1e6


@dataclass(slots=True)
class Ledger:
    """The account of one trial, or of a whole benchmark (`of` names it). Used inside one event loop.

    A call goes alone where only the estimate of its request fits; beside others where all of them fit at their worst.
    So what is bounded is passed by what one call comes to beyond its estimate, and never by more.
    """

    bounds: SpendingBounds
    of: str = ""
    tokens: int = 0
    cost_usd: float = 0.0
    calls: int = 0
    elsewhere_tokens: int = 0  # by others, as far as they have told
    elsewhere_usd: float = 0.0
    elsewhere_calls: int = 0
    refused: str | None = None  # why a call was, the last time
    _held: list[Hold] = field(default_factory=list)
    _waiting: list[asyncio.Future[None]] = field(default_factory=list)

    def met(self, demand: Demand) -> str | None:
        """The limit that forbids this call even alone, in words; None where it may be sent by and by."""
        return next(filter(None, self._met(demand)), None)

    def _met(self, demand: Demand) -> Iterator[str | None]:
        bounds, of = self.bounds, f" of {self.of}" if self.of else ""
        if bounds.max_calls is not None and self._calls >= bounds.max_calls:
            whose = self.of or "its model"
            yield f"all {bounds.max_calls:,} calls of {whose} were made"
        if bounds.max_tokens is not None and bounds.max_tokens - self._tokens - demand.reads < 1:
            yield (
                f"{self._tokens:,} of {bounds.max_tokens:,} tokens{of} were used, "
                f"and the next call would need {demand.reads:,} to be read"
            )
        if bounds.max_cost_usd is not None and self._for_cost(demand, demand.reads, 0.0) < 1:
            yield f"${self._cost:.4f} of ${bounds.max_cost_usd:g}{of} were spent"

    @property
    def used_up(self) -> str | None:
        """The limit that forbids every call, or has forbidden one, in words."""
        return self.refused or self.met(Demand(0, 0))

    def room(self, demand: Demand) -> float:
        """The tokens that the reply may have now, beside what is under way; inf where that is not bounded."""
        bounds, held = self.bounds, self._held
        reads = demand.at_worst if held else demand.reads
        if bounds.max_calls is not None and self._calls + len(held) >= bounds.max_calls:
            return 0
        room = math.inf
        if bounds.max_tokens is not None:
            room = bounds.max_tokens - self._tokens - sum(each.tokens for each in held) - reads
        if bounds.max_cost_usd is not None:
            room = min(room, self._for_cost(demand, reads, sum(each.cost_usd for each in held)))
        return room

    def hold(self, hold: Hold) -> None:
        self._held.append(hold)

    def release(self, hold: Hold) -> None:
        self._held.remove(hold)
        self._wake()

    def count(self, tokens: int, cost_usd: float, calls: int = 0) -> None:
        self.tokens += tokens
        self.cost_usd += cost_usd
        self.calls += calls

    def _wake(self) -> None:
        for waiter in self._waiting:
            if not waiter.done():
                waiter.set_result(None)
        self._waiting.clear()

    def tell(self, waiter: asyncio.Future[None]) -> None:
        """Wake this one with the next call that ends."""
        self._waiting.append(waiter)

    @property
    def _tokens(self) -> int:
        return self.tokens + self.elsewhere_tokens

    @property
    def _cost(self) -> float:
        return self.cost_usd + self.elsewhere_usd

    @property
    def _calls(self) -> int:
        return self.calls + self.elsewhere_calls

    def _for_cost(self, demand: Demand, reads: int, held_usd: float) -> float:
        """The tokens of a reply that the money is enough for."""
        left, price = (self.bounds.max_cost_usd or 0.0) - self._cost - held_usd, demand.price
        if price is None:
            return math.inf if left > 0 else 0
        left -= reads * price.input / 1e6
        if price.output == 0:
            return math.inf if left >= 0 else 0
        return left * 1e6 / price.output


async def admitted(ledgers: Sequence[Ledger], demand: Demand) -> Hold:
    """Wait until the call may be sent; what it may come to is held in all of them. Raises: UsedUp."""
    while True:
        for ledger in ledgers:
            if told := ledger.met(demand):
                ledger.refused = told
                raise UsedUp(told)
        room = min((ledger.room(demand) for ledger in ledgers), default=math.inf)
        alone = not any(ledger._held for ledger in ledgers)
        if room >= 1 if alone else room >= demand.least and not demand.alone:
            hold = Hold(demand, _most(demand, room))
            for ledger in ledgers:
                ledger.hold(hold)
            return hold
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        for ledger in ledgers:
            ledger.tell(waiter)
        await waiter


def _most(demand: Demand, room: float) -> int | None:
    if math.isinf(room) or demand.alone:
        return demand.wants
    return max(1, min(int(room), demand.wants or MOST_REPLY))
