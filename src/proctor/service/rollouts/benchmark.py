"""One benchmark of tasks: its rows, its tasks, and the matrix of its trials as they stand, those at work among them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import Literal, get_args

from proctor.errors import ConfigError
from proctor.manifest import RolloutFacts
from proctor.references import Agent, TaskEntry, TrialLimits
from proctor.service.context import Context
from proctor.service.rollouts.folders import LivePhase, live_phase
from proctor.service.rollouts.listing import BenchmarkLine, line_of, planned_of, tasks_ref
from proctor.service.rows.trials import TrialMatrix, matrix
from proctor.service.watch import job_states
from proctor.store.core.attempts import AttemptRow
from proctor.store.read import rollout_plans
from proctor.store.read.rollout_plans import RowCounts
from proctor.types import Outcome, Run, Status

TrialState = Literal[
    "waiting",
    "working",
    "passed",
    "failed",
    "limit",  # the agent was stopped at a limit, and what it had made did not pass
    "sandbox",
    "verifier",
    "provider",
    "cancelled",
    "not run",  # its run ended before it
]
STATES: tuple[TrialState, ...] = get_args(TrialState)
MOST_TRIALS = 20_000  # of a benchmark that are shown at once
LIMIT = "limit"  # how a reply ends whose agent was stopped
BROKEN: Mapping[str, TrialState] = {
    "sandbox": "sandbox",
    "sandbox-missing": "sandbox",
    "verifier": "verifier",
}


@dataclass(frozen=True, slots=True)
class TrialCell:
    """One trial as it stands. `run` is its row's run, `run_id` the name of its folder in data/runs.

    `score` is the share of the rubrics' weights, `seconds` the whole trial's, `tokens` in and out. None: not measured.
    `slug` says of a trial that measured nothing why; `phase` and `since` of one at work where it is.
    """

    run: str
    label: str
    agent: str
    task: str
    rollout: int
    run_id: str
    state: TrialState
    phase: str | None = None
    since: float | None = None
    score: float | None = None
    seconds: float | None = None
    tokens: int | None = None
    cost_usd: float | None = None
    tries: int = 0
    at: float | None = None
    slug: str | None = None

    @property
    def ended(self) -> bool:
        return self.state not in ("waiting", "working")


@dataclass(frozen=True, slots=True)
class TaskColumn:
    """A task of a benchmark. `sha256` is the hash of its content; None until it was opened."""

    id: str
    folder: str
    sha256: str | None = None


@dataclass(frozen=True, slots=True)
class BenchmarkRow:
    """One agent and model of a benchmark: a run. `step` says in words where it is; sums are None where nobody told."""

    run: str
    label: str
    agent: Agent | None
    status: Status
    step: str
    error: str | None
    error_slug: str | None
    stopped: str | None
    planned: int
    ended: int
    passed: int
    errors: int
    tokens: int | None
    cost_usd: float | None
    job: bool  # whether the server may stop and restart it
    parallel: int | None
    entries: tuple[TaskEntry, ...]
    sandbox: str | None  # how its trials were contained, in words; None until it was opened
    created_at: float
    started_at: float | None
    finished_at: float | None
    elapsed_s: float


@dataclass(frozen=True, slots=True)
class RolloutBenchmark:
    """A benchmark. `trials` are those of a row on a task, by (run, task), in the order of their rollouts.

    `left_out` counts trials beyond MOST_TRIALS. `mark` is another as soon as there is something new to see.
    """

    line: BenchmarkLine
    rows: tuple[BenchmarkRow, ...]
    tasks: tuple[TaskColumn, ...]
    trials: Mapping[tuple[str, str], tuple[TrialCell, ...]]
    left_out: int
    config: str | None
    sandbox: str
    image: str
    limits: TrialLimits
    pass_score: float

    @property
    def id(self) -> str:
        return self.line.id

    @property
    def name(self) -> str:
        return self.line.name

    @property
    def all_trials(self) -> Iterator[TrialCell]:
        for cells in self.trials.values():
            yield from cells

    @property
    def mark(self) -> tuple[object, ...]:
        rows = tuple((row.status, row.step, row.ended, row.errors) for row in self.rows)
        at_work = tuple((each.run_id, each.phase) for each in self.all_trials if each.state == "working")
        return (rows, at_work)


@dataclass(frozen=True, slots=True)
class TrialWish:
    """Which trials; None is any. `row` is the row's name, its run, or the name of its agent."""

    state: TrialState | None = None
    task: str | None = None
    row: str | None = None


