"""Pages of a run's results by what was measured: latency, tokens, score, or how much other runs disagree.

No index gives these orders, so a bounded number of rows is looked at and the page says when that was not all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

from sqlalchemy import (
    ColumnElement,
    ScalarSelect,
    Select,
    Subquery,
    and_,
    case,
    false,
    func,
    literal,
    or_,
    select,
    tuple_,
)

from proctor.store.core.attempts import COLUMNS, AttemptRow, Store, attempt_row
from proctor.store.core.latest import is_latest
from proctor.store.core.tables import ATTEMPT, RUN
from proctor.store.read import pages
from proctor.store.read.pages import Filter
from proctor.types import Outcome

Sort = Literal["latency", "tokens", "score", "differ"]
SORTS: tuple[Sort, ...] = get_args(Sort)
MEASURES = {"latency": "latency_s", "tokens": "output_tokens", "score": "score"}
SORTED_THROUGH = 100_000  # rows that are looked at: 60 ms; measured in docs/performance.md
COMPARED_THROUGH = 300_000  # looks into other runs, for the order by disagreement: 0.3 s


class SortedPlace(NamedTuple):
    """Where a row stands in such an order: what a page begins after. Rows without a value stand last."""

    value: float | None
    position: int
    repeat: int


@dataclass(frozen=True, slots=True)
class Sorting:
    """What the order is by. `others` are the runs that are asked how far they disagree."""

    by: Sort
    descending: bool = False
    others: tuple[str, ...] = ()

    @property
    def through(self) -> int:
        """How many rows may be looked at."""
        return COMPARED_THROUGH // max(1, len(self.others)) if self.by == "differ" else SORTED_THROUGH


@dataclass(frozen=True, slots=True)
class SortedPage:
    """Rows in order; `first` and `last` are the places of its ends, None without rows; `more` lie beyond.

    `looked_at` is how many of the run's rows were put in order, None for all of them.
    """

    rows: tuple[AttemptRow, ...]
    first: SortedPlace | None
    last: SortedPlace | None
    more: bool
    looked_at: int | None


def sorted_page(
    store: Store,
    run_id: str,
    wanted: Filter,
    sorting: Sorting,
    *,
    after: SortedPlace | None = None,
    back: bool = False,
    limit: int = 50,
) -> SortedPage:
    """The rows after a place, or those before it where one goes `back`; in the order of the list. Raises NotFound."""
    num = store.number(run_id)
    whole = _planned(store, num) <= sorting.through
    inner = _looked_at(store, num, wanted, sorting, whole=whole)
    turned = _turned(inner, sorting.descending, back)
    query = select(inner)
    if after is not None:
        query = query.where(_beyond(inner, after, sorting.descending, back))
    with store.reading() as connection:
        found = connection.execute(query.order_by(*turned).limit(limit + 1)).fetchall()
        rows = _rows(connection, num, found[:limit])
    ends = [SortedPlace(row.value, row.position, row.repeat) for row in found[:limit]]
    if back:
        rows, ends = rows[::-1], ends[::-1]
    return SortedPage(
        tuple(rows),
        ends[0] if ends else None,
        ends[-1] if ends else None,
        len(found) > limit,
        None if whole or not _cut(store, num, wanted, sorting.through) else sorting.through,
    )


def place_of(store: Store, run_id: str, row: AttemptRow, sorting: Sorting) -> SortedPlace:
    """Where a row stands in the order. Raises NotFound."""
    num = store.number(run_id)
    query = select(_value(store, sorting)).where(
        ATTEMPT.c.run_num == num,
        ATTEMPT.c.item_id == row.item_id,
        ATTEMPT.c.repeat == row.repeat,
        ATTEMPT.c.attempt == row.attempt,
    )
    with store.reading() as connection:
        return SortedPlace(connection.execute(query).scalar_one(), row.position, row.repeat)


def disagreement(
    store: Store, run_ids: Sequence[str], rows: Sequence[AttemptRow]
) -> dict[tuple[str, int], tuple[int, int]]:
    """(item id, repeat) -> in how many of these runs the outcome is another, and in how many there is one."""
    a, mine = ATTEMPT.c, {(row.item_id, row.repeat): row.outcome for row in rows}
    query = (
        select(a.item_id, a.repeat, a.outcome, func.count())
        .where(
            _of_runs(a.run_num, [store.number(each) for each in run_ids]),
            a.item_id.in_(sorted({row.item_id for row in rows})),
            a.outcome != Outcome.ERROR.value,
        )
        .group_by(a.item_id, a.repeat, a.outcome)
    )
    found: dict[tuple[str, int], tuple[int, int]] = {}
    with store.reading() as connection:
        for item_id, repeat, outcome, count in connection.execute(query):
            ours = mine.get((item_id, repeat))
            if ours is not None and ours is not Outcome.ERROR:
                other, known = found.get((item_id, repeat), (0, 0))
                found[item_id, repeat] = (other + count * (outcome != ours.value), known + count)
    return found


def _of_runs(column: ColumnElement[int], nums: Sequence[int]) -> ColumnElement[bool]:
    """Each by itself: a store within projects holds rows to the runs that a statement names so."""
    return or_(false(), *(column == num for num in nums))


def _planned(store: Store, num: int) -> int:
    with store.reading() as connection:
        return int(connection.execute(select(RUN.c.planned).where(RUN.c.num == num)).scalar_one())


def _wanted(keys: Select[Any], num: int, wanted: Filter) -> Select[Any]:
    """The latest attempts that the filter lets through."""
    a = ATTEMPT.c
    query = pages.filtered(keys.where(a.run_num == num, is_latest()), num, wanted, by_id=True)
    if wanted.task:
        query = query.where(a.task == wanted.task)
    shown = pages.OUTCOMES.get(wanted.show)
    if shown is not None:
        query = query.where(a.outcome.in_(shown))
    return query.where(a.outcome == wanted.outcome) if wanted.outcome else query


def _looked_at(store: Store, num: int, wanted: Filter, sorting: Sorting, *, whole: bool) -> Subquery:
    """The keys, places and values of the rows that are put in order: the first ones where there are too many."""
    a = ATTEMPT.c
    value = _value(store, sorting).label("value")
    query = _wanted(select(a.item_id, a.repeat, a.attempt, a.position, value), num, wanted)
    # A limit that cuts nothing all the same keeps SQLite from computing each value twice, to choose and to sort.
    query = query.limit(sorting.through) if whole else _first(query, wanted, sorting.through)
    return query.subquery()


def _first(query: Select[Any], wanted: Filter, through: int) -> Select[Any]:
    """The first so many; of a search, which may find few, the first that are looked through."""
    if wanted.text:
        query = query.where(ATTEMPT.c.position < through)
    return query.order_by(ATTEMPT.c.position, ATTEMPT.c.repeat).limit(through)


def _cut(store: Store, num: int, wanted: Filter, through: int) -> bool:
    """True if rows that the filter lets through were not looked at; of a search that is taken to be so."""
    if wanted.text:
        return True
    some = _wanted(select(literal(1)), num, wanted).limit(through + 1).subquery()
    with store.reading() as connection:
        return connection.execute(select(func.count()).select_from(some)).scalar_one() > through


def _value(store: Store, sorting: Sorting) -> ColumnElement[Any]:
    if sorting.by != "differ":
        return ATTEMPT.c[MEASURES[sorting.by]]
    return _share(tuple(store.number(each) for each in sorting.others))


def _share(others: tuple[int, ...]) -> ScalarSelect[Any]:
    """The share of other runs whose outcome is another; null where this one has none, or no other."""
    a, o = ATTEMPT.c, ATTEMPT.alias("other").c
    other = func.sum(case((o.outcome != a.outcome, 1.0), else_=0.0))
    return (
        select(other / func.nullif(func.count(), 0))
        .where(
            _of_runs(o.run_num, others),
            o.item_id == a.item_id,
            o.repeat == a.repeat,
            o.outcome != Outcome.ERROR.value,
            a.outcome != Outcome.ERROR.value,
        )
        .correlate(ATTEMPT)
        .scalar_subquery()
    )


def _turned(inner: Subquery, descending: bool, back: bool) -> list[ColumnElement[Any]]:
    """The order of the list, or that of going back through it: rows without a value stand last."""
    c = inner.c
    lacking = c.value.is_(None)
    if back:
        return [
            lacking.desc(),
            c.value.asc() if descending else c.value.desc(),
            c.position.desc(),
            c.repeat.desc(),
        ]
    return [lacking.asc(), c.value.desc() if descending else c.value.asc(), c.position.asc(), c.repeat.asc()]


def _beyond(inner: Subquery, after: SortedPlace, descending: bool, back: bool) -> ColumnElement[bool]:
    c = inner.c
    here, there = tuple_(c.position, c.repeat), tuple_(after.position, after.repeat)
    place = here < there if back else here > there
    lacking = c.value.is_(None)
    if after.value is None:
        return or_(~lacking, and_(lacking, place)) if back else and_(lacking, place)
    less = c.value < after.value if descending != back else c.value > after.value
    beyond = or_(less, and_(c.value == after.value, place))
    return beyond if back else or_(lacking, beyond)


def _rows(connection: Any, num: int, keys: Sequence[Any]) -> list[AttemptRow]:
    """The whole rows of some keys, in their order."""
    a = ATTEMPT.c
    query = select(*COLUMNS).where(a.run_num == num, a.item_id.in_([key.item_id for key in keys]))
    found = {
        (row.item_id, row.repeat, row.attempt): row for row in map(attempt_row, connection.execute(query))
    }
    return [found[key.item_id, key.repeat, key.attempt] for key in keys]
