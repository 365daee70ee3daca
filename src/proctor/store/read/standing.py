"""How runs stand just now, in one statement: the run, its place in the queue, and what its process last told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Row, ScalarSelect, Select, and_, func, select

from proctor.store.core.fleet_tables import SHARD
from proctor.store.core.runs import run_from
from proctor.store.core.schema import Database
from proctor.store.core.tables import JOB, PULSE, RUN
from proctor.store.core.walls import WHOLE
from proctor.store.queue.entries import PRIORITIES, Job
from proctor.store.write.throughput import Progress
from proctor.types import Run, Status

_QUEUED = [column for column in JOB.c if column.name != "run_num"]
_TOLD = [PULSE.c[each.name] for each in fields(Progress) if each.name in PULSE.c]


class RunStanding(NamedTuple):
    """`owner` is who works on it, alive or not; `divided` says that it has shards."""

    num: int
    run: Run
    owner: str | None
    job: Job | None
    told: Progress | None
    divided: bool


class Moving(NamedTuple):
    """What of a run moves while it waits and works."""

    num: int
    id: str
    status: str
    settled: int
    planned: int
    error: str | None
    owner: str | None
    stopped: str | None
    priority: int | None  # None of a run of the command line
    told_at: float | None


_MOVING = [RUN.c[name] for name in Moving._fields[:-2]]


def of_runs(store: Database, run_ids: Sequence[str]) -> dict[str, RunStanding]:
    """By the runs' whole ids; those that there are not are left out."""
    query = _standing().where(RUN.c.id.in_(run_ids))
    with store.reading() as connection:
        found = [_read(row) for row in connection.execute(query)]
    return {each.run.id: each for each in found}


def at_work(store: Database, project_id: int | None, *, limit: int) -> list[RunStanding]:
    """The newest runs that are said to be at work, then the newest that wait; `limit` of each."""
    with store.reading() as connection:
        return [
            _read(row)
            for wanted in _newest(_standing(), project_id, limit)
            for row in connection.execute(wanted)
        ]


def moving(store: Database, run_ids: Sequence[str]) -> list[Moving]:
    """The same of runs by their ids, without what stays; those that there are not are left out."""
    with store.reading() as connection:
        return [Moving(*row) for row in connection.execute(_moving().where(RUN.c.id.in_(run_ids)))]


def moving_at_work(store: Database, project_id: int | None, *, limit: int) -> list[Moving]:
    with store.reading() as connection:
        return [
            Moving(*row)
            for wanted in _newest(_moving(), project_id, limit)
            for row in connection.execute(wanted)
        ]


def ahead(store: Database, num: int, priority: int) -> int:
    """How many waiting runs will be started before this one, whosever they are: the queue is one for all."""
    before = (JOB.c.priority < priority) | and_(JOB.c.priority == priority, RUN.c.num < num)
    query = (
        select(func.count())
        .select_from(JOB.join(RUN, JOB.c.run_num == RUN.c.num))
        .where(RUN.c.status == Status.PENDING.value, before)
    )
    with store.reading() as connection:
        found: int = connection.execute(query.execution_options(**WHOLE)).scalar_one()
        return found


def _last() -> ScalarSelect[Any]:
    """The moment of which a run's process told last."""
    earlier = PULSE.alias("earlier")
    return select(func.max(earlier.c.at)).where(earlier.c.run_num == RUN.c.num).scalar_subquery()


def _standing() -> Select[Any]:
    last: ColumnElement[bool] = and_(PULSE.c.run_num == RUN.c.num, PULSE.c.at == _last())
    joined = RUN.outerjoin(JOB, JOB.c.run_num == RUN.c.num).outerjoin(PULSE, last)
    divided = select(SHARD.c.run_num).where(SHARD.c.run_num == RUN.c.num).exists()
    return select(*RUN.c, *_QUEUED, *_TOLD, divided.label("divided")).select_from(joined)


def _moving() -> Select[Any]:
    joined = RUN.outerjoin(JOB, JOB.c.run_num == RUN.c.num)
    return select(*_MOVING, JOB.c.priority, _last().label("told_at")).select_from(joined)


def _newest(query: Select[Any], project_id: int | None, limit: int) -> list[Select[Any]]:
    if project_id is not None:
        query = query.where(RUN.c.project_id == project_id)
    query = query.order_by(RUN.c.created_at.desc(), RUN.c.num.desc()).limit(limit)
    return [query.where(RUN.c.status == status.value) for status in (Status.RUNNING, Status.PENDING)]


def _read(row: Row[Any]) -> RunStanding:
    run = run_from(row)
    told = Progress(*row[-len(_TOLD) - 1 : -1]) if row.at is not None else None
    return RunStanding(
        row.num, run, row.owner, None if row.user is None else _job(row, run), told, row.divided
    )


def _job(row: Row[Any], run: Run) -> Job:
    return Job(
        run=run,
        user=row.user,
        project_id=row.project_id,
        priority=PRIORITIES[row.priority],
        run_after=row.run_after,
        tries=row.tries,
        cancel_at=row.cancel_at,
        schedule_id=row.schedule_id,
    )
