"""What a score costs: each model's score against the price or the time of its answers, and who is on the frontier."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from proctor.figures import dollars, duration, speed
from proctor.findings import Basis, Estimate, RunResult
from proctor.service.context import Context
from proctor.service.results.profile import profile_of
from proctor.service.results.speeds import common, unlike


@dataclass(frozen=True, slots=True)
class TradedPoint:
    """A model's place: `x` in dollars or seconds, `low` to `high` how far single answers go; `told` says it in words.

    `front`: no other drawn model is at least as good and at least as cheap, and better in one of both.
    """

    name: str
    run_id: str
    score: Estimate
    x: float
    told: str
    low: float | None = None
    high: float | None = None
    front: bool = False


@dataclass(frozen=True, slots=True)
class Tradeoff:
    """Scores against one thing. `missing` are models that are not drawn, with the reason; `why` why nothing is."""

    of: Literal["cost", "time"]
    axis: str
    points: tuple[TradedPoint, ...] = ()
    missing: tuple[tuple[str, str], ...] = ()
    why: str = ""


Named = Mapping[str, str]  # by run id


def against_cost(results: Sequence[RunResult], scores: Sequence[Estimate], names: Named) -> Tradeoff:
    """Dollars for 1,000 answers; whose cost is not known is named, and never drawn at 0."""
    points, missing = [], []
    for result, score in zip(results, scores, strict=True):
        name, cost = names[result.run.id], per_1000(result)
        if cost is None or score.value is None:
            missing.append((name, "its cost is not known" if cost is None else score.reason or "no score"))
            continue
        points.append(TradedPoint(name, result.run.id, score, cost, f"{dollars(cost)} for 1,000"))
    return Tradeoff("cost", "$ for 1,000 answers", fronted(points), tuple(missing))


def per_1000(result: RunResult) -> float | None:
    """Dollars for 1,000 answers; None where the cost is not known or nothing was answered."""
    asked = sum(result.tally.outcomes.values())
    return None if result.tally.cost_usd is None or not asked else 1000 * result.tally.cost_usd / asked


def against_time(
    context: Context, results: Sequence[RunResult], scores: Sequence[Estimate], names: Named
) -> Tradeoff:
    """Seconds an answer by the clock by which all times mean the same; nothing is drawn where there is none."""
    clock = common(results)
    one = "a trial" if all(result.trials is not None for result in results) else "an item"
    axis = f"seconds {one}, by the server's clock" if clock == "server" else f"seconds {one}, median"
    if clock is None:
        return Tradeoff("time", axis, why=unlike(results))
    points, missing = [], []
    for result, score in zip(results, scores, strict=True):
        name, point = names[result.run.id], _timed(context, result, score, clock, names)
        if point is None:
            missing.append(
                (name, "its time is not known" if score.value is not None else score.reason or "no score")
            )
        else:
            points.append(point)
    return Tradeoff("time", axis, fronted(points), tuple(missing))


def _timed(
    context: Context, result: RunResult, score: Estimate, clock: Basis, names: Named
) -> TradedPoint | None:
    """By the server's clock the mean, which is all it tells; else the median, and how long the slowest of 20 took."""
    of, run = result.tally.speed, result.run
    seconds = of.seconds(clock) if of else None
    if of is None or seconds is None or score.value is None:
        return None
    if clock == "measured":
        by = profile_of(context, run).quantiles
        if "p50" in by and "p95" in by:
            told = f"{duration(by['p50'])}, 95 of 100 within {duration(by['p95'])}"
            return TradedPoint(names[run.id], run.id, score, by["p50"], told, by["p50"], by["p95"])
    return TradedPoint(names[run.id], run.id, score, seconds, speed(of, basis=clock))


def fronted(points: Sequence[TradedPoint]) -> tuple[TradedPoint, ...]:
    """The points, those of Pareto's frontier marked; one point alone is no frontier."""
    return tuple(
        TradedPoint(
            p.name, p.run_id, p.score, p.x, p.told, p.low, p.high, len(points) > 1 and _best(p, points)
        )
        for p in points
    )


def _best(one: TradedPoint, points: Sequence[TradedPoint]) -> bool:
    mine = one.score.value or 0.0
    for other in points:
        theirs = other.score.value or 0.0
        if theirs >= mine and other.x <= one.x and (theirs > mine or other.x < one.x):
            return False
    return True
