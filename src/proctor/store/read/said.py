"""What was said to each item of a run, many at a time, beside the answers that might be given."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from sqlalchemy import and_, select, tuple_

from proctor.store.core import bodies
from proctor.store.core.attempts import COLUMNS, AttemptRow, Store, attempt_row
from proctor.store.core.latest import is_latest
from proctor.store.core.tables import ATTEMPT, ITEM, PAYLOAD
from proctor.types import Outcome

ROWS_AT_ONCE = 1_000


class Said(NamedTuple):
    """A reply, how it ended, and the options of its item."""

    text: str
    finish: str
    options: tuple[str, ...]


def latest(store: Store, run_id: str) -> Iterator[Said]:
    """The reply of each latest attempt that has one, in no order. Raises NotFound."""
    its_own = [ATTEMPT.c[name] == PAYLOAD.c[name] for name in ("run_num", "item_id", "repeat", "attempt")]
    query = (
        select(PAYLOAD.c.body, ITEM.c.body)
        .select_from(ATTEMPT)
        .join(PAYLOAD, and_(*its_own))
        .join(ITEM, ITEM.c.hash == ATTEMPT.c.item_hash)
        .where(
            ATTEMPT.c.run_num == store.number(run_id), ATTEMPT.c.outcome != Outcome.ERROR.value, is_latest()
        )
    )
    with store.reading() as connection:
        rows = connection.execution_options(stream_results=True).execute(query)
        while page := rows.fetchmany(ROWS_AT_ONCE):
            for reply, item in page:
                record = bodies.unpack(reply)
                options = tuple(bodies.unpack(item)["options"])
                yield Said(record.get("text") or "", record.get("finish") or "stop", options)


def in_order(
    store: Store, run_id: str, after: tuple[int, int] = (-1, -1)
) -> Iterator[tuple[AttemptRow, dict[str, Any]]]:
    """The latest attempt of each item with what was said in it (`Store.payload`), by position and repeat.

    Rows come in pages, each read in a moment of its own. `after` is the last (position, repeat) that was seen.
    Raises: NotFound.
    """
    its_own = [ATTEMPT.c[name] == PAYLOAD.c[name] for name in ("run_num", "item_id", "repeat", "attempt")]
    place = (ATTEMPT.c.position, ATTEMPT.c.repeat)
    query = (
        select(*COLUMNS, PAYLOAD.c.body)
        .join(PAYLOAD, and_(*its_own))
        .where(ATTEMPT.c.run_num == store.number(run_id), is_latest())
        .order_by(*place)
        .limit(ROWS_AT_ONCE)
    )
    while True:
        with store.reading() as connection:
            page = connection.execute(query.where(tuple_(*place) > tuple_(*after))).fetchall()
        for row in page:
            yield attempt_row(row[:-1]), bodies.unpack(row[-1])
        if len(page) < ROWS_AT_ONCE:
            return
        after = (page[-1].position, page[-1].repeat)
