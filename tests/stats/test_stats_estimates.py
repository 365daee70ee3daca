"""A run's scores: errors lower the coverage, tasks weigh as much as their whole splits."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.stats.estimates import Count, Shape, accuracy, count, micro, scores
from proctor.stats.intervals import share_stderr, wilson

ROWS = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from([0.0, 1.0, None])), max_size=100)
TITLES = {"a": "Task A", "b": "Task B", "c": "Task C"}


def shape(**full_sizes: int) -> Shape:
    return Shape("The suite", TITLES, full_sizes)


def test_counts_are_by_task() -> None:
    counts = count([("a", 1.0), ("b", 0.0), ("a", None), ("a", 0.0)])
    assert counts == {"a": Count(asked=3, scored=2, total=1.0), "b": Count(asked=1, scored=1, total=0.0)}


def test_accuracy_is_a_share_with_wilsons_interval() -> None:
    e = accuracy(Count(asked=22, scored=20, total=17.0))
    assert (e.value, e.scored, e.asked, e.method) == (0.85, 20, 22, "Wilson")
    assert (e.low, e.high) == (pytest.approx(0.6396, abs=5e-5), pytest.approx(0.9476, abs=5e-5))
    assert e.stderr == share_stderr(0.85, 20)


@pytest.mark.parametrize(
    ("asked", "reason"), [(0, "no item was asked"), (7, "every item asked ended in an error")]
)
def test_nothing_measured_is_no_number(asked: int, reason: str) -> None:
    for e in (accuracy(Count(asked=asked)), micro({"a": Count(asked=asked)}, shape(a=10))):
        assert (e.value, e.stderr, e.low, e.high, e.scored, e.asked) == (None, None, None, None, 0, asked)
        assert e.reason == reason


@settings(deadline=None)
@given(ROWS, st.sampled_from("abc"))
def test_an_errored_item_changes_no_score(rows: list[tuple[str, float | None]], task: str) -> None:
    """It is counted as asked, and no value, interval or standard error moves."""
    for before, after in zip(
        *(scores(count(r), shape(a=50, b=60, c=70)) for r in _with_error(rows, task)), strict=True
    ):
        assert (before.task, before.metric) == (after.task, after.metric)
        old, new = before.estimate, after.estimate
        assert (old.value, old.stderr, old.low, old.high) == (new.value, new.stderr, new.low, new.high)
        assert new.scored == old.scored
        assert new.asked == old.asked + (before.task in ("", task))


def _with_error(
    rows: list[tuple[str, float | None]], task: str
) -> tuple[list[tuple[str, float | None]], list[tuple[str, float | None]]]:
    one_each: list[tuple[str, float | None]] = [(t, 1.0) for t in "abc"]
    return [*one_each, *rows], [*one_each, *rows, (task, None)]


@settings(deadline=None)
@given(ROWS, st.randoms(use_true_random=False))
def test_the_order_of_items_does_not_matter(
    rows: list[tuple[str, float | None]], shuffler: random.Random
) -> None:
    mixed = list(rows)
    shuffler.shuffle(mixed)
    sizes = shape(a=50, b=60, c=70)
    for one, other in zip(scores(count(rows), sizes), scores(count(mixed), sizes), strict=True):
        assert (one.task, one.estimate.scored, one.estimate.asked) == (
            other.task,
            other.estimate.scored,
            other.estimate.asked,
        )
        assert one.estimate.value == pytest.approx(other.estimate.value, abs=1e-12)


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(1, 400), st.floats(0, 1)), min_size=1, max_size=3))
def test_micro_over_whole_splits_is_plain_accuracy(tasks: list[tuple[int, float]]) -> None:
    counts = {t: Count(n, n, float(round(n * part))) for t, (n, part) in zip("abc", tasks, strict=False)}
    whole = Count(*(sum(getattr(c, name) for c in counts.values()) for name in ("asked", "scored", "total")))
    plain = accuracy(whole)
    weighted = micro(counts, shape(**{t: c.scored for t, c in counts.items()}))
    assert weighted.value == pytest.approx(plain.value, abs=1e-12)
    assert [weighted.low, weighted.high] == pytest.approx([plain.low, plain.high], abs=1e-9)
    assert (weighted.scored, weighted.asked) == (plain.scored, plain.asked)


def test_micro_weighs_tasks_by_their_whole_splits() -> None:
    """90 of 100 and 10 of 100, of splits with 900 and 100 items: 0.9 * 0.9 + 0.1 * 0.1."""
    counts = {"a": Count(100, 100, 90.0), "b": Count(100, 100, 10.0)}
    e = micro(counts, shape(a=900, b=100))
    assert e.value == pytest.approx(0.82)
    # Kish: weights 9 and 1, a hundred times each: (900 + 100)^2 / (100 * 81 + 100 * 1) = 121.95.
    assert (e.low, e.high) == pytest.approx(wilson(0.82, 1e6 / 8200))
    assert "effective n" in e.method


def test_a_task_of_which_nothing_was_scored_has_no_weight() -> None:
    e = micro({"a": Count(10, 10, 5.0), "b": Count(10, 0, 0.0)}, shape(a=100, b=900))
    assert (e.value, e.scored, e.asked) == (0.5, 10, 20)


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(1, 300), st.integers(1, 2000)), min_size=2, max_size=3))
def test_all_right_is_exactly_1_and_all_wrong_exactly_0(sizes: list[tuple[int, int]]) -> None:
    """Not the float below 1, which would be shown as 0.999."""
    full = shape(**{t: n for t, (_, n) in zip("abc", sizes, strict=False)})
    for each in (1.0, 0.0):
        e = micro({t: Count(k, k, k * each) for t, (k, _) in zip("abc", sizes, strict=False)}, full)
        assert e.value == each
        assert (e.high if each else e.low) == each


def test_the_suite_comes_first_and_a_single_task_stands_alone() -> None:
    counts = count([("b", 1.0), ("a", 0.0)])
    assert [(s.task, s.title) for s in scores(counts, shape(a=1, b=1))] == [
        ("", "The suite"),
        ("a", "Task A"),
        ("b", "Task B"),
    ]
    alone = scores(count([("a", 1.0)]), Shape("The suite", {"a": "Task A"}, {"a": 1}))
    assert [(s.task, s.title, s.metric) for s in alone] == [("a", "Task A", "accuracy")]
