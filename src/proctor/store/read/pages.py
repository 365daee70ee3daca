"""One page of a run's results: filtered and ordered by what is indexed, bounded in what it looks through."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Select, and_, func, or_, select, tuple_

from proctor.store.core.attempts import COLUMNS, AttemptRow, Store, attempt_row
from proctor.store.core.latest import is_latest
from proctor.store.core.tables import ATTEMPT, NOTE

LOOKED_THROUGH = 10_000  # positions that a search may look at before it answers
IDS_LOOKED_THROUGH = 100_000  # the same for ids alone, which an index holds
FEW = 5_000  # rows that are sooner sorted than found in order
OUTCOMES: dict[str, tuple[str, ...]] = {
    "wrong": ("wrong",),
    "errors": ("error",),
    "truncated": ("truncated",),
    "no_answer": ("no_answer", "refused"),
}


_KEY = (ATTEMPT.c.item_id, ATTEMPT.c.repeat, ATTEMPT.c.attempt)


class Cursor(NamedTuple):
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
        """True if no index gives the rows in order."""
        return bool(self.text or self.item_id)


@dataclass(frozen=True, slots=True)
class ResultsPage:
    """Rows in order. `after` begins the next page, None at the end; `searched_to` is the last position looked at."""

    rows: tuple[AttemptRow, ...]
    after: Cursor | None
    searched_to: int | None = None


def page(
    store: Store, run_id: str, wanted: Filter, *, after: Cursor | None = None, limit: int = 50
) -> ResultsPage:
    """The rows after a place. A search ends after so many positions, with or without a row.

    Raises NotFound.
    """
    num = store.number(run_id)
    few = _are_few(store, num, wanted)
    window = _window(store, num, wanted, after) if wanted.searches and not few else None
    # Few rows are found by their ids and then sorted: no index may offer their order, or all the run is walked.
    place = (ATTEMPT.c.position + 0 if few else ATTEMPT.c.position, ATTEMPT.c.repeat)
    keys = select(*_KEY).where(ATTEMPT.c.run_num == num, is_latest())
    base = filtered(keys, num, wanted, by_id=window is None)
    if after is not None:
        here, there = tuple_(*place), tuple_(*after)
        base = base.where(here < there if wanted.descending else here > there)
    if window is not None:
        base = base.where(ATTEMPT.c.position.between(*window))
    base = base.order_by(*(column.desc() if wanted.descending else column.asc() for column in place))
    found: list[AttemptRow] = []
    with store.reading() as connection:
        for query in _by_outcome(store, num, base, wanted, after):
            found += [attempt_row(row) for row in connection.execute(_whole(num, query.limit(limit + 1)))]
    found.sort(key=lambda row: (row.position, row.repeat), reverse=wanted.descending)
    rows = tuple(found[:limit])
    if len(found) > limit:
        return ResultsPage(rows, Cursor(rows[-1].position, rows[-1].repeat))
    return _last_of(store, num, rows, window, wanted)


def _whole(num: int, keys: Select[Any]) -> Select[Any]:
    """The rows of some keys. An index has keys in it, so rows that are passed over are not fetched."""
    some = keys.subquery()
    same = [ATTEMPT.c[column.name] == some.c[column.name] for column in _KEY]
    return select(*COLUMNS).join(some, and_(*same)).where(ATTEMPT.c.run_num == num)


def _are_few(store: Store, num: int, wanted: Filter) -> bool:
    """True if the rows are known by their ids: those with notes, or those whose ids begin so and are few."""
    if wanted.show == "flagged":
        return True
    if not wanted.item_id:
        return False
    return _at_most_few(store, _begins(wanted.item_id, ATTEMPT.c.item_id), ATTEMPT.c.run_num == num)


def _at_most_few(store: Store, *conditions: ColumnElement[bool]) -> bool:
    """Read off an index, and no further than needed."""
    some = select(ATTEMPT.c.run_num).where(*conditions).limit(FEW + 1).subquery()
    with store.reading() as connection:
        return connection.execute(select(func.count()).select_from(some)).scalar_one() <= FEW


def _by_outcome(
    store: Store, num: int, base: Select[Any], wanted: Filter, after: Cursor | None
) -> list[Select[Any]]:
    """A query for each outcome that is wanted: the index gives the rows of one in order, but not of two."""
    shown = OUTCOMES.get(wanted.show)
    task: ColumnElement[str] = ATTEMPT.c.task
    outcome: ColumnElement[str] = ATTEMPT.c.outcome
    if shown is None and not wanted.outcome:
        return [base.where(task == wanted.task) if wanted.task else base]
    if wanted.task:
        # Nothing counted tells the database which of two indexes leads past fewer rows; what is not a bare
        # column has none. By outcome, only where the task lies is walked, which most tasks do in one piece.
        if _at_most_few(store, ATTEMPT.c.run_num == num, task == wanted.task):
            outcome = outcome.concat("")
        else:
            task = task.concat("")
            base = base.where(ATTEMPT.c.position.between(*_left(store, num, wanted, after)))
        base = base.where(task == wanted.task)
    outcomes = (wanted.outcome,) if wanted.outcome else shown or ()
    return [base.where(outcome == each) for each in outcomes if shown is None or each in shown]


def _last_of(
    store: Store, num: int, rows: tuple[AttemptRow, ...], window: tuple[int, int] | None, wanted: Filter
) -> ResultsPage:
    """The page at the end of the run, or at the end of what a search may look through."""
    if window is None:
        return ResultsPage(rows, None)
    low, high = _ends(store, num, wanted.task)
    edge = window[0] if wanted.descending else window[1]
    if (edge <= low) if wanted.descending else (edge >= high):
        return ResultsPage(rows, None)
    return ResultsPage(rows, Cursor(edge, 0 if wanted.descending else 2**30), searched_to=edge)


def filtered(query: Select[Any], num: int, wanted: Filter, *, by_id: bool) -> Select[Any]:
    """With the conditions on notes, ids and texts; those on tasks and outcomes choose an index, and come besides."""
    a = ATTEMPT.c
    if wanted.show == "flagged":
        flagged = and_(NOTE.c.run_num == num, NOTE.c.flag)
        query = query.where(
            tuple_(a.item_id, a.repeat).in_(select(NOTE.c.item_id, NOTE.c.repeat).where(flagged))
        )
    if wanted.item_id:
        query = query.where(_begins(wanted.item_id, a.item_id if by_id else a.item_id.concat("")))
    if wanted.text:
        part = wanted.text
        query = query.where(
            or_(a.answer.icontains(part, autoescape=True), a.target.icontains(part, autoescape=True))
        )
    return query


def _begins(start: str, of: ColumnElement[str]) -> ColumnElement[bool]:
    """The primary key begins with (run, item id): a range of ids is found without looking at the others."""
    return and_(of >= start, of < start + "\U0010ffff")


def _window(store: Store, num: int, wanted: Filter, after: Cursor | None) -> tuple[int, int]:
    """The positions that this search may look through."""
    low, high = _left(store, num, wanted, after)
    most = LOOKED_THROUGH if wanted.text else IDS_LOOKED_THROUGH
    return (max(low, high - most), high) if wanted.descending else (low, min(high, low + most))


def _left(store: Store, num: int, wanted: Filter, after: Cursor | None) -> tuple[int, int]:
    """The first and last position that can still be on a page."""
    low, high = _ends(store, num, wanted.task)
    if after is None:
        return low, high
    return (low, min(high, after.position)) if wanted.descending else (max(low, after.position), high)


def _ends(store: Store, num: int, task: str | None = None) -> tuple[int, int]:
    """The first and last position of the run, or of a task in it; both are read off an index."""
    a = ATTEMPT.c
    of = and_(a.run_num == num, a.task == task) if task else a.run_num == num
    with store.reading() as connection:
        low = connection.execute(select(func.min(a.position)).where(of)).scalar_one_or_none()
        high = connection.execute(select(func.max(a.position)).where(of)).scalar_one_or_none()
    return (low or 0, high or 0)


def neighbours(store: Store, run_id: str, row: AttemptRow, wanted: Filter) -> list[AttemptRow | None]:
    """The row before and the row after one, under the same filter; None at an end. Raises NotFound."""
    here, found = Cursor(row.position, row.repeat), []
    for descending in (not wanted.descending, wanted.descending):
        rows = page(store, run_id, replace(wanted, descending=descending), after=here, limit=1).rows
        found.append(rows[0] if rows else None)
    return found


def attempts_of(store: Store, run_id: str, item_id: str, repeat: int | None) -> list[AttemptRow]:
    """All attempts at one asking, the last first; None: at each. Raises NotFound for the run."""
    a = ATTEMPT.c
    query = select(*COLUMNS).where(a.run_num == store.number(run_id), a.item_id == item_id)
    if repeat is not None:
        query = query.where(a.repeat == repeat)
    with store.reading() as connection:
        rows = connection.execute(query.order_by(a.repeat, a.attempt.desc()))
        return [attempt_row(row) for row in rows]
