"""What an ended run shows, kept beside its row: its scores and its summary, written together and only together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from sqlalchemy import ColumnElement, Connection, Row, and_, delete, select, update

from proctor.findings import Estimate, Score
from proctor.store.core.schema import Database
from proctor.store.core.tables import RUN, SCORE
from proctor.types import Run

AT_ONCE = 500  # ids of one statement


@dataclass(frozen=True, slots=True)
class Figures:
    """The scores in their order, and the summary: tally and profile as JSON values."""

    scores: Sequence[Score]
    summary: Mapping[str, Any]


def put(connection: Connection, num: int, figures: Figures) -> None:
    """Replace what the run number `num` shows."""
    put_scores(connection, num, figures.scores)
    text = orjson.dumps(dict(figures.summary)).decode()
    connection.execute(update(RUN).where(RUN.c.num == num).values(summary=text))


def put_scores(connection: Connection, num: int, scores: Sequence[Score]) -> None:
    connection.execute(delete(SCORE).where(SCORE.c.run_num == num))
    rows = [_values(num, place, score) for place, score in enumerate(scores)]
    if rows:
        connection.execute(SCORE.insert(), rows)


def read(connection: Connection, num: int) -> tuple[Score, ...]:
    query = select(SCORE).where(SCORE.c.run_num == num).order_by(SCORE.c.place)
    return tuple(_score(row) for row in connection.execute(query))


def headlines(store: Database, run_ids: Sequence[str]) -> dict[str, Score]:
    """The kept headlines of runs by their ids; a run that has none is left out."""
    found: dict[str, Score] = {}
    with store.reading() as connection:
        for start in range(0, len(run_ids), AT_ONCE):
            some = run_ids[start : start + AT_ONCE]
            query = select(RUN.c.id, *SCORE.c).join(SCORE, SCORE.c.run_num == RUN.c.num)
            for row in connection.execute(query.where(RUN.c.id.in_(some), SCORE.c.place == 0)):
                found[row.id] = _score(row)
    return found


def lacking(store: Database) -> list[str]:
    """The ids of runs that have ended and were asked something, but have no figures; the newest first.

    A run that a worker had to end has none, nor has one of a version that wrote them after the end and was
    killed in between.
    """
    query = select(RUN.c.id).where(_lacks()).order_by(RUN.c.num.desc())
    with store.reading() as connection:
        return list(connection.execute(query).scalars())


def add(store: Database, run: Run, figures: Figures) -> bool:
    """Keep the figures of an ended run that has none; False if it has some by now, or was taken up again."""
    still = and_(RUN.c.id == run.id, RUN.c.finished_at == run.finished_at, _lacks())
    with store.writing() as connection:
        num = connection.execute(select(RUN.c.num).where(still).with_for_update()).scalar_one_or_none()
        if num is not None:
            put(connection, num, figures)
        return num is not None


def add_more(store: Database, run: Run, scores: Sequence[Score]) -> None:
    """Keep scores beside those of an ended run, unless it is at work again; what is kept already stays."""
    as_it_ended = select(RUN.c.num).where(RUN.c.id == run.id, RUN.c.finished_at == run.finished_at)
    with store.writing() as connection:
        # Locked: a run that is taken up at this moment drops its scores, and must not find these afterwards.
        num = connection.execute(as_it_ended.with_for_update()).scalar_one_or_none()
        if num is None:
            return
        known = connection.execute(select(SCORE.c.task, SCORE.c.metric).where(SCORE.c.run_num == num)).all()
        new = [score for score in scores if (score.task, score.metric) not in {tuple(row) for row in known}]
        if new:
            rows = [_values(num, place, score) for place, score in enumerate(new, len(known))]
            connection.execute(SCORE.insert(), rows)


def _lacks() -> ColumnElement[bool]:
    return and_(RUN.c.summary.is_(None), RUN.c.finished_at.is_not(None), RUN.c.manifest != "{}")


def _values(num: int, place: int, score: Score) -> dict[str, Any]:
    estimate = score.estimate
    return {
        "run_num": num,
        "task": score.task,
        "metric": score.metric,
        "title": score.title,
        "place": place,
        "value": estimate.value,
        "stderr": estimate.stderr,
        "low": estimate.low,
        "high": estimate.high,
        "scored": estimate.scored,
        "asked": estimate.asked,
        "method": estimate.method,
        "reason": estimate.reason,
    }


def _score(row: Row[Any]) -> Score:
    estimate = Estimate(
        value=row.value,
        stderr=row.stderr,
        low=row.low,
        high=row.high,
        scored=row.scored,
        asked=row.asked,
        method=row.method,
        reason=row.reason,
    )
    return Score(task=row.task, title=row.title, metric=row.metric, estimate=estimate)
