"""What "the latest attempt" means in SQL: the one with the highest number for its item and repeat."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, ScalarSelect, exists, func, select

from proctor.store.core.tables import ATTEMPT
from proctor.types import Outcome


def is_latest() -> ColumnElement[bool]:
    """True for a row of `attempt` that no newer attempt replaces; one look into the primary key each."""
    newer = ATTEMPT.alias("newer")
    return ~exists().where(
        newer.c.run_num == ATTEMPT.c.run_num,
        newer.c.item_id == ATTEMPT.c.item_id,
        newer.c.repeat == ATTEMPT.c.repeat,
        newer.c.attempt > ATTEMPT.c.attempt,
    )


def settled_count(run_num: ColumnElement[int]) -> ScalarSelect[Any]:
    """How many items (times repeats) of a run have an outcome other than error."""
    return (
        select(func.count())
        .select_from(ATTEMPT)
        .where(ATTEMPT.c.run_num == run_num, ATTEMPT.c.outcome != Outcome.ERROR.value, is_latest())
        .scalar_subquery()
    )
