"""The dashboard: Leaderboard. Ranks with the range they may have, ties, and what is not on the board."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import Response

from proctor.errors import ConfigError, MetricMissing, NotFound
from proctor.figures import title_of
from proctor.findings import Basis, Board, BoardRow
from proctor.findings.heat import Heat, HeatRow
from proctor.service.context import Context
from proctor.service.evidence.board_report import board_report
from proctor.service.evidence.cache import Lately
from proctor.service.evidence.heat import of_results
from proctor.service.evidence.leaderboard import risen
from proctor.service.evidence.short import board_in_short
from proctor.service.evidence.standing import names_of
from proctor.service.evidence.tradeoffs import against_cost, against_time, per_1000
from proctor.service.results.speeds import common, unlike
from proctor.service.watch.by_suite import by_suite
from proctor.service.watch.overview import board_suite
from proctor.web.addresses import query
from proctor.web.dependencies import OpenContext, Project, Reader, Text
from proctor.web.evidence.choosing import sources
from proctor.web.evidence.compare import metrics_of
from proctor.web.evidence.drawn import differing_path, results_path, tradeoffs_of, trials_path
from proctor.web.files import as_csv, as_file, as_report
from proctor.web.heat import HeatAsked, HeatPlace, heat_view
from proctor.web.intervals import ScoreLine, plot_of
from proctor.web.render import problem_facts, show
from proctor.web.words import things

ROUTER = APIRouter()
ALL = "all"  # instead of a suite: models by suites
SMALL = 100  # items below which a board says so
Top = Annotated[int, Query(ge=1, le=1000)]


@dataclass(frozen=True, slots=True)
class BoardQuery:
    """Which board, as the address has it. The suite "all" is models by suites."""

    project: Project
    suite: Text = ""
    metric: Text = ""
    limit: Top = 10

    def query(self) -> dict[str, Any]:
        told = {"suite": self.suite, "metric": self.metric, "limit": self.limit, "project": self.project}
        return {name: value for name, value in told.items() if value}


@ROUTER.get("/leaderboard")
def leaderboard(
    request: Request,
    context: OpenContext,
    user: Reader,
    asked: Annotated[BoardQuery, Depends()],
    drawn: Annotated[HeatAsked, Depends()],
) -> Response:
    """The board; where no suite is chosen, GLUE's, unless other suites alone have real runs."""
    suite = asked.suite or board_suite(context, asked.project)
    facts: dict[str, Any] = {
        "here": "leaderboard",
        "board": None,
        "problem": None,
        "suites": None,
        "sources": [(ALL, "All suites"), *sources(context)],
        "project": asked.project,
        "metrics": metrics_of(()),
        "asked": {
            "suite": suite,
            "metric": asked.metric or "accuracy",
            "limit": asked.limit,
            "project": asked.project or "",
        },
    }
    if suite == ALL:
        return show(request, "leaderboard.html", **facts | _suites(context, asked, drawn))
    try:
        metric, board = ranked(context, suite, asked.metric, asked.limit, asked.project)
    except NotFound:
        return show(request, "leaderboard.html", **facts)  # the page says that there is nothing to rank
    except ConfigError as error:
        return show(request, "leaderboard.html", **{**facts, "problem": problem_facts(error)})
    facts["asked"]["metric"] = metric
    return show(request, "leaderboard.html", **facts | _ranked(context, board, suite, asked, drawn))


def _ranked(
    context: Context, board: Board, suite: str, asked: BoardQuery, drawn: HeatAsked
) -> dict[str, Any]:
    results = [place.result for place in board.places]
    names = names_of(results)
    scores = [place.score for place in board.places]
    lines = [
        ScoreLine(
            names[each.result.run.id], f"/runs/{each.result.run.id}", each.score, each.rank == 1, ranks(each)
        )
        for each in board.places
    ]
    traded = against_cost(results, scores, names), against_time(context, results, scores, names)
    heat = of_results(results, names, asked.metric or "score")
    leads = trials_path(results) if all(each.trials is not None for each in results) else results_path
    place = HeatPlace("/leaderboard", {**asked.query(), "suite": suite}, leads, differing_path)
    return {
        "board": board,
        "short": board_in_short(board, names),
        "plot": plot_of(lines, title_of(board.metric)),
        "heat": heat_view(heat, drawn, place) if heat.rows else None,
        "tradeoffs": tradeoffs_of(traded, title_of(board.metric)),
        "rows": _rows(board),
        "tasks": all(things(result.run) == "trials" for result in results),
        "unlike_times": unlike(results),
        "apart": any(_apart(place) for place in board.places),
        "small": min(score.scored for score in scores) < SMALL,
        "sample": any(result.run.sample for result in results),
        "metrics": metrics_of(results),
    }


