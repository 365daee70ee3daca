"""A run of the command line becomes a job: it is given its place in the queue, and goes on where it stopped."""

from __future__ import annotations

from typing import Any

from sqlalchemy import and_, exists, or_, select, update

from proctor.errors import Conflict, NotFound
from proctor.store.core.runs import run_from
from proctor.store.core.schema import Database
from proctor.store.core.tables import JOB, RUN
from proctor.store.queue.entries import PRIORITIES, Ticket, alone, check_room
from proctor.types import Run, Status

_LEFT = (Status.PENDING.value, Status.FAILED.value, Status.CANCELLED.value)


def hand_over(
    store: Database, run_id: str, ticket: Ticket, *, most_queued: int, now: float, dead_owner: str | None
) -> Run:
    """Have a worker go on with a run that nobody works on, all or nothing; its project stays its own.

    Nobody works on what is pending, failed, cancelled or partial, or runs under a lease that is over or under
    `dead_owner`: the same that `Store.claim` lets a terminal take, so that of the two one gets it. Raises NotFound,
    QueueFull; Conflict for a job, a run at work and one that lacks nothing.
    """
    over = or_(RUN.c.lease_until.is_(None), RUN.c.lease_until <= now, RUN.c.owner == dead_owner)
    free = or_(
        RUN.c.status.in_(_LEFT),
        and_(RUN.c.status == Status.COMPLETED.value, RUN.c.settled < RUN.c.planned),
        and_(RUN.c.status == Status.RUNNING.value, over),
    )
    nothing = ("started_at", "finished_at", "stopped", "error", "error_slug", "owner", "lease_until")
    waits = (
        update(RUN)
        .where(RUN.c.id == run_id, free, ~exists().where(JOB.c.run_num == RUN.c.num))
        .values(status=Status.PENDING.value, **dict.fromkeys(nothing))
        .returning(*RUN.c)
    )
    with store.writing() as connection:
        alone(connection)
        check_room(connection, ticket.user, most_queued)
        kept: Any = connection.execute(waits).one_or_none()
        if kept is None:
            status = connection.execute(select(RUN.c.status).where(RUN.c.id == run_id)).scalar_one_or_none()
            if status is None:
                raise NotFound(f"No run {run_id}")
            raise Conflict(f"Run {run_id} is {status}: a job, at work elsewhere, or nothing of it is missing")
        place = {"run_num": kept.num, "user": ticket.user, "priority": PRIORITIES.index(ticket.priority)}
        connection.execute(JOB.insert(), {**place, "run_after": now, "tries": 0})
        return run_from(kept)
