"""How a run went, moment by moment: a row every few seconds while it is at work."""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import select

from proctor.store.core.attempts import Store
from proctor.store.core.tables import PULSE


class Pulse(NamedTuple):
    """A run at one moment. `retries`, `errors` and `cost_usd` count since its stretch began.

    `low_s` and `high_s` are the range of the time left, None while nothing is known of it.
    """

    at: float  # Unix time
    done: int
    in_flight: int
    items_per_s: float
    tokens_per_s: float
    retries: int
    errors: int
    cost_usd: float | None
    low_s: float | None
    high_s: float | None


_COLUMNS = [PULSE.c[name] for name in Pulse._fields]


def add(store: Store, run_id: str, pulse: Pulse) -> None:
    row = {"run_num": store.number(run_id), **pulse._asdict()}
    with store.writing() as connection:
        connection.execute(PULSE.insert(), row)


def of_run(store: Store, run_id: str) -> list[Pulse]:
    """The oldest first. Raises NotFound."""
    query = select(*_COLUMNS).where(PULSE.c.run_num == store.number(run_id)).order_by(PULSE.c.at)
    with store.reading() as connection:
        return [Pulse(*row) for row in connection.execute(query)]


def last(store: Store, run_id: str) -> Pulse | None:
    """Raises NotFound."""
    query = select(*_COLUMNS).where(PULSE.c.run_num == store.number(run_id))
    with store.reading() as connection:
        row = connection.execute(query.order_by(PULSE.c.at.desc()).limit(1)).one_or_none()
    return None if row is None else Pulse(*row)
