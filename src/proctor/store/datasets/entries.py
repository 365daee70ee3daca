"""Data sets in the database: added, listed, renamed with the runs and schedules that ask them, deleted."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, delete, func, or_, select, text, update
from sqlalchemy.exc import IntegrityError

from proctor.errors import Conflict, NotFound, StoreError
from proctor.plan import cell_from_json, cell_to_json
from proctor.references import BatchRef, ExamRef
from proctor.store.core.schema import Database
from proctor.store.core.tables import DATASET, DATASET_CHUNK, DATASET_FILE, RUN, SCHEDULE
from proctor.store.core.walls import WHOLE
from proctor.store.datasets import content
from proctor.store.datasets.content import PIECE_BYTES, KeptFile
from proctor.store.queue.entries import check_project
from proctor.types import Cell, Status

QUESTIONS, REQUESTS = "questions", "requests"
ASKS_DATASETS = (ExamRef, BatchRef)  # references that may mean a data set
AT_WORK = (Status.PENDING.value, Status.RUNNING.value)


@dataclass(frozen=True, slots=True)
class DatasetRow:
    """A data set as it is kept; `reading` and `found` are JSON: service/datasets/layout.py has those of questions,
    service/datasets/reading.py those of requests.
    """

    id: str
    project_id: int
    name: str
    content: str
    format: str
    bytes: int
    rows: int
    reading: str
    found: str
    created_at: float
    created_by: str
    holds: str = QUESTIONS


def need_project(store: Database, project_id: int) -> None:
    """Raises: NotFound."""
    with store.reading() as connection:
        check_project(connection, project_id)


def add(store: Database, row: DatasetRow, files: Sequence[KeptFile] = ()) -> DatasetRow:
    """Keep a data set whose bytes are kept already; `files` are those whose bytes are in the database.

    Raises: NotFound for a project, Conflict for a name that is taken; StoreError
    where a sweep took the bytes away meanwhile: they are to be kept again.
    """
    kept = replace(row, id=row.id or str(uuid.uuid4()))
    with store.writing() as connection:
        check_project(connection, row.project_id)
        if store.engine.name == "postgresql":
            connection.execute(
                text("LOCK TABLE dataset_file IN SHARE ROW EXCLUSIVE MODE").execution_options(**WHOLE)
            )
        for each in files:
            count = select(func.count()).where(DATASET_CHUNK.c.sha256 == each.sha256)
            if connection.execute(count).scalar_one() != -(-each.bytes // PIECE_BYTES):
                raise StoreError(
                    f"{each.filename}: its bytes did not all reach the database; upload it again"
                )
            named = {
                "content": row.content,
                "filename": each.filename,
                "sha256": each.sha256,
                "bytes": each.bytes,
            }
            connection.execute(store.insert(DATASET_FILE).on_conflict_do_nothing(), named)
        try:
            connection.execute(DATASET.insert(), {name: getattr(kept, name) for name in _NAMES})
        except IntegrityError:
            raise Conflict(_taken(row.name)) from None
    return kept


_NAMES = tuple(column.name for column in DATASET.c)


def _taken(name: str) -> str:
    return f"There is a data set {name!r} already in this project: give this one another name, or delete that one"


def one(store: Database, ident: str) -> DatasetRow:
    """The data set with this id. Raises: NotFound."""
    return _only(store, select(DATASET).where(DATASET.c.id == ident), ident)


def named(store: Database, word: str, project_id: int) -> DatasetRow | None:
    """The data set of a project that a name, or an id, means."""
    query = select(DATASET).where(
        DATASET.c.project_id == project_id, or_(DATASET.c.name == word, DATASET.c.id == word)
    )
    with store.reading() as connection:
        row = connection.execute(query.order_by(DATASET.c.created_at)).first()
    return None if row is None else _row(row)


def projects_with(store: Database, word: str) -> list[int]:
    """The projects that have a data set of this name, or id."""
    query = select(DATASET.c.project_id).where(or_(DATASET.c.name == word, DATASET.c.id == word))
    with store.reading() as connection:
        return list(connection.execute(query.order_by(DATASET.c.project_id)).scalars())


def of_content(store: Database, digest: str, project_id: int) -> list[DatasetRow]:
    """The data sets of a project that have this content, the oldest first."""
    query = select(DATASET).where(DATASET.c.project_id == project_id, DATASET.c.content == digest)
    with store.reading() as connection:
        return [_row(row) for row in connection.execute(query.order_by(DATASET.c.created_at))]


def with_content(store: Database, digest: str) -> DatasetRow | None:
    """Any data set that has this content."""
    with store.reading() as connection:
        row = connection.execute(select(DATASET).where(DATASET.c.content == digest).limit(1)).first()
    return None if row is None else _row(row)


def listed(store: Database, project_id: int | None = None, *, holds: str = QUESTIONS) -> list[DatasetRow]:
    """By name; of one project, if named."""
    query = select(DATASET).where(DATASET.c.holds == holds).order_by(func.lower(DATASET.c.name), DATASET.c.id)
    if project_id is not None:
        query = query.where(DATASET.c.project_id == project_id)
    with store.reading() as connection:
        return [_row(row) for row in connection.execute(query)]


def newest(
    store: Database, holds: Sequence[str], project_id: int | None, *, offset: int, limit: int
) -> tuple[list[DatasetRow], int]:
    """A page of those that hold this, the newest first, and how many there are in all."""
    of: list[ColumnElement[bool]] = [DATASET.c.holds.in_(holds)]
    if project_id is not None:
        of.append(DATASET.c.project_id == project_id)
    query = select(DATASET).where(*of).order_by(DATASET.c.created_at.desc(), DATASET.c.id)
    with store.reading() as connection:
        rows = [_row(row) for row in connection.execute(query.offset(offset).limit(limit))]
        return rows, connection.execute(select(func.count()).select_from(DATASET).where(*of)).scalar_one()


def read_anew(store: Database, row: DatasetRow) -> None:
    """Keep how a data set is read from now on, and what was found so. Raises: NotFound."""
    values = {name: getattr(row, name) for name in ("reading", "found", "format", "rows")}
    with store.writing() as connection:
        if connection.execute(update(DATASET).where(DATASET.c.id == row.id).values(values)).rowcount == 0:
            raise NotFound(f"Data set {row.id} not found")


def rename(store: Database, row: DatasetRow, name: str) -> None:
    """Give it another name, and its runs and schedules with it, so that boards do not fall apart.

    Raises: NotFound, Conflict for a name that is taken.
    """
    with store.writing() as connection:
        try:
            changed = update(DATASET).where(DATASET.c.id == row.id).values(name=name)
            if connection.execute(changed).rowcount == 0:
                raise NotFound(f"Data set {row.id} not found")
        except IntegrityError:
            raise Conflict(_taken(name)) from None
        for run, cell in _runs(connection, row):
            title = run.source_title.replace(row.name, name, 1)
            values = {"source": name, "source_title": title, "cell": _renamed(cell, name)}
            connection.execute(update(RUN).where(RUN.c.num == run.num).values(values))
        for schedule, cell in _schedules(connection, row):
            values = {"body": _renamed(cell, name)}
            connection.execute(update(SCHEDULE).where(SCHEDULE.c.id == schedule.id).values(values))


def _renamed(cell: Cell, name: str) -> str:
    return cell_to_json(replace(cell, source=replace(cell.source, name=name)))


def remove(store: Database, row: DatasetRow) -> None:
    """Delete a data set; runs that have ended keep what they asked.

    Raises: NotFound; Conflict naming the runs that wait or work, and the schedules, that ask it.
    """
    with store.writing() as connection:
        users = [run.id for run, _ in _runs(connection, row, at_work=True)]
        times = [f"{schedule.id} ({schedule.name})" for schedule, _ in _schedules(connection, row)]
        if users or times:
            said = [f"runs that wait or work: {', '.join(users)}"] if users else []
            said += [f"schedules: {', '.join(times)}"] if times else []
            raise Conflict(f"The data set {row.name!r} is in use by {'; and by '.join(said)}")
        if connection.execute(delete(DATASET).where(DATASET.c.id == row.id)).rowcount == 0:
            raise NotFound(f"Data set {row.id} not found")
    content.sweep(store)


def _runs(connection: Connection, row: DatasetRow, *, at_work: bool = False) -> Iterator[tuple[Any, Cell]]:
    """The runs of the project that ask this data set under its name, with their cells."""
    query = select(RUN.c.num, RUN.c.id, RUN.c.source_title, RUN.c.cell).where(
        RUN.c.source == row.name, RUN.c.project_id == row.project_id
    )
    if at_work:
        query = query.where(RUN.c.status.in_(AT_WORK))
    for run in connection.execute(query.order_by(RUN.c.num)).all():
        cell = cell_from_json(run.cell)
        if isinstance(cell.source, ASKS_DATASETS) and cell.source.content == row.content:
            yield run, cell


def _schedules(connection: Connection, row: DatasetRow) -> Iterator[tuple[Any, Cell]]:
    query = select(SCHEDULE.c.id, SCHEDULE.c.name, SCHEDULE.c.body).where(
        SCHEDULE.c.project_id == row.project_id
    )
    for schedule in connection.execute(query.order_by(SCHEDULE.c.id)).all():
        cell = cell_from_json(schedule.body)
        source = cell.source
        if isinstance(source, ASKS_DATASETS) and (source.content, source.name) == (row.content, row.name):
            yield schedule, cell


def _only(store: Database, query: Select[Any], ident: str) -> DatasetRow:
    with store.reading() as connection:
        row = connection.execute(query).one_or_none()
    if row is None:
        raise NotFound(f"Data set {ident} not found")
    return _row(row)


def _row(row: Row[Any]) -> DatasetRow:
    return DatasetRow(**{name: getattr(row, name) for name in _NAMES})
