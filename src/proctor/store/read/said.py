"""What was said to each item of a run, many at a time, beside the answers that might be given."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from sqlalchemy import and_, select

from proctor.store.core import bodies
from proctor.store.core.attempts import Store
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
