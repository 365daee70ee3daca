"""Which run a worker takes next."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, and_, exists, func, or_, select, true, update

from proctor.store.core.runs import run_from
from proctor.store.core.schema import Database
from proctor.store.core.tables import JOB, RUN
from proctor.store.queue.entries import alone, is_dead, running_now
from proctor.types import Run, Status


def take_next(
    store: Database,
    *,
    owner: str,
    now: float,
    lease_s: float,
    most_running: int,
    may_take: Callable[[str], bool] = lambda _run_id: True,
    only: str | None = None,
) -> Run | None:
    """Make the most urgent waiting run `owner`'s, the oldest of them first; None if there is none or no room.

    A run whose lease is over is taken again, before those that wait, and however often: its process went
    with its worker or its machine, which is not the run's doing, so the take before does not count. A run waits
    while another one of its plan is at work: how much a plan does at once is said of the whole of it.
    With `only` that run, if it may be taken just now, or none.
    `may_take` is asked of each run by its id, outside of any transaction: what it says no to is left to others.
    """
    left: list[int] = []  # to others, or taken by them meanwhile
    while True:
        with store.reading() as connection:  # a worker looks all the time; only one that sees a run locks
            best = connection.execute(_best(now, only).where(RUN.c.num.not_in(left))).first()
        if best is None:
            return None
        if not may_take(best.id):
            left.append(best.num)
            continue
        with store.writing() as connection:
            alone(connection)
            if connection.execute(running_now(now)).scalar_one() >= most_running:
                return None
            found = connection.execute(_best(now, only).where(RUN.c.num == best.num)).one_or_none()
            if found is not None:
                return _take(connection, found, owner, now, now + lease_s)
        left.append(best.num)


def _best(now: float, only: str | None) -> Select[Any]:
    return (
        select(RUN.c.num, RUN.c.id, RUN.c.status)
        .join(JOB, JOB.c.run_num == RUN.c.num)
        .where(takeable(now), true() if only is None else RUN.c.id == only)
        .order_by(RUN.c.status.desc(), JOB.c.priority, RUN.c.num)  # "running" before "pending"
        .limit(1)
    )


def takeable(now: float) -> ColumnElement[bool]:
    """Of a run with its place in the queue: that a worker may take it, if there is room."""
    waiting = and_(RUN.c.status == Status.PENDING.value, JOB.c.run_after <= now)
    return and_(or_(is_dead(now), waiting), JOB.c.cancel_at.is_(None), ~_plan_at_work(now))


def _take(connection: Connection, found: Row[Any], owner: str, now: float, until: float) -> Run:
    if found.status == Status.PENDING.value:
        connection.execute(update(JOB).where(JOB.c.run_num == found.num).values(tries=JOB.c.tries + 1))
    taken = (
        update(RUN)
        .where(RUN.c.num == found.num)
        .values(
            status=Status.RUNNING.value,
            owner=owner,
            lease_until=until,
            started_at=func.coalesce(RUN.c.started_at, now),
            finished_at=None,
            stopped=None,
            error=None,
            error_slug=None,
        )
        .returning(*RUN.c)
    )
    return run_from(connection.execute(taken).one())


def _plan_at_work(now: float) -> ColumnElement[bool]:
    other = RUN.alias("other")
    return exists().where(
        other.c.plan_id == RUN.c.plan_id,
        other.c.num != RUN.c.num,
        other.c.status == Status.RUNNING.value,
        other.c.lease_until > now,
    )


def waiting_ids(store: Database, *, limit: int) -> list[str]:
    """The runs that wait, in the order in which they will be taken."""
    query = (
        select(RUN.c.id)
        .join(JOB, JOB.c.run_num == RUN.c.num)
        .where(RUN.c.status == Status.PENDING.value)
        .order_by(JOB.c.priority, RUN.c.num)
        .limit(limit)
    )
    with store.reading() as connection:
        return list(connection.execute(query).scalars())
