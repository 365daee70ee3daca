"""The words for what trials of agents show: counts with every denominator, by run and by task, and agents by tasks.

TrialCounts   what became of planned trials
PassAt        pass@k and pass^k for one k
TrialCosts      what scored trials took
TaskTrials    the trials of one task in one run
RunTrials     all trials of a run
TrialMatrix        agents by tasks
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from proctor.findings import Estimate
from proctor.types import Run


@dataclass(frozen=True, slots=True)
class PassAt:
    """The chance that at least one of k rollouts passes, and that all k do; `scored` of both counts the tasks."""

    k: int
    any: Estimate
    all: Estimate


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
class TrialCosts:
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
    spent: TrialCosts


@dataclass(frozen=True, slots=True)
class RunTrials:
    """All trials of a run: an agent on the tasks of a benchmark. `success` and `score` weigh its tasks alike."""

    run: Run
    counts: TrialCounts
    success: Estimate
    score: Estimate
    passes: tuple[PassAt, ...]
    tasks: tuple[TaskTrials, ...]
    spent: TrialCosts

    @property
    def label(self) -> str:
        """What its row is called: AGENT/MODEL, and how it differs from other rows of that name."""
        return str(self.run.cell.model)

    def task(self, task: str, sha256: str) -> TaskTrials | None:
        return next((each for each in self.tasks if (each.task, each.sha256) == (task, sha256)), None)


@dataclass(frozen=True, slots=True)
class TrialMatrix:
    """Agents by tasks. A column is a task's id with the hash of its content: a task that was changed is another."""

    columns: tuple[tuple[str, str], ...]
    rows: tuple[RunTrials, ...]

    @classmethod
    def of(cls, rows: Sequence[RunTrials]) -> TrialMatrix:
        """The columns in the order in which tasks first occur."""
        columns = dict.fromkeys((each.task, each.sha256) for row in rows for each in row.tasks)
        return cls(tuple(columns), tuple(rows))

    def cells(self, row: RunTrials) -> list[TaskTrials | None]:
        """In the order of the columns; None where the run has no such task."""
        return [row.task(*column) for column in self.columns]
