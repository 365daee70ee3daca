"""What a trial asks of its model, held in its account and in its benchmark's before a call is sent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from proctor.errors import ConfigError
from proctor.providers.ledger import Demand, Hold, Ledger, admitted
from proctor.providers.prices import Price
from proctor.references import TrialLimits
from proctor.types import NOTHING_USED, Reply, Usage

CHARACTERS_PER_TOKEN = (
    4  # of English and of code, about: where the server does not count, and for what comes next
)


@dataclass(slots=True)
class AgentSpending:
    """What has been used so far, and what the next call may use.

    `price` is that of the table of prices, None where it has none; `budget` the benchmark's account. Where the server
    tells no tokens they are taken from the characters, for the limits alone: `usage` has what was told.
    """

    limits: TrialLimits
    model: str
    price: Price | None = None
    budget: Ledger | None = None
    usage: Usage = NOTHING_USED
    unused: Usage = NOTHING_USED
    counted: bool = True  # by the server
    own: Ledger = field(init=False)

    def __post_init__(self) -> None:
        self.own = Ledger(self.limits)

    @property
    def calls(self) -> int:
        return self.own.calls

    @property
    def ledgers(self) -> Sequence[Ledger]:
        return (self.own,) if self.budget is None else (self.own, self.budget)

    def met(self, demand: Demand) -> str | None:
        """The limit that forbids this call, in words; None where it may be sent."""
        for ledger in self.ledgers:
            if (told := ledger.met(demand)) is not None:
                by = (
                    ""
                    if self.counted
                    else " (by their characters, for its server does not count all of them)"
                )
                return told + by
        return None

    async def admitted(self, demand: Demand) -> Hold:
        """Wait until the call may be sent, and hold what it may come to; `release` follows. Raises: UsedUp."""
        return await admitted(self.ledgers, demand)

    def release(self, hold: Hold) -> None:
        for ledger in self.ledgers:
            ledger.release(hold)

    def asked(self, reply: Reply, read: int, *, calls: int = 1) -> int:
        """A reply came to a request of about `read` tokens; gives how many tokens both have.

        Raises: ConfigError where the cost is bounded and nobody tells it.
        """
        used = Usage(reply.input_tokens, reply.output_tokens, reply.cost_usd)
        self.usage += used
        if reply.input_tokens is None or reply.output_tokens is None:
            self.counted = False
        wrote = reply.output_tokens
        if wrote is None:
            wrote = len(reply.text + (reply.reasoning or "")) // CHARACTERS_PER_TOKEN
        tokens = (read if reply.input_tokens is None else reply.input_tokens) + wrote
        self.count(tokens, reply.cost_usd, calls)
        if reply.cost_usd is None and any(each.bounds.max_cost_usd is not None for each in self.ledgers):
            raise ConfigError(
                f"max_cost_usd cannot be kept: neither the server nor prices.toml in PROCTOR_HOME says what "
                f"{self.model} costs. Write its prices there, then resume, or leave the limit out"
            )
        return tokens

    def wasted(self, unused: Usage) -> None:
        """What requests took that came to nothing: it counts for the limits."""
        self.unused += unused
        self.count((unused.input_tokens or 0) + (unused.output_tokens or 0), unused.cost_usd, 0)

    def count(self, tokens: int, cost_usd: float | None, calls: int) -> None:
        """So much was used, for the limits."""
        for ledger in self.ledgers:
            ledger.count(tokens, cost_usd or 0.0, calls)

    @property
    def whole(self) -> Usage:
        return self.usage + self.unused

    @property
    def tokens_left(self) -> int | None:
        """None: they are not bounded."""
        return None if self.limits.max_tokens is None else max(0, self.limits.max_tokens - self.own.tokens)


@dataclass(slots=True)
class Conversation:
    """The tokens that the next request has, by what its server told of the last one and what was added since."""

    spending: AgentSpending
    tokens: int = 0

    def said(self, characters: int) -> None:
        """So much was added, which the next call reads."""
        self.tokens += -(-characters // CHARACTERS_PER_TOKEN)

    def demand(self, usual: int | None) -> Demand:
        return Demand(self.tokens, self.tokens * CHARACTERS_PER_TOKEN, usual, self.spending.price)

    def asked(self, reply: Reply) -> None:
        """Raises: as AgentSpending.asked."""
        whole = self.spending.asked(reply, self.tokens)
        self.tokens = whole - (reply.reasoning_tokens or 0)  # thoughts are not sent back


@contextmanager
def held(spending: AgentSpending, hold: Hold) -> Iterator[Hold]:
    try:
        yield hold
    finally:
        spending.release(hold)
