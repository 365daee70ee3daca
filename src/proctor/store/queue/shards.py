"""Runs divided into shards: which of them is free, who is at work on which, and what an owner and his helpers tell.

A shard is taken, kept and ended as a run is: under an owner's name and a lease, each step one guarded
transaction. The lowest free one is taken first. Whoever owns the run divides it and ends it; whoever else
is at work on it owns shards alone, and what he keeps is guarded by them (store/write/claims.py).
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, exists, func, or_, select, update

from proctor.errors import Conflict
from proctor.store.core.attempts import Store
from proctor.store.core.bodies import clean
from proctor.store.core.fleet_tables import SHARD
from proctor.store.core.runs import run_from
from proctor.store.core.schema import Database
from proctor.store.core.tables import JOB, RUN
from proctor.types import Run, Status

_WAITS, _AT_WORK, _DONE = Status.PENDING.value, Status.RUNNING.value, Status.COMPLETED.value
_NOBODY: dict[str, None] = {"owner": None, "lease_until": None}


@dataclass(frozen=True, slots=True)
class ShardCounts:
    """How many shards of a run wait, are at work and are done; `owners` are at work, in the order of their shards."""

    waiting: int
    at_work: int
    done: int
    owners: tuple[str, ...] = ()

    @property
    def of(self) -> int:
        return self.waiting + self.at_work + self.done


@dataclass(frozen=True, slots=True)
class SharedRun:
    """A divided run as all who are at work on it see it: how it stands, and what one tells the others.

    `ends` says that nothing more is to be asked of it: it has ended, was cancelled, or its owner has seen a limit
    reached. `error` and its slug are what a helper met that ends the run.
    """

    settled: int
    running: bool
    ends: bool
    error: str | None = None
    error_slug: str | None = None


def divide(store: Store, run_id: str, *, owner: str, of: int, now: float, dead: Collection[str] = ()) -> int:
    """Have `owner`'s run stand in shards, none of them done; how many there are.

    A run that was divided before stays so: a helper of then may still be on his way to its next shard. Shards under
    a lease that is not over stay with who has them, unless that is one of `dead`. Raises Conflict if the run is not
    `owner`'s.
    """
    num = store.number(run_id)
    mine = SHARD.c.run_num == num
    held = and_(SHARD.c.status == _AT_WORK, SHARD.c.lease_until > now, SHARD.c.owner.not_in([owner, *dead]))
    with store.writing() as connection:
        owned = select(RUN.c.num).where(RUN.c.num == num, RUN.c.owner == owner, RUN.c.status == _AT_WORK)
        # Not locked: who keeps attempts locks his shards first and the run last.
        if connection.execute(owned).first() is None:
            raise Conflict(f"Run {run_id} is no longer {owner}'s: another process has it, or it was ended")
        again = {"status": _WAITS, "finished_at": None, **_NOBODY}
        there = connection.execute(update(SHARD).where(mine, ~held).values(**again)).rowcount
        there += connection.execute(select(func.count()).select_from(SHARD).where(mine, held)).scalar_one()
        if not there:
            rows = [{"run_num": num, "shard": index, "status": _WAITS} for index in range(of)]
            connection.execute(SHARD.insert(), rows)
        return there or of


def take(store: Store, run_id: str, *, owner: str, now: float, lease_s: float) -> int | None:
    """Make the lowest free shard of a run `owner`'s; None if there is none, or nothing more is to be asked."""
    num = store.number(run_id)
    free = _free(num, now).order_by(SHARD.c.shard).limit(1)
    with store.reading() as connection:  # who waits for shards looks often; only one that sees a shard locks
        if connection.execute(free).first() is None:
            return None
    with store.writing() as connection:
        index = connection.execute(free.with_for_update(of=SHARD, skip_locked=True)).scalar_one_or_none()
        if index is None:
            return None
        taken = {"status": _AT_WORK, "owner": owner, "lease_until": now + lease_s}
        connection.execute(
            update(SHARD)
            .where(SHARD.c.run_num == num, SHARD.c.shard == index)
            .values(**taken, started_at=func.coalesce(SHARD.c.started_at, now), finished_at=None)
        )
        return int(index)


def _free(num: int, now: float) -> Select[Any]:
    return (
        select(SHARD.c.shard)
        .join(RUN, RUN.c.num == SHARD.c.run_num)
        .where(SHARD.c.run_num == num, _is_free(now), _goes_on(now), ~_cancelled())
    )


def _is_free(now: float) -> ColumnElement[bool]:
    over = and_(SHARD.c.status == _AT_WORK, SHARD.c.lease_until <= now)
    return or_(SHARD.c.status == _WAITS, over)


def _goes_on(now: float) -> ColumnElement[bool]:
    """The run is at work, under an owner who will end it, and more is to be asked of it."""
    return and_(
        RUN.c.status == _AT_WORK, RUN.c.lease_until > now, RUN.c.stopped.is_(None), RUN.c.error_slug.is_(None)
    )


def _cancelled() -> ColumnElement[bool]:
    return exists().where(JOB.c.run_num == RUN.c.num, JOB.c.cancel_at.is_not(None))


