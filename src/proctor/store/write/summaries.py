"""What is counted once, when a run ends, so that no page ever groups a million rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import orjson
from sqlalchemy import select

from proctor.store.core.attempts import Store
from proctor.store.core.latest import is_latest
from proctor.store.core.tables import ATTEMPT, RUN

ROWS_AT_ONCE = 10_000


class MeasuredAttempt(NamedTuple):
    """What one latest attempt measured."""

    task: str
    outcome: str
    score: float | None
    latency_s: float | None
    input_tokens: int | None
    output_tokens: int | None


_COLUMNS = [ATTEMPT.c[name] for name in MeasuredAttempt._fields]


def measured(store: Store, run_id: str) -> Iterator[list[MeasuredAttempt]]:
    """All latest attempts of a run, in no order, many at a time. Raises NotFound."""
    query = select(*_COLUMNS).where(ATTEMPT.c.run_num == store.number(run_id), is_latest())
    with store.reading() as connection:
        rows = connection.execution_options(stream_results=True).execute(query)
        while page := rows.fetchmany(ROWS_AT_ONCE):
            yield [MeasuredAttempt(*row) for row in page]


def get(store: Store, run_id: str) -> dict[str, Any] | None:
    """None where none was written."""
    with store.reading() as connection:
        text = connection.execute(select(RUN.c.summary).where(RUN.c.id == run_id)).scalar_one_or_none()
    found: dict[str, Any] | None = None if text is None else orjson.loads(text)
    return found
