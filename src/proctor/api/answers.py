"""What the API says about runs, in the words of its specification, with our own fields beside."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from proctor.errors import SandboxError, VerifierError, attempt_errors
from proctor.findings import Cause, RunResult, Score
from proctor.manifest_json import manifest_document
from proctor.service.kinds import kind_of
from proctor.service.opening.catalogue import brand
from proctor.service.results import documents, speeds
from proctor.service.watch.job_states import JobState, RunLine
from proctor.service.watch.overview import HEADLINE, Shown
from proctor.types import Run, Status

# What stands in front of a job's error, by its slug (the specification's "Job-Specific Errors").
DATA = frozenset({"data", "data-missing"})
RESOURCES = frozenset({"resource-limit", "run-timeout"})
OWN = (SandboxError, VerifierError)  # of AttemptError, what no model's server has to do with
PROVIDER = frozenset(
    {"error-budget", *(error.slug for error in attempt_errors() if not issubclass(error, OWN))}
)


def stamp(at: float | None) -> str | None:
    """ISO 8601 in UTC, whole seconds.

    >>> stamp(1765140917.4)
    '2025-12-07T20:55:17Z'
    """
    return None if at is None else time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at))


def line(of: RunLine, found: Mapping[str, Shown], causes: Sequence[Cause] = ()) -> dict[str, Any]:
    """A row of `/results` and `/history`; `score` is the run's headline, null before its end.

    `causes` say why items failed; `GET /results/{job_id}` says what to do about each.
    """
    headline = found.get(HEADLINE)
    return {
        "job_id": of.id,
        "status": of.status,
        "model_name": of.model,
        "benchmark_suite": of.source,
        "created_at": stamp(of.created_at),
        "completed_at": stamp(of.finished_at),
        "provider": of.provider,
        "project_id": of.project_id,
        "partial": of.settled < of.planned,
        "sample": of.sample,
        "error": of.error,
        "planned": of.planned,
        "not_measured": of.unmeasured,
        "causes": [{"slug": each.slug, "items": each.items, "said": each.said} for each in causes],
        "score": None if headline is None else shown(headline),
    }


def shown(of: Shown) -> dict[str, Any]:
    """A run's headline in a list: its name, value, interval, and of how many items."""
    return {
        "metric": of.metric,
        "mean": of.value,
        "ci": None if of.low is None else [of.low, of.high],
        "n": of.scored,
        "asked": of.asked,
    }


def job(result: RunResult, state: JobState) -> dict[str, Any]:
    """`GET /results/{job_id}`: the documented fields first."""
    run, tally = result.run, result.tally
    again = "a restart of the job" if state.job else None
    tasks = {score.task for score in result.scores if score.task}
    suite = kind_of(run.cell.source).called(run)
    scored = any(score.estimate.value is not None for score in result.scores)
    return {
        "job_id": run.id,
        "status": run.status.value,
        "summary": {
            "total_evaluations": len(tasks),
            "benchmarks_run": [suite],
            "models_evaluated": 1 if scored else 0,
            "total_time_seconds": round(worked_s(run, now=time.time()), 2),
        },
        "performance_data": {suite: _performance(result)},
        "completed_at": stamp(run.finished_at),
        "created_at": stamp(run.created_at),
        "started_at": stamp(run.started_at),
        "model_name": run.cell.model.name,
        "provider": run.cell.model.provider,
        "partial": run.partial,
        "sample": run.sample,
        "headline": {"metric": result.scores[0].metric, **figures(result.scores[0])}
        if result.scores
        else None,
        "not_measured": run.unmeasured,
        "overall": {score.metric: figures(score) for score in result.scores if not score.task},
        "answer_rate": tally.answer_rate,
        "outcomes": dict(tally.outcomes),
        "errors": dict(tally.errors),
        "causes": [documents.cause(each, run, again) for each in result.causes],
        "retries": tally.retries,
        "seconds_per_item": tally.speed.wire_s if tally.speed else None,
        "speed": speeds.document(tally.speed),
        "run_output_tokens_per_s": result.output_tokens_per_s,
        "tokens": {
            "input_per_item": tally.input_tokens_per_item,
            "output_per_item": tally.output_tokens_per_item,
            "reasoning_per_item": tally.reasoning_tokens_per_item,
        },
        "cost_usd": tally.cost_usd,
        "unused": documents.unused(tally.unused),
        "stopped": run.stopped,
        "error": job_error(run),
        "error_slug": run.error_slug,
        "progress": progress(state),
        "manifest": manifest_document(run.manifest),
    }


def worked_s(run: Run, *, now: float) -> float:
    """Seconds of work on the run, also while it goes on.

    They are counted with each commit: until the first one, from when the run was begun.
    """
    if run.status is Status.RUNNING and run.started_at is not None and not run.elapsed_s:
        return max(0.0, now - run.started_at)
    return run.elapsed_s


def _performance(result: RunResult) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for score in result.scores:
        if score.task:
            found.setdefault(score.task, {})[score.metric] = figures(score)
    return found


def figures(score: Score) -> dict[str, Any]:
    """`std` is the standard error of `mean`; `stderr` says so by its name. Not measured is null, with a reason.

    Where so few items tell nothing of the spread, as one item does, `stderr` is null and `std` the most that it
    can be, as `note` says.
    """
    e = score.estimate
    unknown = e.value is not None and e.stderr is None
    return {
        "mean": e.value,
        "std": documents.stderr_at_most(score),
        "stderr": e.stderr,
        "note": f"n = {e.scored} tells nothing of the spread: std is the most it can be" if unknown else None,
        "ci": None if e.low is None else [e.low, e.high],
        "n": e.scored,
        "asked": e.asked,
        "method": e.method,
        "reason": e.reason,
    }


def progress(state: JobState) -> dict[str, Any]:
    run = state.run
    return {
        "job_id": run.id,
        "status": run.status.value,
        "settled": run.settled,
        "planned": run.planned or None,
        "percentage": None if state.percentage is None else round(state.percentage, 1),
        "step": state.step,
        "items_per_s": state.items_per_s,
        "eta_s": state.eta_s,
        "ahead": state.ahead,
    }


def job_error(run: Run) -> str | None:
    """Why a job failed, with the documented words in front; None if it did not."""
    if run.error is None or run.status is Status.COMPLETED:
        return None
    slug = run.error_slug or ""
    if slug in DATA:
        told = run.error.startswith("Failed to load ")  # the hub's errors begin so themselves
        return run.error if told else f"Failed to load {run.source_title} dataset: {run.error}"
    if slug == "auth" and run.error.startswith("No key for"):
        provider = run.cell.model.provider
        return f"AI provider error: API key not configured for {brand(provider)} ({run.error})"
    if slug in PROVIDER:
        return f"AI provider error: {run.error}"
    if slug in RESOURCES:
        return f"Job execution failed: Resource limits exceeded ({run.error})"
    return f"Benchmark execution failed: {run.error}"


def significance(p: float | None, better: bool) -> str:
    """The documented string, from the adjusted p-value of the best against the runner-up.

    >>> significance(0.003, True), significance(0.31, False), significance(None, False)
    ('p < 0.01', 'not significant (p = 0.31)', 'not tested')
    """
    if p is None:
        return "not tested"
    if not better:
        return f"not significant (p = {p:.2g})" if p < 0.995 else "not significant (p = 1)"
    bound = next(b for b in (0.0001, 0.001, 0.01, 0.05) if p < b)
    return f"p < {bound:g}"


def without(document: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in document.items() if name not in names}
