"""Deleting runs with everything that is theirs alone."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, delete, except_, exists, insert, select, text, update

from proctor.store.core.batch_tables import BATCH, BATCH_FILE, LABEL
from proctor.store.core.fleet_tables import SHARD
from proctor.store.core.look_tables import GONE, LOOK
from proctor.store.core.schema import Database
from proctor.store.core.tables import (
    ATTEMPT,
    GRADE,
    ITEM,
    JOB,
    NOTE,
    PAYLOAD,
    PLAN,
    PULSE,
    RUN,
    SCHEDULE,
    SCORE,
)
from proctor.types import Status

ENDED = (Status.COMPLETED.value, Status.FAILED.value, Status.CANCELLED.value)


def ended_before(store: Database, moment: float) -> list[str]:
    """The ids of runs that ended before `moment`, oldest first; never one that waits or works."""
    query = (
        select(RUN.c.id)
        .where(RUN.c.status.in_(ENDED), RUN.c.finished_at < moment)
        .order_by(RUN.c.finished_at, RUN.c.num)
    )
    with store.reading() as connection:
        return list(connection.execute(query).scalars())


def remove(store: Database, run_ids: Sequence[str]) -> list[str]:
    """Delete ended runs with all that is theirs (attempts, replies, grades, ...), each in a transaction of its own.

    Returns those that there were. A run that was taken up again meanwhile is left alone.
    """
    removed = []
    for run_id in run_ids:
        with store.writing() as connection:
            ended = select(RUN.c.num).where(RUN.c.id == run_id, RUN.c.status.in_(ENDED))
            num = connection.execute(ended.with_for_update()).scalar_one_or_none()
            if num is None:
                continue
            _tell_of(connection, num)
            for table in (PAYLOAD, ATTEMPT, SCORE, JOB, PULSE, NOTE, GRADE, LABEL, LOOK, SHARD):
                connection.execute(delete(table).where(table.c.run_num == num))
            submitted = update(SCHEDULE).where(SCHEDULE.c.last_run_id == run_id)
            connection.execute(submitted.values(last_run_id=None))
            _leave_batch(connection, num)
            connection.execute(delete(RUN).where(RUN.c.num == num))
            removed.append(run_id)
    return removed


def _tell_of(connection: Connection, num: int) -> None:
    """Of a complete run that could have been compared a row is left, with nothing of what it showed."""
    told = [RUN.c[column.name] for column in GONE.c if column.name != "deleted_at"]
    query = select(*told).where(
        RUN.c.num == num,
        RUN.c.status == Status.COMPLETED.value,
        RUN.c.settled >= RUN.c.planned,
        RUN.c.stopped.is_(None),
        RUN.c.comparability.is_not(None),
    )
    if (row := connection.execute(query).mappings().one_or_none()) is not None:
        connection.execute(insert(GONE), {**row, "deleted_at": time.time()})


def _leave_batch(connection: Connection, run_num: int) -> None:
    """What became of a batch is still told; its files were written from the run's attempts."""
    own = select(BATCH.c.id).where(BATCH.c.run_num == run_num)
    connection.execute(delete(BATCH_FILE).where(BATCH_FILE.c.batch_id.in_(own)))
    nothing = {"run_num": None, "output_file_id": None, "error_file_id": None}
    connection.execute(update(BATCH).where(BATCH.c.run_num == run_num).values(**nothing))


def has_runs(store: Database, plan_id: str) -> bool:
    """Whether a plan has runs left."""
    with store.reading() as connection:
        return (
            connection.execute(select(RUN.c.num).where(RUN.c.plan_id == plan_id).limit(1)).first() is not None
        )


def remove_orphans(store: Database) -> tuple[int, int]:
    """Delete plans without runs and items that no attempt asked; returns how many of each."""
    plans = delete(PLAN).where(~exists().where(RUN.c.plan_id == PLAN.c.id))
    # A set, because attempts have no index by item: asked row by row this would take the square of the time.
    unasked = except_(select(ITEM.c.hash), select(ATTEMPT.c.item_hash)).subquery()
    items = delete(ITEM).where(ITEM.c.hash.in_(select(unasked.c.hash)))
    with store.writing() as connection:
        if store.engine.name == "postgresql":
            # A run at work may be about to commit attempts at an item that seems to be nobody's now.
            connection.execute(text("LOCK TABLE item IN SHARE ROW EXCLUSIVE MODE"))
        found = connection.execute(plans).rowcount, connection.execute(items).rowcount
    if store.engine.name == "sqlite":
        with store.in_words(), store.engine.connect() as connection:
            # A script is stepped to its end; a plain statement would give back a single page.
            driver: Any = connection.connection.driver_connection
            driver.executescript("PRAGMA incremental_vacuum")
    return found
