"""What is counted once, when a run ends, so that no page ever groups a million rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import orjson
from sqlalchemy import select, update

from proctor.findings import Score
from proctor.store.attempts import Store, score_values
from proctor.store.latest import is_latest
from proctor.store.tables import ATTEMPT, RUN, SCORE
from proctor.types import Run

ROWS_AT_ONCE = 10_000


class Measured(NamedTuple):
    """What one latest attempt measured."""

    task: str
    outcome: str
    score: float | None
    latency_s: float | None
    input_tokens: int | None
    output_tokens: int | None


_COLUMNS = [ATTEMPT.c[name] for name in Measured._fields]


def measured(store: Store, run_id: str) -> Iterator[list[Measured]]:
    """All latest attempts of a run, in no order, many at a time. Raises NotFound."""
    query = select(*_COLUMNS).where(ATTEMPT.c.run_num == store.number(run_id), is_latest())
    with store.reading() as connection:
        rows = connection.execution_options(stream_results=True).execute(query)
        while page := rows.fetchmany(ROWS_AT_ONCE):
            yield [Measured(*row) for row in page]


def add_scores(store: Store, run: Run, scores: Sequence[Score]) -> None:
    """Keep scores beside those of an ended run, unless it is at work again; what is kept already stays."""
    num = store.number(run.id)
    with store.writing() as connection:
        # Locked: a run that is taken up at this moment drops its scores, and must not find these afterwards.
        as_it_ended = select(RUN.c.num).where(RUN.c.num == num, RUN.c.finished_at == run.finished_at)
        if connection.execute(as_it_ended.with_for_update()).one_or_none() is None:
            return
        known = connection.execute(select(SCORE.c.task, SCORE.c.metric).where(SCORE.c.run_num == num)).all()
        new = [score for score in scores if (score.task, score.metric) not in {tuple(row) for row in known}]
        if new:
            rows = [score_values(num, place, score) for place, score in enumerate(new, len(known))]
            connection.execute(SCORE.insert(), rows)


def put(store: Store, run_id: str, summary: dict[str, Any] | None) -> None:
    text = None if summary is None else orjson.dumps(summary).decode()
    with store.writing() as connection:
        connection.execute(update(RUN).where(RUN.c.id == run_id).values(summary=text))


def get(store: Store, run_id: str) -> dict[str, Any] | None:
    """None where none was written; older runs have none."""
    with store.reading() as connection:
        text = connection.execute(select(RUN.c.summary).where(RUN.c.id == run_id)).scalar_one_or_none()
    found: dict[str, Any] | None = None if text is None else orjson.loads(text)
    return found
