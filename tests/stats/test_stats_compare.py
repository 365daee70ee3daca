"""Models against each other: what a verdict needs, and what must not change it."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compared import pair, run, scored, table
from proctor.findings import Comparison
from proctor.stats.compare import ALPHA, compare
from proctor.stats.paired import holm, mcnemar_exact

MARKS = st.lists(st.sampled_from([0.0, 1.0, None]), max_size=80)
COUNT = st.integers(0, 60)


def facts(c: Comparison) -> tuple[object, ...]:
    return (
        c.shared,
        c.both_right,
        c.only_first,
        c.only_second,
        c.p_value,
        c.adjusted_p,
        c.verdict,
        c.difference,
    )


@settings(deadline=None)
@given(MARKS, MARKS)
def test_swapping_the_models_turns_the_comparison_round(a: list[float | None], b: list[float | None]) -> None:
    (there,) = compare([(run("a"), scored(a)), (run("b"), scored(b))])
    (back,) = compare([(run("b"), scored(b)), (run("a"), scored(a))])
    turned = {"first better": "second better", "second better": "first better"}
    assert (there.shared, there.both_right, there.p_value) == (back.shared, back.both_right, back.p_value)
    assert (there.only_first, there.only_second) == (back.only_second, back.only_first)
    assert there.verdict == turned.get(back.verdict, back.verdict)
    if there.shared:
        d, e = there.difference, back.difference
        ends = [x for x in (e.value, e.high, e.low) if x is not None]
        assert [d.value, d.low, d.high] == pytest.approx([-x for x in ends], abs=1e-12)


@settings(deadline=None)
@given(MARKS)
def test_a_model_against_itself_is_no_better(marks: list[float | None]) -> None:
    (c,) = compare([(run("a"), scored(marks)), (run("b"), scored(marks))])
    assert c.verdict == "no difference shown"
    assert (c.only_first, c.only_second, c.discordant) == (0, 0, 0)
    assert (c.p_value, c.adjusted_p) == ((1.0, 1.0) if c.shared else (None, None))
    assert c.items_needed is None


@settings(deadline=None)
@given(MARKS, MARKS, st.randoms(use_true_random=False))
def test_the_order_of_items_does_not_matter(
    a: list[float | None], b: list[float | None], shuffler: random.Random
) -> None:
    ordered = [(run("a"), scored(a)), (run("b"), scored(b))]
    mixed = []
    for who, scores in ordered:
        rows = list(scores.items())
        shuffler.shuffle(rows)
        mixed.append((who, dict(rows)))
    assert facts(compare(ordered)[0]) == facts(compare(mixed)[0])


@settings(deadline=None)
@given(MARKS, MARKS, st.sampled_from(["a", "b"]))
def test_an_item_that_only_one_has_changes_nothing(
    a: list[float | None], b: list[float | None], who: str
) -> None:
    """An errored item is one without a score: it leaves the comparison."""
    first, second = scored(a), scored(b)
    extra = scored([1.0, 0.0, 1.0], prefix="only-here")
    longer = ({**first, **extra}, second) if who == "a" else (first, {**second, **extra})
    before = compare([(run("a"), first), (run("b"), second)])
    after = compare([(run("a"), longer[0]), (run("b"), longer[1])])
    assert facts(before[0]) == facts(after[0])


def test_the_same_id_with_other_content_is_not_shared() -> None:
    first, second = {("q/1", "old"): 1.0, ("q/2", "x"): 1.0}, {("q/1", "new"): 0.0, ("q/2", "x"): 1.0}
    (c,) = compare([(run("a"), first), (run("b"), second)])
    assert (c.shared, c.both_right, c.discordant) == (1, 1, 0)


@settings(deadline=None)
@given(st.lists(st.tuples(COUNT, COUNT, COUNT, COUNT), min_size=1, max_size=4))
def test_better_needs_both_the_adjusted_p_and_an_interval_without_0(
    counts: list[tuple[int, int, int, int]],
) -> None:
    both, only_first, only_second, neither = counts[0]
    first, second = table(both, only_first, only_second, neither)
    others = [(run(f"c{i}"), table(*rest)[0]) for i, rest in enumerate(counts[1:])]
    for c in compare([(run("a"), first), (run("b"), second), *others]):
        d = c.difference
        clear = d.low is not None and d.high is not None and not d.low <= 0 <= d.high
        small = c.adjusted_p is not None and c.adjusted_p < ALPHA
        assert (c.verdict != "no difference shown") == (clear and small)
        if c.verdict != "no difference shown":
            assert (c.verdict == "first better") == (c.only_first > c.only_second)


def test_an_interval_without_0_is_not_enough() -> None:
    c = pair(both=30, only_first=5, only_second=0, neither=15)
    assert c.difference.low is not None and c.difference.low > 0
    assert c.adjusted_p == 0.0625
    assert c.verdict == "no difference shown"


def test_a_clear_difference_is_found() -> None:
    c = pair(both=50, only_first=5, only_second=15, neither=30)
    assert (c.shared, c.both_right, c.only_first, c.only_second) == (100, 50, 5, 15)
    assert c.difference.value == -0.1
    assert c.p_value == c.adjusted_p == pytest.approx(0.0413895, abs=5e-8)
    assert c.verdict == "second better"
    assert c.difference.scored == c.difference.asked == 100


def test_a_difference_that_one_pair_would_show_may_not_survive_three() -> None:
    """p = 0.041 alone is enough; among three comparisons it is adjusted to 0.12."""
    first, second = table(50, 5, 15, 30)
    pairs = compare([(run("a"), first), (run("b"), second), (run("c"), second)])
    assert [(c.first.id, c.second.id) for c in pairs] == [("a", "b"), ("a", "c"), ("b", "c")]
    assert [c.adjusted_p for c in pairs] == pytest.approx(holm([mcnemar_exact(5, 15)] * 2 + [1.0]))
    assert {c.verdict for c in pairs} == {"no difference shown"}


def test_runs_without_a_common_item_say_so_and_cost_the_others_nothing() -> None:
    first, second = table(50, 5, 15, 30)
    stranger = scored([1.0, 0.0], prefix="other")
    pairs = {
        (c.first.id, c.second.id): c
        for c in compare([(run("a"), first), (run("b"), second), (run("x"), stranger)])
    }
    lost = pairs["a", "x"]
    assert (lost.shared, lost.p_value, lost.adjusted_p, lost.difference.value) == (0, None, None, None)
    assert lost.difference.reason == "the two runs share no scored item"
    assert lost.verdict == "no difference shown"
    assert pairs["a", "b"].adjusted_p == pairs["a", "b"].p_value


def test_one_run_has_nothing_to_be_compared_with() -> None:
    assert compare([(run("a"), scored([1.0]))]) == ()
