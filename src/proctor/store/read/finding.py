"""Runs, models and data sets whose names hold some words: for whoever looks for one of them everywhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Text, func, or_, select

from proctor.store.core.schema import Database
from proctor.store.core.tables import DATASET, RUN

ID_FROM = 4  # characters with which an id may begin


@dataclass(frozen=True, slots=True)
class FoundRun:
    id: str
    plan_id: str
    model: str
    title: str
    status: str
    created_at: float


def runs(store: Database, words: Sequence[str], *, limit: int) -> list[FoundRun]:
    """The newest whose id begins so, or whose model and source hold all the words."""
    full = RUN.c.provider + "/" + RUN.c.model
    every = [
        or_(_holds(full, word), _holds(RUN.c.source_title, word), RUN.c.source == word) for word in words
    ]
    first = words[0].lower()
    begins = RUN.c.id.startswith(first, autoescape=True) if len(first) >= ID_FROM else None
    query = (
        select(RUN.c.id, RUN.c.plan_id, full, RUN.c.source_title, RUN.c.status, RUN.c.created_at)
        .where(_all(every) if begins is None else or_(begins, _all(every)))
        .order_by(RUN.c.num.desc())
        .limit(limit)
    )
    with store.reading() as connection:
        return [FoundRun(*row) for row in connection.execute(query)]


def models(store: Database, words: Sequence[str], *, limit: int) -> list[tuple[str, int]]:
    """Models that runs asked, with how many runs, the most asked first."""
    full = RUN.c.provider + "/" + RUN.c.model
    count = func.count()
    query = (
        select(full, count)
        .where(*(_holds(full, word) for word in words))
        .group_by(RUN.c.provider, RUN.c.model)
        .order_by(count.desc(), full)
        .limit(limit)
    )
    with store.reading() as connection:
        return [(name, number) for name, number in connection.execute(query)]


def datasets(store: Database, words: Sequence[str], *, limit: int) -> list[tuple[str, str, int]]:
    """Data sets by id, name and rows, the newest first."""
    query = (
        select(DATASET.c.id, DATASET.c.name, DATASET.c.rows)
        .where(*(_holds(DATASET.c.name, word) for word in words))
        .order_by(DATASET.c.created_at.desc())
        .limit(limit)
    )
    with store.reading() as connection:
        return [(ident, name, rows) for ident, name, rows in connection.execute(query)]


def _all(parts: Sequence[ColumnElement[bool]]) -> ColumnElement[bool]:
    found = parts[0]
    for part in parts[1:]:
        found = found & part
    return found


def _holds(column: ColumnElement[str], word: str) -> ColumnElement[bool]:
    return func.lower(column, type_=Text).contains(word.lower(), autoescape=True)
