"""Counts over all runs, and the room that the database takes: for pages that show the whole."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from sqlalchemy import func, select, text

from proctor.store.core.schema import Database, place
from proctor.store.core.tables import RUN


def runs_by(store: Database, column: Literal["provider", "project_id"]) -> dict[Any, int]:
    """How many runs there are of each provider or project."""
    counted = select(RUN.c[column], func.count()).group_by(RUN.c[column])
    with store.reading() as connection:
        return {row[0]: row[1] for row in connection.execute(counted)}


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
