"""The dashboard: Leaderboard. Ranks with the range they may have, ties, and what is not on the board."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from proctor.errors import ConfigError, MetricMissing, NotFound
from proctor.findings import Basis, Board, BoardRow
from proctor.service.context import Context
from proctor.service.evidence.cache import Lately
from proctor.service.evidence.leaderboard import risen
from proctor.service.results.speeds import common, unlike
from proctor.service.watch.overview import board_suite
from proctor.web.dependencies import OpenContext, Project, Reader, Text
from proctor.web.evidence.compare import metrics_of, sources
from proctor.web.files import as_csv, as_file
from proctor.web.render import show
from proctor.web.words import ERROR_TITLES, things

ROUTER = APIRouter()
SMALL = 100  # items below which a board says so
Top = Annotated[int, Query(ge=1, le=1000)]


@ROUTER.get("/leaderboard")
def leaderboard(
    request: Request,
    context: OpenContext,
    user: Reader,
    project: Project,
    suite: Text = "",
    metric: Text = "",
    limit: Top = 10,
) -> Response:
    """The board; where no suite is chosen, GLUE's, unless other suites alone have real runs."""
    suite = suite or board_suite(context, project)
    board, problem = None, None
    try:
        metric, board = ranked(context, suite, metric, limit, project)
    except NotFound:
        pass  # the page says that there is nothing to rank
    except ConfigError as error:
        title = ERROR_TITLES.get(error.slug, ERROR_TITLES[""])
        problem = {
            "title": title,
            "detail": str(error),
            "cure": error.cure,
            "slug": error.slug,
            "request_id": "",
        }
    return show(
        request,
        "leaderboard.html",
        here="leaderboard",
        board=board,
        problem=problem,
        rows=_rows(board) if board else [],
        tasks=board is not None and all(things(place.result.run) == "trials" for place in board.places),
        unlike_times=unlike([place.result for place in board.places]) if board else "",
        apart=board is not None and any(_apart(place) for place in board.places),
        small=board is not None and min(place.score.scored for place in board.places) < SMALL,
        sample=board is not None and any(place.result.run.sample for place in board.places),
        sources=sources(context),
        metrics=metrics_of(place.result for place in board.places) if board else metrics_of(()),
        asked={"suite": suite, "metric": metric or "accuracy", "limit": limit, "project": project or ""},
        project=project,
    )


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


def _apart(place: BoardRow) -> bool:
    """Whether the board ranks by another number than the run's headline."""
    return bool(place.result.scores) and place.result.scores[0].estimate != place.score


def _rows(board: Board) -> list[dict[str, Any]]:
    clock = common([place.result for place in board.places])
    return [_row(place, clock) for place in board.places]


def _row(place: BoardRow, clock: Basis | None) -> dict[str, Any]:
    tally = place.result.tally
    asked = sum(tally.outcomes.values())
    return {
        "place": place,
        "clock": tally.speed.told_by(clock) if tally.speed else None,
        "headline": place.result.scores[0] if place.result.scores else None,
        "run": place.result.run,
        "trend": risen(place.trend.estimate) if place.trend else None,
        "cost_per_1000": 1000 * tally.cost_usd / asked if tally.cost_usd is not None and asked else None,
    }


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
