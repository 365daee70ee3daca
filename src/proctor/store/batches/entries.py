"""Batches of OpenAI's API in the database. Each step forward is one guarded statement: it is taken once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, func, select, tuple_, update

from proctor.errors import Conflict, NotFound
from proctor.store.batches.files import FINALS, FileRow, values
from proctor.store.core.attempts import Store
from proctor.store.core.batch_tables import BATCH, BATCH_FILE
from proctor.store.core.latest import is_latest
from proctor.store.core.runs import run_from
from proctor.store.core.schema import Database
from proctor.store.core.tables import ATTEMPT, RUN
from proctor.store.queue.entries import check_project
from proctor.types import Outcome, Run

Also = Callable[[Connection, Run], None]


@dataclass(frozen=True, slots=True)
class BatchRow:
    """A batch as it is kept. `errors`, `metadata` and `usage` are JSON as the API tells it."""

    id: str
    project_id: int
    endpoint: str
    input_file_id: str
    completion_window: str
    user: str
    created_at: float
    expires_at: float
    total: int = 0
    completed: int | None = None
    failed: int | None = None
    usage: str | None = None
    run_num: int | None = None
    model: str | None = None
    output_file_id: str | None = None
    error_file_id: str | None = None
    errors: str | None = None
    metadata: str | None = None
    output_expires_s: int | None = None
    in_progress_at: float | None = None
    finalizing_at: float | None = None
    completed_at: float | None = None
    failed_at: float | None = None
    expired_at: float | None = None
    cancelling_at: float | None = None
    cancelled_at: float | None = None

    @property
    def ended(self) -> bool:
        return any(getattr(self, name) is not None for name in FINALS)


_NAMES = tuple(column.name for column in BATCH.c)
_OPEN = [BATCH.c[name].is_(None) for name in FINALS]


def add(store: Database, row: BatchRow) -> BatchRow:
    """Raises: NotFound for a project."""
    with store.writing() as connection:
        check_project(connection, row.project_id)
        connection.execute(BATCH.insert(), {name: getattr(row, name) for name in _NAMES})
    return row


def one(store: Database, ident: str) -> BatchRow:
    """Raises: NotFound."""
    with store.reading() as connection:
        row = connection.execute(select(BATCH).where(BATCH.c.id == ident)).one_or_none()
    if row is None:
        raise NotFound(f"No batch found with id '{ident}'.")
    return _row(row)


def of_run(store: Database, run_id: str) -> BatchRow | None:
    """The batch whose work a run is; None for a run of any other door."""
    number = select(RUN.c.num).where(RUN.c.id == run_id).scalar_subquery()
    with store.reading() as connection:
        row = connection.execute(select(BATCH).where(BATCH.c.run_num == number)).first()
    return None if row is None else _row(row)


def listed(store: Database, *, after: str | None, limit: int) -> tuple[list[BatchRow], bool]:
    """A page of batches, newest first, and whether there are more. Raises: NotFound for an `after` that is none."""
    place = (BATCH.c.created_at, BATCH.c.id)
    query = select(BATCH).order_by(*(column.desc() for column in place)).limit(limit + 1)
    if after is not None:
        last = one(store, after)
        query = query.where(tuple_(*place) < tuple_(last.created_at, last.id))
    with store.reading() as connection:
        rows = connection.execute(query).fetchall()
    return [_row(row) for row in rows[:limit]], len(rows) > limit


def open_ones(store: Database) -> list[BatchRow]:
    """Batches that have not ended, the oldest first."""
    with store.reading() as connection:
        rows = connection.execute(select(BATCH).where(*_OPEN).order_by(BATCH.c.created_at, BATCH.c.id))
        return [_row(row) for row in rows]


def unchecked(store: Database, user: str) -> int:
    """How many batches of a user wait to become runs."""
    query = select(func.count()).where(
        BATCH.c.user == user, BATCH.c.run_num.is_(None), BATCH.c.in_progress_at.is_(None), *_OPEN
    )
    with store.reading() as connection:
        found: int = connection.execute(query).scalar_one()
        return found


def change(store: Database, ident: str, told: Mapping[str, Any], files: Sequence[FileRow] = ()) -> bool:
    """Write down how a batch that has not ended goes on, with the files that come of it. False if it has ended."""
    with store.writing() as connection:
        changed = update(BATCH).where(BATCH.c.id == ident, *_OPEN).values(dict(told))
        if connection.execute(changed).rowcount == 0:
            return False
        for each in files:
            connection.execute(BATCH_FILE.insert(), values(each))
        return True


def linked(ident: str, **told: Any) -> Also:
    """What makes a run the batch's in the transaction that submits it.

    Conflict, and no run, if the batch has one or is to end.
    """

    def also(connection: Connection, run: Run) -> None:
        waits = (BATCH.c.id == ident, BATCH.c.run_num.is_(None), BATCH.c.cancelling_at.is_(None), *_OPEN)
        number = select(RUN.c.num).where(RUN.c.id == run.id).scalar_subquery()
        changed = update(BATCH).where(*waits).values(run_num=number, **told)
        if connection.execute(changed).rowcount == 0:
            raise Conflict(f"Batch {ident} goes on elsewhere")

    return also


def runs(store: Database, numbers: Sequence[int]) -> dict[int, Run]:
    """Runs by their numbers."""
    if not numbers:
        return {}
    with store.reading() as connection:
        rows = connection.execute(select(RUN).where(RUN.c.num.in_(numbers))).all()
    return {row.num: run_from(row) for row in rows}


def refused(store: Store, run_id: str) -> int:
    """How many requests of a run failed, as far as they were tried. Raises: NotFound."""
    query = (
        select(func.count())
        .select_from(ATTEMPT)
        .where(
            ATTEMPT.c.run_num == store.number(run_id),
            ATTEMPT.c.outcome == Outcome.ERROR.value,
            is_latest(),
        )
    )
    with store.reading() as connection:
        found: int = connection.execute(query).scalar_one()
        return found


def _row(row: Row[Any]) -> BatchRow:
    return BatchRow(**{name: getattr(row, name) for name in _NAMES})
