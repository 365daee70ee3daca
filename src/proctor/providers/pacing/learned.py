"""What a fleet knows of its provider's quota, and what follows: a rate, a window of requests at once, a gate.

Pure: from what was known and one look at what happened since to what is known now. Three sources, in this order:

- What the server tells in headers. A *bucket* fills all the time, and its reset says when it is full: used / reset is
  its rate. A *window*'s reset is one moment for all until it has passed: what remains is spread evenly until then.
  Which of the two it is shows in whether the moment moves on while the quota is used.
- Refusals that no header explains. As for one process (decision 0013) the limit goes to what was let through, which
  costs no throughput if the rest was too much; if refusals stay as many they are not of our doing.
- Nothing known: the fleet begins as one process would, and doubles while nothing is refused.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

MINUTE_S = 60.0
APART_S = 1.0  # between two words of a server that are held beside each other
SPREAD_S = 10.0  # over which what remains of a bucket is used up
RESERVE_S = 0.25  # of a bucket's rate is left in it
RESERVE = 0.005  # of a window's limit is left in it
MOST_OVER, LEAST_UNDER = 3.0, 0.5  # of a bucket's rate
OVER_A_SECOND = 0.1  # by which more than its rate is tried, while that passes
STEADY_S = 1.0  # over which rates are averaged
TRIM, LEAST_TRIM, TRIM_A_SECOND = 0.99, 0.7, 0.002
UNBOUNDED = 1024.0  # places from which on a fleet has no window
FEW = 0.02  # share of refusals from which on something is done
SETTLING_S = 1.0  # after a cut, for what was under way
TWICE = 2  # cuts after which the places are cut too
VAIN = 4  # cuts that changed nothing: refusals are chance
CHANCE_S = 30.0  # until that is looked at again
CLEAN_S = 3.0
GROWTH_A_SECOND = 0.01
SATURATED = 0.9
LEAST_RATE = 0.001
LONGEST_GATE_S = 120.0


@dataclass(frozen=True, slots=True)
class FleetLook:
    """What happened in the fleet in `span_s` up to `now` (seconds of one clock).

    `told`: unit -> (when the request began, limit, remaining, seconds until it is reset; None: unsaid).
    """

    now: float
    span_s: float
    started: int = 0
    completed: int = 0
    refused: int = 0
    full: int = 0
    retry_after_s: float = 0.0
    most_in_flight: int = 0
    told: Mapping[str, tuple[float, float, float, float | None]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ToldQuota:
    """One unit's quota as the server told it; `ref_*` is an earlier word to compare with."""

    at: float
    limit: float
    remaining: float
    reset_at: float | None
    rate: float  # that it fills with, a second
    windowed: bool | None = None  # None: not known yet
    period_s: float = 0.0  # of a window
    cost: float = 1.0  # of a request
    since: float = 0.0  # when it was told first
    ref_at: float = 0.0
    ref_remaining: float = 0.0
    ref_reset_at: float = 0.0


@dataclass(frozen=True, slots=True)
class KnownQuota:
    """What the fleet knows; kept as JSON in Redis."""

    units: Mapping[str, ToldQuota] = field(default_factory=dict)
    start_rate: float = 0.0  # requests a second, averaged
    accepted: float = 0.0  # the same without those that were refused
    trim: float = TRIM
    even: bool = False  # the server refuses although something remains: bursts do not pass
    begun: float | None = 0.0  # places while nothing is known; 0.0: not begun, None: it is over
    rate: float | None = None  # found by refusals
    window: float | None = None
    chance: float = 0.0
    strikes: int = 0
    cut_at: float = 0.0
    cut_share: float = 0.0
    cycle_at: float = 0.0  # since when `cycle` requests were let through
    cycle: float = 0.0
    closed_until: float = 0.0


@dataclass(frozen=True, slots=True)
class Allowance:
    """What follows for everybody: None is no bound."""

    rate: float | None
    window: int | None
    gate_s: float = 0.0


