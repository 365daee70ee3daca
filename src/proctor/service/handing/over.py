"""Runs of the command line that the server's workers go on with: what stands in the way, and the handing over."""

from __future__ import annotations

import time

from proctor.errors import ConfigError, Conflict, Forbidden, NotFound
from proctor.grading.exam import FUNCTION
from proctor.service.admin.addresses import check_address
from proctor.service.context import Context, dead_owner
from proctor.service.opening.needs import lacking
from proctor.service.opening.sources import open_source
from proctor.service.runs.resuming import as_it_began, graded_as_it_began, same_rows
from proctor.store.queue import entries, handing
from proctor.store.queue.entries import Ticket
from proctor.types import Run, Status


def left_lying(context: Context, run: Run) -> bool:
    """Whether it is a run of the command line that lacks something, and that no living process works on."""
    if not run.partial or _is_job(context, run):
        return False
    return run.status is not Status.RUNNING or dead_owner(context.store, run.id) is not None


def in_the_way(context: Context, run: Run) -> str | None:
    """Why a worker of the server could not go on with a run that lies, as a sentence without its stop; None: it can.

    Quick: the rows themselves are looked at when the run is handed over.
    """
    if run.cell.source.imported:
        return "it was asked by another tool, which alone can ask again"
    if run.cell.model.provider == "replay":
        return "its answers come from a file of replies in its terminal, not from a model"
    if run.cell.limits.until_decided:
        return "it is asked side by side with others until their difference is decided, which goes on only together"
    if run.cell.limits.shard is not None:
        return f"it is part {run.cell.limits.shard} of a run that is divided among machines, and stays on its own"
    if not run.manifest.opened:
        return "its rows were never opened: begin a new run like it"
    if any(name.startswith(FUNCTION) for name in run.manifest.facts.graders.values()):
        return "a Python function graded it, which only its own program has"
    if _at_work_beside(context, run):
        return "its terminal is at work on another run of the same plan, and comes to this one"
    lacks = lacking(context, run)
    return f"the server lacks {lacks}" if lacks else None


def _at_work_beside(context: Context, run: Run) -> bool:
    """Whether its own process may be at work still: on another run of the plan, one after the other."""
    beside = (each for each in context.store.plan_runs(run.plan_id) if each.id != run.id)
    return any(
        each.status is Status.RUNNING
        and not _is_job(context, each)
        and dead_owner(context.store, each.id) is None
        for each in beside
    )


def hand_over(context: Context, run: Run, user: str) -> Run:
    """Put a run of the command line into the server's queue; what has an outcome is not asked again.

    Raises: ConfigError with what stands in the way; DataError where its rows are others by now; Forbidden for an
    address that the server may not ask for this user; Conflict for a job, a run at work and one that lacks nothing;
    QueueFull, NotFound.
    """
    if not left_lying(context, run):
        raise Conflict(
            f"Run {run.id[:8]} is a job, is at work, or nothing of it is missing: nothing was done"
        )
    if why := in_the_way(context, run):
        raise ConfigError(f"The server cannot go on with run {run.id[:8]}: {why}")
    check_address(run.cell, context.settings)
    _check_rows(context, run)
    ticket = Ticket(user, title=run.source_title)
    return handing.hand_over(
        context.store,
        run.id,
        ticket,
        most_queued=context.settings.most_queued,
        now=time.time(),
        dead_owner=dead_owner(context.store, run.id),
    )


def _check_rows(context: Context, run: Run) -> None:
    """Raises: DataError unless the rows are here and still those that the run began with."""
    try:
        source = open_source(as_it_began(run), context.settings, fetch=False)
    except Forbidden:
        return  # they are on the hub: the worker fetches them, and looks then
    same_rows(run, graded_as_it_began(run, source))


def _is_job(context: Context, run: Run) -> bool:
    try:
        entries.job(context.store, run.id)
    except NotFound:
        return False
    return True
