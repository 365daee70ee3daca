"""Further grades of kept replies, beside the first, which is in the attempt's row. They are added, never changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from sqlalchemy import Row, func, select

from proctor.store.core.attempts import ANSWER_CHARACTERS, Store
from proctor.store.core.bodies import clean
from proctor.store.core.tables import GRADE
from proctor.types import Grade, Outcome

NOTE_CHARACTERS = 2000
_ROWS = 500  # of one transaction

Place = tuple[str, int, int]  # item id, repeat, attempt


@dataclass(frozen=True, slots=True)
class KeptGrade:
    """What one grader made of one attempt, and when (Unix time)."""

    item_id: str
    repeat: int
    attempt: int
    at: float
    grade: Grade


@dataclass(frozen=True, slots=True)
class GradedBy:
    """A grader that has graded attempts of a run: how many of them, when it last did (Unix time), and what it cost.

    `cost_usd` is None where grading has no price, as that of all graders but models has.
    """

    grader: str
    attempts: int
    at: float
    cost_usd: float | None = None


_COLUMNS = [
    GRADE.c[name]
    for name in (
        "item_id",
        "repeat",
        "attempt",
        "at",
        "outcome",
        "score",
        "answer",
        "grader",
        "note",
        "cost_usd",
    )
]


def add(store: Store, run_id: str, grades: Iterable[KeptGrade]) -> None:
    """Keep grades; where a grader has graded an attempt already, that grade stays. Raises NotFound, StoreError."""
    num = store.number(run_id)
    insert = store.insert(GRADE).on_conflict_do_nothing()
    left = iter(grades)
    while some := list(islice(left, _ROWS)):  # itertools.batched is of Python 3.12
        with store.writing() as connection:
            connection.execute(insert, [_values(num, each) for each in some])


def by(store: Store, run_id: str, grader: str, *, until: float | None = None) -> Mapping[Place, Grade]:
    """All that a grader has given to attempts of a run, until a Unix time. Raises NotFound for the run."""
    query = select(*_COLUMNS).where(GRADE.c.run_num == store.number(run_id), GRADE.c.grader == grader)
    if until is not None:
        query = query.where(GRADE.c.at <= until)
    with store.reading() as connection:
        found = [_kept(row) for row in connection.execute(query)]
    return {(each.item_id, each.repeat, each.attempt): each.grade for each in found}


def of_item(store: Store, run_id: str, item_id: str, repeat: int) -> list[KeptGrade]:
    """Every further grade of one item's attempts, the oldest first. Raises NotFound for the run."""
    query = (
        select(*_COLUMNS)
        .where(GRADE.c.run_num == store.number(run_id), GRADE.c.item_id == item_id, GRADE.c.repeat == repeat)
        .order_by(GRADE.c.attempt, GRADE.c.at, GRADE.c.grader)
    )
    with store.reading() as connection:
        return [_kept(row) for row in connection.execute(query)]


def graders(store: Store, run_id: str) -> list[GradedBy]:
    """Who has graded a run beside its first grader, in the order in which they last did. Raises NotFound."""
    last = func.max(GRADE.c.at)
    query = (
        select(GRADE.c.grader, func.count(), last, func.sum(GRADE.c.cost_usd))
        .where(GRADE.c.run_num == store.number(run_id))
        .group_by(GRADE.c.grader)
        .order_by(last, GRADE.c.grader)
    )
    with store.reading() as connection:
        return [GradedBy(*row) for row in connection.execute(query)]


def _values(num: int, kept: KeptGrade) -> dict[str, Any]:
    grade = kept.grade
    return {
        "run_num": num,
        "grader": grade.grader,
        "item_id": kept.item_id,
        "repeat": kept.repeat,
        "attempt": kept.attempt,
        "outcome": grade.outcome.value,
        "score": grade.score,
        "answer": clean(grade.answer, ANSWER_CHARACTERS),
        "note": clean(grade.note, NOTE_CHARACTERS),
        "cost_usd": grade.cost_usd,
        "at": kept.at,
    }


def _kept(row: Row[Any]) -> KeptGrade:
    item_id, repeat, attempt, at, outcome, score, answer, grader, note, cost_usd = tuple(row)
    grade = Grade(Outcome(outcome), score, answer, grader=grader, note=note, cost_usd=cost_usd)
    return KeptGrade(item_id, repeat, attempt, at, grade)
