"""Runs as they stand: for lists, for one run's page, and for who follows it from elsewhere."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from proctor.errors import ConfigError, Conflict, DiskFull, NotFound
from proctor.findings import RunResult
from proctor.service.context import Context, dead_owner, gone
from proctor.service.kinds import kind_of
from proctor.service.looks.peeks import looked
from proctor.service.results.results import shown
from proctor.service.runs import fleet
from proctor.service.runs.pace import waits
from proctor.service.runs.pace.progress import Progress, longest_gap_s
from proctor.service.runs.pace.waits import Waits
from proctor.service.runs.queue import redis_away
from proctor.service.watch.moment import paced
from proctor.sources.exams.tables.tasks import suite_named
from proctor.store.queue import runlog
from proctor.store.queue.endings import next_try
from proctor.store.queue.entries import PRIORITIES, Job
from proctor.store.queue.workers import FRESH_S, Load, signs
from proctor.store.read import lists, standing
from proctor.store.read.lists import RunFilter, RunLine
from proctor.store.read.standing import RunStanding
from proctor.store.write import throughput
from proctor.types import Run, Status

__all__ = ["Job", "JobState", "Progress", "RunFilter", "RunLine"]

EXACT = 1_000  # items up to which the figures of a run at work are counted anew for everyone who asks
WHOLE_ID = 36  # characters of a run's id
OPENING = dict.fromkeys(("questions", "requests"), "opening the rows and checking the model")
OPENING["verdicts"] = "reading the replies that are judged"
OPENING["tasks"] = "opening the tasks and trying the sandbox"
AT_WORK = dict.fromkeys(("questions", "requests"), "asked {} items")
AT_WORK["verdicts"] = "{} verdicts"
AT_WORK["tasks"] = "{} trials have a verdict"
ENDED = frozenset({Status.COMPLETED, Status.FAILED, Status.CANCELLED})


@dataclass(frozen=True, slots=True)
class JobState:
    """A run as one sees it who follows it from elsewhere.

    `job` is None for a run of the command line, which the server can neither stop nor restart. `progress` is what
    its process last told, None where that was killed: what it foresaw does not come. `items_per_s` is the pace just
    now, None of a process that has ended.
    """

    run: Run
    step: str
    ahead: int | None
    job: Job | None
    progress: Progress | None
    items_per_s: float | None
    waits: Waits = waits.NONE

    @property
    def ended(self) -> bool:
        return self.run.status in ENDED

    @property
    def percentage(self) -> float | None:
        """None until a worker has opened the rows."""
        run = self.run
        if run.status is Status.COMPLETED and not run.partial:
            return 100.0
        return 100.0 * (run.settled / run.planned) if run.planned else None

    @property
    def eta_s(self) -> float | None:
        """None while it is unknown."""
        left = self.run.planned - self.run.settled
        return left / self.items_per_s if self.items_per_s and left > 0 else None

    @property
    def waiting(self) -> list[str]:
        """What the run waits for just now, a sentence each."""
        return waits.words(self.waits)

    @property
    def mark(self) -> tuple[object, ...]:
        """Another as soon as there is something new to see."""
        run = self.run
        told_at = self.progress and self.progress.at
        return (run.status, run.settled, run.planned, run.error, told_at, self.waits.at, self.ahead)


def run_lines(context: Context, wanted: RunFilter, *, limit: int | None = 20) -> tuple[list[RunLine], int]:
    """The newest runs, and how many there are; runs of the command line too."""
    return lists.run_lines(context.store, wanted, limit=limit)


def source_named(context: Context, name: str | None) -> str | None:
    """The name by which lists find a source: a suite's in any case, or that of a file that a run was made of.

    Raises ConfigError, in the words of the API's specification, where it is neither.
    """
    if name is None or lists.exists(context.store, RunFilter(source=name)):
        return name
    return suite_named(name).key


def loads(context: Context) -> dict[str, Load]:
    """What the jobs at work use, by id, on whichever machine: those that the context's user may see."""
    lines, _ = lists.run_lines(context.store, RunFilter(status=Status.RUNNING), limit=None)
    seen = {line.id for line in lines}
    fresh = [sign for sign in signs(context.store) if time.time() - sign.at < FRESH_S]
    return {run: load for sign in fresh for run, load in sign.loads.items() if run in seen}


def by_hand(context: Context, lines: Sequence[RunLine]) -> dict[str, bool]:
    """The command line's runs among `lines`, and whether `proctor resume` goes on with them.

    It does not where nothing is missing, and not while a process that lives works on them.
    """
    jobs = lists.jobs_among(context.store, [line.id for line in lines])
    return {
        line.id: line.partial
        and (line.status != Status.RUNNING or dead_owner(context.store, line.id) is not None)
        for line in lines
        if line.id not in jobs and not line.complete
    }


def states(context: Context) -> dict[str, int]:
    return lists.states(context.store)


def run_of(context: Context, job_id: str) -> Run:
    """The run with exactly this id. Raises NotFound with the documented text."""
    missing = NotFound(f"Benchmark job {job_id} not found")
    if len(job_id) != WHOLE_ID:
        raise (
            NotFound(f"{missing}; give the whole id, {WHOLE_ID} characters")
            if _begins_an_id(job_id)
            else missing
        )
    try:
        return context.store.run(job_id)
    except (NotFound, Conflict):
        raise missing from None


