"""How a run goes, moment by moment: what the process at work sees of it, and what it writes down every few seconds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlalchemy import select

from proctor.findings.looks import Decision
from proctor.store.core.attempts import Store
from proctor.store.core.tables import PULSE
from proctor.store.queue.waits import NONE, Waits
from proctor.types import NOTHING_USED, Usage


@dataclass(frozen=True, slots=True)
class Progress:
    """A run at one moment, as the process at work on it sees it.

    `retries`, `errors`, `cost_usd` and `unused` count since its stretch began; `done` the items with an outcome, in
    all stretches. `low_s` and `high_s` are the range of the time left, None while nothing is known of it; when no
    item waits to be asked, `oldest_s` is how long the oldest request is under way, and `p95_s` how long most took.
    A row keeps what stands above `failed`. The rest is for who watches in the process itself, and empty in what is
    read back.
    """

    at: float  # Unix time
    done: int
    in_flight: int
    items_per_s: float
    tokens_per_s: float
    retries: int
    errors: int
    cost_usd: float | None = None  # of the replies that count
    low_s: float | None = None
    high_s: float | None = None
    failed: Mapping[str, int] = field(default_factory=dict)  # the errors by their slugs
    unused: Usage = NOTHING_USED
    waits: Waits = NONE
    oldest_s: float | None = None
    p95_s: float | None = None
    elapsed_s: float = 0.0
    ended: bool = False
    decision: Decision | None = None  # of runs that are asked side by side: how far the verdict is


_COLUMNS = [column for column in PULSE.columns if column.name != "run_num"]


def add(store: Store, run_id: str, progress: Progress) -> None:
    row = {column.name: getattr(progress, column.name) for column in _COLUMNS}
    with store.writing() as connection:
        connection.execute(PULSE.insert(), {"run_num": store.number(run_id), **row})


def of_run(store: Store, run_id: str) -> list[Progress]:
    """The oldest first. Raises NotFound."""
    query = select(*_COLUMNS).where(PULSE.c.run_num == store.number(run_id)).order_by(PULSE.c.at)
    with store.reading() as connection:
        return [Progress(*row) for row in connection.execute(query)]


def last(store: Store, run_id: str) -> Progress | None:
    """Raises NotFound."""
    query = select(*_COLUMNS).where(PULSE.c.run_num == store.number(run_id))
    with store.reading() as connection:
        row = connection.execute(query.order_by(PULSE.c.at.desc()).limit(1)).one_or_none()
    return None if row is None else Progress(*row)
