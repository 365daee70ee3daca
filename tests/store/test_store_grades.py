"""Further grades of kept replies: beside the first, added and never changed, gone with their run."""

from __future__ import annotations

import pytest
from store_examples import NOW, answered, claimed, keep_all

from proctor.errors import NotFound
from proctor.store import Store
from proctor.store.admin import pruning
from proctor.store.core.walls import Reach
from proctor.store.write import grades
from proctor.store.write.grades import GradedBy, KeptGrade
from proctor.types import Grade, Outcome, Run, Status

RIGHT = Grade(Outcome.CORRECT, 1.0, "Canberra", grader="contains/1", note="as a whole word", cost_usd=0.25)
WRONG = Grade(Outcome.WRONG, 0.0, None, grader="exact/1")


def kept(place: int, grade: Grade, at: float = NOW) -> KeptGrade:
    return KeptGrade(answered(place).item.id, 0, 0, at, grade)


def graded(store: Store) -> Run:
    run = claimed(store, 2)
    keep_all(store, run, answered(0), answered(1))
    grades.add(store, run.id, [kept(0, RIGHT), kept(1, RIGHT), kept(0, WRONG, NOW + 1)])
    return run


def test_grades_stand_beside_the_first_one_by_grader(store: Store) -> None:
    run = graded(store)
    one = (answered(0).item.id, 0, 0)
    assert grades.by(store, run.id, "contains/1")[one] == RIGHT
    assert grades.by(store, run.id, "exact/1") == {one: WRONG}
    assert grades.graders(store, run.id) == [
        GradedBy("contains/1", 2, NOW, cost_usd=0.5),
        GradedBy("exact/1", 1, NOW + 1),
    ]
    assert [each.grade.grader for each in grades.of_item(store, run.id, one[0], 0)] == [
        "contains/1",
        "exact/1",
    ]
    [first, _] = store.latest(run.id)
    assert (first.outcome, first.score) == (answered(0).grade.outcome, answered(0).grade.score)


def test_a_kept_grade_stays_as_it_is(store: Store) -> None:
    run = graded(store)
    grades.add(store, run.id, [kept(1, WRONG), kept(0, Grade(Outcome.WRONG, 0.0, grader="contains/1"))])
    assert grades.by(store, run.id, "contains/1")[answered(0).item.id, 0, 0] == RIGHT
    assert len(grades.by(store, run.id, "exact/1")) == 2


def test_text_that_no_database_takes_is_made_fit(store: Store) -> None:
    run = claimed(store)
    odd = Grade(Outcome.WRONG, 0.0, "\ud800" + "x" * 500, grader="a/1", note="\0" + "y" * 5000)
    grades.add(store, run.id, [KeptGrade("i", 0, 0, NOW, odd)])
    [found] = grades.by(store, run.id, "a/1").values()
    assert found.answer == "?" + "x" * 199 and found.note == "\ufffd" + "y" * 1999


def test_grades_go_with_their_run(store: Store) -> None:
    run, stays = graded(store), graded(store)
    store.finish(run.id, Status.COMPLETED, owner="me", now=NOW, elapsed_s=1.0)
    assert pruning.remove(store, [run.id]) == [run.id]
    with store.reading() as connection:
        assert connection.exec_driver_sql("SELECT COUNT(*) FROM grade").scalar_one() == 3
    assert len(grades.graders(store, stays.id)) == 2


def test_grades_are_within_the_walls_of_their_project(store: Store) -> None:
    run = graded(store)
    here, elsewhere = store.within(Reach(frozenset({1}))), store.within(Reach(frozenset({2})))
    grades.add(here, run.id, [kept(1, WRONG)])
    assert len(grades.by(here, run.id, "exact/1")) == 2
    with pytest.raises(NotFound):
        grades.by(elsewhere, run.id, "exact/1")
    with pytest.raises(NotFound):
        grades.add(elsewhere, run.id, [kept(0, WRONG)])
