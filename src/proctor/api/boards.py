"""Comparisons, leaderboards and trends as the API tells them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import orjson

from proctor.api import answers
from proctor.api.schemas import CompareRequest
from proctor.errors import ConfigError, MetricMissing, NotFound
from proctor.findings import BoardRow, Comparison, Evaluation, RunResult, Score
from proctor.service.context import Context
from proctor.service.evidence import history
from proctor.service.evidence.cache import Lately
from proctor.service.evidence.compare import Compared
from proctor.service.evidence.history import TrendPoint
from proctor.service.evidence.standing import standing
from proctor.service.opening.catalogue import brand
from proctor.service.results import documents, look_documents, speeds
from proctor.service.results.causes import of_lines
from proctor.service.watch.job_states import RunFilter, RunLine, source_named
from proctor.service.watch.overview import figures_of


def run_list(context: Context, lines: Sequence[RunLine]) -> list[dict[str, Any]]:
    """Runs of a list with their headlines, and why items of theirs failed."""
    found, causes = figures_of(context, lines), of_lines(context, lines)
    return [answers.line(line, found.get(line.id, {}), causes.get(line.id, ())) for line in lines]


def comparison(context: Context, request: CompareRequest) -> dict[str, Any]:
    """Raises ConfigError for names that are no models or runs, are ambiguous, or cannot be compared."""
    found: dict[str, Compared] = {}
    lacking: dict[str, MetricMissing] = {}
    source = source_named(context, request.benchmark_suite)
    for metric in dict.fromkeys(request.metrics):
        try:
            found[metric] = Lately(context).compared(
                tuple(request.model_ids),
                source=source,
                metric=metric,
                margin=request.margin,
                items=request.items,
                grader=request.grader,
                only=request.only,
            )
        except NotFound as error:
            raise ConfigError(str(error)) from error
        except MetricMissing as error:
            lacking[metric] = error
    if not found:
        raise next(iter(lacking.values()))
    metric, first = next(iter(found.items()))
    return {
        "comparison": {
            **_summary(first.evaluation, metric),
            "left_out": {name: str(error) for name, error in lacking.items()},
            "runs": [documents.run(result.run)["run_id"] for result in first.evaluation.results],
            "verdict": first.evaluation.verdict,
            "looks": look_documents.looks(first.evaluation.looks),
            "decision": look_documents.decision(first.evaluation.decision),
            "speeds_differ": first.evaluation.unlike_times,
            "metrics": {metric: _pairs(each) for metric, each in found.items()},
            "models": [
                _model(result, score)
                for result, score in zip(first.evaluation.results, first.evaluation.compared, strict=True)
            ],
        }
    }


def _summary(of: Evaluation, metric: str) -> dict[str, Any]:
    """The documented keys: who is best, by how much, and whether that is shown."""
    found = standing(of, metric)
    return {
        "models_compared": [found.names[result.run.id] for result in of.results],
        "best_performing": found.names[found.best],
        "tie_group": list(found.tied) if len(found.tied) > 1 else [],
        "gap_metric": of.comparisons[0].whole.metric,
        "performance_gap": found.gap,
        "gap_to_runner_up": found.gap_to_runner_up,
        "statistical_significance": answers.significance(found.adjusted_p, found.shown),
        "recommendations": list(found.recommendations),
    }


def _pairs(each: Compared) -> list[dict[str, Any]]:
    return [
        {**documents.comparison(pair), "differing": [asdict(item) for item in items]}
        for pair, items in zip(each.evaluation.comparisons, each.differing, strict=True)
    ]


def _model(result: RunResult, compared: Score) -> dict[str, Any]:
    """`score` is the run's headline, `compared` what is compared, on the items that all runs have scored."""
    tally = result.tally
    headline = result.scores[0] if result.scores else None
    return {
        "model": str(result.run.cell.model),
        "job_id": result.run.id,
        "metric": headline.metric if headline else None,
        "score": answers.figures(headline) if headline else None,
        "not_measured": result.run.unmeasured,
        "compared": {"metric": compared.metric, **answers.figures(compared)},
        "seconds_per_item": tally.speed.wire_s if tally.speed else None,
        "speed": speeds.document(tally.speed),
        "cost_usd": tally.cost_usd,
        "answer_rate": tally.answer_rate,
    }


def leaderboard(
    context: Context, suite: str, metric: str, limit: int, project_id: int | None
) -> dict[str, Any]:
    """An empty board where a known suite has no runs yet. Raises ConfigError for an unknown suite or metric."""
    suite = source_named(context, suite) or suite
    try:
        board = Lately(context).board(suite, metric, limit, project_id)
    except NotFound:
        return {"leaderboard": [], "total_models": 0, "last_updated": None, "suite": suite, "metric": metric}
    return {
        "leaderboard": [_place(place) for place in board.places],
        "total_models": board.models,
        "last_updated": answers.stamp(max(place.result.run.finished_at or 0.0 for place in board.places)),
        "suite": suite,
        "metric": metric,
        "metric_title": board.metric,
        "source_title": board.source_title,
        "sample": any(place.result.run.sample for place in board.places),
        "shared_items": board.shared,
        "note": board.note,
        "left_out": list(board.left_out),
        "speeds_differ": speeds.unlike([place.result for place in board.places]),
        "comparisons": [_compact(c) for c in board.comparisons],
    }


def _place(place: BoardRow) -> dict[str, Any]:
    run, scores = place.result.run, place.result.scores
    provider = run.cell.model.provider
    return {
        "rank": place.rank,
        "model": run.cell.model.name,
        "score": place.score.value,
        "provider": brand(provider),
        "benchmark_count": place.runs,
        "model_id": str(run.cell.model),
        "job_id": run.id,
        "rank_interval": [place.rank, place.lowest],
        "ci": None if place.score.low is None else [place.score.low, place.score.high],
        "n": place.score.scored,
        "headline": {"metric": scores[0].metric, **answers.figures(scores[0])} if scores else None,
        "p_best": place.p_best,
        "speed": speeds.document(place.result.tally.speed),
        "trend": None if place.trend is None else documents.difference(place.trend),
    }


def _compact(c: Comparison) -> dict[str, Any]:
    document = documents.comparison(c)
    kept = ("first", "second", "first_model", "second_model", "difference", "adjusted_p", "verdict")
    return {name: document[name] for name in kept}


def trend(context: Context, wanted: RunFilter) -> bytes:
    """The model's scores in time, newest first, each with its change from the run before that was asked the same.

    It is JSON: of a thousand runs, to write it takes longer than all else of the answer.
    """
    return Lately(context).of_ended(
        "trend", wanted, lambda of: orjson.dumps([_point(past) for past in history.trend(context, of)])
    )


def _point(past: TrendPoint) -> dict[str, Any]:
    return {
        "job_id": past.run.id,
        "model": past.run.full_model,
        "benchmark_suite": past.run.source_title,
        "created_at": answers.stamp(past.run.created_at),
        "metric": past.score.metric,
        **answers.figures(past.score),
        "change": None if past.change is None else documents.difference(past.change),
    }
