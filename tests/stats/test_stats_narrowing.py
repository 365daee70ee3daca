"""A score as it narrows: its last point is the run's own score, however the items came, and the band grows narrower."""

from __future__ import annotations

from random import Random

import pytest

from examrows import GLUE
from proctor.stats.descriptive.narrowing import MOST_POINTS, Narrowing, followed
from proctor.stats.estimates import Shape, TaskShape, scores
from proctor.stats.metrics import Scored
from proctor.types import Outcome

CHOICES = Shape("MMLU", {"a": TaskShape("A", full_size=300), "b": TaskShape("B", full_size=100)}, "micro")
ONE = Shape("One", {"a": TaskShape("A")})
MACRO = Shape("Two", {"a": TaskShape("A"), "b": TaskShape("B")}, "macro")


def rows(n: int, *, tasks: str = "ab", repeats: int = 1, clusters: int = 0, seed: int = 1) -> list[Scored]:
    random, made = Random(seed), []
    for place in range(n):
        task = random.choice(tasks)
        for repeat in range(repeats):
            right = random.random() < 0.7
            outcome = random.choices(
                [Outcome.CORRECT if right else Outcome.WRONG, Outcome.ERROR], [0.97, 0.03]
            )[0]
            score = None if outcome is Outcome.ERROR else float(right)
            cluster = f"{task}-{place % clusters}" if clusters else None
            made.append(
                Scored(
                    f"{task}/{place}",
                    task,
                    "A",
                    "A",
                    outcome,
                    score,
                    cluster,
                    None,
                    repeat,
                    content=f"{task}{place}",
                )
            )
    return made


@pytest.mark.parametrize("shape", [CHOICES, ONE, MACRO], ids=["micro", "one task", "macro"])
@pytest.mark.parametrize("made", [{}, {"repeats": 3}, {"clusters": 12}], ids=["plain", "repeats", "clusters"])
def test_the_last_point_is_the_runs_own_score(shape: Shape, made: dict[str, int]) -> None:
    asked = rows(400, tasks="".join(shape.tasks), **made)
    found = Narrowing(shape, followed(shape))
    found.add(asked)
    own, now = scores(asked, shape)[0].estimate, found.now()
    assert found.of.why_not == "" and now is not None
    assert (now.value, now.low, now.high) == pytest.approx((own.value, own.low, own.high), abs=1e-12)
    assert (found.points()[-1].items, found.points()[-1].value) == (len(asked), now.value)


def test_each_point_is_the_score_of_a_run_that_ended_there() -> None:
    asked = rows(300)
    found = Narrowing(CHOICES, followed(CHOICES))
    found.add(asked)
    for point in found.points():
        own = scores(asked[: point.items], CHOICES)[0].estimate
        assert (point.value, point.low, point.high) == pytest.approx(
            (own.value, own.low, own.high), abs=1e-12
        )


def test_items_one_by_one_are_the_same_as_all_at_once_and_the_points_stay_few() -> None:
    asked = rows(5000)
    whole, slowly = (Narrowing(CHOICES, followed(CHOICES)) for _ in range(2))
    whole.add(asked)
    for row in asked:
        slowly.add([row])
    assert whole.points() == slowly.points() and 30 <= len(whole.points()) <= MOST_POINTS + 1
    widths = [point.high - point.low for point in whole.points()]
    assert widths[0] > 4 * widths[len(widths) // 4] > 4 * widths[-1]


def test_what_is_no_share_of_right_answers_says_so_and_its_accuracy_is_followed() -> None:
    glue = Shape("GLUE", GLUE, "macro", whole=9)
    found = followed(glue)
    assert found.why_not.startswith("the score is the mean over 9 tasks of mcc, accuracy")
    assert found.why_not.endswith("and not all of these are shares of right answers")
    assert "stsb" not in found.metrics and found.metrics["cola"] == "accuracy"
    assert found.name == "accuracy, mean of 8 tasks"
    f1 = followed(Shape("File", {"q": TaskShape("Q", official=("f1",), kind="text")}))
    assert (f1.metrics, f1.why_not) == ({}, "the score is the f1, and that is no share of right answers")
    assert followed(Shape("Batch", {})).why_not == "nothing here is graded while it works"


def test_nothing_measured_has_no_point() -> None:
    found = Narrowing(ONE, followed(ONE))
    found.add([Scored("a/1", "a", "A", None, Outcome.ERROR, None)])
    assert (found.points(), found.now()) == ([], None)