def whole_id(context: Context, beginning: str) -> str | None:
    """The id of the only run that begins so, as terminals print ids; None for whole ids and all else."""
    try:
        return context.store.run(beginning).id if _begins_an_id(beginning) else None
    except (NotFound, Conflict, ConfigError):
        return None


def _begins_an_id(text: str) -> bool:
    return 8 <= len(text) < WHOLE_ID and set(text) <= set("0123456789abcdef-")


def source_of(run: Run) -> str:
    """The name under which lists find the run's source."""
    return run.cell.source.listed


def project_of(context: Context, run_id: str) -> int:
    """Raises NotFound."""
    return lists.project_of(context.store, run_id)


def result_of(context: Context, job_id: str) -> RunResult:
    """What the job shows so far: of one at work that is a look, which is kept. Raises NotFound.

    Of a large one at work these are the figures of up to ten seconds ago, with its row as it was then.
    """
    run = run_of(context, job_id)

    def look() -> RunResult:
        looked(context, [run])
        return shown(context.store, run)

    if run.status is not Status.RUNNING or run.settled <= EXACT:
        return look()
    return paced(context, ("result", run.id, run.started_at), look)


def state_of(context: Context, job_id: str) -> JobState:
    """Raises NotFound."""
    found = standing.of_runs(context.store, [job_id]).get(job_id)
    return _state(context, found if found is not None else _named(context, job_id))


def _named(context: Context, job_id: str) -> RunStanding:
    """Raises NotFound in the documented words."""
    run = run_of(context, job_id)
    found = standing.of_runs(context.store, [run.id]).get(run.id)
    if found is None:
        raise NotFound(f"Benchmark job {job_id} not found")
    return found


def _state(context: Context, of: RunStanding) -> JobState:
    run, job = of.run, of.job
    at_work, waiting = run.status is Status.RUNNING, run.status is Status.PENDING
    killed = at_work and gone(of.owner)
    progress = None if killed else of.told
    step = _step(run, job, killed, fleet.nobody_can(context, run.id) if waiting and job is not None else None)
    told = fleet.shards_told(context, run.id) if of.divided and at_work and not killed else None
    return JobState(
        run=run,
        step=(f"{step}; {told}" if told else step) + _without_redis(context, run),
        ahead=standing.ahead(context.store, of.num, PRIORITIES.index(job.priority))
        if waiting and job
        else None,
        job=job,
        progress=progress,
        items_per_s=_pace(run, progress),
        waits=waits.told(context.settings.home, run.id) if at_work else waits.NONE,
    )


def active(context: Context, project_id: int | None = None, *, limit: int = 10) -> list[JobState]:
    """The runs that work or wait, the newest first."""
    found = standing.at_work(context.store, project_id, limit=limit)
    return [_state(context, each) for each in found if not _lies(each)][:limit]


def _lies(of: RunStanding) -> bool:
    """What a terminal left is neither at work nor in the queue."""
    unfinished = of.run.settled < of.run.planned or bool(of.run.stopped)
    return of.job is None and unfinished and (of.run.status is not Status.RUNNING or gone(of.owner))


def progress_of(context: Context, run_id: str) -> list[Progress]:
    """How the run went, the oldest moment first. Raises NotFound."""
    return throughput.of_run(context.store, run_id)


def log_tail(context: Context, run_id: str) -> str | None:
    """The end of the run's log; None if this machine has none. Raises NotFound."""
    return runlog.tail(context.settings.home, run_of(context, run_id).id)


def log_elsewhere(context: Context, run_id: str) -> str | None:
    """The worker that has the run's log where this machine has none, as far as one remembers."""
    return fleet.worked_on_by(context, run_id)


def _pace(run: Run, told: Progress | None) -> float | None:
    """Items a second as the run's process last saw it: what earlier tries settled does not make it quick."""
    now = time.time()
    if told is None or run.status is not Status.RUNNING:
        return None
    if now - told.at > longest_gap_s(now - (run.started_at or now)):
        return None  # of a process that has ended
    return told.items_per_s or None


def _without_redis(context: Context, run: Run) -> str:
    """What one who waits must know: runs are taken all the same, by the workers that see it too."""
    why = redis_away(context.settings) if run.status is Status.PENDING else None
    return f"; {why}" if why else ""


def _step(run: Run, job: Job | None, killed: bool, nobody_can: str | None) -> str:
    if run.status is Status.PENDING and run.error and run.error_slug == DiskFull.slug:
        return f"waiting for room: {run.error}"
    if run.status is Status.PENDING and run.error and job is not None:
        return f"{next_try(job.run_after, job.tries)}: {run.error}"
    if nobody_can:
        return nobody_can
    if run.status is Status.PENDING:
        return "waiting for a worker" if job else "not yet begun in its terminal"
    holds = kind_of(run.cell.source).holds
    if run.status is Status.RUNNING:
        if killed:
            cure = "a worker takes it over" if job else f"`proctor resume {run.id[:8]}` goes on in a terminal"
            return f"its process was killed: {cure}"
        if not run.planned:
            return OPENING[holds]
        return AT_WORK[holds].format(f"{run.settled:,} of {run.planned:,}")
    return run.stopped or run.error or str(run.status)