def help_wanted(
    store: Database,
    *,
    now: float,
    besides: Collection[str] = (),
    may_take: Callable[[Run], bool] = lambda _run: True,
) -> Run | None:
    """The most urgent run of the queue that is at work and has a shard to take, none of `besides` (ids)."""
    query = (
        select(RUN)
        .join(JOB, JOB.c.run_num == RUN.c.num)
        .where(
            RUN.c.id.not_in(besides),
            _goes_on(now),
            JOB.c.cancel_at.is_(None),
            exists().where(SHARD.c.run_num == RUN.c.num, _is_free(now)),
        )
        .order_by(JOB.c.priority, RUN.c.num)
    )
    with store.reading() as connection:
        rows = connection.execute(query).all()
    return next((run for run in map(run_from, rows) if may_take(run)), None)


def renew(store: Database, *, owner: str, until: float) -> int:
    """Prolong the leases of all shards that `owner` holds; how many those are."""
    renewed = update(SHARD).where(SHARD.c.owner == owner, SHARD.c.status == _AT_WORK)
    with store.writing() as connection:
        return connection.execute(renewed.values(lease_until=until)).rowcount


def finish(store: Store, run_id: str, index: int, *, owner: str, now: float) -> bool:
    """Say that all of a shard is asked. False if it is no longer `owner`'s."""
    ended = (
        update(SHARD)
        .where(
            SHARD.c.run_num == store.number(run_id),
            SHARD.c.shard == index,
            SHARD.c.owner == owner,
            SHARD.c.status == _AT_WORK,
        )
        .values(status=_DONE, finished_at=now, **_NOBODY)
    )
    with store.writing() as connection:
        return connection.execute(ended).rowcount == 1


def put_back(store: Database, *, owner: str) -> int:
    """The shards of whoever ends before they are done wait again; how many those were."""
    held = update(SHARD).where(SHARD.c.owner == owner, SHARD.c.status == _AT_WORK)
    with store.writing() as connection:
        return connection.execute(held.values(status=_WAITS, **_NOBODY)).rowcount


def revoke(store: Store, run_id: str, *, owner: str) -> None:
    """Take a run's shards from everybody but its owner: what they have not kept by now, they cannot keep."""
    num = store.number(run_id)
    owned = exists().where(RUN.c.num == num, RUN.c.owner == owner, RUN.c.status == _AT_WORK)
    others = update(SHARD).where(
        SHARD.c.run_num == num, SHARD.c.status == _AT_WORK, SHARD.c.owner != owner, owned
    )
    with store.writing() as connection:
        connection.execute(others.values(status=_WAITS, **_NOBODY))


def standing(store: Store, run_id: str, *, now: float) -> ShardCounts | None:
    """None for a run that was never divided; a shard whose lease is over waits. Raises NotFound."""
    query = (
        select(SHARD.c.status, SHARD.c.owner, SHARD.c.lease_until)
        .where(SHARD.c.run_num == store.number(run_id))
        .order_by(SHARD.c.shard)
    )
    with store.reading() as connection:
        rows = connection.execute(query).all()
    if not rows:
        return None
    owners = [row.owner for row in rows if row.status == _AT_WORK and row.lease_until > now]
    done = sum(row.status == _DONE for row in rows)
    waiting = len(rows) - done - len(owners)
    return ShardCounts(waiting, len(owners), done, tuple(dict.fromkeys(owners)))


def look(store: Store, run_id: str) -> SharedRun:
    """What whoever is at work on a divided run must know of it, often. Raises NotFound."""
    cancelled = _cancelled().label("cancelled")
    columns = (RUN.c.status, RUN.c.settled, RUN.c.stopped, RUN.c.error, RUN.c.error_slug, cancelled)
    with store.reading() as connection:
        row = connection.execute(select(*columns).where(RUN.c.num == store.number(run_id))).one_or_none()
    if row is None:
        return SharedRun(0, running=False, ends=True)
    running = row.status == _AT_WORK
    ends = not running or row.cancelled or row.stopped is not None or row.error_slug is not None
    return SharedRun(row.settled, running and not row.cancelled, ends, row.error, row.error_slug)


def say_stopped(store: Store, run_id: str, why: str, *, owner: str) -> None:
    """The run's owner asks no more, and lets his helpers know."""
    _tell(store, RUN.c.owner == owner, run_id, {"stopped": clean(why)})


def say_failed(store: Store, run_id: str, error: str, slug: str, *, owner: str) -> None:
    """A helper has met what no other item of the run escapes: its owner is to end it."""
    helps = exists().where(SHARD.c.run_num == RUN.c.num, SHARD.c.owner == owner, SHARD.c.status == _AT_WORK)
    _tell(store, and_(helps, RUN.c.error_slug.is_(None)), run_id, {"error": clean(error), "error_slug": slug})


def _tell(store: Store, who: ColumnElement[bool], run_id: str, values: dict[str, str | None]) -> None:
    told = update(RUN).where(RUN.c.num == store.number(run_id), RUN.c.status == _AT_WORK, who)
    with store.writing() as connection:
        connection.execute(told.values(values))
