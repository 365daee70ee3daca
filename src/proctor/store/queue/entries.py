"""The queue: runs that are handed to the server, and the limits that hold however many ask at once.

A job is a run that was handed to the server; its state is the run's status. The limits (runs at once,
runs waiting per user) stand inside the transaction that would break them: SQLite lets one writer in at a
time, on PostgreSQL an advisory lock does. Which run a worker takes next stands in taking.py, and how a run
leaves the queue in endings.py.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypedDict

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    Select,
    and_,
    distinct,
    func,
    or_,
    select,
    text,
    update,
)

from proctor.errors import Conflict, NotFound, QueueFull
from proctor.manifest import UNOPENED, Manifest
from proctor.plan import cell_to_json, plan_to_json
from proctor.store.core.runs import manifest_text, run_from
from proctor.store.core.schema import Database
from proctor.store.core.tables import JOB, PLAN, PROJECT, RUN
from proctor.store.core.walls import WHOLE
from proctor.types import Cell, Plan, Run, Status

PRIORITIES = ("high", "normal", "low")  # interactive, background, scheduled
MOST_TRIES = 3  # failed tries in a row that settle nothing: the failure of the last is final

# One number for "proctor's queue", for PostgreSQL's advisory locks.
_QUEUE_LOCK = 0x717565756566

# Something that is kept in the same transaction as the run, or prevents it by raising.
Also = Callable[[Connection, Run], None]


@dataclass(frozen=True, slots=True)
class Ticket:
    """Who hands a run to the queue, how urgent it is, and its name for people."""

    user: str
    project_id: int = 1
    priority: str = "high"
    schedule_id: int | None = None
    title: str = ""


@dataclass(frozen=True, slots=True)
class Job:
    """A run's place in the queue. `tries` counts how often it was taken, of those takes that count (endings.py)."""

    run: Run
    user: str
    project_id: int
    priority: str
    run_after: float
    tries: int
    cancel_at: float | None
    schedule_id: int | None


def submit(
    store: Database, plan: Plan, ticket: Ticket, *, most_queued: int, now: float, also: Also | None = None
) -> Run:
    """Keep a plan of one cell with its pending run and its place in the queue, all or nothing.

    What the run will ask is not known yet: its manifest is empty and `planned` is 0 until a worker has
    opened the rows. Raises QueueFull if the user has `most_queued` runs waiting; NotFound for an unknown
    project; what `also` raises.
    """
    (run,) = submit_all(store, plan, ticket, most_queued=most_queued, now=now, also=also)
    return run


def submit_all(
    store: Database, plan: Plan, ticket: Ticket, *, most_queued: int, now: float, also: Also | None = None
) -> list[Run]:
    """The same for a plan of several cells: a run for each, of which one is at work at a time. Raises likewise."""
    with store.writing() as connection:
        alone(connection)
        check_project(connection, ticket.project_id)
        check_room(connection, ticket.user, most_queued)
        plan_id = str(uuid.uuid4())
        body = {"id": plan_id, "name": plan.name, "body": plan_to_json(plan), "created_at": now}
        connection.execute(PLAN.insert(), body)
        runs = [_add(connection, plan_id, cell, ticket, now) for cell in plan.cells]
        if also is not None:
            for run in runs:
                also(connection, run)
        return runs


def _add(connection: Connection, plan_id: str, cell: Cell, ticket: Ticket, now: float) -> Run:
    run = {
        "id": str(uuid.uuid4()),
        "plan_id": plan_id,
        "status": Status.PENDING.value,
        "cell": cell_to_json(cell),
        "provider": cell.model.provider,
        "model": cell.model.name,
        "source": cell.source.listed,
        "source_title": ticket.title or cell.source.listed,
        "sample": False,
        "planned": 0,
        "settled": 0,
        "manifest": manifest_text(UNOPENED),
        "created_at": now,
        "elapsed_s": 0.0,
        "project_id": ticket.project_id,
    }
    kept: Any = connection.execute(RUN.insert().returning(*RUN.c), run).one()
    place = {
        "run_num": kept.num,
        "user": ticket.user,
        "priority": PRIORITIES.index(ticket.priority),
        "run_after": now,
        "tries": 0,
        "schedule_id": ticket.schedule_id,
    }
    connection.execute(JOB.insert(), place)
    return run_from(kept)


class OpenedFacts(TypedDict, total=False):
    """What becomes known of a queued run when its rows are opened."""

    cell: Cell  # with the rows that were found, so that a later try takes the same
    source_title: str
    planned: int
    manifest: Manifest
    comparability: str | None
    exam: str
    sample: bool


def prepare(store: Database, run_id: str, *, owner: str, facts: OpenedFacts) -> Run:
    """Write down what became known of the run. Raises Conflict if it is no longer `owner`'s."""
    columns: dict[str, Any] = {**facts}
    if "cell" in facts:
        columns["cell"] = cell_to_json(facts["cell"])
    if "manifest" in facts:
        columns["manifest"] = manifest_text(facts["manifest"])
    written = (
        update(RUN)
        .where(RUN.c.id == run_id, RUN.c.owner == owner, RUN.c.status == Status.RUNNING.value)
        .values(columns)
        .returning(*RUN.c)
    )
    with store.writing() as connection:
        row = connection.execute(written).one_or_none()
    if row is None:
        raise Conflict(f"Run {run_id} is no longer {owner}'s: another worker has it, or it was ended")
    return run_from(row)


