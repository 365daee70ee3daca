"""The queue: which run a worker takes next, and the limits that hold however many ask at once.

A job is a run that was handed to the server; its state is the run's status. The limits (runs at once,
runs waiting per user) stand inside the transaction that would break them: SQLite lets one writer in at a
time, on PostgreSQL an advisory lock does.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, Select, and_, func, or_, select, text, update

from proctor.errors import Conflict, NotFound, QueueFull
from proctor.plan import cell_to_json, plan_to_json
from proctor.store.runs import run_from, source_name
from proctor.store.schema import Database
from proctor.store.tables import JOB, PLAN, RUN
from proctor.types import Plan, Run, Status

PRIORITIES = ("high", "normal", "low")  # interactive, background, scheduled

# One number for "proctor's queue", for PostgreSQL's advisory locks.
_QUEUE_LOCK = 0x717565756566


@dataclass(frozen=True, slots=True)
class Ticket:
    """Who hands a run to the queue, and how urgent it is. `project_id` must exist."""

    user: str
    project_id: int = 1
    priority: str = "high"
    schedule_id: int | None = None


@dataclass(frozen=True, slots=True)
class Job:
    """A run's place in the queue. `tries` counts the workers that took it; `ahead` the jobs before it."""

    run: Run
    user: str
    project_id: int
    priority: str
    run_after: float
    tries: int
    cancel_at: float | None
    schedule_id: int | None


def submit(store: Database, plan: Plan, ticket: Ticket, *, title: str, most_queued: int, now: float) -> Run:
    """Keep a plan of one cell with its pending run and its place in the queue, all or nothing.

    What the run will ask is not known yet: its manifest is empty and `planned` is 0 until a worker has
    opened the rows. Raises QueueFull if the user has `most_queued` runs waiting.
    """
    (cell,) = plan.cells
    plan_id = str(uuid.uuid4())
    row = {
        "id": str(uuid.uuid4()),
        "plan_id": plan_id,
        "status": Status.PENDING.value,
        "cell": cell_to_json(cell),
        "provider": cell.model.provider,
        "model": cell.model.name,
        "source": source_name(cell.source),
        "source_title": title,
        "sample": False,
        "planned": 0,
        "settled": 0,
        "manifest": "{}",
        "created_at": now,
        "elapsed_s": 0.0,
        "project_id": ticket.project_id,
    }
    with store.writing() as connection:
        _alone(connection)
        _check_room(connection, ticket.user, most_queued)
        connection.execute(
            PLAN.insert(),
            {"id": plan_id, "name": plan.name, "body": plan_to_json(plan), "created_at": now},
        )
        kept = connection.execute(RUN.insert().returning(*RUN.c), row).one()
        connection.execute(
            JOB.insert(),
            {
                "run_num": kept.num,
                "user": ticket.user,
                "priority": PRIORITIES.index(ticket.priority),
                "run_after": now,
                "tries": 0,
                "schedule_id": ticket.schedule_id,
            },
        )
        return run_from(kept)


def take_next(store: Database, *, owner: str, now: float, lease_s: float, most_running: int) -> Run | None:
    """Make the most urgent waiting run `owner`'s, the oldest of them first; None if there is none or no room.

    A run whose worker died (its lease is over) is taken again, before those that wait.
    """
    dead = and_(RUN.c.status == Status.RUNNING.value, RUN.c.lease_until <= now)
    waiting = and_(RUN.c.status == Status.PENDING.value, JOB.c.run_after <= now)
    best = (
        select(RUN.c.num)
        .join(JOB, JOB.c.run_num == RUN.c.num)
        .where(or_(dead, waiting), JOB.c.cancel_at.is_(None))
        .order_by(RUN.c.status.desc(), JOB.c.priority, RUN.c.num)  # "running" before "pending"
        .limit(1)
    )
    with store.writing() as connection:
        _alone(connection)
        if connection.execute(_running(now)).scalar_one() >= most_running:
            return None
        num = connection.execute(best).scalar_one_or_none()
        if num is None:
            return None
        connection.execute(update(JOB).where(JOB.c.run_num == num).values(tries=JOB.c.tries + 1))
        taken = (
            update(RUN)
            .where(RUN.c.num == num)
            .values(
                status=Status.RUNNING.value,
                owner=owner,
                lease_until=now + lease_s,
                started_at=func.coalesce(RUN.c.started_at, now),
                finished_at=None,
                stopped=None,
                error=None,
                error_slug=None,
            )
            .returning(*RUN.c)
        )
        return run_from(connection.execute(taken).one())


