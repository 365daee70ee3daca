"""What the trials of a run show, with every denominator: by run, by task, and agents beside each other task by task."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from proctor.manifest import RolloutFacts
from proctor.references import RolloutsRef
from proctor.service.rows.marks import Kept, mark, scored_rows
from proctor.stats.metrics import Scored
from proctor.stats.rollouts.trials import (
    mean_score,
    passes,
    passes_of_one,
    score_of_one,
    success_of_one,
    success_rate,
)
from proctor.store import AttemptRow
from proctor.store.core.attempts import AT_LIMIT
from proctor.trial_findings import RunTrials, TaskTrials, TrialCosts, TrialCounts, TrialMatrix
from proctor.types import Outcome, Run

__all__ = [
    "RunTrials",
    "TaskTrials",
    "TrialCosts",
    "TrialCounts",
    "TrialMatrix",
    "is_rollouts",
    "matrix",
    "run_trials",
    "trials_of",
]


def matrix(store: Kept, runs: Sequence[Run]) -> TrialMatrix:
    """Raises: NotFound."""
    return TrialMatrix.of([run_trials(store, run) for run in runs])


def run_trials(store: Kept, run: Run, *, by_task: bool = True) -> RunTrials:
    """What the run's trials show by now, also while it is at work. Raises: NotFound."""
    every = list(store.latest(run.id))
    counted = list(scored_rows(store, run))
    rows = [_marked(row) for row in counted]
    return RunTrials(
        run=run,
        counts=_counts(every, counted, run.planned),
        success=success_rate(rows),
        score=mean_score(rows),
        passes=passes(rows),
        tasks=tuple(_tasks(run, every)) if by_task else (),
        spent=_spent(counted),
    )


def _tasks(run: Run, every: Sequence[AttemptRow]) -> Iterable[TaskTrials]:
    """Each task by itself, with all of its trials that ended: within one task no gap favours an easy one."""
    by_task: dict[str, list[AttemptRow]] = {}
    for row in every:
        by_task.setdefault(row.item_id, []).append(row)
    hashes, planned = _planned(run)
    for task in dict.fromkeys([*planned, *by_task]):
        rows = by_task.get(task, [])
        counts = _counts(rows, rows, planned.get(task, len(rows)))
        yield TaskTrials(
            task,
            hashes.get(task) or (rows[0].item_hash if rows else ""),
            counts,
            success_of_one(counts.passed, counts.scored, counts.planned),
            score_of_one(
                [row.score or 0.0 for row in rows if row.outcome is not Outcome.ERROR], counts.planned
            ),
            passes_of_one(counts.passed, counts.scored),
            _spent(rows),
        )


def _marked(row: AttemptRow) -> Scored:
    return mark(row, None, by_content=True)


def _planned(run: Run) -> tuple[Mapping[str, str], Mapping[str, int]]:
    """The hash of each task, and how many trials of it are planned."""
    facts = run.manifest.facts
    return (facts.folders, facts.rollouts) if isinstance(facts, RolloutFacts) else ({}, {})


def _counts(every: Sequence[AttemptRow], counted: Sequence[AttemptRow], planned: int) -> TrialCounts:
    scored = [row for row in counted if row.outcome is not Outcome.ERROR]
    ended = sum(row.outcome is not Outcome.ERROR for row in every)
    return TrialCounts(
        planned=planned,
        scored=len(scored),
        passed=sum(row.outcome is Outcome.CORRECT for row in scored),
        at_limit=sum(row.finish == AT_LIMIT for row in scored),
        unscored=Counter(row.error_slug or "unknown" for row in every if row.outcome is Outcome.ERROR),
        set_aside=ended - len(scored),
    )


def _spent(rows: Sequence[AttemptRow]) -> TrialCosts:
    scored = [row for row in rows if row.outcome is not Outcome.ERROR]
    figures = {"seconds": "latency_s", **{n: n for n in ("input_tokens", "output_tokens", "cost_usd")}}
    known = {
        name: [float(value) for row in scored if (value := getattr(row, column)) is not None]
        for name, column in figures.items()
    }
    return TrialCosts(
        len(scored),
        sum(row.outcome is Outcome.CORRECT for row in scored),
        {name: math.fsum(values) for name, values in known.items() if values},
        {name: len(values) for name, values in known.items()},
    )


def trials_of(store: Kept, run: Run) -> RunTrials | None:
    """What its trials show; None for a run that asked something else."""
    return run_trials(store, run) if is_rollouts(run) else None


def is_rollouts(run: Run) -> bool:
    return isinstance(run.cell.source, RolloutsRef)
