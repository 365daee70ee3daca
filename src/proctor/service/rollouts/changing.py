"""A benchmark that was handed to the server: cancelled, taken up again, deleted, all of its rows together."""

from __future__ import annotations

from collections.abc import Sequence

from proctor.errors import Conflict, NotFound
from proctor.service.admin import prune
from proctor.service.context import Context
from proctor.service.rollouts.benchmark import runs_of
from proctor.service.runs import queue
from proctor.types import Run, Status

WAITING = (Status.PENDING, Status.RUNNING)


def cancel(context: Context, ident: str) -> bool:
    """End what waits, and ask what is at work to end; finished trials stay. True: all of it has ended.

    Raises: NotFound; Conflict where nothing of it waits or works, or it is no job of the server's.
    """
    # Those that wait first, or one of them would begin when the one at work has ended.
    runs = sorted(runs_of(context, ident), key=lambda run: run.status is Status.RUNNING)
    asked = [run for run in runs if run.status in WAITING]
    if not asked:
        raise Conflict(f"Benchmark {ident} has already ended")
    _need_jobs(context, asked)
    ended = True
    for run in asked:
        try:
            ended &= queue.cancel(context, run.id)
        except Conflict:
            continue  # it has just ended by itself
    return ended


def resume(context: Context, ident: str) -> list[Run]:
    """Back into the queue with every row that lacks trials: what has a verdict is kept. Those that were taken up.

    Raises: NotFound, QueueFull; Conflict where nothing lacks, or it is no job of the server's.
    """
    lacking = [run for run in runs_of(context, ident) if run.status not in WAITING and _lacks(run)]
    if not lacking:
        raise Conflict(f"Benchmark {ident} waits, works, or has every verdict: there is nothing to resume")
    _need_jobs(context, lacking)
    return [queue.restart(context, run.id) for run in lacking]


def _lacks(run: Run) -> bool:
    return run.partial or run.status is not Status.COMPLETED


def delete(context: Context, ident: str) -> list[Run]:
    """For good, with patches, logs and the folders of its trials on this machine.

    Raises: NotFound; Conflict while something of it waits or works.
    """
    runs = runs_of(context, ident)
    if any(run.status in WAITING for run in runs):
        raise Conflict(f"Benchmark {ident} is not over: cancel it before it is deleted")
    for run in runs:
        prune.delete(context, run.id)
    return runs


def _need_jobs(context: Context, runs: Sequence[Run]) -> None:
    for run in runs:
        try:
            queue.job(context, run.id)
        except NotFound:
            raise Conflict(
                f"Run {run.id[:8]} is of the command line: Ctrl-C ends it there, and "
                "`proctor rollouts resume` goes on with it"
            ) from None
