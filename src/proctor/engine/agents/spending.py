"""What a trial may ask of its model: calls, tokens and cost, held before a call is sent."""

from __future__ import annotations

from dataclasses import dataclass

from proctor.errors import ConfigError
from proctor.providers.prices import Price
from proctor.references import TrialLimits
from proctor.types import NOTHING_USED, Reply, Usage

CHARACTERS_PER_TOKEN = (
    4  # of English and of code, about: where the server does not count, and for what comes next
)


@dataclass(slots=True)
class AgentSpending:
    """What has been used so far, and what the next call may use.

    `price` is that of the table of prices, None where it has none. Where the server tells no tokens they are taken
    from the characters, for the limits alone: `usage` has what was told.
    """

    limits: TrialLimits
    model: str
    price: Price | None = None
    calls: int = 0
    usage: Usage = NOTHING_USED
    unused: Usage = NOTHING_USED
    tokens: int = 0
    counted: bool = True  # by the server
    _context: int = 0  # tokens of the conversation as it stands

    def met(self) -> str | None:
        """The limit that forbids another call, in words; None where one may be sent."""
        limits = self.limits
        if limits.max_calls is not None and self.calls >= limits.max_calls:
            return f"all {limits.max_calls:,} calls of its model were made"
        if limits.max_tokens is not None and self._tokens_left < 1:
            by = "" if self.counted else ", by their characters, for its server does not count them"
            return (
                f"{self.tokens:,} of {limits.max_tokens:,} tokens were used{by}, "
                f"and the next call would need {self._context:,} to be read"
            )
        if limits.max_cost_usd is not None and self._reply_for_cost(1) < 1:
            return f"${self._cost:.4f} of ${limits.max_cost_usd:g} were spent"
        return None

    def most(self, usual: int) -> int:
        """The tokens that the next reply may have, `usual` at the most."""
        left = self._tokens_left if self.limits.max_tokens is not None else usual
        return max(1, min(usual, left, self._reply_for_cost(usual)))

    def said(self, characters: int) -> None:
        """So much was added to the conversation, which the next call reads."""
        self._context += -(-characters // CHARACTERS_PER_TOKEN)

    def asked(self, reply: Reply, unused: Usage) -> None:
        """A reply came. Raises: ConfigError where the cost is bounded and nobody tells it."""
        self.calls += 1
        self.usage += Usage(reply.input_tokens, reply.output_tokens, reply.cost_usd)
        self.wasted(unused)
        if reply.input_tokens is None or reply.output_tokens is None:
            self.counted = False
        read = self._context if reply.input_tokens is None else reply.input_tokens
        wrote = reply.output_tokens
        if wrote is None:
            wrote = len(reply.text + (reply.reasoning or "")) // CHARACTERS_PER_TOKEN
        self.tokens += read + wrote
        self._context = read + wrote - (reply.reasoning_tokens or 0)  # thoughts are not sent back
        if self.limits.max_cost_usd is not None and reply.cost_usd is None:
            raise ConfigError(
                f"max_cost_usd cannot be kept: neither the server nor prices.toml in PROCTOR_HOME says what "
                f"{self.model} costs. Write its prices there, then resume, or leave the limit out"
            )

    def wasted(self, unused: Usage) -> None:
        """What requests took that came to nothing: it counts for the limits."""
        self.unused += unused
        self.tokens += (unused.input_tokens or 0) + (unused.output_tokens or 0)

    @property
    def whole(self) -> Usage:
        return self.usage + self.unused

    @property
    def tokens_left(self) -> int | None:
        """None: they are not bounded."""
        return None if self.limits.max_tokens is None else max(0, self.limits.max_tokens - self.tokens)

    @property
    def _tokens_left(self) -> int:
        """Of the next reply, once the conversation has been read."""
        return (self.limits.max_tokens or 0) - self.tokens - self._context

    @property
    def _cost(self) -> float:
        return self.whole.cost_usd or 0.0

    def _reply_for_cost(self, usual: int) -> int:
        """The tokens of a reply that the money is enough for; `usual` where that is not bounded or not known."""
        if self.limits.max_cost_usd is None:
            return usual
        left = self.limits.max_cost_usd - self._cost
        if self.price is None:
            return usual if left > 0 else 0
        left -= self._context * self.price.input / 1e6
        return usual if self.price.output == 0 and left >= 0 else int(left * 1e6 / (self.price.output or 1.0))