@dataclass(frozen=True, slots=True)
class TrialsPage:
    """Some trials in the order of rows, tasks and rollouts; `after` begins the next page."""

    trials: tuple[TrialCell, ...]
    after: int | None
    total: int


def one(context: Context, ident: str) -> RolloutBenchmark:
    """The benchmark that its id means, or that of one of its runs. Raises: NotFound."""
    plan_id = rollout_plans.plan_of(context.store, ident)
    found = rollout_plans.runs_of(context.store, [plan_id])[plan_id]
    counts = rollout_plans.counts_of(context.store, [plan_id])
    ref = tasks_ref(found[0][0])
    left, left_out = MOST_TRIALS, 0
    rows: list[BenchmarkRow] = []
    tasks: dict[str, TaskColumn] = {}
    trials: dict[tuple[str, str], tuple[TrialCell, ...]] = {}
    for run, _ in found:
        cells = list(trials_of(context, run, most=left))
        left -= len(cells)
        left_out += max(0, planned_of(run) - len(cells)) if left <= 0 else 0
        rows.append(_row(context, run, counts.get(run.id, RowCounts()), cells))
        tasks |= {each.id: each for each in columns_of(run) if each.id not in tasks}
        for cell in cells:
            trials[run.id, cell.task] = (*trials.get((run.id, cell.task), ()), cell)
    return RolloutBenchmark(
        line_of(found, counts),
        tuple(rows),
        tuple(tasks.values()),
        trials,
        left_out,
        ref.config,
        ref.sandbox,
        ref.image,
        ref.limits,
        ref.pass_score,
    )


def runs_of(context: Context, ident: str) -> list[Run]:
    """The runs of a benchmark, by its id or that of one of them. Raises: NotFound."""
    plan = rollout_plans.plan_of(context.store, ident)
    return [run for run, _ in rollout_plans.runs_of(context.store, [plan])[plan]]


def figures_of(context: Context, ident: str) -> TrialMatrix:
    """What the trials show by now, by row and by task. Raises: NotFound."""
    return matrix(context.store, runs_of(context, ident))


def trials(
    context: Context, ident: str, wish: TrialWish = TrialWish(), *, after: int = 0, limit: int = 100
) -> TrialsPage:
    """A page of trials from a place on. Raises: NotFound, ConfigError for a state that there is not."""
    if wish.state is not None and wish.state not in STATES:
        raise ConfigError(f"state {wish.state!r}: choose from {', '.join(STATES)}")
    found = [each for each in one(context, ident).all_trials if _wanted(each, wish)]
    page = tuple(found[after : after + limit])
    more = after + limit
    return TrialsPage(page, more if more < len(found) else None, len(found))


def _wanted(cell: TrialCell, wish: TrialWish) -> bool:
    return (
        wish.state in (None, cell.state)
        and wish.task in (None, cell.task)
        and wish.row in (None, cell.label, cell.agent, cell.run)
    )


def columns_of(run: Run) -> tuple[TaskColumn, ...]:
    """The tasks of a run in its order; until they are opened, by the names of their folders."""
    entries, facts = tasks_ref(run).tasks, run.manifest.facts
    if not isinstance(facts, RolloutFacts) or len(facts.rollouts) != len(entries):
        return tuple(TaskColumn(PurePath(each.folder).name, each.folder) for each in entries)
    return tuple(
        TaskColumn(task, entry.folder, facts.folders.get(task))
        for task, entry in zip(facts.rollouts, entries, strict=True)
    )


