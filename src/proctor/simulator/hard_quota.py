"""A hard quota of requests and tokens a minute, with the headers that tell of it: a bucket, or fixed windows."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

MINUTE_S = 60.0


@dataclass(frozen=True, slots=True)
class QuotaTerms:
    """Requests and tokens a minute; None: any number.

    A bucket holds what comes in `burst_s`; with `window_s` each stretch of so many seconds has its part instead, from
    the first request on.
    """

    requests: float | None = None
    tokens: float | None = None
    burst_s: float = MINUTE_S
    window_s: float | None = None

    @property
    def any(self) -> bool:
        return self.requests is not None or self.tokens is not None


@dataclass(slots=True)
class _Meter:
    """What is left of one of the two, and what there was to be had since the first request."""

    per_s: float
    terms: QuotaTerms
    left: float = 0.0
    used: float = 0.0
    began: float | None = None
    at: float = 0.0
    ends: float = 0.0  # of the window

    @property
    def limit(self) -> float:
        """As the headers name it: of a minute, or of a window."""
        return self.per_s * (self.terms.window_s or MINUTE_S)

    @property
    def room(self) -> float:
        """How much there can be at once."""
        return self.limit if self.terms.window_s else max(1.0, self.per_s * self.terms.burst_s)

    def refill(self, now: float) -> None:
        window_s = self.terms.window_s
        if self.began is None:
            self.began, self.left, self.ends = now, self.room, now + (window_s or 0.0)
        elif window_s is None:
            self.left = min(self.room, self.left + (now - self.at) * self.per_s)
        elif now >= self.ends:
            self.left = self.room
            self.ends += window_s * math.ceil((now - self.ends) / window_s + 1e-9)
        self.at = now

    def reset_s(self, amount: float | None = None) -> float:
        """Until so much is left; without an amount until all is."""
        if self.terms.window_s is not None:
            return self.ends - self.at
        wanted = self.room if amount is None else min(amount, self.room)
        return max(0.0, wanted - self.left) / self.per_s

    def offered(self, now: float) -> float:
        """What could have been used up to now: what was there at first, and all that came since."""
        if self.began is None:
            return 0.0
        whole = 0.0 if self.terms.window_s else self.room
        return whole + (now - self.began) * self.per_s


@dataclass(slots=True)
class HardQuota:
    """Both meters; a request takes from both or from none."""

    terms: QuotaTerms
    allowed: int = 0
    refused: int = 0
    _meters: dict[str, _Meter] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Count anew; the meters are full again."""
        named = {"requests": self.terms.requests, "tokens": self.terms.tokens}
        self._meters = {name: _Meter(n / MINUTE_S, self.terms) for name, n in named.items() if n is not None}
        self.allowed = self.refused = 0

    def takes(self, tokens: int, now: float) -> bool:
        wanted = {"requests": 1.0, "tokens": float(tokens)}
        for meter in self._meters.values():
            meter.refill(now)
        # A request greater than all that there can be is let through a full meter, as it never could be else.
        if any(m.left < min(wanted[name], m.room) for name, m in self._meters.items()):
            self.refused += 1
            return False
        for name, meter in self._meters.items():
            meter.left -= wanted[name]
            meter.used += wanted[name]
        self.allowed += 1
        return True

    def wait_s(self, tokens: int) -> float:
        """Until a request of so many tokens would be let through."""
        wanted = {"requests": 1.0, "tokens": float(tokens)}
        short = {name: m for name, m in self._meters.items() if m.left < min(wanted[name], m.room)}
        return max((meter.reset_s(wanted[name]) for name, meter in short.items()), default=0.0)

    def headers(self) -> dict[str, str]:
        """As OpenAI names them: what was left after this request, and when all of it is there again."""
        told: dict[str, str] = {}
        for name, meter in self._meters.items():
            missing = meter.room - meter.left
            told[f"x-ratelimit-limit-{name}"] = f"{meter.limit:.0f}"
            told[f"x-ratelimit-remaining-{name}"] = f"{max(0.0, meter.limit - missing):.0f}"
            told[f"x-ratelimit-reset-{name}"] = f"{math.ceil(meter.reset_s() * 1e3)}ms"
        return told

    def refusal_headers(self, tokens: int) -> dict[str, str]:
        wait_s = self.wait_s(tokens)
        named = {"Retry-After": f"{math.ceil(wait_s)}", "retry-after-ms": f"{math.ceil(wait_s * 1e3)}"}
        return {**self.headers(), **named}

    def report(self, now: float) -> dict[str, Any]:
        """How often it let through and refused, and of each unit what was used of what was offered up to now."""
        units = {
            name: {"used": meter.used, "offered": meter.offered(now), "left": meter.left}
            for name, meter in self._meters.items()
        }
        return {"allowed": self.allowed, "refused": self.refused, **units}
