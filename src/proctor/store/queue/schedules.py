"""Scheduled runs in the database: what is to be submitted when, and what became of the last time.

A due time is used up in the same transaction that keeps its run, so it is submitted exactly once,
however many workers look.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, Update, delete, select, update

from proctor.errors import Conflict, NotFound
from proctor.plan import cell_from_json, cell_to_json
from proctor.store.core.bodies import clean
from proctor.store.core.schema import Database
from proctor.store.core.tables import SCHEDULE
from proctor.store.queue.entries import Also, check_project
from proctor.types import Cell, Run


@dataclass(frozen=True, slots=True)
class NewSchedule:
    """A schedule as somebody asks for it. `cron` is read in UTC."""

    name: str
    cron: str
    cell: Cell
    user: str
    project_id: int = 1


@dataclass(frozen=True, slots=True)
class Schedule:
    """A schedule as it is kept. `last_error` says why its last time led to no run."""

    id: int
    name: str
    cron: str
    body: str
    user: str
    project_id: int
    enabled: bool
    next_at: float
    last_at: float | None
    last_run_id: str | None
    last_error: str | None
    created_at: float

    @property
    def cell(self) -> Cell:
        """Raises ConfigError for a cell that a newer proctor has written."""
        return cell_from_json(self.body)


def add(store: Database, wanted: NewSchedule, *, next_at: float, now: float) -> Schedule:
    """Raises NotFound for an unknown project."""
    row = {
        "name": wanted.name,
        "project_id": wanted.project_id,
        "user": wanted.user,
        "cron": wanted.cron,
        "body": cell_to_json(wanted.cell),
        "enabled": True,
        "next_at": next_at,
        "created_at": now,
    }
    with store.writing() as connection:
        check_project(connection, wanted.project_id)
        return _schedule(connection.execute(SCHEDULE.insert().returning(*SCHEDULE.c), row).one())


def schedule(store: Database, schedule_id: int) -> Schedule:
    """Raises NotFound."""
    with store.reading() as connection:
        row = connection.execute(select(SCHEDULE).where(SCHEDULE.c.id == schedule_id)).one_or_none()
    if row is None:
        raise NotFound(f"Schedule {schedule_id} not found")
    return _schedule(row)


def schedules(store: Database, *, user: str | None = None, project_id: int | None = None) -> list[Schedule]:
    """Oldest first; of one user or project, if named."""
    query = select(SCHEDULE).order_by(SCHEDULE.c.id)
    if user is not None:
        query = query.where(SCHEDULE.c.user == user)
    if project_id is not None:
        query = query.where(SCHEDULE.c.project_id == project_id)
    with store.reading() as connection:
        return [_schedule(row) for row in connection.execute(query)]


def set_enabled(store: Database, schedule_id: int, enabled: bool, *, next_at: float) -> Schedule:
    """Raises NotFound."""
    changed = (
        update(SCHEDULE)
        .where(SCHEDULE.c.id == schedule_id)
        .values(enabled=enabled, next_at=next_at)
        .returning(*SCHEDULE.c)
    )
    with store.writing() as connection:
        row = connection.execute(changed).one_or_none()
    if row is None:
        raise NotFound(f"Schedule {schedule_id} not found")
    return _schedule(row)


def remove(store: Database, schedule_id: int) -> None:
    """Forget a schedule; its runs stay. Raises NotFound."""
    with store.writing() as connection:
        if connection.execute(delete(SCHEDULE).where(SCHEDULE.c.id == schedule_id)).rowcount == 0:
            raise NotFound(f"Schedule {schedule_id} not found")


def due(store: Database, *, now: float) -> list[Schedule]:
    """The schedules whose time has come, the longest overdue first."""
    query = (
        select(SCHEDULE)
        .where(SCHEDULE.c.enabled, SCHEDULE.c.next_at <= now)
        .order_by(SCHEDULE.c.next_at, SCHEDULE.c.id)
    )
    with store.reading() as connection:
        return [_schedule(row) for row in connection.execute(query)]


def used_up(turn: Schedule, *, next_at: float, now: float) -> Also:
    """What `queue.submit` does besides: this due time is over. It raises Conflict if it already was."""

    def write(connection: Connection, run: Run) -> None:
        changed = _moved(turn, next_at, now).values(last_run_id=run.id, last_error=None)
        if connection.execute(changed).rowcount == 0:
            raise Conflict(f"Schedule {turn.id}: another worker has submitted this run, or it was changed")

    return write


def ran_besides(turn: Schedule, *, now: float) -> Also:
    """What `queue.submit` does besides: the schedule's last run is this one, and its next time stays."""

    def write(connection: Connection, run: Run) -> None:
        told = {"last_run_id": run.id, "last_at": now, "last_error": None}
        connection.execute(update(SCHEDULE).where(SCHEDULE.c.id == turn.id).values(**told))

    return write


def passed_over(store: Database, turn: Schedule, error: str, *, next_at: float, now: float) -> bool:
    """Say why a due time led to no run. False if another worker has dealt with it."""
    with store.writing() as connection:
        return connection.execute(_moved(turn, next_at, now).values(last_error=clean(error))).rowcount == 1


def _moved(turn: Schedule, next_at: float, now: float) -> Update:
    return (
        update(SCHEDULE)
        .where(SCHEDULE.c.id == turn.id, SCHEDULE.c.next_at == turn.next_at, SCHEDULE.c.enabled)
        .values(next_at=next_at, last_at=now)
    )


def _schedule(row: Row[Any]) -> Schedule:
    return Schedule(
        id=row.id,
        name=row.name,
        cron=row.cron,
        body=row.body,
        user=row.user,
        project_id=row.project_id,
        enabled=row.enabled,
        next_at=row.next_at,
        last_at=row.last_at,
        last_run_id=row.last_run_id,
        last_error=row.last_error,
        created_at=row.created_at,
    )
