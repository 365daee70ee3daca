"""Attempts of a run that another store has, copied as they are: rows, bodies and items, times and ids."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import and_, select, tuple_

from proctor.store.core.attempts import Store
from proctor.store.core.tables import ATTEMPT, ITEM, PAYLOAD
from proctor.store.write.attempt_writer import Batch, write
from proctor.store.write.claims import Claim
from proctor.types import Outcome

AT_ONCE = 500  # attempts of one transaction
_KEY = (ATTEMPT.c.item_id, ATTEMPT.c.repeat, ATTEMPT.c.attempt)
_KEYS = len(_KEY) + 1  # of a row's first columns: the run's number, and those of _KEY
_OUTCOME = list(ATTEMPT.columns).index(ATTEMPT.c.outcome)
_HASH = list(ATTEMPT.columns).index(ATTEMPT.c.item_hash)


@dataclass(frozen=True, slots=True)
class Claimed:
    """A run that its owner fills, and how long its lease holds after each commit."""

    store: Store
    run_id: str
    owner: str
    lease_s: float


def copy_attempts(into: Claimed, store: Store, run_id: str) -> None:
    """All attempts of a run of `store`, in commits of some hundreds; what the claimed run has already stays.

    Raises: Conflict if the run is no longer the owner's, StoreError, NotFound.
    """
    num = into.store.number(into.run_id)
    for rows in _pages(store, run_id):
        there = _there(into.store, num, [row[1] for row in rows])
        fresh = [(num, *row[1:]) for row in rows if tuple(row[1:_KEYS]) not in there]
        if not fresh:
            continue
        settled = sum(row[_OUTCOME] != Outcome.ERROR.value for row in fresh)
        batch = Batch(
            Claim(num, into.owner, time.time() + into.lease_s, settled),
            attempts=[row[:-1] for row in fresh],
            payloads=[(*row[:_KEYS], row[-1]) for row in fresh],
            items=_items(store, sorted({row[_HASH] for row in fresh})),
        )
        with into.store.in_words():
            write(into.store, batch)


def _pages(store: Store, run_id: str) -> Iterator[Sequence[Any]]:
    """Rows of `attempt`, each with its body behind them."""
    its_own = [ATTEMPT.c[name] == PAYLOAD.c[name] for name in ("run_num", "item_id", "repeat", "attempt")]
    query = (
        select(ATTEMPT, PAYLOAD.c.body)
        .join(PAYLOAD, and_(*its_own))
        .where(ATTEMPT.c.run_num == store.number(run_id))
        .order_by(*_KEY)
        .limit(AT_ONCE)
    )
    after: tuple[Any, ...] | None = None
    while True:
        page = query if after is None else query.where(tuple_(*_KEY) > tuple_(*after))
        with store.reading() as connection:
            rows = connection.execute(page).fetchall()
        if rows:
            yield rows
        if len(rows) < AT_ONCE:
            return
        after = tuple(rows[-1][1:_KEYS])


def _there(store: Store, num: int, ids: Sequence[str]) -> set[tuple[Any, ...]]:
    query = select(*_KEY).where(ATTEMPT.c.run_num == num, ATTEMPT.c.item_id.in_(set(ids)))
    with store.reading() as connection:
        return {tuple(row) for row in connection.execute(query)}


def _items(store: Store, digests: Sequence[str]) -> list[tuple[str, bytes]]:
    query = select(ITEM.c.hash, ITEM.c.body).where(ITEM.c.hash.in_(digests)).order_by(ITEM.c.hash)
    with store.reading() as connection:
        return [(row.hash, bytes(row.body)) for row in connection.execute(query)]
