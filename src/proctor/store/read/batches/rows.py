"""Rows of a batch's run: narrow ones in the order of the file, whole ones by their ids with all that was said."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Select, and_, func, select, tuple_

from proctor.store.core import bodies
from proctor.store.core.attempts import COLUMNS, AttemptRow, Store, attempt_row
from proctor.store.core.latest import is_latest
from proctor.store.core.tables import ATTEMPT, ITEM, PAYLOAD
from proctor.types import Item

AT_ONCE = 500  # ids of one query
Place = tuple[int, int]  # (position, repeat)
_KEY = ("run_num", "item_id", "repeat", "attempt")


class Narrow(NamedTuple):
    """What filters and orders need of one latest attempt."""

    position: int
    repeat: int
    item_id: str
    outcome: str
    status: int | None
    finish: str | None
    error_slug: str | None
    cluster: str | None
    input_tokens: int | None
    output_tokens: int | None
    latency_s: float | None


class WholeRow(NamedTuple):
    """An attempt with what was said in it (`Store.payload`) and what was asked; `item` where it was wanted."""

    attempt: AttemptRow
    said: dict[str, Any]
    item: Item | None


def narrow(
    store: Store,
    run_id: str,
    after: Place | None = None,
    limit: int | None = None,
    *,
    descending: bool = False,
) -> Iterator[Narrow]:
    """The latest attempts in the order of the file, each page of them read in a moment of its own. Raises NotFound."""
    query = select(*(ATTEMPT.c[name] for name in Narrow._fields)).where(
        ATTEMPT.c.run_num == store.number(run_id), is_latest()
    )
    left = limit
    while left is None or left > 0:
        asked = 5_000 if left is None else min(left, 5_000)
        with store.reading() as connection:
            page = connection.execute(_beyond(query, after, descending).limit(asked)).fetchall()
        yield from map(Narrow._make, page)
        if len(page) < asked:
            return
        after = (page[-1].position, page[-1].repeat)
        left = None if left is None else left - asked


def _beyond(query: Select[Any], after: Place | None, descending: bool) -> Select[Any]:
    """Ordered by place, and what comes after one."""
    place = (ATTEMPT.c.position, ATTEMPT.c.repeat)
    if after is not None:
        here, there = tuple_(*place), tuple_(*after)
        query = query.where(here < there if descending else here > there)
    return query.order_by(*(each.desc() if descending else each.asc() for each in place))


def whole(
    store: Store, run_id: str, ids: Sequence[str], *, items: bool = True
) -> dict[tuple[str, int], WholeRow]:
    """The latest attempt at each of some items, by (item id, repeat). Raises NotFound for the run."""
    num, found = store.number(run_id), dict[tuple[str, int], WholeRow]()
    for begin in range(0, len(ids), AT_ONCE):
        for row in _whole(store, num, ids[begin : begin + AT_ONCE], items):
            key = (row.attempt.item_id, row.attempt.repeat)
            if key not in found or found[key].attempt.attempt < row.attempt.attempt:
                found[key] = row
    return found


def _whole(store: Store, num: int, ids: Sequence[str], items: bool) -> Iterator[WholeRow]:
    its_own = [ATTEMPT.c[name] == PAYLOAD.c[name] for name in _KEY]
    query = (
        select(*COLUMNS, PAYLOAD.c.body)
        .join(PAYLOAD, and_(*its_own))
        .where(ATTEMPT.c.run_num == num, ATTEMPT.c.item_id.in_(ids))
    )
    with store.reading() as connection:
        rows = connection.execute(query).fetchall()
    yield from with_items(store, [(attempt_row(row[:-1]), row[-1]) for row in rows], items)


def with_items(
    store: Store, rows: Collection[tuple[AttemptRow, bytes]], items: bool = True
) -> Iterator[WholeRow]:
    """Attempts and their packed bodies, with what was asked beside."""
    asked = _items(store, {attempt.item_hash for attempt, _ in rows}) if items else {}
    for attempt, body in rows:
        yield WholeRow(attempt, bodies.unpack(body), asked.get(attempt.item_hash))


def _items(store: Store, digests: Collection[str]) -> dict[str, Item]:
    query = select(ITEM.c.hash, ITEM.c.body).where(ITEM.c.hash.in_(sorted(digests)))
    with store.reading() as connection:
        return {row[0]: bodies.item_from(bodies.unpack(row[1]), row[0]) for row in connection.execute(query)}


def walk(store: Store, run_id: str, after: Place | None = None, *, items: bool = True) -> Iterator[WholeRow]:
    """Every latest attempt whole, in the order of the file; some hundred are in memory. Raises NotFound."""
    its_own = [ATTEMPT.c[name] == PAYLOAD.c[name] for name in _KEY]
    query = (
        select(*COLUMNS, PAYLOAD.c.body)
        .join(PAYLOAD, and_(*its_own))
        .where(ATTEMPT.c.run_num == store.number(run_id), is_latest())
        .limit(AT_ONCE)
    )
    while True:
        with store.reading() as connection:
            page = connection.execute(_beyond(query, after, False)).fetchall()
        yield from with_items(store, [(attempt_row(row[:-1]), row[-1]) for row in page], items)
        if len(page) < AT_ONCE:
            return
        after = (page[-1].position, page[-1].repeat)


def places_of(store: Store, run_id: str, ids: Collection[str]) -> dict[str, int]:
    """The position of each of some items; those that were not tried yet are left out. Raises NotFound."""
    num, listed, found = store.number(run_id), sorted(ids), dict[str, int]()
    for begin in range(0, len(listed), AT_ONCE):
        some = listed[begin : begin + AT_ONCE]
        query = select(ATTEMPT.c.item_id, func.min(ATTEMPT.c.position)).where(
            ATTEMPT.c.run_num == num, ATTEMPT.c.item_id.in_(some)
        )
        with store.reading() as connection:
            found |= {row[0]: row[1] for row in connection.execute(query.group_by(ATTEMPT.c.item_id))}
    return found


def errors_of(store: Store, run_id: str) -> dict[str, int]:
    """How many latest attempts failed, by slug. Raises NotFound."""
    query = (
        select(ATTEMPT.c.error_slug, func.count())
        .where(ATTEMPT.c.run_num == store.number(run_id), ATTEMPT.c.outcome == "error", is_latest())
        .group_by(ATTEMPT.c.error_slug)
    )
    with store.reading() as connection:
        return {row[0] or "": row[1] for row in connection.execute(query)}