def cancel(store: Database, run_id: str, *, now: float) -> bool:
    """End a waiting run at once, or ask the worker of a running one to end it.

    True: it has ended. False: its worker has been asked. Raises NotFound; Conflict if it has ended
    already, or was not handed to the server.
    """
    with store.writing() as connection:
        _alone(connection)
        row = _row(connection, run_id)
        dead = row.status == Status.RUNNING.value and (row.lease_until or 0) <= now
        if row.status == Status.PENDING.value or dead:
            ended = {"status": Status.CANCELLED.value, "finished_at": now, "stopped": "cancelled"}
            connection.execute(
                update(RUN).where(RUN.c.num == row.num).values(**ended, owner=None, lease_until=None)
            )
            return True
        if row.status != Status.RUNNING.value:
            raise Conflict(f"Run {run_id} has already ended: it is {row.status}")
        connection.execute(update(JOB).where(JOB.c.run_num == row.num).values(cancel_at=now))
        return False


def end(
    store: Database,
    run_id: str,
    status: Status,
    *,
    owner: str,
    now: float,
    words: Mapping[str, str | None],
) -> bool:
    """End a run whose process cannot: it died, was killed, or never came to claim it.

    `words` are `stopped`, `error` and `error_slug`. False if the run is no longer `owner`'s.
    """
    ended = (
        update(RUN)
        .where(RUN.c.id == run_id, RUN.c.owner == owner, RUN.c.status == Status.RUNNING.value)
        .values(status=status.value, finished_at=now, owner=None, lease_until=None, **words)
    )
    with store.writing() as connection:
        return connection.execute(ended).rowcount == 1


def fail(store: Database, run_id: str, *, now: float, words: Mapping[str, str | None]) -> bool:
    """Call a run failed that was cancelled because something else went wrong; see `end` for `words`."""
    changed = (
        update(RUN)
        .where(RUN.c.id == run_id, RUN.c.status == Status.CANCELLED.value)
        .values(status=Status.FAILED.value, finished_at=now, **words)
    )
    with store.writing() as connection:
        return connection.execute(changed).rowcount == 1


def wait_again(store: Database, run_id: str, *, run_after: float) -> bool:
    """Put a failed run back into the queue, not to be started before `run_after`; its error stays to be seen."""
    with store.writing() as connection:
        row = _row(connection, run_id)
        back = (
            update(RUN)
            .where(RUN.c.num == row.num, RUN.c.status == Status.FAILED.value)
            .values(status=Status.PENDING.value, finished_at=None)
        )
        if connection.execute(back).rowcount == 0:
            return False
        connection.execute(update(JOB).where(JOB.c.run_num == row.num).values(run_after=run_after))
        return True


def restart(store: Database, run_id: str, *, most_queued: int, now: float) -> Run:
    """Put a failed, cancelled or partial run back into the queue; it goes on where it stopped.

    Raises NotFound, QueueFull; Conflict if it waits, runs or has every outcome.
    """
    with store.writing() as connection:
        _alone(connection)
        row = _row(connection, run_id)
        partial = row.status == Status.COMPLETED.value and row.settled < row.planned
        if row.status not in (Status.FAILED.value, Status.CANCELLED.value) and not partial:
            raise Conflict(f"Run {run_id} is {row.status}: there is nothing to restart")
        _check_room(connection, row.user, most_queued)
        connection.execute(
            update(JOB).where(JOB.c.run_num == row.num).values(run_after=now, tries=0, cancel_at=None)
        )
        back = (
            update(RUN)
            .where(RUN.c.num == row.num)
            .values(status=Status.PENDING.value, finished_at=None, stopped=None, error=None, error_slug=None)
            .returning(*RUN.c)
        )
        return run_from(connection.execute(back).one())


