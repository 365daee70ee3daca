"""What of runs moves while they wait and work: read often, and read narrow, for whoever follows them from elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from proctor.errors import NotFound
from proctor.service.context import Context, gone
from proctor.service.runs.pace import waits
from proctor.service.watch.job_states import ENDED, run_of
from proctor.store.read import lists, standing
from proctor.store.read.standing import Moving
from proctor.types import Status


@dataclass(frozen=True, slots=True)
class Moved:
    """A run as it moves; `mark` is another as soon as there is something new to see."""

    id: str
    status: str
    settled: int
    ended: bool
    mark: tuple[object, ...]


def moved(context: Context, run_ids: Sequence[str]) -> list[Moved]:
    """In their order. Raises NotFound."""
    found = {each.id: each for each in standing.moving(context.store, run_ids)}
    for run_id in run_ids:
        if run_id not in found:
            run_of(context, run_id)  # says what a shortened id needs
            raise NotFound(f"Benchmark job {run_id} not found")
    return [_moved(context, found[run_id]) for run_id in run_ids]


def moved_at_work(context: Context, project_id: int | None = None, *, limit: int = 10) -> list[Moved]:
    """The runs that work or wait, as `job_states.active` lists them."""
    lines = standing.moving_at_work(context.store, project_id, limit=limit)
    return [_moved(context, line) for line in lines if not _lies(line)][:limit]


def ended_mark(context: Context, project_id: int | None = None) -> tuple[object, ...]:
    """Another after any run has begun, ended or been deleted that the context's user may see."""
    return lists.mark(context.store, project_id)


def _moved(context: Context, of: Moving) -> Moved:
    at_work = of.status == Status.RUNNING
    waits_at = waits.told(context.settings.home, of.id).at if at_work else 0.0
    waiting = of.status == Status.PENDING and of.priority is not None
    ahead = standing.ahead(context.store, of.num, of.priority or 0) if waiting else None
    killed = at_work and gone(of.owner)
    mark = (of.status, of.settled, of.planned, of.error, of.told_at, killed, waits_at, ahead)
    return Moved(of.id, of.status, of.settled, of.status in ENDED, (of.id, *mark))


def _lies(of: Moving) -> bool:
    """What a terminal left is neither at work nor in the queue."""
    unfinished = of.settled < of.planned or bool(of.stopped)
    return of.priority is None and unfinished and (of.status != Status.RUNNING or gone(of.owner))
