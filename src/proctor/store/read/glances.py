"""What was asked and said in the rows of one page, and the same item in other runs: a query or two each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import and_, select

from proctor.store.core import bodies
from proctor.store.core.attempts import COLUMNS, AttemptRow, Store, attempt_row
from proctor.store.core.tables import ATTEMPT, ITEM, PAYLOAD, RUN
from proctor.store.read import lists
from proctor.store.read.lists import RunLine
from proctor.types import Item, Run, Status

Key = tuple[str, int, int]  # item id, repeat, attempt


def said_in(store: Store, run_id: str, rows: Sequence[AttemptRow]) -> dict[Key, dict[str, Any]]:
    """What was said in some attempts (`Store.payload`), by their keys; those without a reply are left out.

    Raises NotFound for the run.
    """
    p, wanted = PAYLOAD.c, {(row.item_id, row.repeat, row.attempt) for row in rows}
    query = select(p.item_id, p.repeat, p.attempt, p.body).where(
        p.run_num == store.number(run_id), p.item_id.in_(sorted({row.item_id for row in rows}))
    )
    with store.reading() as connection:
        found = connection.execute(query).fetchall()
    return {tuple(row[:3]): bodies.unpack(row[3]) for row in found if tuple(row[:3]) in wanted}


def asked_in(store: Store, rows: Sequence[AttemptRow]) -> dict[str, Item]:
    """What was asked in some attempts, by its hash."""
    query = select(ITEM.c.hash, ITEM.c.body).where(ITEM.c.hash.in_(sorted({row.item_hash for row in rows})))
    with store.reading() as connection:
        found = connection.execute(query).fetchall()
    return {row[0]: bodies.item_from(bodies.unpack(row[1]), row[0]) for row in found}


def in_runs(
    store: Store, run_ids: Sequence[str], item_id: str, repeat: int
) -> dict[str, tuple[AttemptRow, dict[str, Any]]]:
    """The latest attempt at one item in each of some runs, with what was said in it; runs without one are left out."""
    a = ATTEMPT.c
    same = [a[name] == PAYLOAD.c[name] for name in ("run_num", "item_id", "repeat", "attempt")]
    query = (
        select(RUN.c.id, PAYLOAD.c.body, *COLUMNS)
        .select_from(ATTEMPT)
        .join(RUN, RUN.c.num == a.run_num)
        .outerjoin(PAYLOAD, and_(*same))
        .where(
            a.run_num.in_([store.number(each) for each in run_ids]), a.item_id == item_id, a.repeat == repeat
        )
        .order_by(a.attempt)
    )
    with store.reading() as connection:
        found = connection.execute(query).fetchall()
    return {row[0]: (attempt_row(row[2:]), bodies.unpack(row[1]) if row[1] else {}) for row in found}


def same_exam(store: Store, run: Run, limit: int) -> list[RunLine]:
    """The newest other complete runs that were asked the very same, or else the same items of the source."""
    r = RUN.c
    alike = r.exam == run.exam if run.exam is not None else r.comparability == run.comparability
    query = (
        select(*lists.COLUMNS)
        .where(r.source == run.cell.source.listed, r.status == Status.COMPLETED.value, r.id != run.id)
        .where(r.settled >= r.planned, r.stopped.is_(None), r.sample == run.sample, alike)
        .order_by(r.created_at.desc(), r.num.desc())
        .limit(limit)
    )
    with store.reading() as connection:
        return [RunLine(*row) for row in connection.execute(query)]
