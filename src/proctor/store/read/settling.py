"""What has come of a run since one last looked: its latest attempts in stretches of positions, in few columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import or_, select

from proctor.store.core.latest import is_latest
from proctor.store.core.runs import RunStore
from proctor.store.core.tables import ATTEMPT
from proctor.types import Outcome

_OUTCOMES = {each.value: each for each in Outcome}


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
