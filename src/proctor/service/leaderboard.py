"""`proctor leaderboard`: models ranked on what they were asked alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from proctor.errors import ConfigError, NotFound
from proctor.findings import Board, Difference, Estimate, Place, RunResult
from proctor.service import documents
from proctor.service.results import COMPARABILITY, downwards, marks, shape, shown
from proctor.service.runs import open_store
from proctor.settings import Settings
from proctor.stats.compare import compare, differences, focused, resampled
from proctor.stats.estimates import Scored, Shape, scores
from proctor.stats.ranks import best_shares, rank_intervals
from proctor.store import Store
from proctor.store.lists import RunLine, Wanted, run_lines
from proctor.types import Run, Status


def leaderboard(settings: Settings, **wanted: Any) -> Board:
    """`board_of` on the store of these settings."""
    with open_store(settings) as store:
        return board_of(store, **wanted)


def board_of(
    store: Store,
    *,
    suite: str | None = None,
    metric: str = "score",
    limit: int = 10,
    project_id: int | None = None,
) -> Board:
    """The board of a suite or file: of the comparability key that most models share, then the newest.

    A model's row is its latest completed, non-partial run. `metric` "score" is the headline; another is
    its unweighted mean over the tasks that report it. All models are ranked, the first `limit` shown.

    Raises NotFound where there is nothing to rank; ConfigError for a metric that the runs do not report,
    or where `suite` is left out although there are runs of several sources.
    """
    lines = _complete(store, suite, project_id)
    key = _board_key(lines)
    on_board = [line for line in lines if line.comparability == key]
    latest = list({line.full_model: line for line in reversed(on_board)}.values())
    return _board(store, latest, lines, metric, limit)


def _complete(store: Store, suite: str | None, project_id: int | None) -> list[RunLine]:
    """The complete runs of the source, newest first."""
    wanted = Wanted(source=suite, status=Status.COMPLETED, project_id=project_id)
    lines = [line for line in run_lines(store, wanted, limit=None)[0] if line.complete]
    if not lines and suite:
        raise NotFound(f"No complete runs of {suite}: nothing to rank. {_rankable(store, project_id)}")
    if not lines:
        raise NotFound("No complete runs yet: nothing to rank. `proctor run mmlu --model A` makes one")
    sources = dict.fromkeys(line.source for line in lines)
    if suite is None and len(sources) > 1:
        raise ConfigError(f"There are runs of {', '.join(sources)}: say which with --suite")
    return lines


def _rankable(store: Store, project_id: int | None) -> str:
    """What has complete runs, as advice: a suite of one's own goes by the name of its file."""
    wanted = Wanted(status=Status.COMPLETED, project_id=project_id)
    sources = dict.fromkeys(line.source for line in run_lines(store, wanted, limit=None)[0] if line.complete)
    return f"There are complete runs of {', '.join(sources)}" if sources else "Nothing has complete runs yet"


def _board_key(lines: Sequence[RunLine]) -> str | None:
    """The key that most models share, then the newest; sample rows only where there is nothing else."""
    groups: dict[str | None, list[RunLine]] = {}
    for line in lines:
        groups.setdefault(line.comparability, []).append(line)

    def order(key: str | None) -> tuple[bool, int, float]:
        group = groups[key]
        return (not group[0].sample, len({line.full_model for line in group}), group[0].created_at)

    return max(groups, key=order)


def _board(
    store: Store, newest: Sequence[RunLine], lines: Sequence[RunLine], metric: str, limit: int
) -> Board:
    latest = [store.run(line.id) for line in newest]
    of = focused(shape(latest[0]), metric)
    rows = {run.id: list(marks(store, run)) for run in latest}
    pairs = compare([(run, rows[run.id]) for run in latest], of, tasks=False)
    ranks = rank_intervals([run.id for run in latest], pairs)
    first = best_shares(resampled([rows[run.id] for run in latest], of))
    places = []
    for run, (rank, lowest), share in zip(latest, ranks, first, strict=True):
        result = shown(store, run)
        measured = result.scores[0].estimate if metric == "score" else scores(rows[run.id], of)[0].estimate
        same = [line for line in lines if line.full_model == str(run.cell.model)]
        before = [r for r in same if r.comparability == run.comparability and r.created_at < run.created_at]
        trend = _trend(store, rows[run.id], before[0], of) if before else None
        places.append(Place(result, measured, rank, lowest, share, len(same), trend))
    places.sort(
        key=lambda place: (place.rank, downwards(place.score.value), str(place.result.run.cell.model))
    )
    return Board(
        source_title=latest[0].source_title,
        metric=_metric_name(places[0].result, metric, of),
        places=tuple(places[:limit]),
        comparisons=pairs,
        left_out=tuple(_left_out(store, latest[0], lines)),
        models=len(places),
    )


def _metric_name(result: RunResult, metric: str, of: Shape) -> str:
    if metric == "score":
        return result.scores[0].metric if result.scores else metric
    return of.named if len(of.tasks) > 1 else metric


def _trend(store: Store, rows: Sequence[Scored], before: RunLine, of: Shape) -> Difference:
    return differences(rows, list(marks(store, store.run(before.id))), of, tasks=False)[0]


def _left_out(store: Store, on_board: Run, lines: Sequence[RunLine]) -> list[str]:
    """Which complete runs are on other boards, in words."""
    others: dict[str | None, list[RunLine]] = {}
    for line in lines:
        if line.comparability != on_board.comparability:
            others.setdefault(line.comparability, []).append(line)
    told = []
    for group in others.values():
        manifest = store.run(group[0].id).manifest
        differ = [word for word, look in COMPARABILITY.items() if look(manifest) != look(on_board.manifest)]
        models = ", ".join(sorted({line.full_model for line in group}))
        count = f"{len(group)} {'run' if len(group) == 1 else 'runs'}"
        told.append(f"{count} with other {', '.join(differ) or 'settings'} ({models})")
    return told


def board_document(board: Board) -> dict[str, Any]:
    """The board as JSON; `trend` is the change from the model's run before, null where there is none."""
    return {
        "source_title": board.source_title,
        "metric": board.metric,
        "models": board.models,
        "sample": any(place.result.run.sample for place in board.places),
        "places": [_place_document(place) for place in board.places],
        "comparisons": [documents.comparison(c) for c in board.comparisons],
        "left_out": list(board.left_out),
    }


def _place_document(place: Place) -> dict[str, Any]:
    run = place.result.run
    return {
        "rank": place.rank,
        "lowest_rank": place.lowest,
        "model": str(run.cell.model),
        "provider": run.cell.model.provider,
        "run_id": run.id,
        "score": asdict(place.score),
        "p_best": place.p_best,
        "runs": place.runs,
        "trend": documents.difference(place.trend) if place.trend else None,
    }


def risen(change: Estimate) -> int:
    """1 or -1 where the interval of a change leaves out 0, else 0."""
    if change.low is None or change.high is None:
        return 0
    return int(change.low > 0) - int(change.high < 0)
