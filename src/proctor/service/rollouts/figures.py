"""What the trials of a run show, with every denominator: by run, by task, and agents beside each other task by task."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from proctor.findings import Estimate
from proctor.manifest import RolloutFacts
from proctor.references import RolloutsRef
from proctor.service.results.results import Kept, mark, scored_rows
from proctor.stats.trials import PassAt, mean_score, passes, passes_of_one, success_rate
from proctor.store import AttemptRow
from proctor.types import Outcome, Run

AT_LIMIT = "limit"  # `Reply.finish` of a trial whose agent was ended by a limit


@dataclass(frozen=True, slots=True)
class TrialCounts:
    """What became of planned trials. `unscored` counts those that measured nothing, by the slug of their error.

    `at_limit` are scored ones whose agent was ended by a limit. `set_aside` ended, but stand behind trials that were
    not run when the run stopped early, and are not counted with.
    """

    planned: int
    scored: int = 0
    passed: int = 0
    at_limit: int = 0
    unscored: Mapping[str, int] = field(default_factory=dict)
    set_aside: int = 0

    @property
    def failed(self) -> int:
        return self.scored - self.passed

    @property
    def not_run(self) -> int:
        return max(0, self.planned - self.scored - sum(self.unscored.values()) - self.set_aside)


@dataclass(frozen=True, slots=True)
class Spending:
    """What scored trials took together: sums over those that tell it, of which `told` counts them by name.

    Names: seconds (of the whole trial), input_tokens, output_tokens, cost_usd. What no trial tells is not in `sums`.
    """

    trials: int
    passed: int
    sums: Mapping[str, float]
    told: Mapping[str, int]

    def per_trial(self, name: str) -> float | None:
        return self.sums[name] / self.told[name] if name in self.sums else None

    def per_pass(self, name: str) -> float | None:
        """What a passed trial took, with all that failed: the price of a success. None where none passed.

        None also where some trials do not tell it: the price would be too low.
        """
        whole = name in self.sums and self.told[name] == self.trials
        return self.sums[name] / self.passed if whole and self.passed else None


@dataclass(frozen=True, slots=True)
class TaskTrials:
    """The trials of one task in one run; estimates are over its own trials.

    `sha256` is the hash of the task's content with its overrides, as far as it was kept.
    """

    task: str
    sha256: str
    counts: TrialCounts
    success: Estimate
    score: Estimate
    passes: tuple[PassAt, ...]
    spent: Spending


@dataclass(frozen=True, slots=True)
class RunTrials:
    """All trials of a run: an agent on the tasks of a benchmark. `success` and `score` weigh its tasks alike."""

    run: Run
    counts: TrialCounts
    success: Estimate
    score: Estimate
    passes: tuple[PassAt, ...]
    tasks: tuple[TaskTrials, ...]
    spent: Spending

    @property
    def label(self) -> str:
        """What its row is called: AGENT/MODEL, and how it differs from other rows of that name."""
        return str(self.run.cell.model)

    def task(self, task: str, sha256: str) -> TaskTrials | None:
        return next((each for each in self.tasks if (each.task, each.sha256) == (task, sha256)), None)


@dataclass(frozen=True, slots=True)
class Matrix:
    """Agents by tasks. A column is a task's id with the hash of its content: a task that was changed is another."""

    columns: tuple[tuple[str, str], ...]
    rows: tuple[RunTrials, ...]

    def cells(self, row: RunTrials) -> list[TaskTrials | None]:
        """In the order of the columns; None where the run has no such task."""
        return [row.task(*column) for column in self.columns]


def matrix(store: Kept, runs: Sequence[Run]) -> Matrix:
    """Raises: NotFound."""
    rows = tuple(run_trials(store, run) for run in runs)
    columns = dict.fromkeys((each.task, each.sha256) for row in rows for each in row.tasks)
    return Matrix(tuple(columns), rows)


def run_trials(store: Kept, run: Run, *, by_task: bool = True) -> RunTrials:
    """What the run's trials show by now, also while it is at work. Without `by_task` no task has figures of its own.

    Raises: NotFound.
    """
    every = list(store.latest(run.id))
    counted = list(scored_rows(store, run))
    rows = [mark(row, None) for row in counted]
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
        alone = [replace(mark(row, None), item=f"{task}#{row.repeat}", repeat=0) for row in rows]
        counts = _counts(rows, rows, planned.get(task, len(rows)))
        yield TaskTrials(
            task,
            hashes.get(task) or (rows[0].item_hash if rows else ""),
            counts,
            success_rate(alone),
            mean_score(alone),
            passes_of_one([mark(row, None) for row in rows]),
            _spent(rows),
        )


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


def _spent(rows: Sequence[AttemptRow]) -> Spending:
    scored = [row for row in rows if row.outcome is not Outcome.ERROR]
    figures = {"seconds": "latency_s", **{n: n for n in ("input_tokens", "output_tokens", "cost_usd")}}
    known = {
        name: [float(value) for row in scored if (value := getattr(row, column)) is not None]
        for name, column in figures.items()
    }
    return Spending(
        len(scored),
        sum(row.outcome is Outcome.CORRECT for row in scored),
        {name: math.fsum(values) for name, values in known.items() if values},
        {name: len(values) for name, values in known.items()},
    )


def is_rollouts(run: Run) -> bool:
    return isinstance(run.cell.source, RolloutsRef)
