"""Batches as the dataset runner's specification has them, as benchmarks: how each stands, and how fast it goes."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from pydantic import ConfigDict, Field

from proctor.errors import ConfigError, NotFound
from proctor.references import BatchRef
from proctor.service.admin import prune
from proctor.service.batches import registry
from proctor.service.batches.outputs import is_batch
from proctor.service.context import Context
from proctor.service.datasets import requests as datasets
from proctor.service.runs import queue
from proctor.service.runs.queue import Ticket
from proctor.service.runs.requests import BatchConfig, Priority, batch_plan
from proctor.service.watch import job_states
from proctor.service.watch.job_states import JobState, Progress
from proctor.store.read.batches import rows as batch_rows
from proctor.store.read.batches import runs as batch_runs
from proctor.store.read.batches.runs import BatchRunFilter
from proctor.store.write import summaries
from proctor.types import Run, Status

PREFIX = "bm_"
NEWS_S = 30.0  # how long what a process told of itself holds
MOST = 200


class BenchmarkRequest(BatchConfig):
    """Which model answers the requests of which data set, and how they are sent."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"model_id": "simulator/sim", "dataset_id": "ds_4f1c9a7be02d83a65c17e9b4"}]
        },
    )

    model_id: str = Field(min_length=1, max_length=300, description="provider/name, or the name of a model.")
    dataset_id: str = Field(min_length=1, max_length=200, description="A data set's id, or its name.")
    project_id: int = Field(1, ge=1, le=2**31 - 1)
    priority: Priority = "high"

    def config(self) -> BatchConfig:
        return BatchConfig(**{name: getattr(self, name) for name in BatchConfig.model_fields})


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A batch as it stands.

    `completed` of `total` requests have an answer, `failed` have none; `progress` is `completed` in whole percent.
    `throughput` is in output tokens a second: just now of a batch at work, over its whole time of one that has
    ended; None until something is known, as of all rates and of the time left. `why` says why it failed or stopped.
    """

    run: Run
    state: JobState
    project_id: int
    status: Status
    total: int
    failed: int
    errors: Mapping[str, int]
    throughput: float | None
    requests_per_s: float | None
    eta_s: float | None
    eta_low_s: float | None
    eta_high_s: float | None
    total_time_s: float
    dataset_id: str
    dataset_name: str
    model_name: str
    why: str | None

    @property
    def id(self) -> str:
        return ident_of(self.run)

    @property
    def completed(self) -> int:
        return self.run.settled

    @property
    def progress(self) -> int:
        return 100 * self.completed // self.total if self.total else 0

    @property
    def began_at(self) -> float:
        """When its work began; before that, when it was handed in."""
        return self.run.started_at or self.run.created_at


@dataclass(frozen=True, slots=True)
class BenchmarkFilter:
    """Which benchmarks; None is any. `before` is the id of the last one of the page before."""

    status: Status | None = None
    project_id: int | None = None
    dataset_id: str | None = None
    model: str | None = None
    before: str | None = None


@dataclass(frozen=True, slots=True)
class BenchmarkList:
    """Some benchmarks, the newest first; `after` begins the next page. `total` is how many the filter lets through."""

    benchmarks: tuple[Benchmark, ...]
    after: str | None
    total: int


@dataclass(frozen=True, slots=True)
class _Speeds:
    throughput: float | None = None
    requests_per_s: float | None = None
    eta_s: float | None = None
    low_s: float | None = None
    high_s: float | None = None


@dataclass(frozen=True, slots=True)
class _Counted:
    errors: Mapping[str, int] = field(default_factory=dict)
    output_tokens: float | None = None


def ident_of(run: Run) -> str:
    """A benchmark's id: its run's, with "bm_" before it."""
    return PREFIX + run.id


def run_of(context: Context, ident: str) -> Run:
    """The run that a benchmark's id, or a run's, means. Raises NotFound, also for a run of anything else."""
    run_id = ident.removeprefix(PREFIX)
    try:
        batch_runs.need_batch(context.store, run_id)
        return job_states.run_of(context, run_id)
    except NotFound:
        raise NotFound(f"Benchmark {ident} not found") from None


def run_named(context: Context, word: str) -> Run:
    """The run that an id, its beginning, or a benchmark's id means. Raises NotFound, ConfigError."""
    run = context.store.run(word.removeprefix(PREFIX))
    batch_runs.need_batch(context.store, run.id)
    return run


def start(context: Context, request: BenchmarkRequest, user: str) -> Run:
    """Put a benchmark into the queue; it waits until a slot is free, and outlives whoever asked for it.

    Raises NotFound for a data set or a project that there is not, ConfigError, QueueFull.
    """
    model = registry.model_of(context, request.model_id)
    source = datasets.batch_ref(context, request.dataset_id, request.project_id)
    config = request.config()
    plan = batch_plan(source, str(model), config, context.settings, base_url=model.base_url)
    run = queue.submit(context, plan, Ticket(user, request.project_id, request.priority))
    registry.remember(context, run.cell.model)
    return run


def one(context: Context, ident: str) -> Benchmark:
    """Raises NotFound."""
    run = run_of(context, ident)
    return _benchmark(context, run, job_states.project_of(context, run.id))


