"""Runs as the dashboard lists them: searched, paged, counted by state, and with the mean of a metric over tasks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlalchemy import Select, func, select

from proctor.store.lists import COLUMNS, RunLine, Wanted, where
from proctor.store.schema import Database
from proctor.store.tables import RUN, SCORE
from proctor.types import Status

COMPLETE = (RUN.c.status == Status.COMPLETED.value, RUN.c.settled >= RUN.c.planned, RUN.c.stopped.is_(None))
Z95 = 1.959964  # the 97.5 % point of the normal distribution


class Searched(NamedTuple):
    """Which runs: `wanted`, and of these those whose provider/model holds `text`, whatever its case."""

    wanted: Wanted = Wanted()
    text: str | None = None


class Measured(NamedTuple):
    """The unweighted mean of a metric over the tasks of a run; `stderr` takes the tasks as independent."""

    run: RunLine
    value: float
    stderr: float | None
    items: int
    tasks: int

    @property
    def low(self) -> float:
        return self.value - Z95 * (self.stderr or 0.0)

    @property
    def high(self) -> float:
        return self.value + Z95 * (self.stderr or 0.0)


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
    """How many of the runs are in each state; those without a run are left out."""
    query = _searched(select(RUN.c.status, func.count()), asked).group_by(RUN.c.status)
    with store.reading() as connection:
        return {row[0]: row[1] for row in connection.execute(query)}


def measured(store: Database, asked: Searched, metric: str, *, limit: int = 2000) -> list[Measured]:
    """Complete runs that report the metric, by the time of their end, the oldest first; at most the newest `limit`.

    `metric` "score" is the headline. One query adds up all runs: no page reads scores run by run.
    """
    which = SCORE.c.place == 0 if metric == "score" else (SCORE.c.metric == metric) & (SCORE.c.task != "")
    query = _searched(
        select(
            *COLUMNS,
            func.avg(SCORE.c.value),
            func.sum(SCORE.c.stderr * SCORE.c.stderr),
            func.count(SCORE.c.stderr),
            func.sum(SCORE.c.scored),
            func.count(SCORE.c.value),
        )
        .join(SCORE, SCORE.c.run_num == RUN.c.num)
        .where(which, SCORE.c.value.is_not(None), *COMPLETE),
        asked,
    )
    grouped = query.group_by(RUN.c.num, *COLUMNS).order_by(RUN.c.finished_at.desc()).limit(limit)
    with store.reading() as connection:
        rows = connection.execute(grouped).all()
    return [_measured(row) for row in reversed(rows)]


def _measured(row: Sequence[Any]) -> Measured:
    *line, mean, squares, known, items, tasks = row
    return Measured(RunLine(*line), float(mean), _stderr(squares, known, tasks), int(items), int(tasks))


class Mean(NamedTuple):
    """`half_width` of the 95 % interval, the tasks taken as independent; None where a task has no standard error."""

    value: float
    half_width: float | None


def means(store: Database, run_ids: Sequence[str], metrics: Sequence[str]) -> dict[str, dict[str, Mean]]:
    """Run id -> metric -> its unweighted mean over the run's tasks."""
    query = (
        select(
            RUN.c.id,
            SCORE.c.metric,
            func.avg(SCORE.c.value),
            func.sum(SCORE.c.stderr * SCORE.c.stderr),
            func.count(SCORE.c.stderr),
            func.count(SCORE.c.value),
        )
        .join(SCORE, SCORE.c.run_num == RUN.c.num)
        .where(
            RUN.c.id.in_(run_ids), SCORE.c.metric.in_(metrics), SCORE.c.task != "", SCORE.c.value.is_not(None)
        )
        .group_by(RUN.c.id, SCORE.c.metric)
    )
    found: dict[str, dict[str, Mean]] = {}
    with store.reading() as connection:
        for run_id, metric, value, squares, known, tasks in connection.execute(query):
            stderr = _stderr(squares, known, tasks)
            half_width = None if stderr is None else Z95 * stderr
            found.setdefault(run_id, {})[metric] = Mean(float(value), half_width)
    return found


def _stderr(squares: Any, known: int, tasks: int) -> float | None:
    """Of a mean over tasks; None unless every task has one."""
    return math.sqrt(float(squares)) / tasks if known == tasks and squares is not None else None
