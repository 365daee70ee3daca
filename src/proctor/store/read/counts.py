"""Counts over all runs, and the room that the database takes: for pages that show the whole."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any, Literal, NamedTuple

from sqlalchemy import case, func, select, text

from proctor.store.core.schema import Database, place
from proctor.store.core.tables import RUN
from proctor.types import Status


def runs_by(store: Database, column: Literal["provider", "project_id"]) -> dict[Any, int]:
    """How many runs there are of each provider or project."""
    counted = select(RUN.c[column], func.count()).group_by(RUN.c[column])
    with store.reading() as connection:
        return {row[0]: row[1] for row in connection.execute(counted)}


class ProjectRuns(NamedTuple):
    """The runs of a project: all, those that wait or work, and when the newest was made."""

    project_id: int
    runs: int
    at_work: int
    last_at: float


def projects(store: Database) -> list[ProjectRuns]:
    """Every project that has runs; one statement."""
    waiting = (Status.RUNNING.value, Status.PENDING.value)
    query = select(
        RUN.c.project_id,
        func.count(),
        func.count(case((RUN.c.status.in_(waiting), 1))),
        func.max(RUN.c.created_at),
    ).group_by(RUN.c.project_id)
    with store.reading() as connection:
        return [ProjectRuns._make(row) for row in connection.execute(query)]


def runs_of_sources(store: Database, names: Collection[str]) -> dict[tuple[int, str], int]:
    """(project, source) -> how many runs ask it; `names` are the sources that are looked for."""
    query = (
        select(RUN.c.project_id, RUN.c.source, func.count())
        .where(RUN.c.source.in_(sorted(names)))
        .group_by(RUN.c.project_id, RUN.c.source)
    )
    with store.reading() as connection:
        return {(row[0], row[1]): row[2] for row in connection.execute(query)}


def where(store: Database) -> str:
    """Which database it is, in words, without a password."""
    return place(store.url)


def size_bytes(store: Database) -> int | None:
    """What the database takes on its disk; None where that cannot be told."""
    if store.engine.name == "sqlite":
        file = str(store.url.database)
        return sum(Path(file + end).stat().st_size for end in ("", "-wal") if Path(file + end).exists())
    with store.whole.reading() as connection:
        size: int | None = connection.execute(
            text("SELECT pg_database_size(current_database())")
        ).scalar_one_or_none()
    return size
