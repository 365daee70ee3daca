"""Which runs somebody should look at now: those that a worker may take, and those whose shards want helpers."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import and_, func, or_, select

from proctor.store.core.fleet_tables import SHARD
from proctor.store.core.schema import Database
from proctor.store.core.tables import JOB, RUN
from proctor.store.queue.entries import PRIORITIES
from proctor.store.queue.taking import takeable
from proctor.types import Status

_AT_WORK = Status.RUNNING.value


@dataclass(frozen=True, slots=True)
class Due:
    """A run that somebody should look at. `free` counts the shards that helpers may take; 0: all of it waits."""

    run_id: str
    priority: str
    free: int = 0


def due(store: Database, *, now: float) -> list[Due]:
    """The most urgent first: those whose lease is over, then by priority and age; at last those that want helpers."""
    whole = (
        select(RUN.c.id, JOB.c.priority)
        .join(JOB, JOB.c.run_num == RUN.c.num)
        .where(takeable(now))
        .order_by(RUN.c.status.desc(), JOB.c.priority, RUN.c.num)
    )
    over = and_(SHARD.c.status == _AT_WORK, SHARD.c.lease_until <= now)
    parts = (
        select(RUN.c.id, JOB.c.priority, func.count().label("free"))
        .join(JOB, JOB.c.run_num == RUN.c.num)
        .join(SHARD, SHARD.c.run_num == RUN.c.num)
        .where(
            RUN.c.status == _AT_WORK,
            RUN.c.lease_until > now,
            RUN.c.stopped.is_(None),
            RUN.c.error_slug.is_(None),
            JOB.c.cancel_at.is_(None),
            or_(SHARD.c.status == Status.PENDING.value, over),
        )
        .group_by(RUN.c.id, JOB.c.priority, RUN.c.num)
        .order_by(JOB.c.priority, RUN.c.num)
    )
    with store.reading() as connection:
        waiting = [Due(row.id, PRIORITIES[row.priority]) for row in connection.execute(whole)]
        divided = [Due(row.id, PRIORITIES[row.priority], row.free) for row in connection.execute(parts)]
    return [*waiting, *divided]


def failed_among(store: Database, run_ids: Collection[str]) -> set[str]:
    """Those of them that have failed for good."""
    query = select(RUN.c.id).where(RUN.c.id.in_(run_ids), RUN.c.status == Status.FAILED.value)
    with store.reading() as connection:
        return set(connection.execute(query).scalars())
