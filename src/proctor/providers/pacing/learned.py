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
SPREAD_S, REFILL_S = (
    10.0,
    2.0,
)  # over which what a bucket has beyond its reserve is used up, or lacks is filled
RESERVE_S = 0.25  # of a bucket's rate is left in it
RESERVE = 0.005  # of a window's limit is left in it
MOST_OVER, MOST_OVER_FLOOR, LEAST_UNDER = 2.0, 1.1, 0.5  # of a bucket's rate
OVER_A_SECOND = 0.02  # by which more than its rate is tried, while that passes
USUAL = 0.1
LEARNED = 0.4  # of what a request seems to cost now
FULL = 0.2  # of what flowed in: a bucket that lacks less may have been full
STEADY_S = 1.0  # over which rates are averaged
TRIM = 0.99
WIDER, MOST_MARGIN, FORGET_S = 1.25, 4.0, 60.0  # of reserves, after refusals
UNBOUNDED = 1024.0  # places from which on a fleet has no window
ENOUGH = 16  # requests that tell how many are refused
FEW = 0.02  # share of refusals from which on something is done
SETTLING_S = 1.0  # after a cut, for what was under way
FEWER = 0.9  # of the places, after a cut
TWICE = 2  # cuts after which the places are cut too
VAIN = 4  # cuts that changed nothing: refusals are chance
CHANCE_S = 30.0  # until that is looked at again
CLEAN_S = 3.0
GROWTH_A_SECOND, MOST_DOUBLINGS = 0.01, 4.0
LATELY_S = 0.2
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
    tokens: int = 0  # of the completed
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
    floor: float = (
        0.0  # at which the server refuses although so much remains: a bucket that holds less than its limit
    )
    since: float = 0.0  # when it was told first
    ref_at: float = 0.0
    ref_through: float = 0.0
    ref_remaining: float = 0.0
    ref_reset_at: float = 0.0


@dataclass(frozen=True, slots=True)
class KnownQuota:
    """What the fleet knows; kept as JSON in Redis."""

    units: Mapping[str, ToldQuota] = field(default_factory=dict)
    through: float = 0.0  # requests that were not refused, all together
    pace: float = 0.0  # of those a second, averaged
    margin: float = 1.0  # by how much reserves are widened
    begun: float | None = 0.0  # places while nothing is known; 0.0: not begun, None: it is over
    rate: float | None = None  # found by refusals
    window: float | None = None
    chance: float = 0.0
    strikes: int = 0
    cut_at: float = 0.0
    cut_share: float = 0.0
    usage: float = 0.0  # tokens of a request, averaged, as replies told
    asked: int = 0  # requests since refusals were judged last
    refused: int = 0  # of those
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
    through = max(0, look.started - look.refused)
    known = replace(
        known,
        through=known.through + through,
        pace=known.pace + weight * (through / span_s - known.pace),
        cycle=known.cycle + through,
        usage=_usage(known, look),
        cycle_at=known.cycle_at or look.now - look.span_s,
    )
    known = replace(known, units={**known.units, **{unit: _hear(known, unit, look) for unit in look.told}})
    known = _refused_all_the_same(known, look) if known.units else _by_refusals(known, look, span_s)
    known = _begin(known, look, first)
    rates = [_pace(known, unit, look.now) for unit in known.units.values()]
    if known.rate is not None:
        rates.append(known.rate)
    rate = max(LEAST_RATE, min(rates)) if rates else None
    windows = [w for w in (None if slots else known.begun, known.window, slots) if w is not None]
    window = max(1, math.floor(min(windows))) if windows else None
    return known, Allowance(rate, window, max(0.0, known.closed_until - look.now))


