"""Runs as the dashboard lists them: searched, paged, counted by state, and with their scores as they were kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Select, and_, case, exists, func, or_, select

from proctor.findings import OVER_TASKS
from proctor.store.core.schema import Database
from proctor.store.core.tables import RUN, SCORE
from proctor.store.read.lists import COLUMNS, RunFilter, RunLine, where
from proctor.types import Status

_COMPLETED = RUN.c.status == Status.COMPLETED.value
COMPLETE = (_COMPLETED, RUN.c.settled >= RUN.c.planned, RUN.c.stopped.is_(None))
PARTIAL = "partial"  # counted apart from the complete: a run in which planned items are not settled
HEADLINE = "score"  # the name of the headline, whatever its metric is
_FIGURES = [SCORE.c[name] for name in ("metric", "value", "low", "high", "scored", "asked")]


class Searched(NamedTuple):
    """Which runs: `wanted`, and of these those whose provider/model holds `text`, whatever its case."""

    wanted: RunFilter = RunFilter()
    text: str | None = None


class Shown(NamedTuple):
    """A run's score over its tasks under its name, with the interval that was kept; None where none was."""

    metric: str
    value: float | None
    low: float | None
    high: float | None
    scored: int
    asked: int


class Measured(NamedTuple):
    """A run and its score in the metric that was asked for."""

    run: RunLine
    score: Shown


class Lacking(NamedTuple):
    """A run and a metric that its tasks have, of which an older version kept no score over them."""

    run_id: str
    metric: str


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


def measured(
    store: Database, asked: Searched, metric: str, *, extras: Sequence[str] = (), limit: int = 2000
) -> tuple[list[Measured], list[RunLine]]:
    """Complete runs that have the metric, by the time of their end: the newest `limit`. Those that lack it apart.

    `metric` "score" is the headline; of another what was kept over all tasks, see
    `service/results/headline.py`, without the tasks `extras`. No page reads scores run by run.
    """
    found: list[Measured] = []
    lacking: list[RunLine] = []
    width = len(COLUMNS)
    with store.reading() as connection:
        for columns, joined in _kept(metric, extras):
            query = _searched(select(*COLUMNS, *columns), asked).join(SCORE, SCORE.c.run_num == RUN.c.num)
            query = joined(query.where(*COMPLETE), COLUMNS)
            newest = query.order_by(RUN.c.finished_at.desc()).limit(limit)
            for row in connection.execute(newest):
                line, score = RunLine(*row[:width]), _shown(row[width:])
                if score is None:
                    lacking.append(line)
                elif score.value is not None:
                    found.append(Measured(line, score))
    return sorted(found, key=lambda each: each.run.finished_at or 0.0)[-limit:], lacking


def figures(
    store: Database, run_ids: Sequence[str], metrics: Sequence[str], *, extras: Sequence[str] = ()
) -> tuple[dict[str, dict[str, Shown]], list[Lacking]]:
    """Run id -> metric -> its score over the run's tasks without `extras`; complete or not. What is lacking apart."""
    found: dict[str, dict[str, Shown]] = {}
    lacking: list[Lacking] = []
    with store.reading() as connection:
        for metric, columns, joined in ((name, *way) for name in metrics for way in _kept(name, extras)):
            query = select(RUN.c.id, *columns).join(SCORE, SCORE.c.run_num == RUN.c.num)
            for run_id, *row in connection.execute(joined(query.where(RUN.c.id.in_(run_ids)), [RUN.c.id])):
                if score := _shown(row):
                    found.setdefault(run_id, {})[metric] = score
                else:
                    lacking.append(Lacking(run_id, metric))
    return found, lacking


def _kept(metric: str, extras: Sequence[str]) -> list[tuple[Sequence[ColumnElement[Any]], Any]]:
    """The ways in which a run may have the metric: columns to read, and what narrows a query to such runs.

    Over tasks as it was kept; of one task alone the task's own. Of several tasks of a run that an older version
    ended nothing: a mean and its interval are not made here.
    """
    if metric == HEADLINE:
        return [(_FIGURES, lambda query, _: query.where(SCORE.c.place == 0))]
    whole = SCORE.alias("whole")
    there = exists().where(whole.c.run_num == RUN.c.num, _over_tasks(whole, metric))
    single = (SCORE.c.metric == metric, SCORE.c.task.not_in(["", *extras]), ~there)
    columns = (*(func.max(column) for column in _FIGURES), func.count())
    return [
        (_FIGURES, lambda query, _: query.where(_over_tasks(SCORE, metric))),
        (columns, lambda query, named: query.where(*single).group_by(RUN.c.num, *named)),
    ]


def _over_tasks(of: Any, metric: str) -> ColumnElement[bool]:
    """As `service/headline.means`, in SQL."""
    named = of.c.metric.startswith(f"{metric}{OVER_TASKS}", autoescape=True)
    part = of.c.metric.startswith(f"{metric} (", autoescape=True)
    return and_(of.c.task == "", or_(of.c.metric == metric, named, part))


def _shown(row: Sequence[Any]) -> Shown | None:
    """None where the run has the metric of several tasks, and none was kept over them."""
    if len(row) == len(_FIGURES):
        return Shown(*row)
    *alone, tasks = row
    return Shown(*alone) if tasks == 1 else None