def judge(
    known: KnownQuota, look: FleetLook, first: int, slots: int | None = None
) -> tuple[KnownQuota, Allowance]:
    """`first`: places that a fleet begins with; `slots`: those that the server says it has."""
    span_s = max(look.span_s, 1e-3)
    weight = 1.0 - math.exp(-span_s / STEADY_S)
    started, accepted = look.started / span_s, max(0, look.started - look.refused) / span_s
    known = replace(
        known,
        start_rate=known.start_rate + weight * (started - known.start_rate),
        accepted=known.accepted + weight * (accepted - known.accepted),
        cycle=known.cycle + max(0, look.started - look.refused),
        cycle_at=known.cycle_at or look.now - look.span_s,
    )
    known = replace(known, units={**known.units, **{unit: _hear(known, unit, look) for unit in look.told}})
    known = _trimmed(known, look, span_s) if known.units else _by_refusals(known, look, span_s)
    known = _begin(known, look, first)
    rates = [_pace(known, unit, look.now) for unit in known.units.values()]
    if known.rate is not None:
        rates.append(known.rate)
    rate = max(LEAST_RATE, min(rates)) if rates else None
    windows = [w for w in (None if slots else known.begun, known.window, slots) if w is not None]
    window = max(1, math.floor(min(windows))) if windows else None
    return known, Allowance(rate, window, max(0.0, known.closed_until - look.now))


def _begin(known: KnownQuota, look: FleetLook, first: int) -> KnownQuota:
    """Doubling from `first` places while nothing is refused, until that is no bound any more."""
    if known.begun is None:
        return known
    if look.refused or known.units or known.rate is not None or known.window is not None:
        return replace(known, begun=None)
    places = (known.begun or float(first)) * (2.0 if look.completed else 1.0)
    return replace(known, begun=places if places < UNBOUNDED else None)


def _hear(known: KnownQuota, unit: str, look: FleetLook) -> ToldQuota:
    at, limit, remaining, reset_s = look.told[unit]
    reset_at = None if reset_s is None else at + reset_s
    old = known.units.get(unit)
    if old is None or old.limit != limit:
        cost = 1.0 if unit == "requests" else max(1.0, (limit - remaining) / max(1.0, known.cycle))
        fresh = ToldQuota(at, limit, remaining, reset_at, limit / MINUTE_S, cost=cost)
        return replace(fresh, since=at, ref_at=at, ref_remaining=remaining, ref_reset_at=reset_at or 0.0)
    kept = replace(old, at=at, remaining=remaining, reset_at=reset_at)
    apart_s = at - old.ref_at
    if apart_s < APART_S:
        return kept
    if reset_at is not None:
        kept = _classified(kept, look, apart_s)
    used = old.ref_remaining - remaining + (0.0 if kept.windowed else kept.rate * apart_s)
    count = known.start_rate * apart_s
    crossed = kept.windowed and remaining > old.ref_remaining
    if unit == "tokens" and count >= 1.0 and used > 0.0 and not crossed:
        kept = replace(kept, cost=kept.cost + 0.3 * (used / count - kept.cost))
    return replace(kept, ref_at=at, ref_remaining=remaining, ref_reset_at=reset_at or 0.0)


def _classified(kept: ToldQuota, look: FleetLook, apart_s: float) -> ToldQuota:
    """Whether its reset moves on while it is used, and how fast a bucket fills."""
    assert kept.reset_at is not None  # the caller has looked
    reset_s = kept.reset_at - kept.at
    used, moved_s = kept.limit - kept.remaining, kept.reset_at - kept.ref_reset_at
    windowed = kept.windowed
    if used >= kept.limit - kept.ref_remaining and used > 0.0:
        windowed = moved_s < apart_s / 2.0
    period_s = max(kept.period_s, reset_s) if windowed else 0.0
    rate = kept.rate
    if windowed:
        rate = kept.limit / period_s if period_s else rate
    elif windowed is False and used >= 10.0 and reset_s >= 0.05:
        rate = used / reset_s
    return replace(kept, windowed=windowed, period_s=period_s, rate=rate)