def listed(context: Context, wanted: BenchmarkFilter | None = None, *, limit: int = 50) -> BenchmarkList:
    """The newest first. Raises NotFound for a `before` that there is not."""
    wanted = wanted or BenchmarkFilter()
    limit = max(1, min(limit, MOST))
    before = None if wanted.before is None else run_of(context, wanted.before).id
    contents = None if wanted.dataset_id is None else _contents(context, wanted.dataset_id)
    chosen = BatchRunFilter(
        () if wanted.status is None else (wanted.status,), wanted.project_id, contents, wanted.model
    )
    rows, total = batch_runs.listed(context.store, chosen, before=before, limit=limit + 1)
    found = tuple(_benchmark(context, context.store.run(run_id), project) for run_id, project in rows[:limit])
    return BenchmarkList(found, found[-1].id if len(rows) > limit else None, total)


def _contents(context: Context, dataset_id: str) -> tuple[str, ...]:
    """The file that a data set's id means; the id of one that was deleted is the file's hash."""
    try:
        return (datasets.one(context, dataset_id).content,)
    except NotFound:
        return (dataset_id,)


def _benchmark(context: Context, run: Run, project_id: int) -> Benchmark:
    state = job_states.state_of(context, run.id)
    run = state.run
    source = run.cell.source
    if not is_batch(run):
        raise NotFound(f"Benchmark {ident_of(run)} not found")
    ref = source if isinstance(source, BatchRef) else None  # none where another tool sent the requests
    told = _counted(context, run)
    speeds = _speeds(run, state, told)
    dataset = datasets.of_ref(context, ref, project_id) if ref else None
    nothing = run.status is Status.COMPLETED and run.planned > 0 and run.settled == 0
    return Benchmark(
        run=run,
        state=state,
        project_id=project_id,
        status=Status.FAILED if nothing else run.status,
        total=run.planned or (dataset.count if dataset else 0),
        failed=sum(told.errors.values()),
        errors=told.errors,
        throughput=speeds.throughput,
        requests_per_s=speeds.requests_per_s,
        eta_s=speeds.eta_s,
        eta_low_s=speeds.low_s,
        eta_high_s=speeds.high_s,
        total_time_s=worked_s(run, now=time.time()),
        dataset_id=dataset.id if dataset else (ref and ref.content) or source.listed,
        dataset_name=dataset.name if dataset else source.listed,
        model_name=registry.name_of(context, run.cell.model),
        why=run.error or run.stopped or ("no request was answered" if nothing else None),
    )


def _counted(context: Context, run: Run) -> _Counted:
    """Errors by class: as they were counted when the run ended, else by the rows of now."""
    kept = summaries.get(context.store, run.id) if run.finished_at else None
    if kept is not None:
        return _Counted(kept["tally"].get("errors", {}), kept.get("profile", {}).get("output_tokens"))
    return _Counted(batch_rows.errors_of(context.store, run.id) if run.started_at else {})


def _speeds(run: Run, state: JobState, told: _Counted) -> _Speeds:
    if state.ended:
        spent_s, tokens = run.elapsed_s, told.output_tokens
        done = run.settled + sum(told.errors.values())
        return _Speeds(
            tokens / spent_s if tokens is not None and spent_s else None,
            done / spent_s if done and spent_s else None,
            0.0 if run.status is Status.COMPLETED else None,
        )
    seen, now = state.progress, time.time()
    if (
        seen is None
        or run.status is not Status.RUNNING
        or now - seen.at > NEWS_S + worked_s(run, now=now) / 100
    ):
        return _Speeds()
    return _left(state, seen, now)


def _left(state: JobState, seen: Progress, now: float) -> _Speeds:
    """What a process at work told last; the time left has shrunk by what has gone since."""
    gone_s = now - seen.at
    low, high = (None if each is None else max(0.0, each - gone_s) for each in (seen.low_s, seen.high_s))
    between = (low + high) / 2 if low is not None and high is not None else state.eta_s
    return _Speeds(
        seen.tokens_per_s or None, state.items_per_s or seen.items_per_s or None, between, low, high
    )


def worked_s(run: Run, *, now: float) -> float:
    """Seconds of work on the run, also while it goes on; of a resumed one those of its earlier stretches."""
    if run.status is Status.RUNNING and run.started_at is not None and not run.elapsed_s:
        return max(0.0, now - run.started_at)
    return run.elapsed_s


def cancel(context: Context, ident: str) -> bool:
    """True: it has ended. False: it has been asked to. What was answered stays. Raises NotFound, Conflict."""
    return queue.cancel(context, run_of(context, ident).id)


def resume(context: Context, ident: str) -> Benchmark:
    """Back into the queue; it goes on with what is missing or failed. Raises NotFound, Conflict, QueueFull."""
    run = queue.restart(context, run_of(context, ident).id)
    return one(context, run.id)


def delete(context: Context, ident: str) -> Run:
    """For good, with its results and labels. Raises NotFound; Conflict while it waits or works."""
    run = run_of(context, ident)
    prune.delete(context, run.id)
    return run


def status_named(word: str | None) -> Status | None:
    """Raises ConfigError."""
    try:
        return Status(word) if word else None
    except ValueError:
        raise ConfigError(f"status {word!r}: choose from {', '.join(Status)}") from None
