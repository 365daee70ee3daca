"""What the calls of a trial come to: tokens, cost, and the time in which its model was asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from proctor.replies.calls import KeptCall
from proctor.replies.spoken import said_of
from proctor.trial_record import AgentCall, WireTotals
from proctor.types import NOTHING_USED, Usage


def totals_of(calls: Iterable[KeptCall]) -> WireTotals:
    """Of no calls: zero of everything, and no tokens."""
    usage = unused = tokens = NOTHING_USED  # `tokens`: read from a cache, and thought
    ended: Counter[str] = Counter()
    numbers: list[AgentCall] = []
    for each in calls:
        call = each.numbers
        numbers.append(call)
        usage, unused = usage + call.usage, unused + call.unused
        said = said_of(each.response) if isinstance(each.response, dict) else None
        if said is not None:
            tokens += Usage(said.cached_tokens, said.reasoning_tokens)
        if call.ended != "answered":
            ended[call.ended] += 1
    return WireTotals(
        len(numbers),
        usage,
        unused,
        tokens.input_tokens,
        tokens.output_tokens,
        sum(call.retries for call in numbers),
        time_together(numbers),
        dict(ended),
        sum(not call.counted for call in numbers),
    )


def time_together(calls: Iterable[AgentCall]) -> float:
    """The seconds in which one call at least was under way: what several took at once counts once."""
    together, until = 0.0, 0.0
    for at, seconds in sorted((call.at, call.seconds or 0.0) for call in calls):
        together += max(0.0, at + seconds - max(at, until))
        until = max(until, at + seconds)
    return together