def trials_of(context: Context, run: Run, *, most: int = MOST_TRIALS) -> Iterator[TrialCell]:
    """The trials of a run, task by task, each by its latest try."""
    kept = {(row.item_id, row.repeat): row for row in context.store.latest(run.id, limit=most)}
    ref, given = tasks_ref(run), 0
    look = _Looking(context.settings.home, run)
    number = ref.first
    for task, entry in zip(columns_of(run), ref.tasks, strict=True):
        for rollout in range(entry.rollouts):
            if given >= most:
                return
            given += 1
            yield look.cell(task.id, rollout, f"{ref.stamp}-{number + rollout}", kept.get((task.id, rollout)))
        number += entry.rollouts


class _Looking:
    """Says how the trials of a run stand. Only so many can be at work, and no further ones are looked for."""

    def __init__(self, home: Path, run: Run) -> None:
        self.home, self.run = home, run
        self.places = (run.cell.limits.parallel or 1) if run.status is Status.RUNNING else 0

    def cell(self, task: str, rollout: int, run_id: str, row: AttemptRow | None) -> TrialCell:
        settled = row is not None and row.outcome is not Outcome.ERROR
        live = None if settled or not self.places else live_phase(self.home, run_id)
        if live is not None:
            self.places -= 1
        return trial_cell(self.run, task, rollout, run_id, row, live)


def trial_cell(
    run: Run, task: str, rollout: int, run_id: str, row: AttemptRow | None, live: LivePhase | None
) -> TrialCell:
    """A trial as its latest try and its folder tell it."""
    agent = run.cell.agent.name if run.cell.agent else ""
    tried = 0 if row is None else row.attempt + 1
    cell = TrialCell(
        run.id, str(run.cell.model), agent, task, rollout, run_id, _state(run, row, live), tries=tried
    )
    if live is not None:
        return replace(cell, phase=live.phase, since=live.since, tries=tried + 1)
    if row is None:
        return cell
    return replace(
        cell,
        score=row.score,
        seconds=row.latency_s,
        tokens=_sum([row.input_tokens, row.output_tokens]),
        cost_usd=row.cost_usd,
        at=row.at,
        slug=row.error_slug,
    )


def _state(run: Run, row: AttemptRow | None, live: LivePhase | None) -> TrialState:
    if live is not None:
        return "working"
    if row is not None and row.outcome is Outcome.ERROR:
        return BROKEN.get(row.error_slug or "", "provider")
    if row is not None and row.outcome is Outcome.CORRECT:
        return "passed"
    if row is not None:
        return "limit" if row.finish == LIMIT else "failed"
    if run.status in (Status.PENDING, Status.RUNNING):
        return "waiting"
    return "cancelled" if run.status is Status.CANCELLED else "not run"


def _row(context: Context, run: Run, counts: RowCounts, cells: Sequence[TrialCell]) -> BenchmarkRow:
    facts, state = run.manifest.facts, job_states.state_of(context, run.id)
    costs = [each.cost_usd for each in cells if each.cost_usd is not None]
    return BenchmarkRow(
        run=run.id,
        label=str(run.cell.model),
        agent=run.cell.agent,
        status=run.status,
        step=state.step,
        error=run.error,
        error_slug=run.error_slug,
        stopped=run.stopped,
        planned=planned_of(run),
        ended=counts.ended,
        passed=counts.passed,
        errors=counts.errors,
        tokens=_sum([each.tokens for each in cells]),
        cost_usd=sum(costs) if costs else None,
        job=state.job is not None,
        parallel=run.cell.limits.parallel,
        entries=tasks_ref(run).tasks,
        sandbox=facts.sandbox if isinstance(facts, RolloutFacts) else None,
        created_at=run.created_at,
        started_at=run.started_at,
        finished_at=run.finished_at,
        elapsed_s=run.elapsed_s,
    )


def _sum(counts: Sequence[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None
