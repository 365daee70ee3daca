"""Jobs as they stand: for lists, for one job's page, and for whoever follows it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from proctor.errors import ConfigError, Conflict, DiskFull, NotFound
from proctor.findings import RunResult
from proctor.service.context import Context, dead_owner
from proctor.service.results.results import shown
from proctor.service.runs.pulse import longest_gap_s
from proctor.sources.exams.tables.tasks import suite_named
from proctor.store.queue import entries
from proctor.store.queue.endings import next_try
from proctor.store.queue.entries import Job
from proctor.store.queue.heartbeat import FRESH_S, Load, signs
from proctor.store.read import lists
from proctor.store.read.lists import RunFilter, RunLine
from proctor.store.write import throughput
from proctor.store.write.throughput import Pulse
from proctor.types import Run, Status

__all__ = ["Job", "JobState", "RunFilter", "RunLine"]

WHOLE_ID = 36  # characters of a run's id
ENDED = frozenset({Status.COMPLETED, Status.FAILED, Status.CANCELLED})


@dataclass(frozen=True, slots=True)
class JobState:
    """A job between two looks. `percentage` is None until a worker has opened the rows; `eta_s` while it is unknown."""

    run: Run
    percentage: float | None
    step: str
    items_per_s: float | None
    eta_s: float | None
    ahead: int | None
    is_job: bool = True  # False for a run of the command line

    @property
    def ended(self) -> bool:
        return self.run.status in ENDED


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
    """What the jobs at work use, by id: those of this machine's workers that the context's user may see."""
    lines, _ = lists.run_lines(context.store, RunFilter(status=Status.RUNNING), limit=None)
    seen = {line.id for line in lines}
    fresh = [sign for sign in signs(context.settings.home) if time.time() - sign.at < FRESH_S]
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
    """What the job shows so far. Raises NotFound."""
    return shown(context.store, run_of(context, job_id))


def state_of(context: Context, job_id: str) -> JobState:
    """How far a job is. Raises NotFound."""
    run = run_of(context, job_id)
    share = run.settled / run.planned if run.planned else None
    if run.status is Status.COMPLETED:
        share = share if run.partial else 1.0
    pace = _pace(context, run)
    is_job = bool(lists.jobs_among(context.store, [run.id]))
    left = run.planned - run.settled
    return JobState(
        run=run,
        percentage=None if share is None else 100.0 * share,
        step=_step(context, run, is_job),
        items_per_s=pace,
        eta_s=left / pace if pace and left > 0 else None,
        ahead=entries.ahead(context.store, run.id) if run.status is Status.PENDING else None,
        is_job=is_job,
    )


def _pace(context: Context, run: Run) -> float | None:
    """Items a second as the run's process last saw it: what earlier tries settled does not make it quick."""
    beat = pulse_of(context, run)
    now = time.time()
    if beat is None or run.status is not Status.RUNNING:
        return None
    if now - beat.at > longest_gap_s(now - (run.started_at or now)):
        return None  # of a process that has ended
    return beat.items_per_s or None


def pulse_of(context: Context, run: Run) -> Pulse | None:
    """The last pulse; None where the process that wrote it was killed: what it foresaw does not come."""
    killed = run.status is Status.RUNNING and dead_owner(context.store, run.id) is not None
    return None if killed else throughput.last(context.store, run.id)


def _step(context: Context, run: Run, is_job: bool) -> str:
    if run.status is Status.PENDING and run.error:
        if run.error_slug == DiskFull.slug:
            return f"waiting for room: {run.error}"
        job = entries.job(context.store, run.id)
        return f"{next_try(job.run_after, job.tries)}: {run.error}"
    if run.status is Status.PENDING:
        return "waiting for a worker" if is_job else "not yet begun in its terminal"
    if run.status is Status.RUNNING:
        if dead_owner(context.store, run.id) is not None:
            cure = (
                "a worker takes it over" if is_job else f"`proctor resume {run.id[:8]}` goes on in a terminal"
            )
            return f"its process was killed: {cure}"
        if not run.planned:
            return "opening the rows and checking the model"
        return f"asked {run.settled:,} of {run.planned:,} items"
    return run.stopped or run.error or str(run.status)
