"""Runs as the dashboard lists them: searched, paged, counted by state, and with the mean of a metric over tasks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Select, and_, case, func, select

from proctor.store.lists import COLUMNS, RunLine, Wanted, where
from proctor.store.schema import Database
from proctor.store.tables import RUN, SCORE
from proctor.types import Status

_COMPLETED = RUN.c.status == Status.COMPLETED.value
COMPLETE = (_COMPLETED, RUN.c.settled >= RUN.c.planned, RUN.c.stopped.is_(None))
Z95 = NormalDist().inv_cdf(0.975)
PARTIAL = "partial"  # counted apart from the complete: a run in which planned items are not settled


class Searched(NamedTuple):
    """Which runs: `wanted`, and of these those whose provider/model holds `text`, whatever its case."""

    wanted: Wanted = Wanted()
    text: str | None = None


class Mean(NamedTuple):
    """The unweighted mean of a metric over the tasks of a run; `low` and `high` are None where a task has no interval.

    Of one task it is the task's own interval. Of several, taken as independent, each side is the longer of two:
    the tasks' sides squared and added (Zou and Donner 2008), which have a width wherever theirs have one, and 1.96
    times the root of their squared standard errors. The first alone covers 84 % with 57 tasks of three items.
    """

    value: float
    low: float | None
    high: float | None


class Measured(NamedTuple):
    """A run, the `Mean` of a metric over its tasks, and of how many items and tasks."""

    run: RunLine
    value: float
    low: float | None
    high: float | None
    items: int
    tasks: int


def _searched(query: Select[Any], asked: Searched) -> Select[Any]:
    query = where(query, asked.wanted)
    if asked.text:
        query = query.where((RUN.c.provider + "/" + RUN.c.model).icontains(asked.text, autoescape=True))
    return query


def page(
    store: Database, asked: Searched, *, before: int | None = None, limit: int = 50
) -> tuple[list[RunLine], int | None]:
    """The newest runs first, and the number that begins the next page as `before`; None at the end."""
    query = _searched(select(RUN.c.num, *COLUMNS), asked).order_by(RUN.c.num.desc()).limit(limit + 1)
    if before is not None:
        query = query.where(RUN.c.num < before)
    with store.reading() as connection:
        rows = connection.execute(query).all()
    lines = [RunLine(*row[1:]) for row in rows[:limit]]
    return lines, rows[limit - 1][0] if len(rows) > limit else None


def counts(store: Database, asked: Searched) -> dict[str, int]:
    """How many of the runs are in each state, partial ones apart; states without a run are left out."""
    state = case((and_(_COMPLETED, ~and_(*COMPLETE)), PARTIAL), else_=RUN.c.status).label("state")
    query = _searched(select(state, func.count()), asked).group_by(state)
    with store.reading() as connection:
        return {row[0]: row[1] for row in connection.execute(query)}


def _of_tasks(extras: Sequence[str]) -> ColumnElement[bool]:
    return SCORE.c.task.not_in(["", *extras]) & SCORE.c.value.is_not(None)


def measured(
    store: Database, asked: Searched, metric: str, *, extras: Sequence[str] = (), limit: int = 2000
) -> list[Measured]:
    """Complete runs that report the metric, by the time of their end, the oldest first; at most the newest `limit`.

    `metric` "score" is the headline; the mean of another leaves out the tasks `extras`. One query adds up
    all runs: no page reads scores run by run.
    """
    which = SCORE.c.place == 0 if metric == "score" else (SCORE.c.metric == metric) & _of_tasks(extras)
    query = _searched(
        select(*COLUMNS, func.sum(SCORE.c.scored), *_over_tasks())
        .join(SCORE, SCORE.c.run_num == RUN.c.num)
        .where(which, SCORE.c.value.is_not(None), *COMPLETE),
        asked,
    )
    grouped = query.group_by(RUN.c.num, *COLUMNS).order_by(RUN.c.finished_at.desc()).limit(limit)
    with store.reading() as connection:
        rows = connection.execute(grouped).all()
    width = len(COLUMNS)
    return [
        Measured(RunLine(*row[:width]), *_mean(row[width + 1 :]), int(row[width]), int(row[-1]))
        for row in reversed(rows)
    ]


def means(
    store: Database, run_ids: Sequence[str], metrics: Sequence[str], *, extras: Sequence[str] = ()
) -> dict[str, dict[str, Mean]]:
    """Run id -> metric -> its unweighted mean over the run's tasks without `extras`."""
    query = (
        select(RUN.c.id, SCORE.c.metric, *_over_tasks())
        .join(SCORE, SCORE.c.run_num == RUN.c.num)
        .where(RUN.c.id.in_(run_ids), SCORE.c.metric.in_(metrics), _of_tasks(extras))
        .group_by(RUN.c.id, SCORE.c.metric)
    )
    found: dict[str, dict[str, Mean]] = {}
    with store.reading() as connection:
        for row in connection.execute(query):
            found.setdefault(row[0], {})[row[1]] = _mean(row[2:])
    return found


def _over_tasks() -> tuple[ColumnElement[Any], ...]:
    """What `_mean` reads: the means of value, low and high, squared sides and standard errors, counts."""
    below, above = SCORE.c.value - SCORE.c.low, SCORE.c.high - SCORE.c.value
    return (
        func.avg(SCORE.c.value),
        func.avg(SCORE.c.low),
        func.avg(SCORE.c.high),
        func.sum(below * below),
        func.sum(above * above),
        func.sum(SCORE.c.stderr * SCORE.c.stderr),
        func.count(below + above),
        func.count(SCORE.c.value),
    )


def _mean(row: Sequence[Any]) -> Mean:
    average, low, high, below, above, variance, known, tasks = row
    value = float(average)
    if known != tasks:
        return Mean(value, None, None)  # half an interval would be none: all tasks must have one
    if tasks == 1:
        return Mean(value, low, high)
    plain = Z95**2 * (variance or 0.0)  # a task of one item has no standard error, but it has sides
    down, up = (math.sqrt(max(squared, plain)) / tasks for squared in (below, above))
    # No interval is wider than that of errors that all go together: so a share stays within [0, 1].
    return Mean(value, max(low, value - down), min(high, value + up))
