"""One page of a run's results: filtered and ordered by what is indexed, bounded in what it looks through."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from sqlalchemy import Select, and_, func, or_, select, tuple_

from proctor.store.attempts import COLUMNS, AttemptRow, Store, attempt_row
from proctor.store.latest import is_latest
from proctor.store.tables import ATTEMPT, NOTE

LOOKED_THROUGH = 20_000  # positions that a search for text may look at before it answers
OUTCOMES: dict[str, tuple[str, ...]] = {
    "wrong": ("wrong",),
    "errors": ("error",),
    "truncated": ("truncated",),
    "no_answer": ("no_answer", "refused"),
}


class Place(NamedTuple):
    """Where a row stands in its run: what a page begins after."""

    position: int
    repeat: int


@dataclass(frozen=True, slots=True)
class Filter:
    """Which rows are wanted. `text` is looked for in the answers and targets, `item_id` is its beginning."""

    show: str = "all"
    outcome: str | None = None
    task: str | None = None
    item_id: str | None = None
    text: str | None = None
    descending: bool = False

    @property
    def searches(self) -> bool:
        """True if no index finds the rows."""
        return bool(self.text)


@dataclass(frozen=True, slots=True)
class Page:
    """Rows in order. `after` begins the next page, None at the end; `searched_to` is the last position looked at."""

    rows: tuple[AttemptRow, ...]
    after: Place | None
    searched_to: int | None = None


def page(store: Store, run_id: str, wanted: Filter, *, after: Place | None = None, limit: int = 50) -> Page:
    """The rows after a place. A search ends after LOOKED_THROUGH positions, with or without a row.

    Raises NotFound.
    """
    num = store.number(run_id)
    place = (ATTEMPT.c.position, ATTEMPT.c.repeat)
    query = _filtered(select(*COLUMNS).where(ATTEMPT.c.run_num == num, is_latest()), num, wanted)
    if after is not None:
        here, there = tuple_(*place), tuple_(*after)
        query = query.where(here < there if wanted.descending else here > there)
    window = _window(store, num, wanted, after) if wanted.searches else None
    if window is not None:
        query = query.where(ATTEMPT.c.position.between(*window))
    order = [column.desc() if wanted.descending else column.asc() for column in place]
    with store.reading() as connection:
        found = [attempt_row(row) for row in connection.execute(query.order_by(*order).limit(limit + 1))]
    rows = tuple(found[:limit])
    if len(found) > limit:
        return Page(rows, Place(rows[-1].position, rows[-1].repeat))
    return _last_of(store, num, rows, window, wanted)


def _last_of(
    store: Store, num: int, rows: tuple[AttemptRow, ...], window: tuple[int, int] | None, wanted: Filter
) -> Page:
    """The page at the end of the run, or at the end of what a search may look through."""
    if window is None:
        return Page(rows, None)
    low, high = _ends(store, num)
    edge = window[0] if wanted.descending else window[1]
    if (edge <= low) if wanted.descending else (edge >= high):
        return Page(rows, None)
    return Page(rows, Place(edge, 0 if wanted.descending else 2**30), searched_to=edge)


def _filtered(query: Select[Any], num: int, wanted: Filter) -> Select[Any]:
    a = ATTEMPT.c
    if wanted.show in OUTCOMES:
        query = query.where(a.outcome.in_(OUTCOMES[wanted.show]))
    if wanted.show == "flagged":
        flagged = and_(NOTE.c.run_num == num, NOTE.c.flag)
        query = query.where(
            tuple_(a.item_id, a.repeat).in_(select(NOTE.c.item_id, NOTE.c.repeat).where(flagged))
        )
    if wanted.outcome:
        query = query.where(a.outcome == wanted.outcome)
    if wanted.task:
        query = query.where(a.task == wanted.task)
    if wanted.item_id:
        # The primary key begins with (run, item id): a range of ids is found without looking at the others.
        query = query.where(a.item_id >= wanted.item_id, a.item_id < wanted.item_id + "\U0010ffff")
    if wanted.text:
        part = wanted.text
        query = query.where(
            or_(a.answer.icontains(part, autoescape=True), a.target.icontains(part, autoescape=True))
        )
    return query


def _window(store: Store, num: int, wanted: Filter, after: Place | None) -> tuple[int, int]:
    """The positions that this search may look through."""
    low, high = _ends(store, num)
    if wanted.descending:
        top = high if after is None else min(high, after.position)
        return max(low, top - LOOKED_THROUGH), top
    begin = low if after is None else max(low, after.position)
    return begin, min(high, begin + LOOKED_THROUGH)


def _ends(store: Store, num: int) -> tuple[int, int]:
    """The first and last position; both are read off the index."""
    a = ATTEMPT.c
    with store.reading() as connection:
        low = connection.execute(select(func.min(a.position)).where(a.run_num == num)).scalar_one_or_none()
        high = connection.execute(select(func.max(a.position)).where(a.run_num == num)).scalar_one_or_none()
    return (low or 0, high or 0)


def neighbours(store: Store, run_id: str, row: AttemptRow, wanted: Filter) -> list[AttemptRow | None]:
    """The row before and the row after one, under the same filter; None at an end. Raises NotFound."""
    here, found = Place(row.position, row.repeat), []
    for descending in (not wanted.descending, wanted.descending):
        rows = page(store, run_id, replace(wanted, descending=descending), after=here, limit=1).rows
        found.append(rows[0] if rows else None)
    return found


def attempts_of(store: Store, run_id: str, item_id: str, repeat: int) -> list[AttemptRow]:
    """All attempts at one asking, the last first. Raises NotFound for the run."""
    a = ATTEMPT.c
    query = select(*COLUMNS).where(
        a.run_num == store.number(run_id), a.item_id == item_id, a.repeat == repeat
    )
    with store.reading() as connection:
        return [attempt_row(row) for row in connection.execute(query.order_by(a.attempt.desc()))]
