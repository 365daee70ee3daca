"""Files of OpenAI's API in the database: requests that came in, and what a batch's run is written as."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Row, delete, or_, select, tuple_

from proctor.errors import Conflict, NotFound
from proctor.store.core.batch_tables import BATCH, BATCH_FILE
from proctor.store.core.schema import Database
from proctor.store.core.tables import RUN
from proctor.store.queue.entries import check_project

FINALS = ("completed_at", "failed_at", "expired_at", "cancelled_at")


@dataclass(frozen=True, slots=True)
class FileRow:
    """A file as it is kept: `sha256` of what came in, `batch_id` and `part` of what is written out of a run."""

    id: str
    project_id: int
    filename: str
    purpose: str
    bytes: int
    user: str
    created_at: float
    expires_at: float | None = None
    sha256: str | None = None
    batch_id: str | None = None
    part: str | None = None


@dataclass(frozen=True, slots=True)
class FileFilter:
    """Which files, and from where on: `after` is the id of the last one that was seen."""

    purpose: str | None = None
    after: str | None = None
    limit: int = 10_000
    newest_first: bool = True


_NAMES = tuple(column.name for column in BATCH_FILE.c)


def add(store: Database, row: FileRow) -> FileRow:
    """Raises: NotFound for a project."""
    with store.writing() as connection:
        check_project(connection, row.project_id)
        connection.execute(BATCH_FILE.insert(), values(row))
    return row


def values(row: FileRow) -> dict[str, Any]:
    return {name: getattr(row, name) for name in _NAMES}


def one(store: Database, ident: str, *, now: float) -> FileRow:
    """Raises: NotFound, for one that has expired too."""
    query = select(BATCH_FILE).where(BATCH_FILE.c.id == ident, _fresh(now))
    with store.reading() as connection:
        row = connection.execute(query).one_or_none()
    if row is None:
        raise NotFound(f"No such File object: {ident}")
    return _row(row)


def listed(store: Database, wanted: FileFilter, *, now: float) -> tuple[list[FileRow], bool]:
    """A page of files, and whether there are more. Raises: NotFound for an `after` that is no file."""
    place = (BATCH_FILE.c.created_at, BATCH_FILE.c.id)
    query = select(BATCH_FILE).where(_fresh(now))
    if wanted.purpose is not None:
        query = query.where(BATCH_FILE.c.purpose == wanted.purpose)
    if wanted.after is not None:
        last = one(store, wanted.after, now=now)
        seen = tuple_(last.created_at, last.id)
        query = query.where(tuple_(*place) < seen if wanted.newest_first else tuple_(*place) > seen)
    order = [column.desc() if wanted.newest_first else column.asc() for column in place]
    with store.reading() as connection:
        rows = connection.execute(query.order_by(*order).limit(wanted.limit + 1)).fetchall()
    return [_row(row) for row in rows[: wanted.limit]], len(rows) > wanted.limit


def remove(store: Database, ident: str) -> FileRow:
    """Delete a file's row. Raises: NotFound; Conflict while a batch that has not ended reads it."""
    asked = select(BATCH.c.id).where(
        BATCH.c.input_file_id == ident, *(BATCH.c[name].is_(None) for name in FINALS)
    )
    gone = delete(BATCH_FILE).where(BATCH_FILE.c.id == ident).returning(*BATCH_FILE.c)
    with store.writing() as connection:
        batch = connection.execute(asked).scalars().first()
        if batch is not None:
            raise Conflict(f"File {ident} is being read by the batch {batch}: cancel that first")
        row: Any = connection.execute(gone).one_or_none()
    if row is None:
        raise NotFound(f"No such File object: {ident}")
    return _row(row)


def expired(store: Database, *, now: float, limit: int = 100) -> list[FileRow]:
    """Files whose time is over, and which no batch at work reads."""
    open_ones = select(BATCH.c.input_file_id).where(*(BATCH.c[name].is_(None) for name in FINALS))
    query = select(BATCH_FILE).where(BATCH_FILE.c.expires_at <= now, BATCH_FILE.c.id.not_in(open_ones))
    with store.reading() as connection:
        return [_row(row) for row in connection.execute(query.limit(limit))]


def read_still(store: Database, sha256: str) -> bool:
    """Whether a file of errors that is there tells of requests that were not sent: it is read off this content."""
    query = (
        select(BATCH.c.id)
        .join(RUN, RUN.c.num == BATCH.c.run_num)
        .join(BATCH_FILE, BATCH_FILE.c.id == BATCH.c.error_file_id)
        .where(RUN.c.cell.contains(sha256), BATCH.c.completed_at.is_(None))
    )
    with store.whole.reading() as connection:
        return connection.execute(query).first() is not None


def _fresh(now: float) -> Any:
    return or_(BATCH_FILE.c.expires_at.is_(None), BATCH_FILE.c.expires_at > now)


def _row(row: Row[Any]) -> FileRow:
    found = {name: getattr(row, name) for name in _NAMES}
    return FileRow(**{**found, "bytes": int(found["bytes"])})
