"""What was said of a run's replies once they were kept, as rows that travel: further grades, labels and notes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Literal

from sqlalchemy import Column, Table, select, tuple_

from proctor.store.core.attempts import Store
from proctor.store.core.batch_tables import LABEL
from proctor.store.core.tables import GRADE, NOTE

Further = Literal["grades", "labels", "notes"]
AT_ONCE = 500  # rows of one transaction

_TABLES: Mapping[Further, Table] = {"grades": GRADE, "labels": LABEL, "notes": NOTE}
_OF_ITS_STORE = ("run_num", "id")  # another store numbers its rows otherwise


def columns(which: Further) -> tuple[str, ...]:
    """The names of what a row tells, wherever it is kept."""
    return tuple(str(each.name) for each in _TABLES[which].c if each.name not in _OF_ITS_STORE)


def rows(store: Store, run_id: str, which: Further) -> Iterator[dict[str, Any]]:
    """Everything of this sort that was ever said of a run, in the order in which it counts. Raises NotFound."""
    table, key = _TABLES[which], _key(which)
    query = (
        select(*key, *(table.c[name] for name in columns(which)))
        .where(table.c.run_num == store.number(run_id))
        .order_by(*key)
        .limit(AT_ONCE)
    )
    after: tuple[Any, ...] | None = None
    while True:
        page = query if after is None else query.where(tuple_(*key) > tuple_(*after))
        with store.reading() as connection:
            found = connection.execute(page).fetchall()
        yield from (dict(zip(columns(which), row[len(key) :], strict=True)) for row in found)
        if len(found) < AT_ONCE:
            return
        after = tuple(found[-1][: len(key)])


def add(store: Store, run_id: str, which: Further, new: Iterable[Mapping[str, Any]]) -> int:
    """Keep rows beside those that are there; the same row again is not kept twice. How many were new.

    A grader that has graded an attempt keeps that grade. Raises NotFound, StoreError.
    """
    num, table = store.number(run_id), _TABLES[which]
    there = {tuple(each.values()) for each in rows(store, run_id, which)} if which != "grades" else set()
    fresh = (each for each in new if tuple(each[name] for name in columns(which)) not in there)
    insert, kept = store.insert(table).on_conflict_do_nothing(), 0
    while some := list(islice(fresh, AT_ONCE)):
        with store.writing() as connection:
            kept += connection.execute(insert, [{**each, "run_num": num} for each in some]).rowcount
    return kept


def _key(which: Further) -> Sequence[Column[Any]]:
    if which == "grades":
        return [GRADE.c[name] for name in ("grader", "item_id", "repeat", "attempt")]
    return [_TABLES[which].c.id]
