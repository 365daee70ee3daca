"""Runs of files of requests, among all runs: the newest first, a page at a time."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from sqlalchemy import ColumnElement, func, or_, select

from proctor.errors import NotFound
from proctor.store.core.attempts import Store
from proctor.store.core.tables import RUN
from proctor.types import Status

# As cells are written, with their keys in order; a quote inside a text has a backslash before it.
_OF_BATCH = or_(*(RUN.c.cell.contains(f'"kind": "{kind}"', autoescape=True) for kind in ("batch", "outputs")))


class BatchRunFilter(NamedTuple):
    """Which runs; None is any. `contents` are files by their hashes, `model` is provider/name."""

    statuses: Collection[Status] = ()
    project_id: int | None = None
    contents: Collection[str] | None = None
    model: str | None = None


def listed(
    store: Store, wanted: BatchRunFilter, *, before: str | None = None, limit: int = 50
) -> tuple[list[tuple[str, int]], int]:
    """(run id, project) of the newest runs that came before one, and how many there are in all. Raises NotFound."""
    conditions = list(_conditions(wanted))
    page = select(RUN.c.id, RUN.c.project_id).where(*conditions).order_by(RUN.c.num.desc()).limit(limit)
    if before is not None:
        page = page.where(RUN.c.num < store.number(before))
    with store.reading() as connection:
        rows = [(row[0], row[1]) for row in connection.execute(page)]
        total = connection.execute(select(func.count()).select_from(RUN).where(*conditions)).scalar_one()
    return rows, int(total)


def _conditions(wanted: BatchRunFilter) -> list[ColumnElement[bool]]:
    found = [_OF_BATCH]
    if wanted.statuses:
        found.append(RUN.c.status.in_(sorted(each.value for each in wanted.statuses)))
    if wanted.project_id is not None:
        found.append(RUN.c.project_id == wanted.project_id)
    if wanted.model is not None:
        provider, _, name = wanted.model.partition("/")
        found.append((RUN.c.provider == provider) & (RUN.c.model == name))
    if wanted.contents is not None:
        told = [RUN.c.cell.contains(f'"content": "{each}"', autoescape=True) for each in wanted.contents]
        found.append(told[0] if told else RUN.c.num < 0)
        for more in told[1:]:
            found[-1] = found[-1] | more
    return found


def need_batch(store: Store, run_id: str) -> None:
    """Raises NotFound for a run that is of no file of requests."""
    with store.reading() as connection:
        query = select(RUN.c.num).where(RUN.c.id == run_id, _OF_BATCH)
        if connection.execute(query).first() is None:
            raise NotFound(f"No batch {run_id}")
