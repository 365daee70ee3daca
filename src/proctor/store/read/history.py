"""Runs as the dashboard lists them: searched, sorted, paged, counted, and with their scores as they were kept."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from sqlalchemy import JSON, ColumnElement, Select, and_, case, cast, exists, func, or_, select, type_coerce

from proctor.findings import OVER_TASKS
from proctor.findings.looks import DECIDED as SAID_DECIDED
from proctor.store.core.schema import Database
from proctor.store.core.tables import JOB, RUN, SCORE
from proctor.store.queue.entries import is_dead
from proctor.store.read.lists import COLUMNS, RunFilter, RunLine, where
from proctor.types import Status

_COMPLETED = RUN.c.status == Status.COMPLETED.value
COMPLETE = (_COMPLETED, RUN.c.settled >= RUN.c.planned, RUN.c.stopped.is_(None))
PARTIAL = "partial"  # counted apart from the complete: a run in which planned items are not settled
DECIDED = "decided"  # counted apart too: it ended before its last item because the verdict was decided
ATTENTION = "attention"  # what somebody should look at: failed, partial, or killed in its terminal
_DECIDED = and_(_COMPLETED, func.coalesce(RUN.c.stopped, "").startswith(SAID_DECIDED, autoescape=True))
_PARTIAL = and_(_COMPLETED, ~and_(*COMPLETE), ~_DECIDED)
_STATE = case((_DECIDED, DECIDED), (_PARTIAL, PARTIAL), else_=RUN.c.status)
HEADLINE = "score"  # the name of the headline, whatever its metric is
LOOKED_AT = 500  # newest runs among which a source for Overview is looked for
MOST_SORTED = 2000  # runs, the newest that fit, among which is sorted by anything but time
_FIGURES = [SCORE.c[name] for name in ("metric", "value", "low", "high", "scored", "asked")]

Kind = Literal["exam", "batch", "rollouts", "judging"]
# How a run's cell, as JSON, names its kind of source; quotes in what users named are escaped there.
_KINDS: dict[Kind, tuple[str, ...]] = {
    "exam": ("suite", "file", "dataset", "log"),
    "batch": ("batch", "outputs"),
    "rollouts": ("rollouts",),
    "judging": ("judging",),
}
_IMPORTED = ("log", "outputs")
KIND_OF: dict[str, Kind] = {name: kind for kind, names in _KINDS.items() for name in names}


class Searched(NamedTuple):
    """Which runs: `wanted`, and of these those whose provider/model holds `text`, whatever its case, and so on.

    `state` is a status, `partial`, `decided` or `attention`; `until` is a Unix time before which they were begun;
    `errors` leaves those in which an item failed, or that failed; `user` is whose job it is; `now` says whose lease
    is over. `ids` are the only ones looked at.
    """

    wanted: RunFilter = RunFilter()
    text: str | None = None
    kind: Kind | None = None
    state: str | None = None
    until: float | None = None
    errors: bool = False
    user: str | None = None
    now: float = 0.0
    ids: tuple[str, ...] | None = None


class Order(NamedTuple):
    """How a list is sorted: all but "time" among the newest `MOST_SORTED` runs alone."""

    by: Literal["time", "model", "suite", "status", "score", "duration", "cost"] = "time"
    down: bool = True


NEWEST_FIRST = Order()


class Facts(NamedTuple):
    """What a line of a list tells besides. `user` is None of the command line's runs; unknown cost is None."""

    kind: Kind
    user: str | None
    elapsed_s: float
    cost_usd: float | None
    plan_id: str
    error_slug: str | None
    imported: bool = False  # another tool has asked for its answers, and alone can ask again


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
    if asked.kind:
        names = (f'"kind": "{name}"' for name in _KINDS[asked.kind])
        query = query.where(or_(*(RUN.c.cell.contains(name, autoescape=True) for name in names)))
    if asked.state:
        query = query.where(_in_state(asked.state, asked.now))
    if asked.until is not None:
        query = query.where(RUN.c.created_at < asked.until)
    if asked.errors:
        lost = and_(RUN.c.settled < RUN.c.planned, RUN.c.summary.contains('"errors":{"', autoescape=True))
        query = query.where(or_(RUN.c.error.is_not(None), lost))
    if asked.user:
        query = query.where(exists().where(JOB.c.run_num == RUN.c.num, JOB.c.user == asked.user))
    return query if asked.ids is None else query.where(RUN.c.id.in_(asked.ids))


def _in_state(state: str, now: float) -> ColumnElement[bool]:
    """The status stands first, so that the index of states narrows what else is looked at."""
    if state == ATTENTION:
        killed = and_(is_dead(now), ~exists().where(JOB.c.run_num == RUN.c.num))
        return or_(RUN.c.status == Status.FAILED.value, _PARTIAL, killed)
    named = {PARTIAL: _PARTIAL, DECIDED: _DECIDED, Status.COMPLETED.value: and_(_COMPLETED, ~_PARTIAL)}
    return named.get(state, RUN.c.status == state)


def page(
    store: Database,
    asked: Searched,
    *,
    before: int | None = None,
    limit: int = 50,
    order: Order = NEWEST_FIRST,
) -> tuple[list[RunLine], int | None]:
    """Runs in order, and what begins the next page as `before`; None at the end.

    By time that is a run's number, so that a page stays the same while runs are added; else how many went before.
    """
    query = _searched(select(RUN.c.num, *COLUMNS), asked)
    if order.by == "time":
        query = query.order_by(RUN.c.num.desc() if order.down else RUN.c.num).limit(limit + 1)
        if before is not None:
            query = query.where(RUN.c.num < before if order.down else RUN.c.num > before)
    else:
        query = _sorted(store, asked, order).limit(limit + 1).offset(before or 0)
    with store.reading() as connection:
        rows = connection.execute(query).all()
    lines = [RunLine(*row[1:]) for row in rows[:limit]]
    if len(rows) <= limit:
        return lines, None
    return lines, rows[limit - 1][0] if order.by == "time" else (before or 0) + limit


