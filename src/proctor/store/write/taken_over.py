"""Replies that a run takes over from the one it goes on from, because they answer the very same requests."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import and_, select, update

from proctor.store.core.attempts import Store
from proctor.store.core.latest import is_latest
from proctor.store.core.tables import ATTEMPT, PAYLOAD, RUN
from proctor.types import Item, Outcome

_NAMES = [column.name for column in ATTEMPT.columns]


def take_over(store: Store, run_id: str, of_id: str, items: Sequence[tuple[int, Item]]) -> int:
    """Give a run that nobody has begun what another settled of these items, by their ids and hashes; how many.

    `items` come with their places in the run, at most some hundreds at once. All or nothing is kept; an item that the
    run has already is left as it is. Raises: NotFound.
    """
    places = {item.id: (position, item.hash) for position, item in items}
    its_own = [ATTEMPT.c[name] == PAYLOAD.c[name] for name in ("run_num", "item_id", "repeat", "attempt")]
    num, of_num = store.number(run_id), store.number(of_id)
    there = select(ATTEMPT.c.item_id).where(ATTEMPT.c.run_num == num, ATTEMPT.c.item_id.in_(places))
    settled = (
        select(ATTEMPT, PAYLOAD.c.body)
        .join(PAYLOAD, and_(*its_own))
        .where(
            ATTEMPT.c.run_num == of_num,
            ATTEMPT.c.item_id.in_(places),
            ATTEMPT.c.repeat == 0,
            ATTEMPT.c.outcome != Outcome.ERROR.value,
            is_latest(),
        )
    )
    with store.writing() as connection:
        known = set(connection.execute(there).scalars())
        found = [
            row
            for row in connection.execute(settled).mappings()
            if row["item_id"] not in known and row["item_hash"] == places[row["item_id"]][1]
        ]
        if not found:
            return 0
        keys = [{"run_num": num, "item_id": row["item_id"], "repeat": 0, "attempt": 0} for row in found]
        rows = [
            {name: row[name] for name in _NAMES}
            # What was spent in vain was spent by the other run.
            | {
                "unused_input_tokens": None,
                "unused_output_tokens": None,
                "unused_cost_usd": None,
                "retries": 0,
            }
            | {"position": places[row["item_id"]][0], **key}
            for key, row in zip(keys, found, strict=True)
        ]
        connection.execute(ATTEMPT.insert(), rows)
        connection.execute(
            PAYLOAD.insert(), [key | {"body": row["body"]} for key, row in zip(keys, found, strict=True)]
        )
        more = RUN.c.settled + len(found)
        connection.execute(update(RUN).where(RUN.c.num == num).values(settled=more))
    return len(found)


def took(store: Store, run_id: str, seconds: float) -> None:
    """Add the time that replies took which were taken over: it belongs to them in every rate."""
    with store.writing() as connection:
        more = RUN.c.elapsed_s + seconds
        connection.execute(update(RUN).where(RUN.c.num == store.number(run_id)).values(elapsed_s=more))
