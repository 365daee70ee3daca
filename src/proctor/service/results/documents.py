"""Results as JSON documents: one shape for the command line, for exports and for Python."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import orjson

from proctor.figures import shared_items
from proctor.findings import Cause, Comparison, Difference, Estimate, Evaluation, RunResult, Score
from proctor.manifest_json import manifest_document
from proctor.service.results import speeds
from proctor.service.results.advice import advice, asks_again
from proctor.service.results.look_documents import decision, looks, path
from proctor.service.results.outcome import PlanOutcome
from proctor.service.rows.trials_document import trials_document
from proctor.stats.estimates_task import most_stderr
from proctor.types import NOTHING_USED, Run, Usage


def to_json(document: Any) -> str:
    return orjson.dumps(document, option=orjson.OPT_INDENT_2).decode()


def outcome(ended: PlanOutcome) -> dict[str, Any]:
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
        "compared": [
            {"run_id": r.run.id, **score(s)} for r, s in zip(e.results, e.compared, strict=bool(e.compared))
        ],
        "verdict": e.verdict,
        "looks": looks(e.looks),
        "decision": decision(e.decision),
        "speeds_differ": e.unlike_times,
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
        "causes": [cause(each, r.run) for each in r.causes],
        "retries": tally.retries,
        "answer_rate": tally.answer_rate,
        # The time on the wire, waiting included; `speed` says whose clock and among how many.
        "seconds_per_item": tally.speed.wire_s if tally.speed else None,
        "speed": speeds.document(tally.speed),
        "run_output_tokens_per_s": r.output_tokens_per_s,
        "input_tokens_per_item": tally.input_tokens_per_item,
        "output_tokens_per_item": tally.output_tokens_per_item,
        "reasoning_tokens_per_item": tally.reasoning_tokens_per_item,
        "cost_usd": tally.cost_usd,
        "unused": unused(tally.unused),
        **({} if r.trials is None else {"trials": trials_document(r.trials)}),
    }


def cause(c: Cause, r: Run, again: str | None = None) -> dict[str, Any]:
    """`asking_again_may_help` False: a resume sends the same and fails again. `again` as in `causes.advice`."""
    return {
        "slug": c.slug,
        "items": c.items,
        "said": c.said,
        "item_id": c.item_id,
        "advice": advice(c, r, again),
        "asking_again_may_help": asks_again(c.slug),
    }


def unused(of: Usage) -> dict[str, Any] | None:
    """What replies cost that do not count; null where nothing is known of any."""
    return None if of == NOTHING_USED else asdict(of)


def run(r: Run) -> dict[str, Any]:
    return {
        "run_id": r.id,
        "plan_id": r.plan_id,
        "parent_id": r.parent_id,
        "model": str(r.cell.model),
        "provider": r.cell.model.provider,
        "source": r.cell.source.name,
        "source_title": r.source_title,
        "rows": r.manifest.facts.rows,
        "status": r.status.value,
        "partial": r.partial,
        "left_out": r.manifest.facts.left_out.rows if r.manifest.facts.left_out else 0,
        "planned": r.planned,
        "settled": r.settled,
        "stopped": r.stopped,
        "error": r.error,
        "error_slug": r.error_slug,
        "created_at": r.created_at,
        "started_at": r.started_at,
        "finished_at": r.finished_at,
        "elapsed_s": r.elapsed_s,
        "manifest": manifest_document(r.manifest),
    }


def score(s: Score) -> dict[str, Any]:
    return {"task": s.task, "title": s.title, "metric": s.metric, **estimate(s.estimate)}


def estimate(e: Estimate) -> dict[str, Any]:
    """`low` and `high` are the ends of the 95 % interval; a value that was not measured is null, with a reason."""
    return asdict(e)


def stderr_at_most(s: Score) -> float | None:
    """The standard error of the value; where so few items tell nothing of it, as one item does, the most it can be."""
    unknown = s.estimate.value is not None and s.estimate.stderr is None
    return most_stderr(s.metric) if unknown else s.estimate.stderr


def comparison(c: Comparison) -> dict[str, Any]:
    """The headline's difference and, under `tasks`, each task's; first minus second."""
    return {
        "first": c.first.id,
        "second": c.second.id,
        "first_model": str(c.first.cell.model),
        "second_model": str(c.second.cell.model),
        **difference(c.whole),
        "asked": None
        if c.sharing is None
        else {"first": c.sharing.first, "second": c.sharing.second, "both": c.sharing.both},
        "note": shared_items(c.sharing),
        "adjustment": "Holm over the comparisons; Benjamini-Hochberg over a comparison's tasks",
        "tasks": [difference(d) for d in c.tasks],
    }


def difference(d: Difference) -> dict[str, Any]:
    return {
        "task": d.task,
        "title": d.title,
        "metric": d.metric,
        "first_value": d.first,
        "second_value": d.second,
        "difference": estimate(d.estimate),
        "test": f"{d.test}, two-sided",
        "p_value": d.p_value,
        "adjusted_p": d.adjusted_p,
        "verdict": d.verdict,
        "margin": d.margin,
        "shared": d.shared,
        "both_right": d.both_right,
        "only_first": d.only_first,
        "only_second": d.only_second,
        "correlation": d.correlation,
        "comparisons": d.comparisons,
        "detectable": d.detectable,
        "items_needed": d.items_needed,
        "same_tasks_p": d.same_tasks_p,
        "path": path(d.path),
        "withheld": d.withheld,
    }