def _sorted(store: Database, asked: Searched, order: Order) -> Select[Any]:
    """What has no value comes last, either way round; among equals the newest first."""
    newest = (
        _searched(select(RUN.c.num), asked).order_by(RUN.c.num.desc()).limit(MOST_SORTED).subquery("newest")
    )
    query = select(RUN.c.num, *COLUMNS).join(newest, newest.c.num == RUN.c.num)
    by: list[Any]
    match order.by:
        case "model":
            by = [RUN.c.provider, RUN.c.model]
        case "suite":
            by = [RUN.c.source]
        case "status":
            by = [_STATE]
        case "duration":
            by = [case((RUN.c.elapsed_s > 0, RUN.c.elapsed_s))]
        case "cost":
            by = [_cost(store)]
        case _:
            query = query.outerjoin(SCORE, and_(SCORE.c.run_num == RUN.c.num, SCORE.c.place == 0))
            by = [SCORE.c.value]
    ways = [(each.desc() if order.down else each.asc()).nulls_last() for each in by]
    return query.order_by(*ways, RUN.c.num.desc())


def _cost(store: Database) -> ColumnElement[Any]:
    cost: ColumnElement[Any] = _json(store, RUN.c.summary)[("tally", "cost_usd")].as_float()
    return cost


def _json(store: Database, column: Any) -> Any:
    """A column of text as JSON: SQLite takes text for it, PostgreSQL wants it said."""
    return type_coerce(column, JSON) if store.engine.name == "sqlite" else cast(column, JSON)


def facts(store: Database, run_ids: Sequence[str]) -> dict[str, Facts]:
    """What lists tell of runs besides their lines, by id."""
    kind = _json(store, RUN.c.cell)[("source", "kind")].as_string()
    columns = (RUN.c.id, kind, JOB.c.user, RUN.c.elapsed_s, _cost(store), RUN.c.plan_id, RUN.c.error_slug)
    query = select(*columns).outerjoin(JOB, JOB.c.run_num == RUN.c.num).where(RUN.c.id.in_(run_ids))
    with store.reading() as connection:
        rows = connection.execute(query).all()
    return {row[0]: Facts(KIND_OF.get(row[1], "exam"), *row[2:], row[1] in _IMPORTED) for row in rows}


def users(store: Database, *, limit: int = 100) -> list[str]:
    """Whose jobs there are, by name."""
    query = (
        select(JOB.c.user).join(RUN, RUN.c.num == JOB.c.run_num).distinct().order_by(JOB.c.user).limit(limit)
    )
    with store.reading() as connection:
        return list(connection.execute(query).scalars())


def latest_scored(store: Database, asked: Searched) -> str | None:
    """The source of the newest complete run that has a score, of the newest `LOOKED_AT` runs; None without one."""
    newest = _searched(select(RUN.c.num, RUN.c.created_at), asked)
    newest = newest.order_by(RUN.c.created_at.desc(), RUN.c.num.desc()).limit(LOOKED_AT)
    among = newest.subquery("newest")
    scored = exists().where(SCORE.c.run_num == RUN.c.num, SCORE.c.place == 0, SCORE.c.value.is_not(None))
    query = select(RUN.c.source).join(among, among.c.num == RUN.c.num).where(*COMPLETE, scored)
    query = query.order_by(among.c.created_at.desc(), among.c.num.desc()).limit(1)
    with store.reading() as connection:
        found: str | None = connection.execute(query).scalar_one_or_none()
    return found


def counts(store: Database, asked: Searched) -> dict[str, int]:
    """How many of the runs are in each state, partial and decided ones apart; states without a run are left out."""
    state = _STATE.label("state")
    query = _searched(select(state, func.count()), asked).group_by(state)
    with store.reading() as connection:
        return {row[0]: row[1] for row in connection.execute(query)}


def troubled(store: Database, asked: Searched, since: float, *, limit: int = 50) -> tuple[list[RunLine], int]:
    """The runs that want attention and ended since then, or lie killed, the latest first; and how many in all."""
    recent = or_(RUN.c.finished_at >= since, RUN.c.status == Status.RUNNING.value)
    asked = asked._replace(state=ATTENTION)
    query = _searched(select(*COLUMNS), asked).where(recent)
    ended = func.coalesce(RUN.c.finished_at, RUN.c.created_at).desc()
    with store.reading() as connection:
        lines = [RunLine(*row) for row in connection.execute(query.order_by(ended).limit(limit))]
        if len(lines) < limit:
            return lines, len(lines)
        total: int = connection.execute(
            _searched(select(func.count()).select_from(RUN), asked).where(recent)
        ).scalar_one()
        return lines, total


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
        for columns, joined in _kept(metric, tuple(extras)):
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
        for metric, columns, joined in (
            (name, *way) for name in metrics for way in _kept(name, tuple(extras))
        ):
            query = select(RUN.c.id, *columns).join(SCORE, SCORE.c.run_num == RUN.c.num)
            for run_id, *row in connection.execute(joined(query.where(RUN.c.id.in_(run_ids)), [RUN.c.id])):
                if score := _shown(row):
                    found.setdefault(run_id, {})[metric] = score
                else:
                    lacking.append(Lacking(run_id, metric))
    return found, lacking


@lru_cache(maxsize=64)  # to say it anew to SQLAlchemy costs more than to ask it of the database
def _kept(metric: str, extras: tuple[str, ...]) -> list[tuple[Sequence[ColumnElement[Any]], Any]]:
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
