""" "Better" that rests on leaving out replies that never came is withheld, whatever the headline is made of."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import pytest

from compared import compared, row, run, scored, table
from proctor.findings import Comparison
from proctor.stats.compare import compare
from proctor.stats.estimates import Shape, TaskShape
from proctor.stats.metrics import Scored
from proctor.types import Outcome

KINDS = {
    "labels, MCC": TaskShape("T", official=("mcc",), labels=("no", "yes"), kind="labels"),
    "F1 and accuracy": TaskShape(
        "T", official=("f1", "accuracy"), positive="yes", labels=("no", "yes"), kind="labels"
    ),
    "three labels": TaskShape("T", official=("macro_f1",), labels=("a", "b", "c"), kind="labels"),
    "right or wrong": TaskShape("T", labels=("no", "yes"), kind="labels"),
    "clusters": TaskShape("T", labels=("no", "yes"), kind="labels"),
    "numbers": TaskShape("T", official=("pearson",), kind="number"),
}


def failing(rows: Sequence[Scored], where: Callable[[Scored], bool]) -> list[Scored]:
    """The same, but the requests of these rows failed."""
    return [_with(one, outcome=Outcome.ERROR, score=None, answer=None) if where(one) else one for one in rows]


def _with(one: Scored, **other: object) -> Scored:
    facts = {name: getattr(one, name) for name in Scored.__dataclass_fields__}
    return Scored(**{**facts, **other})


def drawn(kind: str, seed: int, n: int = 400) -> list[Scored]:
    """A model that is right in 70 % of the rows, or off by a spread as large as that of the numbers."""
    spec, targets, chance = KINDS[kind], random.Random("targets"), random.Random(f"{kind} {seed}")
    rows = []
    for i in range(n):
        cluster = f"c{i // 2}" if kind == "clusters" else None
        if kind == "numbers":
            number = targets.gauss(0, 1)
            said = number + chance.gauss(0, 1)
            # Wrong is what lies far off.
            rows.append(
                row(f"q/{i}", 0.0 if abs(said - number) > 1 else 1.0, target=str(number), answer=str(said))
            )
            continue
        names = spec.labels
        target = targets.choice(names)
        answer = (
            target if chance.random() < 0.7 else chance.choice([name for name in names if name != target])
        )
        rows.append(row(f"q/{i}", float(answer == target), target=target, answer=answer, cluster=cluster))
    return rows


def of(kind: str, first: Sequence[Scored], second: Sequence[Scored]) -> Comparison:
    return compare([(run("a"), first), (run("b"), second)], Shape("S", {"q": KINDS[kind]}))[0]


@pytest.mark.parametrize("kind", KINDS)
def test_errors_in_place_of_wrong_answers_make_nobody_better(kind: str) -> None:
    honest, other = drawn(kind, 1), drawn(kind, 2)
    assert of(kind, honest, other).verdict == "no difference shown", "equal models to begin with"
    found = of(kind, failing(honest, lambda one: one.score == 0.0), other)
    assert found.verdict == "no difference shown"
    assert (
        "replies of sim/a have no score" in found.whole.withheld
        and "counted as wrong" in found.whole.withheld
    )
    turned = of(kind, other, failing(honest, lambda one: one.score == 0.0))
    assert turned.verdict == "no difference shown" and turned.whole.withheld


def test_a_few_errors_do_not_undo_what_is_clear() -> None:
    first, second = table(both=50, only_first=40, only_second=5, neither=5)
    lost = failing(first, lambda one: one.item in ("q/0", "q/1", "q/99"))
    (pair,) = compared([(run("a"), lost), (run("b"), second)])
    assert pair.verdict == "first better" and not pair.whole.withheld


def test_errors_of_the_worse_side_withhold_nothing() -> None:
    first, second = table(both=40, only_first=16, only_second=4, neither=30)
    lost = failing(second, lambda one: one.item in {f"q/{i}" for i in range(60, 90)})
    (pair,) = compared([(run("a"), first), (run("b"), lost)])
    assert pair.verdict == "first better" and not pair.whole.withheld


def test_what_neither_measured_says_nothing() -> None:
    first, second = table(both=40, only_first=16, only_second=4, neither=200)
    tail = {f"q/{i}" for i in range(60, 260)}
    sides = [failing(side, lambda one: one.item in tail) for side in (first, second)]
    (pair,) = compared([(run("a"), sides[0]), (run("b"), sides[1])])
    assert pair.verdict == "first better" and not pair.whole.withheld


def test_a_reply_that_nobody_scored_counts_as_one_that_never_came() -> None:
    first, second = table(both=40, only_first=14, only_second=12, neither=30)
    unscored = [
        _with(one, outcome=Outcome.ANSWERED, score=None) if one.score == 0.0 else one for one in first
    ]
    (pair,) = compared([(run("a"), unscored), (run("b"), second)])
    assert pair.verdict == "no difference shown" and "42 replies of sim/a" in pair.whole.withheld


def test_each_repeat_that_failed_counts() -> None:
    rows = [
        [row(f"q/{i}", float((i * 7 + r * side) % 10 < 6), repeat=r) for i in range(80) for r in range(3)]
        for side in (1, 3)
    ]
    lost = failing(rows[0], lambda one: one.score == 0.0)
    (pair,) = compared([(run("a"), lost), (run("b"), rows[1])])
    assert pair.verdict == "no difference shown" and "of sim/a have no score" in pair.whole.withheld


def test_tasks_and_suites_are_held_to_it_too() -> None:
    shape = Shape("S", {"q": TaskShape("Q", full_size=300), "r": TaskShape("R", full_size=100)})
    sides = []
    for seed in (1, 2):
        chance = random.Random(seed)
        sides.append(
            [
                one
                for task in ("q", "r")
                for one in scored([float(chance.random() < 0.7) for _ in range(300)], prefix=task, task=task)
            ]
        )
    lost = failing(sides[0], lambda one: one.score == 0.0 and one.task == "q")
    (pair,) = compare([(run("a"), lost), (run("b"), sides[1])], shape)
    assert pair.verdict == "no difference shown" and "of sim/a have no score" in pair.whole.withheld
    by_task = {each.task: each for each in pair.tasks}
    assert by_task["q"].verdict == "no difference shown" and by_task["q"].withheld
    assert not by_task["r"].withheld


def test_what_is_counted_again_is_one_of_as_many_comparisons() -> None:
    first, second = table(both=40, only_first=20, only_second=3, neither=30)
    third = scored([float(i % 2) for i in range(93)])
    lost = failing(first, lambda one: one.item in {f"q/{i}" for i in range(5)})
    (alone,) = compared([(run("a"), lost), (run("b"), second)])
    assert alone.verdict == "first better", "20 against 3 + 5, p = 0.036"
    in_three = compared([(run("a"), lost), (run("b"), second), (run("c"), third)])[0]
    assert in_three.verdict == "no difference shown" and in_three.whole.withheld
    assert in_three.whole.adjusted_p is not None and in_three.whole.adjusted_p < 0.05