def cancel(store: Database, run_id: str, *, now: float) -> bool:
    """End a waiting run at once, or ask the process of a running one to end.

    True: it has ended. False: it has been asked. Raises NotFound for a run that was not handed to the
    server; Conflict if it has ended already.
    """
    with store.writing() as connection:
        alone(connection)
        row = _row(connection, run_id)
        if row.status == Status.PENDING.value or _row_is_dead(row, now):
            ended = {"status": Status.CANCELLED.value, "finished_at": now, "stopped": "cancelled"}
            nobody = {"owner": None, "lease_until": None, "error": None, "error_slug": None}
            connection.execute(update(RUN).where(RUN.c.num == row.num).values(**ended, **nobody))
            return True
        if row.status != Status.RUNNING.value:
            raise Conflict(f"Run {run_id} has already ended: it is {row.status}")
        asked = update(JOB).where(JOB.c.run_num == row.num, JOB.c.cancel_at.is_(None))
        connection.execute(asked.values(cancel_at=now))
        return False


def restart(store: Database, run_id: str, *, most_queued: int, now: float) -> Run:
    """Put a failed, cancelled or partial run back into the queue; it goes on where it stopped.

    Its tries and its budgets of tokens and money begin afresh. Raises NotFound, QueueFull; Conflict if
    it waits, runs or has every outcome.
    """
    with store.writing() as connection:
        alone(connection)
        row = _row(connection, run_id)
        partial = row.status == Status.COMPLETED.value and row.settled < row.planned
        if row.status not in (Status.FAILED.value, Status.CANCELLED.value) and not partial:
            raise Conflict(f"Run {run_id} is {row.status}: there is nothing to restart")
        check_room(connection, row.user, most_queued, besides=row.plan_id)
        connection.execute(
            update(JOB).where(JOB.c.run_num == row.num).values(run_after=now, tries=0, cancel_at=None)
        )
        nothing = dict.fromkeys(("started_at", "finished_at", "stopped", "error", "error_slug"))
        back = update(RUN).where(RUN.c.num == row.num).values(status=Status.PENDING.value, **nothing)
        return run_from(connection.execute(back.returning(*RUN.c)).one())


def job(store: Database, run_id: str) -> Job:
    """Raises NotFound for a run that was not handed to the server."""
    with store.reading() as connection:
        row = _row(connection, run_id)
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
        found: int = connection.execute(running_now(now)).scalar_one()
        return found


def ahead(store: Database, run_id: str) -> int:
    """How many waiting runs will be started before this one, whosever they are: the queue is one for all."""
    with store.reading() as connection:
        row = _row(connection, run_id)
        before = or_(JOB.c.priority < row.priority, and_(JOB.c.priority == row.priority, RUN.c.num < row.num))
        query = (
            select(func.count())
            .select_from(JOB.join(RUN, JOB.c.run_num == RUN.c.num))
            .where(RUN.c.status == Status.PENDING.value, before)
        )
        found: int = connection.execute(query.execution_options(**WHOLE)).scalar_one()
        return found


def is_dead(now: float) -> ColumnElement[bool]:
    """True for a run that is said to be running although its process has let the lease run out."""
    over = or_(RUN.c.lease_until.is_(None), RUN.c.lease_until <= now)
    return and_(RUN.c.status == Status.RUNNING.value, over)


def _row_is_dead(row: Row[Any], now: float) -> bool:
    return bool(row.status == Status.RUNNING.value and (row.lease_until or 0.0) <= now)


def running_now(now: float) -> Select[Any]:
    """Counts the handed-over runs at work, under a lease that is not over."""
    return (
        select(func.count())
        .select_from(JOB.join(RUN, JOB.c.run_num == RUN.c.num))
        .where(RUN.c.status == Status.RUNNING.value, RUN.c.lease_until > now)
    )


def alone(connection: Connection) -> None:
    """One at a time from here to the end of the transaction; SQLite's writers are that anyway."""
    if connection.dialect.name == "postgresql":
        locked = text("SELECT pg_advisory_xact_lock(:key)").execution_options(**WHOLE)
        connection.execute(locked, {"key": _QUEUE_LOCK})


def check_project(connection: Connection, project_id: int) -> None:
    if connection.execute(select(PROJECT.c.id).where(PROJECT.c.id == project_id)).first() is None:
        raise NotFound(f"Project {project_id} not found")


def has_room(store: Database, user: str, most: int) -> bool:
    """Whether a user has fewer than `most` runs waiting just now; those of one plan count as one."""
    with store.reading() as connection:
        return _queued(connection, user) < most


def _queued(connection: Connection, user: str, besides: str | None = None) -> int:
    query = (
        select(func.count(distinct(RUN.c.plan_id)))
        .select_from(JOB.join(RUN, JOB.c.run_num == RUN.c.num))
        .where(RUN.c.status == Status.PENDING.value, JOB.c.user == user)
    )
    if besides is not None:
        query = query.where(RUN.c.plan_id != besides)
    queued: int = connection.execute(query.execution_options(**WHOLE)).scalar_one()
    return queued


def check_room(connection: Connection, user: str, most: int, *, besides: str | None = None) -> None:
    queued = _queued(connection, user, besides)
    if queued >= most:
        raise QueueFull(f"{user} has {queued} runs waiting, and {most} may wait at once")


def _row(connection: Connection, run_id: str) -> Row[Any]:
    of_job = [column for column in JOB.c if column.name != "run_num"]
    query = select(*RUN.c, *of_job).join(JOB, JOB.c.run_num == RUN.c.num).where(RUN.c.id == run_id)
    row: Any = connection.execute(query).one_or_none()  # its type lists all its columns
    if row is None:
        raise NotFound(
            f"No job {run_id}. A run of the command line goes on with `proctor resume {run_id[:8]}`"
        )
    found: Row[Any] = row
    return found
