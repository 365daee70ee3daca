"""Runs that are handed to the server: into the queue, out of it again, and how it stands."""

from __future__ import annotations

import shutil
import time
from dataclasses import dataclass, replace

from proctor.errors import ConfigError
from proctor.plan import check
from proctor.service.admin.addresses import check_address
from proctor.service.context import Context
from proctor.service.hosts.agents import share_agent
from proctor.service.kinds import kind_of
from proctor.settings import Settings
from proctor.settings.redis_link import away
from proctor.store.queue import entries, workers
from proctor.store.queue.entries import PRIORITIES, Also, Job, Ticket
from proctor.types import Cell, Plan, Run

__all__ = [
    "PRIORITIES",
    "Disk",
    "Job",
    "Queue",
    "Ticket",
    "cancel",
    "disk",
    "has_room",
    "job",
    "places_ahead",
    "redis_away",
    "restart",
    "standing",
    "submit",
    "submit_all",
    "worker_seen",
    "worker_waits_for",
    "workers_there",
]


@dataclass(frozen=True, slots=True)
class Queue:
    """How the queue stands: runs that wait by priority, and runs at work of how many that may be."""

    waiting: dict[str, int]
    running: int
    most_running: int


def submit(
    context: Context,
    plan: Plan,
    ticket: Ticket,
    *,
    also: Also | None = None,
    longest_s: float | None = None,
) -> Run:
    """Check a plan of one cell and put it into the queue; nothing is opened or asked yet.

    `also` is done in the same transaction. `longest_s` is how long the job may take, where that is not
    PROCTOR_JOB_TIMEOUT. Raises ConfigError for a plan that cannot be meant,
    QueueFull, NotFound for an unknown project.
    """
    if len(plan.cells) > 1:
        raise ConfigError(f"A job asks one model about one source; this plan has {len(plan.cells)} cells")
    (run,) = submit_all(context, plan, ticket, also=also, longest_s=longest_s)
    return run


def submit_all(
    context: Context,
    plan: Plan,
    ticket: Ticket,
    *,
    also: Also | None = None,
    longest_s: float | None = None,
) -> list[Run]:
    """The same for a plan of several cells on sources of one name: a job for each, done one after the other."""
    plan = check(plan)
    if ticket.priority not in PRIORITIES:
        raise ConfigError(f"priority {ticket.priority!r}: choose from {', '.join(PRIORITIES)}")
    settings = context.settings
    longest_s = settings.job_timeout_s if longest_s is None else longest_s
    cells = tuple(_for_the_queue(cell, context, longest_s) for cell in plan.cells)
    source = cells[0].source
    return entries.submit_all(
        context.store,
        replace(plan, cells=cells),
        replace(ticket, title=kind_of(source).named(source)),
        most_queued=settings.most_queued,
        now=time.time(),
        also=also,
    )


def _for_the_queue(cell: Cell, context: Context, longest_s: float) -> Cell:
    settings = context.settings
    check_address(cell, settings)
    limits = replace(cell.limits, timeout_s=min(cell.limits.timeout_s, longest_s))
    kind = kind_of(cell.source)
    source = kind.share(kind.resolved(cell.source, settings), context)
    return replace(cell, source=source, limits=limits, agent=share_agent(cell.agent, context))


def has_room(context: Context, user: str) -> bool:
    """Whether a user may have another run waiting."""
    return entries.has_room(context.store, user, context.settings.most_queued)


def cancel(context: Context, run_id: str) -> bool:
    """End a waiting job, or ask a running one to end, which it does within two seconds.

    True: it has ended. False: it has been asked. Raises NotFound; Conflict if it has ended already.
    """
    return entries.cancel(context.store, run_id, now=time.time())


def restart(context: Context, run_id: str) -> Run:
    """Put a failed, cancelled or partial job back into the queue; it goes on where it stopped.

    Raises NotFound, QueueFull; Conflict if it waits, runs or has every outcome.
    """
    return entries.restart(context.store, run_id, most_queued=context.settings.most_queued, now=time.time())


def job(context: Context, run_id: str) -> Job:
    """Raises NotFound for a run that was not handed to the server."""
    return entries.job(context.store, run_id)


def places_ahead(context: Context, run_id: str) -> int:
    """How many waiting jobs will be started before this one. Raises NotFound."""
    return entries.ahead(context.store, run_id)


def standing(context: Context) -> Queue:
    return Queue(
        entries.waiting(context.store),
        entries.running(context.store, now=time.time()),
        context.settings.most_running,
    )


def worker_waits_for(context: Context) -> str | None:
    """Why no worker takes a run, as the last one said; None where one that is there does, or none is there."""
    there = workers.lately(context.store, now=time.time())
    return there[0].waits_for if there and all(sign.waits_for for sign in there) else None


def worker_seen(context: Context) -> float | None:
    """When a worker last looked into the queue, on any machine (Unix time); None if none ever did."""
    said = workers.signs(context.store)
    return said[0].at if said else None


def redis_away(settings: Settings) -> str | None:
    """Why the Redis of the fleet does not answer; None if it does, or if there is none."""
    return away(settings.redis_url) if settings.redis_url else None


def workers_there(context: Context) -> int:
    """How many workers take runs just now, on all machines."""
    return len(workers.lately(context.store, now=time.time()))


@dataclass(frozen=True, slots=True)
class Disk:
    """The disk of PROCTOR_HOME on the server's machine, in bytes: what is free, and what must stay so."""

    free_bytes: int
    least_bytes: int


def disk(context: Context) -> Disk:
    return Disk(shutil.disk_usage(context.settings.home).free, context.settings.least_disk_bytes)
