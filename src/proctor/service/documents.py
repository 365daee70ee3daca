"""Results as JSON documents: one shape for the command line, for exports and for Python."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import orjson

from proctor.service.runs import Outcome
from proctor.types import Comparison, Estimate, Evaluation, Run, RunResult, Score


def to_json(document: Any) -> str:
    return orjson.dumps(document, option=orjson.OPT_INDENT_2).decode()


def outcome(ended: Outcome) -> dict[str, Any]:
    """A command's whole result, with what stopped it."""
    error = ended.error
    return {
        **(
            evaluation(ended.evaluation)
            if ended.evaluation
            else {"runs": [], "comparisons": [], "verdict": ""}
        ),
        "unfinished": list(ended.unfinished),
        "interrupted": ended.interrupted,
        "notes": {run_id: list(notes) for run_id, notes in ended.notes.items() if notes},
        "error": {"slug": error.slug, "message": str(error), "cure": error.cure} if error else None,
    }


def evaluation(e: Evaluation) -> dict[str, Any]:
    return {
        "plan_id": e.plan_id,
        "runs": [result(r) for r in e.results],
        "comparisons": [comparison(c) for c in e.comparisons],
        "verdict": e.verdict,
    }


def result(r: RunResult) -> dict[str, Any]:
    """A run with its scores; the first score is the headline and stands as `score` too."""
    tally = r.tally
    return {
        **run(r.run),
        "score": estimate(r.scores[0].estimate) if r.scores else None,
        "scores": [score(s) for s in r.scores],
        "outcomes": dict(tally.outcomes),
        "errors": dict(tally.errors),
        "retries": tally.retries,
        "answer_rate": tally.answer_rate,
        "seconds_per_item": tally.seconds_per_item,
        "input_tokens_per_item": tally.input_tokens_per_item,
        "output_tokens_per_item": tally.output_tokens_per_item,
        "reasoning_tokens_per_item": tally.reasoning_tokens_per_item,
        "cost_usd": tally.cost_usd,
    }


def run(r: Run) -> dict[str, Any]:
    return {
        "run_id": r.id,
        "plan_id": r.plan_id,
        "parent_id": r.parent_id,
        "model": str(r.cell.model),
        "provider": r.cell.model.provider,
        "source": r.cell.source.name,
        "source_title": r.source_title,
        "rows": r.manifest.get("rows"),
        "status": r.status.value,
        "partial": r.partial,
        "planned": r.planned,
        "settled": r.settled,
        "stopped": r.stopped,
        "error": r.error,
        "error_slug": r.error_slug,
        "created_at": r.created_at,
        "started_at": r.started_at,
        "finished_at": r.finished_at,
        "elapsed_s": r.elapsed_s,
        "manifest": dict(r.manifest),
    }


def score(s: Score) -> dict[str, Any]:
    return {"task": s.task, "title": s.title, "metric": s.metric, **estimate(s.estimate)}


def estimate(e: Estimate) -> dict[str, Any]:
    """`low` and `high` are the ends of the 95 % interval; a value that was not measured is null, with a reason."""
    return asdict(e)


def comparison(c: Comparison) -> dict[str, Any]:
    return {
        "first": c.first.id,
        "second": c.second.id,
        "first_model": str(c.first.cell.model),
        "second_model": str(c.second.cell.model),
        "shared": c.shared,
        "both_right": c.both_right,
        "only_first": c.only_first,
        "only_second": c.only_second,
        "difference": estimate(c.difference),
        "test": f"{c.test}, two-sided; p adjusted by Holm",
        "p_value": c.p_value,
        "adjusted_p": c.adjusted_p,
        "verdict": c.verdict,
        "items_needed": c.items_needed,
    }
