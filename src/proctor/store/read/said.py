"""What was said to each item of a run, many at a time, beside the answers that might be given."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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


class AnsweredItem(NamedTuple):
    """What came back for one item, with what it took; `body` is packed (`bodies.unpack`)."""

    item_id: str
    item_hash: str
    cluster: str | None
    outcome: str
    latency_s: float | None
    input_tokens: int | None
    output_tokens: int | None
    cost_usd: float | None
    error_slug: str | None
    finish: str | None
    body: bytes

    @property
    def said(self) -> dict[str, Any]:
        """As `Store.payload` gives it."""
        return bodies.unpack(self.body)


_ANSWERED = [ATTEMPT.c[name] for name in AnsweredItem._fields if name != "body"]


def by_id(
    store: Store, run_id: str, *, after: str = "", among: Sequence[str] | None = None
) -> Iterator[AnsweredItem]:
    """The latest attempt at each item (its first repeat) in the order of the ids' bytes, held a page at a time.

    Only ids beyond `after`, and of `among` where it is given. Raises: NotFound.
    """
    its_own = [ATTEMPT.c[name] == PAYLOAD.c[name] for name in ("run_num", "item_id", "repeat", "attempt")]
    query = (
        select(*_ANSWERED, PAYLOAD.c.body)
        .join(PAYLOAD, and_(*its_own))
        .where(ATTEMPT.c.run_num == store.number(run_id), ATTEMPT.c.repeat == 0, is_latest())
        .order_by(ATTEMPT.c.item_id)
        .limit(ROWS_AT_ONCE)
    )
    if among is not None:
        query = query.where(ATTEMPT.c.item_id.in_(among))
    while True:
        with store.reading() as connection:
            page = connection.execute(query.where(ATTEMPT.c.item_id > after)).fetchall()
        yield from map(AnsweredItem._make, page)
        if len(page) < ROWS_AT_ONCE:
            return
        after = page[-1].item_id
