"""Looks at runs that are not whole: left by whoever shows their figures, counted for whoever reads a verdict."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from sqlalchemy import exists, or_, select

from proctor.store.core.look_tables import LOOK
from proctor.store.core.schema import Database
from proctor.store.core.tables import RUN
from proctor.types import Status


def leave(store: Database, run_ids: Collection[str], *, now: float) -> int:
    """A row for each of these runs that is at work or stopped early; how many are new.

    One that was looked at with as many settled has it. A run that asked all, and has errors, is not meant.
    """
    not_whole = select(RUN.c.num.label("run_num"), RUN.c.settled).where(
        RUN.c.id.in_(sorted(run_ids)),
        RUN.c.settled > 0,
        RUN.c.settled < RUN.c.planned,
        or_(RUN.c.finished_at.is_(None), RUN.c.stopped != "", RUN.c.status != Status.COMPLETED.value),
    )
    # Asked without the lock of a writer first: pages look twice a second, and mostly there is nothing to leave.
    left = exists().where(LOOK.c.run_num == RUN.c.num, LOOK.c.settled == RUN.c.settled)
    with store.reading() as connection:
        rows = [{**row, "at": now} for row in connection.execute(not_whole.where(~left)).mappings()]
    if rows:
        with store.writing() as connection:
            connection.execute(store.insert(LOOK).on_conflict_do_nothing(), rows)
    return len(rows)


def moments(store: Database, run_ids: Collection[str]) -> Mapping[str, tuple[float, ...]]:
    """When these runs were looked at while they were at work, by run id; those that never were have no entry."""
    query = (
        select(RUN.c.id, LOOK.c.at)
        .join(LOOK, LOOK.c.run_num == RUN.c.num)
        .where(RUN.c.id.in_(sorted(run_ids)))
        .order_by(LOOK.c.at)
    )
    found: dict[str, tuple[float, ...]] = {}
    with store.reading() as connection:
        for run_id, at in connection.execute(query):
            found[run_id] = (*found.get(run_id, ()), at)
    return found