def prepare(store: Database, run_id: str, *, owner: str, facts: Mapping[str, Any]) -> Run:
    """Write what the worker learned by opening the rows: title, planned, manifest (JSON), key, sample.

    Raises Conflict if the run is no longer `owner`'s.
    """
    written = (
        update(RUN)
        .where(RUN.c.id == run_id, RUN.c.owner == owner, RUN.c.status == Status.RUNNING.value)
        .values(**facts)
        .returning(*RUN.c)
    )
    with store.writing() as connection:
        row = connection.execute(written).one_or_none()
    if row is None:
        raise Conflict(f"Run {run_id} is no longer {owner}'s: another worker has it, or it was ended")
    return run_from(row)


def job(store: Database, run_id: str) -> Job:
    """Raises NotFound for a run that was not handed to the server."""
    with store.reading() as connection:
        return _job(_row(connection, run_id))


def to_end(store: Database, owners: list[str]) -> dict[str, float]:
    """The runs of these owners that somebody asked to end, with the time of asking."""
    query = (
        select(RUN.c.id, JOB.c.cancel_at)
        .join(JOB, JOB.c.run_num == RUN.c.num)
        .where(RUN.c.owner.in_(owners), JOB.c.cancel_at.is_not(None))
    )
    with store.reading() as connection:
        return {row.id: row.cancel_at for row in connection.execute(query)}


def waiting(store: Database) -> dict[str, int]:
    """How many runs wait at each priority."""
    query = (
        select(JOB.c.priority, func.count())
        .join(RUN, JOB.c.run_num == RUN.c.num)
        .where(RUN.c.status == Status.PENDING.value)
        .group_by(JOB.c.priority)
    )
    with store.reading() as connection:
        counts = {row[0]: row[1] for row in connection.execute(query)}
    return {name: counts.get(place, 0) for place, name in enumerate(PRIORITIES)}


def running(store: Database, *, now: float) -> int:
    """How many handed-over runs are at work, under a lease that is not over."""
    with store.reading() as connection:
        found: int = connection.execute(_running(now)).scalar_one()
        return found


def ahead(store: Database, run_id: str) -> int:
    """How many waiting runs will be started before this one."""
    with store.reading() as connection:
        row = _row(connection, run_id)
        before = or_(JOB.c.priority < row.priority, and_(JOB.c.priority == row.priority, RUN.c.num < row.num))
        query = (
            select(func.count())
            .select_from(JOB.join(RUN, JOB.c.run_num == RUN.c.num))
            .where(RUN.c.status == Status.PENDING.value, before)
        )
        found: int = connection.execute(query).scalar_one()
        return found


def _running(now: float) -> Select[Any]:
    return (
        select(func.count())
        .select_from(JOB.join(RUN, JOB.c.run_num == RUN.c.num))
        .where(RUN.c.status == Status.RUNNING.value, RUN.c.lease_until > now)
    )


def _alone(connection: Connection) -> None:
    """One at a time from here to the end of the transaction; SQLite's writers are that anyway."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _QUEUE_LOCK})


def _check_room(connection: Connection, user: str, most: int) -> None:
    query = (
        select(func.count())
        .select_from(JOB.join(RUN, JOB.c.run_num == RUN.c.num))
        .where(RUN.c.status == Status.PENDING.value, JOB.c.user == user)
    )
    queued = connection.execute(query).scalar_one()
    if queued >= most:
        raise QueueFull(f"{user} has {queued} runs waiting, and {most} may wait at once")


def _row(connection: Connection, run_id: str) -> Row[Any]:
    query = (
        select(
            *RUN.c,
            JOB.c.user,
            JOB.c.priority,
            JOB.c.run_after,
            JOB.c.tries,
            JOB.c.cancel_at,
            JOB.c.schedule_id,
        )
        .join(JOB, JOB.c.run_num == RUN.c.num)
        .where(RUN.c.id == run_id)
    )
    row: Any = connection.execute(query).one_or_none()  # its type lists all its columns
    if row is None:
        raise NotFound(f"No job {run_id}")
    found: Row[Any] = row
    return found


def _job(row: Row[Any]) -> Job:
    return Job(
        run=run_from(row),
        user=row.user,
        project_id=row.project_id,
        priority=PRIORITIES[row.priority],
        run_after=row.run_after,
        tries=row.tries,
        cancel_at=row.cancel_at,
        schedule_id=row.schedule_id,
    )
