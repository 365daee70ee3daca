"""Benchmarks of tasks: each a plan with a run for every agent and model; the newest first, a page at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from proctor.errors import ConfigError
from proctor.findings import Estimate
from proctor.references import RolloutsRef
from proctor.service.context import Context
from proctor.store.read import rollout_plans
from proctor.store.read.rollout_plans import RANKS, PlanFilter, RowCounts
from proctor.types import Run, Status

MOST = 200


@dataclass(frozen=True, slots=True)
class RowLine:
    """One row of a benchmark in a list: a run. `why` says why it failed or stopped; None where it did neither."""

    run: str
    label: str
    status: Status
    why: str | None
    planned: int
    ended: int
    passed: int
    errors: int


@dataclass(frozen=True, slots=True)
class BenchmarkLine:
    """A benchmark in a list.

    `planned` trials are wanted, `ended` have a verdict, `passed` of them passed; `errors` measured nothing by now.
    `state` is that of its runs that matters most: one at work makes it `running`. Times are Unix seconds.
    """

    id: str
    name: str
    stamp: str
    state: Status
    rows: tuple[str, ...]  # what its runs are called: "shell/ollama/qwen3:8b"
    tasks: int
    planned: int
    ended: int
    passed: int
    errors: int
    created_at: float
    finished_at: float | None
    project_id: int
    runs: tuple[RowLine, ...] = ()

    @property
    def over(self) -> bool:
        return self.state not in (Status.RUNNING, Status.PENDING)


@dataclass(frozen=True, slots=True)
class BenchmarkPage:
    """Some benchmarks, the newest first; `after` begins the next page. `total` is how many the wish lets through."""

    benchmarks: tuple[BenchmarkLine, ...]
    after: str | None
    total: int


@dataclass(frozen=True, slots=True)
class BenchmarkWish:
    """Which benchmarks; None is any. `after` is the id of the last one of the page before."""

    status: Status | None = None
    project_id: int | None = None
    name: str | None = None
    after: str | None = None


def listed(context: Context, wish: BenchmarkWish = BenchmarkWish(), *, limit: int = 50) -> BenchmarkPage:
    """The newest first. Raises: NotFound for an `after` that there is not."""
    limit = max(1, min(limit, MOST))
    wanted = PlanFilter(wish.status, wish.project_id, wish.name)
    ids, total = rollout_plans.listed(context.store, wanted, before=wish.after, limit=limit + 1)
    shown = ids[:limit]
    runs = rollout_plans.runs_of(context.store, shown)
    counts = rollout_plans.counts_of(context.store, shown)
    lines = tuple(line_of(runs[plan_id], counts) for plan_id in shown if runs[plan_id])
    return BenchmarkPage(lines, shown[-1] if len(ids) > limit else None, total)


def line_of(runs: Sequence[tuple[Run, int]], counts: Mapping[str, RowCounts]) -> BenchmarkLine:
    """A benchmark's line, of its runs with their projects and what became of their trials."""
    first, project = runs[0]
    told = [counts.get(run.id, RowCounts()) for run, _ in runs]
    refs = [tasks_ref(run) for run, _ in runs]
    ends = [run.finished_at for run, _ in runs]
    return BenchmarkLine(
        id=first.plan_id,
        name=refs[0].name,
        stamp=refs[0].stamp,
        state=max((run.status for run, _ in runs), key=RANKS.index),
        rows=tuple(str(run.cell.model) for run, _ in runs),
        tasks=len({entry.folder for ref in refs for entry in ref.tasks}),
        planned=sum(planned_of(run) for run, _ in runs),
        ended=sum(each.ended for each in told),
        passed=sum(each.passed for each in told),
        errors=sum(each.errors for each in told),
        created_at=min(run.created_at for run, _ in runs),
        finished_at=max((each for each in ends if each is not None), default=None) if all(ends) else None,
        project_id=project,
        runs=tuple(_row(run, counts.get(run.id, RowCounts())) for run, _ in runs),
    )


def _row(run: Run, told: RowCounts) -> RowLine:
    why = run.error or run.stopped
    return RowLine(run.id, str(run.cell.model), run.status, why, planned_of(run), *told)


def successes(context: Context, lines: Sequence[BenchmarkLine]) -> Mapping[str, Estimate]:
    """The success rate of every run of ended benchmarks, by run, as it was kept at the run's end."""
    kept = {row.run: context.store.scores(row.run) for line in lines for row in line.runs if line.over}
    return {run: scores[0].estimate for run, scores in kept.items() if scores}


def tasks_ref(run: Run) -> RolloutsRef:
    """Raises: ConfigError for a run of anything but tasks."""
    ref = run.cell.source
    if not isinstance(ref, RolloutsRef):
        raise ConfigError(f"Run {run.id[:8]} is no benchmark of tasks: it is of {ref.listed}")
    return ref


def planned_of(run: Run) -> int:
    """How many trials a run is of; before its tasks are opened, as many as its plan says."""
    return run.planned or sum(entry.rollouts for entry in tasks_ref(run).tasks)
