"""What comparison and leaderboard draw alike: scores against cost and time, and where their heat maps lead."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from proctor.figures import estimate, least_of
from proctor.findings import RunResult
from proctor.findings.heat import HeatRow
from proctor.service.evidence.tradeoffs import Tradeoff
from proctor.web.addresses import query
from proctor.web.heat import CellPath


@dataclass(frozen=True, slots=True)
class TradeoffView:
    """`data` is what the chart draws; None where nothing is drawn, and `of` says why."""

    of: Tradeoff
    title: str
    label: str
    data: dict[str, Any] | None


def tradeoffs_of(found: Sequence[Tradeoff], metric: str) -> list[TradeoffView]:
    """Those that draw two models or more, or say why they cannot."""
    return [_view(each, metric) for each in found if each.points or each.missing or each.why]


def _view(of: Tradeoff, metric: str) -> TradeoffView:
    title = f"Score and {of.of}"
    label = f"{metric.capitalize()} against {of.axis}; the table of models has the same figures"
    if len(of.points) < 2:
        return TradeoffView(of, title, label, None)
    points = [
        {
            "name": point.name,
            "x": point.x,
            "xs": point.told,
            "y": point.score.value,
            "ys": estimate(point.score),
            "low": point.score.low,
            "high": point.score.high,
            "x_low": point.low,
            "x_high": point.high,
            "front": point.front,
        }
        for point in of.points
    ]
    least = least_of(metric, [point.score.low for point in of.points])
    return TradeoffView(of, title, label, {"x": of.axis, "y": metric, "least": least, "points": points})


def results_path(row: HeatRow, run_id: str) -> str | None:
    """The answers of a task in a run; a group has no list of its own."""
    return None if row.below else f"/runs/{run_id}/results" + query({"task": row.key})


def trials_path(results: Sequence[RunResult]) -> CellPath:
    """The trials of a task by an agent, in the list of its benchmark."""
    runs = {result.run.id: result.run for result in results}

    def path(row: HeatRow, run_id: str) -> str | None:
        run = runs[run_id]
        return f"/rollouts/{run.plan_id}/trials" + query({"agent": str(run.cell.model), "task": row.key})

    return path


def differing_path(row: HeatRow, best: str, worst: str) -> str | None:
    """The items of a task on which two runs differ."""
    return None if row.below else "/compare" + query({"runs": [best, worst], "task": row.key}) + "#items"
