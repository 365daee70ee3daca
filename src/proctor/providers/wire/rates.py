"""What a reply's headers say of rates: how much a quota allows, what is left of it, and when all of it is back.

Read are the names that OpenAI gave them (`x-ratelimit-remaining-requests`, also sent by Groq, Azure, xAI and gateways)
and Anthropic's (`anthropic-ratelimit-requests-remaining`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

from proctor.providers.wire.delays import parse_delay

Unit = Literal["requests", "tokens"]
UNITS: tuple[Unit, ...] = ("requests", "tokens")
_NAMES = ("x-ratelimit-{told}-{unit}", "anthropic-ratelimit-{unit}-{told}")


class ToldRate(NamedTuple):
    """A quota as a server told of it: `limit` at most, `remaining` of it, all in `reset_s` seconds (None: unsaid)."""

    limit: float
    remaining: float
    reset_s: float | None


def told_rates(headers: Mapping[str, str], *, now: float | None = None) -> dict[Unit, ToldRate]:
    """The quotas that an answer's headers tell of; none where they tell of none. `now` is Unix time, for dates.

    >>> told_rates({"x-ratelimit-limit-requests": "60", "x-ratelimit-remaining-requests": "59"})
    {'requests': ToldRate(limit=60.0, remaining=59.0, reset_s=None)}
    """
    found: dict[Unit, ToldRate] = {}
    for unit in UNITS:
        for name in _NAMES:
            limit = _amount(headers.get(name.format(unit=unit, told="limit")))
            remaining = _amount(headers.get(name.format(unit=unit, told="remaining")))
            if limit and remaining is not None:
                reset = headers.get(name.format(unit=unit, told="reset"))
                found[unit] = ToldRate(limit, remaining, parse_delay(reset, now=now) if reset else None)
                break
    return found


def _amount(text: str | None) -> float | None:
    try:
        amount = float(text) if text is not None else -1.0
    except ValueError:
        return None
    return amount if 0.0 <= amount < 1e15 else None