def _suites(context: Context, asked: BoardQuery, drawn: HeatAsked) -> dict[str, Any]:
    """Models by suites; a cell leads to its run, a gap to the comparison."""

    def compared(row: HeatRow, best: str, worst: str) -> str:
        return "/compare" + query({"runs": [best, worst]})

    heat: Heat = Lately(context).kept(
        ("by suite", asked.limit, asked.project),
        lambda: by_suite(context, most=asked.limit, project_id=asked.project),
    )
    place = HeatPlace(
        "/leaderboard", {**asked.query(), "suite": ALL}, lambda row, run_id: f"/runs/{run_id}", compared
    )
    return {"suites": heat_view(heat, drawn, place)}


def ranked(context: Context, suite: str, metric: str, limit: int, project: int | None) -> tuple[str, Board]:
    """The board by a metric; where none is chosen by accuracy, or by the headline where there is no accuracy.

    Raises: NotFound, ConfigError.
    """
    try:
        return metric or "accuracy", Lately(context).board(suite, metric or "accuracy", limit, project)
    except MetricMissing:
        if metric:
            raise
        return "score", Lately(context).board(suite, "score", limit, project)


def ranks(place: BoardRow) -> str:
    """The rank, or the ranks that it may have."""
    return f"{place.rank}" if place.rank == place.lowest else f"{place.rank}\u2013{place.lowest}"


def _apart(place: BoardRow) -> bool:
    """Whether the board ranks by another number than the run's headline."""
    return bool(place.result.scores) and place.result.scores[0].estimate != place.score


def _rows(board: Board) -> list[dict[str, Any]]:
    clock = common([place.result for place in board.places])
    return [_row(place, clock) for place in board.places]


def _row(place: BoardRow, clock: Basis | None) -> dict[str, Any]:
    tally = place.result.tally
    return {
        "place": place,
        "clock": tally.speed.told_by(clock) if tally.speed else None,
        "headline": place.result.scores[0] if place.result.scores else None,
        "run": place.result.run,
        "trend": risen(place.trend.estimate) if place.trend else None,
        "cost_per_1000": per_1000(place.result),
    }


@ROUTER.get("/leaderboard/report")
def download(
    request: Request, context: OpenContext, user: Reader, asked: Annotated[BoardQuery, Depends()]
) -> Response:
    """The board's report as one HTML file; with `?view=1` as a page. Raises NotFound, ConfigError."""
    suite = asked.suite or board_suite(context, asked.project)
    metric, _ = ranked(context, suite, asked.metric, asked.limit, asked.project)
    html = board_report(context, suite, metric, asked.limit, asked.project)
    return as_report(request, html, "leaderboard.html")


@ROUTER.get("/leaderboard/export")
def export(
    context: OpenContext,
    user: Reader,
    project: Project,
    suite: Text = "",
    metric: Text = "accuracy",
    limit: Top = 1000,
) -> Response:
    """The board as CSV. Raises NotFound, ConfigError."""
    suite = suite or board_suite(context, project)
    board = Lately(context).board(suite, metric, limit, project)
    return as_file(as_csv([_record(place, board) for place in board.places]), "leaderboard.csv", "text/csv")


def _record(place: BoardRow, board: Board) -> dict[str, Any]:
    run, trend = place.result.run, place.trend
    return {
        "rank": place.rank,
        "lowest_rank": place.lowest,
        "model": str(run.cell.model),
        "metric": board.metric,
        "score": place.score.value,
        "low": place.score.low,
        "high": place.score.high,
        "items": place.score.scored,
        "shared_items": board.shared,
        "p_best": place.p_best,
        "benchmark_count": place.runs,
        "change": trend.estimate.value if trend else None,
        "sample_data": run.sample,
        "job_id": run.id,
    }
