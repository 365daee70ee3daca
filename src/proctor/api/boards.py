"""Comparisons, leaderboards and trends as the API tells them."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from proctor.api import answers
from proctor.api.schemas import CompareRequest
from proctor.errors import ConfigError, NotFound
from proctor.findings import Comparison, Evaluation, Place, RunResult
from proctor.service import documents
from proctor.service.compare import Compared
from proctor.service.desk import Desk
from proctor.service.jobs_view import Wanted
from proctor.service.lately import Lately
from proctor.service.sources import suite_names


def comparison(desk: Desk, request: CompareRequest) -> dict[str, Any]:
    """Raises ConfigError for names that are no models or runs, are ambiguous, or cannot be compared."""
    found: dict[str, Compared] = {}
    for metric in request.metrics:
        try:
            found[metric] = Lately(desk).compared(
                tuple(request.model_ids), request.benchmark_suite, metric, request.margin, request.items
            )
        except NotFound as error:
            raise ConfigError(str(error)) from error
    first = found[request.metrics[0]]
    return {
        "comparison": {
            **_summary(first.evaluation, request.metrics[0]),
            "runs": [documents.run(result.run)["run_id"] for result in first.evaluation.results],
            "verdict": first.evaluation.verdict,
            "metrics": {metric: _pairs(each) for metric, each in found.items()},
            "models": [_model(result) for result in first.evaluation.results],
        }
    }


def _summary(of: Evaluation, metric: str) -> dict[str, Any]:
    """The documented keys: who is best, by how much, and whether that is shown."""
    names = _names(of)
    values = _values(of)
    ranked = sorted(of.results, key=lambda result: -(values.get(result.run.id) or 0.0))
    best, runner_up = ranked[0].run.id, ranked[1].run.id
    pair = next(c for c in of.comparisons if {c.first.id, c.second.id} == {best, runner_up})
    shown = "better" in pair.verdict
    tied = [names[r.run.id] for r in ranked if r.run.id == best or not _beats(of, best, r.run.id)]
    known = [v for v in values.values() if v is not None]
    top, second = values.get(best), values.get(runner_up)
    return {
        "models_compared": [names[result.run.id] for result in of.results],
        "best_performing": names[best],
        "tie_group": tied if len(tied) > 1 else [],
        "performance_gap": max(known) - min(known) if known else None,
        "gap_to_runner_up": top - second if top is not None and second is not None else None,
        "statistical_significance": answers.significance(pair.whole.adjusted_p, shown),
        "recommendations": _recommendations(of, names[best], tied, metric),
    }


def _values(of: Evaluation) -> dict[str, float | None]:
    """Each run's value of what is compared, on the shared items."""
    found: dict[str, float | None] = {}
    for c in of.comparisons:
        found.setdefault(c.first.id, c.whole.first)
        found.setdefault(c.second.id, c.whole.second)
    return found


def _names(of: Evaluation) -> dict[str, str]:
    """The model's name; with its provider or run where that is needed to tell two apart."""
    plain = [result.run.cell.model.name for result in of.results]
    full = [str(result.run.cell.model) for result in of.results]
    found = {}
    for result, name, whole in zip(of.results, plain, full, strict=True):
        alike = full.count(whole) > 1
        told = f"{whole} (run {result.run.id[:8]})" if alike else whole if plain.count(name) > 1 else name
        found[result.run.id] = told
    return found


def _beats(of: Evaluation, one: str, other: str) -> bool:
    for c in of.comparisons:
        if (c.first.id, c.second.id) == (one, other):
            return c.verdict == "first better"
        if (c.second.id, c.first.id) == (one, other):
            return c.verdict == "second better"
    return False


def _recommendations(of: Evaluation, best: str, tied: list[str], metric: str) -> list[str]:
    """Sentences that follow from the verdict, and from nothing else."""
    what = "the score" if metric == "score" else metric
    if len(tied) < 2:
        return [
            f"{best} is shown to be better than every other model compared, by {what}",
            f"Consider {best}, if its cost and latency suit you",
        ]
    needed = [c.whole.items_needed for c in of.comparisons if c.whole.items_needed]
    advice = (
        f"Ask more items: about {max(needed):,} like these may tell them apart"
        if needed
        else "Ask more items"
    )
    return [
        f"No difference by {what} is shown between {', '.join(tied[:-1])} and {tied[-1]}",
        f"Choose among them by cost and latency. {advice}",
    ]


def _pairs(each: Compared) -> list[dict[str, Any]]:
    return [
        {**documents.comparison(pair), "differing": [asdict(item) for item in items]}
        for pair, items in zip(each.evaluation.comparisons, each.differing, strict=True)
    ]


def _model(result: RunResult) -> dict[str, Any]:
    tally = result.tally
    return {
        "model": str(result.run.cell.model),
        "job_id": result.run.id,
        "score": answers.figures(result.scores[0].estimate) if result.scores else None,
        "seconds_per_item": tally.seconds_per_item,
        "cost_usd": tally.cost_usd,
        "answer_rate": tally.answer_rate,
    }


def leaderboard(desk: Desk, suite: str, metric: str, limit: int, project_id: int | None) -> dict[str, Any]:
    """An empty board where a known suite has no runs yet. Raises ConfigError for an unknown suite or metric."""
    try:
        board = Lately(desk).board(suite, metric, limit, project_id)
    except NotFound:
        if suite not in suite_names():
            raise ConfigError(f"Invalid benchmark suite. Supported: {', '.join(suite_names())}") from None
        return {"leaderboard": [], "total_models": 0, "last_updated": None, "suite": suite, "metric": metric}
    return {
        "leaderboard": [_place(place) for place in board.places],
        "total_models": board.models,
        "last_updated": answers.stamp(max(place.result.run.finished_at or 0.0 for place in board.places)),
        "suite": suite,
        "metric": board.metric,
        "sample": any(place.result.run.sample for place in board.places),
        "left_out": list(board.left_out),
        "comparisons": [_compact(c) for c in board.comparisons],
    }


def _place(place: Place) -> dict[str, Any]:
    run = place.result.run
    provider = run.cell.model.provider
    return {
        "rank": place.rank,
        "model": run.cell.model.name,
        "score": place.score.value,
        "provider": answers.PROVIDER_TITLES.get(provider, provider),
        "benchmark_count": place.runs,
        "model_id": str(run.cell.model),
        "job_id": run.id,
        "rank_interval": [place.rank, place.lowest],
        "ci": None if place.score.low is None else [place.score.low, place.score.high],
        "n": place.score.scored,
        "p_best": place.p_best,
        "trend": None if place.trend is None else documents.difference(place.trend),
    }


def _compact(c: Comparison) -> dict[str, Any]:
    document = documents.comparison(c)
    kept = ("first", "second", "first_model", "second_model", "difference", "adjusted_p", "verdict")
    return {name: document[name] for name in kept}


def trend(desk: Desk, wanted: Wanted, *, days: int) -> list[dict[str, Any]]:
    """The model's scores in time, newest first, each with its change from the run before that was asked the same."""
    found = Lately(desk).history(wanted.model, wanted.source, days, wanted.project_id)
    points = []
    for past in found.runs:
        run, scores = past.result.run, past.result.scores
        if scores:
            change = None if past.change is None else documents.difference(past.change)
            points.append(
                {
                    "job_id": run.id,
                    "model": str(run.cell.model),
                    "benchmark_suite": run.source_title,
                    "created_at": answers.stamp(run.created_at),
                    "metric": scores[0].metric,
                    **answers.figures(scores[0].estimate),
                    "change": change,
                }
            )
    return points