def _pace(known: KnownQuota, unit: ToldQuota, now: float) -> float:
    """Requests a second that this quota has room for."""
    age_s = min(max(0.0, now - unit.at), MINUTE_S)
    spent = known.start_rate * unit.cost * age_s
    if unit.windowed and unit.reset_at is not None:
        left_s = unit.reset_at - now
        if left_s <= 0.0:  # a new window of which nobody has heard yet
            return known.trim * unit.rate / unit.cost
        reserve = max(unit.cost, RESERVE * unit.limit)
        return max(0.0, unit.remaining - spent - reserve) / max(left_s, 0.1) / unit.cost
    level = min(unit.limit, unit.remaining - spent + unit.rate * age_s)
    reserve = max(2.0 * unit.cost, RESERVE_S * unit.rate)
    pace = unit.rate + (level - reserve) / SPREAD_S
    over = min(MOST_OVER, 1.0 + OVER_A_SECOND * max(0.0, now - unit.since))
    most = known.trim if known.even else over
    return min(max(pace, LEAST_UNDER * unit.rate), most * unit.rate) / unit.cost


def _trimmed(known: KnownQuota, look: FleetLook, span_s: float) -> KnownQuota:
    """Refusals by a server that tells its quota: either all is used up, or it lets no bursts pass."""
    if not look.refused:
        return replace(known, trim=min(TRIM, known.trim + TRIM_A_SECOND * span_s))
    plenty = all(unit.remaining > 2.0 * unit.cost for unit in known.units.values())
    share = look.refused / max(1, look.started, look.refused)
    if look.now - known.cut_at < SETTLING_S:
        return replace(known, even=known.even or plenty)
    trim = max(LEAST_TRIM, known.trim * (1.0 - min(0.05, share / 2.0)))
    return replace(known, even=known.even or plenty, trim=trim, cut_at=look.now)


def _by_refusals(known: KnownQuota, look: FleetLook, span_s: float) -> KnownQuota:
    if look.now < known.closed_until + SETTLING_S / 2.0:
        return known
    share = look.refused / max(1, look.started, look.refused)
    if look.refused >= 3 and look.completed == 0 and share > SATURATED and look.retry_after_s:
        return _closed(known, look)
    if look.refused and share > max(FEW, 2.0 * known.chance):
        return known if look.now - known.cut_at < SETTLING_S else _cut(known, look, share)
    if look.now - known.cut_at < CLEAN_S:
        return known
    return _grown(known, look, span_s)


def _closed(known: KnownQuota, look: FleetLook) -> KnownQuota:
    """Everything is refused: all wait, and afterwards go as fast as it was, on average, between two such moments."""
    gate_s = min(look.retry_after_s, LONGEST_GATE_S)
    opens = look.now + gate_s
    passed_s = opens - known.cycle_at
    rate = known.cycle / passed_s if known.cycle and passed_s > 0.0 else known.rate
    return replace(known, rate=rate, closed_until=opens, cycle=0.0, cycle_at=opens, cut_at=look.now)


def _cut(known: KnownQuota, look: FleetLook, share: float) -> KnownQuota:
    """To what was let through; twice in vain, and refusals are taken as given."""
    vain = known.strikes >= VAIN and share > known.cut_share / 2.0
    if vain:
        cleared = replace(known, rate=None, window=None, chance=share, strikes=0)
        return replace(cleared, cut_at=look.now + CHANCE_S)
    known = replace(
        known,
        strikes=known.strikes + 1,
        cut_at=look.now,
        cut_share=known.cut_share if known.strikes else share,
    )
    window = known.window
    if look.full or known.strikes >= TWICE:
        window = float(
            max(1, look.most_in_flight if window is None else min(look.most_in_flight, int(window) - 1))
        )
    rate = known.rate if look.full else known.accepted * TRIM
    return replace(known, rate=rate, window=window)


def _grown(known: KnownQuota, look: FleetLook, span_s: float) -> KnownQuota:
    """A little more of what is used up, after a while without refusals."""
    rate, window = known.rate, known.window
    factor = 1.0 + GROWTH_A_SECOND * span_s
    if rate is not None and known.start_rate >= SATURATED * rate:
        rate *= factor
    if window is not None and look.most_in_flight >= SATURATED * window:
        window *= factor
    return replace(known, rate=rate, window=window, strikes=0)


def read_known(record: Any) -> KnownQuota:
    """From JSON; what another version wrote, or nobody, is nothing known."""
    if not isinstance(record, dict):
        return KnownQuota()
    try:
        units = {name: ToldQuota(**unit) for name, unit in record.get("units", {}).items()}
        return KnownQuota(**{**record, "units": units})
    except (TypeError, AttributeError):
        return KnownQuota()
