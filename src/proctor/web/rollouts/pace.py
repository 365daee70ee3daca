"""The dashboard: how fast a benchmark of tasks goes, and what became of its trials so far."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from proctor.service.context import Context
from proctor.service.rollouts.benchmark import RolloutBenchmark
from proctor.service.watch import job_states
from proctor.types import Status
from proctor.web.addresses import query
from proctor.web.rollouts.words import UNSCORED
from proctor.web.runs.live import Part


@dataclass(frozen=True, slots=True)
class BenchmarkPace:
    """Of the runs at work together: trials an hour, seconds left at best and at worst, dollars; None: not known."""

    trials_per_h: float | None
    low_s: float | None
    high_s: float | None
    cost_usd: float | None
    retries: int


def pace_of(context: Context, of: RolloutBenchmark) -> BenchmarkPace | None:
    """None while no run of it is at work."""
    told = [
        progress
        for row in of.rows
        if row.status is Status.RUNNING and (progress := job_states.state_of(context, row.run).progress)
    ]
    if not told:
        return None
    lows, highs = [each.low_s for each in told], [each.high_s for each in told]
    costs = [each.cost_usd for each in told if each.cost_usd is not None]
    per_s = sum(each.items_per_s for each in told)
    return BenchmarkPace(
        trials_per_h=3600 * per_s if per_s else None,
        low_s=max((s for s in lows if s is not None), default=None),
        high_s=None if None in highs else max((s for s in highs if s is not None), default=None),
        cost_usd=sum(costs) if costs else None,
        retries=sum(each.retries for each in told),
    )


def trials_stacked(of: RolloutBenchmark) -> list[Part]:
    """What became of all trials that are planned; the numbers add up to it."""
    counted, to = Counter[str](cell.state for cell in of.all_trials), f"/rollouts/{of.id}"
    unscored = sum(counted[state] for state in UNSCORED)
    parts = [
        Part("passed", "passed", counted["passed"], to + query({}, state="passed")),
        Part("failed", "failed", counted["failed"], to + query({}, state="failed")),
        Part("truncated", "stopped at a limit", counted["limit"], to + query({}, state="limit")),
        Part("error", "not scored", unscored, to + query({}, state="unscored")),
        Part("working", "at work", counted["working"], to + query({}, state="working")),
    ]
    left = of.line.planned - sum(part.n for part in parts)
    return [part for part in (*parts, Part("to_come", "still to come", left)) if part.n > 0]
