"""Attempts as statistics alone need them: a third of the time of whole rows, where a comparison reads sixty runs."""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import select

from proctor.store.core.latest import is_latest
from proctor.store.core.runs import RunStore
from proctor.store.core.tables import ATTEMPT
from proctor.types import Outcome

_OUTCOMES = {each.value: each for each in Outcome}


class BriefRow(NamedTuple):
    """The latest attempt at an item; fields as in AttemptRow."""

    item_id: str
    repeat: int
    task: str
    item_hash: str
    target: str | None
    cluster: str | None
    outcome: Outcome
    score: float | None
    answer: str | None


_COLUMNS = [ATTEMPT.c[name] for name in BriefRow._fields]


def brief_rows(store: RunStore, run_id: str) -> list[BriefRow]:
    """Of all items of a run, in no order. Raises NotFound."""
    query = select(*_COLUMNS).where(ATTEMPT.c.run_num == store.number(run_id), is_latest())
    with store.reading() as connection:
        return [
            BriefRow(item, repeat, task, content, target, cluster, _OUTCOMES[outcome], score, answer)
            for item, repeat, task, content, target, cluster, outcome, score, answer in connection.execute(
                query
            )
        ]
