"""What trials show, as JSON: one shape for the command line, exports and the API."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from proctor.findings import Estimate
from proctor.trial_findings import PassAt, RunTrials, TaskTrials, TrialCosts, TrialCounts, TrialMatrix

SPENT = ("seconds", "input_tokens", "output_tokens", "cost_usd")


def matrix_document(of: TrialMatrix) -> dict[str, Any]:
    """`tasks` are the columns; each run's `tasks` stand in their order, null where it has no such task."""
    return {
        "tasks": [{"task": task, "sha256": digest} for task, digest in of.columns],
        "runs": [
            {**trials_document(row), "tasks": [cell and task_document(cell) for cell in of.cells(row)]}
            for row in of.rows
        ],
    }


def trials_document(of: RunTrials) -> dict[str, Any]:
    return {
        "run_id": of.run.id,
        "label": of.label,
        **counts(of.counts),
        **_figures(of),
        "tasks": [task_document(each) for each in of.tasks],
    }


def task_document(of: TaskTrials) -> dict[str, Any]:
    return {"task": of.task, "sha256": of.sha256, **counts(of.counts), **_figures(of)}


def counts(of: TrialCounts) -> dict[str, Any]:
    return {
        "planned": of.planned,
        "scored": of.scored,
        "passed": of.passed,
        "at_limit": of.at_limit,
        "unscored": dict(of.unscored),
        "not_run": of.not_run,
        "set_aside": of.set_aside,
    }


def _figures(of: RunTrials | TaskTrials) -> dict[str, Any]:
    return {
        "success_rate": estimate(of.success),
        "mean_score": estimate(of.score),
        "pass_at": passes(of.passes),
        "per_trial": {name: of.spent.per_trial(name) for name in SPENT},
        "per_pass": {name: of.spent.per_pass(name) for name in SPENT},
        "totals": totals(of.spent),
    }


def estimate(e: Estimate) -> dict[str, Any]:
    return asdict(e)


def passes(of: Sequence[PassAt]) -> list[dict[str, Any]]:
    return [{"k": one.k, "any": estimate(one.any), "all": estimate(one.all)} for one in of]


def totals(of: TrialCosts) -> dict[str, float | None]:
    return {name: of.sums.get(name) for name in SPENT}