def _usage(known: KnownQuota, look: FleetLook) -> float:
    if not (look.tokens and look.completed):
        return known.usage
    mean = look.tokens / look.completed
    return known.usage + USUAL * (mean - known.usage) if known.usage else mean


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
    began = max(0.0, known.through - known.pace * max(0.0, look.now - at))  # requests by then
    old = known.units.get(unit)
    if old is None or old.limit != limit:
        cost = 1.0 if unit == "requests" else max(1.0, known.usage or limit - remaining)
        fresh = ToldQuota(at, limit, remaining, reset_at, limit / MINUTE_S, cost=cost)
        return replace(
            fresh,
            since=at,
            ref_at=at,
            ref_through=began,
            ref_remaining=remaining,
            ref_reset_at=reset_at or 0.0,
        )
    kept = replace(old, at=at, remaining=remaining, reset_at=reset_at)
    apart_s = at - old.ref_at
    if apart_s < APART_S:
        return kept
    if reset_at is not None:
        kept = _classified(kept, look, apart_s)
    used = old.ref_remaining - remaining + (0.0 if kept.windowed else kept.rate * apart_s)
    count = began - old.ref_through
    crossed = kept.windowed and remaining > old.ref_remaining
    if unit == "tokens" and count >= 1.0 and used > 0.0 and not crossed:
        cost = kept.cost + LEARNED * (used / count - kept.cost)
        # What flows into a full bucket is lost, and would be counted as used.
        full = limit - max(remaining, old.ref_remaining) < FULL * kept.rate * apart_s
        kept = replace(kept, cost=min(kept.cost, cost) if full and not kept.windowed else cost)
    return replace(kept, ref_at=at, ref_through=began, ref_remaining=remaining, ref_reset_at=reset_at or 0.0)


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
    spent = known.pace * unit.cost * age_s
    if unit.windowed and unit.reset_at is not None:
        left_s = unit.reset_at - now
        if left_s <= 0.0:  # a new window of which nobody has heard yet
            return TRIM * unit.rate / unit.cost
        reserve = max(unit.cost, RESERVE * unit.limit * known.margin)
        return max(0.0, unit.remaining - spent - reserve) / max(left_s, 0.1) / unit.cost
    level = min(unit.limit, unit.remaining - spent + unit.rate * age_s) - unit.floor
    spare = level - max(2.0 * unit.cost, RESERVE_S * unit.rate * known.margin)
    pace = unit.rate + spare / (SPREAD_S if spare > 0.0 else REFILL_S)
    over = MOST_OVER_FLOOR if unit.floor else 1.0 + OVER_A_SECOND * max(0.0, now - unit.since)
    return min(max(pace, LEAST_UNDER * unit.rate), min(MOST_OVER, over) * unit.rate) / unit.cost


def _refused_all_the_same(known: KnownQuota, look: FleetLook) -> KnownQuota:
    """Refusals by a server that tells its quota: all of it is used up, or less may be used at once than is left."""
    if not look.refused:
        return replace(known, margin=max(1.0, known.margin * math.exp(-look.span_s / FORGET_S)))
    if look.now - known.cut_at < SETTLING_S:
        return known
    known = replace(known, cut_at=look.now, margin=min(MOST_MARGIN, known.margin * WIDER))
    name = min(known.units, key=lambda each: _pace(known, known.units[each], look.now))
    unit = known.units[name]
    if unit.windowed or unit.remaining <= 2.0 * unit.cost:
        return known
    floor = (unit.floor + unit.remaining) / 2.0 if unit.floor else unit.remaining
    return replace(known, units={**known.units, name: replace(unit, floor=floor)})


def _by_refusals(known: KnownQuota, look: FleetLook, span_s: float) -> KnownQuota:
    if look.now < known.closed_until + SETTLING_S / 2.0:
        return known
    known = replace(known, asked=known.asked + look.started, refused=known.refused + look.refused)
    share = known.refused / max(1, known.asked, known.refused)
    if look.refused >= 3 and look.completed == 0 and share > SATURATED and look.retry_after_s:
        return _closed(known, look)
    if known.asked < ENOUGH:
        return known if known.refused else _grown(known, look, span_s)
    known = replace(known, asked=0, refused=0)
    if share > max(FEW, 2.0 * known.chance):
        return known if look.now - known.cut_at < SETTLING_S else _cut(known, look, share)
    return _grown(replace(known, strikes=0), look, span_s)


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
    # Where all places are in use those are cut, else the rate: one cut must not pay for the other.
    crowded = look.full > 0 or (known.window is not None and look.most_in_flight >= SATURATED * known.window)
    if not crowded:
        least = known.rate / 2.0 if known.rate is not None else 0.0  # few requests mislead
        known = replace(known, rate=max(least, TRIM * _let_through(known, look)))
    if crowded or known.strikes >= TWICE:
        window = min(FEWER * (known.window or math.inf), look.most_in_flight)
        known = replace(known, window=max(1.0, window))
    return known


def _let_through(known: KnownQuota, look: FleetLook) -> float:
    """Requests a second; while a fleet grows its average lags behind."""
    lately = (look.started - look.refused) / look.span_s if look.span_s >= LATELY_S else 0.0
    return max(known.pace, lately)


def _grown(known: KnownQuota, look: FleetLook, span_s: float) -> KnownQuota:
    """More of what is used up, after a while without refusals: first a little, then more and more."""
    if look.now - known.cut_at < CLEAN_S:
        return known
    rate, window = known.rate, known.window
    doublings = min((look.now - known.cut_at) / CLEAN_S - 1.0, MOST_DOUBLINGS)
    factor = 1.0 + span_s * GROWTH_A_SECOND * 2.0**doublings
    if rate is not None and known.pace >= SATURATED * rate:
        rate *= factor
    if window is not None and look.most_in_flight >= SATURATED * window:
        window *= factor
    return replace(known, rate=rate, window=window)


def read_known(record: Any) -> KnownQuota:
    """From JSON; what another version wrote, or nobody, is nothing known."""
    if not isinstance(record, dict):
        return KnownQuota()
    try:
        units = {name: ToldQuota(**unit) for name, unit in record.get("units", {}).items()}
        return KnownQuota(**{**record, "units": units})
    except (TypeError, AttributeError):
        return KnownQuota()
