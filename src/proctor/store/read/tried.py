"""What of a run was tried already, in a few bytes an item: a million of them are known in 12 MB."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from sqlalchemy import false, or_, select

from proctor.store.core.attempts import Store
from proctor.store.core.latest import is_latest
from proctor.store.core.runs import RunStore
from proctor.store.core.tables import ATTEMPT
from proctor.types import Outcome

ROWS_AT_ONCE = 10_000
SETTLED = -1
_OUTCOMES = {each.value: each for each in Outcome}


@dataclass(frozen=True, slots=True)
class Tried:
    """The askings of a run that have attempts.

    They are known by 64 bits of a hash that differs from process to process: should two of a million ever be taken
    for one (a chance of 1 in 10^7), the item is asked by the next resume. So neither ids nor places are held, and
    rows whose order has changed since are still known.
    """

    keys: array[int] = field(default_factory=lambda: array("q"))  # sorted
    next: array[int] = field(default_factory=lambda: array("i"))  # number of the next attempt, or SETTLED

    def look(self, item_id: str, repeat: int) -> int:
        """The number that the next attempt has, 0 where there was none; SETTLED where none is needed."""
        if not self.keys:
            return 0
        key = hash((item_id, repeat))
        place = bisect_left(self.keys, key)
        return self.next[place] if place < len(self.keys) and self.keys[place] == key else 0


def tried(store: Store, run_id: str, stretch: Sequence[tuple[int, int, int]] | None = None) -> Tried:
    """All of a run, or the places of a stretch: repeats with a first position and the one after the last.

    Raises: NotFound.
    """
    a = ATTEMPT.c
    query = select(a.item_id, a.repeat, a.attempt, a.outcome)
    query = query.where(a.run_num == store.number(run_id), is_latest())
    if stretch is not None:
        places = ((a.repeat == repeat) & a.position.between(first, end - 1) for repeat, first, end in stretch)
        query = query.where(or_(false(), *places))
    keys, following = array("q"), array("i")
    with store.reading() as connection:
        rows = connection.execution_options(stream_results=True).execute(query)
        while page := rows.fetchmany(ROWS_AT_ONCE):
            for item_id, repeat, attempt, outcome in page:
                keys.append(hash((item_id, repeat)))
                following.append(attempt + 1 if outcome == Outcome.ERROR.value else SETTLED)
    return _sorted(keys, following)


def places(store: Store, run_id: str, planned: int, *, failed: bool, since: float | None = None) -> bytearray:
    """A byte for each place of a run whose items are asked once: 1 where it has an outcome, or else, with `failed`,
    an error, of attempts that have ended `since` then (Unix time). Raises: NotFound.
    """
    query = select(ATTEMPT.c.position, ATTEMPT.c.outcome).where(
        ATTEMPT.c.run_num == store.number(run_id), is_latest()
    )
    if since is not None:
        query = query.where(ATTEMPT.c.at >= since)
    found = bytearray(planned)
    with store.reading() as connection:
        rows = connection.execution_options(stream_results=True).execute(query)
        while page := rows.fetchmany(ROWS_AT_ONCE):
            for position, outcome in page:
                found[position] = failed or outcome != Outcome.ERROR.value
    return found


def _sorted(keys: array[int], following: array[int]) -> Tried:
    if not keys:
        return Tried()
    import numpy as np

    order = np.argsort(np.frombuffer(keys, np.int64))
    of_keys, of_next = array("q"), array("i")
    of_keys.frombytes(np.frombuffer(keys, np.int64)[order].tobytes())
    of_next.frombytes(np.frombuffer(following, np.int32)[order].tobytes())
    return Tried(of_keys, of_next)


class SettledRow(NamedTuple):
    """The latest attempt at an asking, settled or ended in an error; fields as in AttemptRow."""

    position: int
    repeat: int
    item_id: str
    attempt: int
    task: str
    item_hash: str
    target: str | None
    cluster: str | None
    outcome: Outcome
    score: float | None
    answer: str | None
    latency_s: float | None
    error_slug: str | None
    at: float


_COLUMNS = [ATTEMPT.c[name] for name in SettledRow._fields]
_OUTCOME = SettledRow._fields.index("outcome")


def within(store: RunStore, run_id: str, stretches: Sequence[tuple[int, int | None]]) -> list[SettledRow]:
    """The rows in these stretches of positions, first to last (None: to the end), in order. Raises NotFound."""
    place = ATTEMPT.c.position
    asked = [place >= first if last is None else place.between(first, last) for first, last in stretches]
    query = select(*_COLUMNS).where(ATTEMPT.c.run_num == store.number(run_id), or_(*asked), is_latest())
    with store.reading() as connection:
        rows = connection.execute(query.order_by(place, ATTEMPT.c.repeat))
        return [
            SettledRow._make((*row[:_OUTCOME], _OUTCOMES[row[_OUTCOME]], *row[_OUTCOME + 1 :]))
            for row in rows
        ]
