"""A judge's score corrected by people's labels: the formula, its borders, how often its interval holds the truth."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from proctor.stats.intervals import t_tails
from proctor.stats.judged.prediction import (
    Corrected,
    better,
    corrected_difference,
    corrected_mean,
    corrected_preference,
)


def judged(seed: int, items: int, able: float, right: float) -> tuple[list[float], list[float]]:
    """Right and wrong replies, and the verdicts of a judge that is right about that share of them."""
    random = np.random.default_rng(seed)
    told = (random.random(items) < able).astype(float)
    return told.tolist(), np.where(random.random(items) < right, told, 1 - told).tolist()


def width(found: Any) -> float:
    return float(found.high - found.low)


def mean_of(told: list[float], said: list[float], labels: int) -> Corrected:
    return corrected_mean(told[:labels], said[:labels], said[labels:])


def test_the_corrected_score_is_that_of_the_published_formula() -> None:
    told, said = judged(1, 700, 0.7, 0.85)
    found = mean_of(told, said, 120)
    y, f, rest = np.array(told[:120]), np.array(said[:120]), np.array(said[120:])
    weight = np.cov(y, f)[0, 1] / ((1 + 120 / 580) * np.var(said, ddof=1))
    value = y.mean() + weight * (rest.mean() - f.mean())
    left = y - weight * f
    variance = (np.sum((left - left.mean()) ** 2) + 2) / 121 / 120 + weight**2 * rest.var(ddof=1) / 580
    half = stats.t.ppf(0.975, 119) * variance**0.5
    assert found.weight == pytest.approx(weight) and found.correlation == pytest.approx(
        np.corrcoef(y, f)[0, 1]
    )
    assert found.corrected.value == pytest.approx(value) and found.corrected.stderr == pytest.approx(
        variance**0.5
    )
    assert (found.corrected.low, found.corrected.high) == pytest.approx((value - half, value + half))
    assert (found.labels, found.quote, found.corrected.scored) == (120, "corrected", 700)
    assert found.people.value == y.mean() and found.judge.value == pytest.approx(np.mean(said))
    assert found.quoted is found.corrected and "the judge's errors" in found.why


def test_a_difference_has_the_p_value_of_its_interval_and_both_are_asked_for_better() -> None:
    for seed in range(30):
        told, said = (np.array(x) for x in judged(seed, 600, 0.7, 0.9))
        other, heard = (np.array(x) for x in judged(seed + 100, 600, 0.6, 0.9))
        apart, seen = told - other, said - heard
        found = corrected_difference(apart[:150].tolist(), seen[:150].tolist(), seen[150:].tolist())
        t = found.corrected.value / found.corrected.stderr
        assert found.p_value == pytest.approx(2 * stats.t.sf(abs(t), 149))
        assert (found.p_value < 0.05) == (found.corrected.low > 0 or found.corrected.high < 0)
        assert better(found.corrected, found.p_value) == ("first better" if found.p_value < 0.05 else None)
        assert better(found.corrected, 0.2) is None
        half = corrected_preference(
            *((np.array(x) / 2 + 0.5).tolist() for x in (apart[:150], seen[:150], seen[150:]))
        )
        assert half.people.value == pytest.approx(0.5 + found.people.value / 2)
        assert half.people_p_value == pytest.approx(found.people_p_value)
        assert half.judge.low == pytest.approx(0.5 + found.judge.low / 2)


@given(st.floats(-40, 40), st.floats(1, 1e5))
def test_the_tails_of_students_t_are_those_of_scipy(t: float, freedom: float) -> None:
    assert t_tails(t, freedom) == pytest.approx(2 * stats.t.sf(abs(t), freedom), rel=1e-6, abs=1e-12)


GRADES = st.lists(
    st.tuples(st.sampled_from([0, 0.25, 0.5, 1]), st.sampled_from([None, 0, 0.5, 1])), min_size=2
)


@settings(max_examples=60, deadline=None)
@given(GRADES, st.lists(st.sampled_from([None, 0, 0.25, 1])), st.randoms(use_true_random=False))
def test_no_order_matters_and_the_interval_lies_within_what_is_possible(
    both: list[tuple[float, float | None]], rest: list[float | None], random: Any
) -> None:
    keys = [f"c{i % 3}" for i in range(len(both))]
    for clusters in (None, (keys, ["c1"] * len(rest))):
        found = corrected_mean([y for y, _ in both], [f for _, f in both], rest, clusters=clusters)
        mixed = list(zip(both, keys, strict=True))
        random.shuffle(mixed)
        again = corrected_mean(
            [y for (y, _), _ in mixed],
            [f for (_, f), _ in mixed],
            rest[::-1],
            clusters=None if clusters is None else ([key for _, key in mixed], clusters[1]),
        )
        if found.corrected.value is None:
            assert again.corrected.value is None and found.quote == "people" and found.corrected.reason
            continue
        of, other = found.corrected, again.corrected
        assert (of.value, of.low, of.high) == pytest.approx((other.value, other.low, other.high), abs=1e-9)
        assert 0 <= of.low <= of.value <= of.high <= 1 and of.high > of.low
        assert 0 <= found.weight <= 1 and found.why


def test_all_labelled_is_what_people_say_a_perfect_judge_narrows_and_a_useless_one_has_no_weight() -> None:
    told, said = judged(2, 1000, 0.7, 0.8)
    every = mean_of(told, said, 1000)
    assert every.corrected.value == every.people.value == pytest.approx(np.mean(told))
    assert (every.weight, every.quote, every.why) == (0.0, "people", "every item has a label")
    perfect = corrected_mean(told[:100], told[:100], told[100:])
    assert perfect.weight > 0.75 and perfect.correlation == pytest.approx(1.0)
    assert width(perfect.corrected) < 0.5 * width(perfect.people)
    guessed = mean_of(told, judged(3, 1000, 0.5, 0.5)[1], 100)
    assert guessed.weight < 0.2 and guessed.quote == "people" and "correlate by" in guessed.why
    constant = corrected_mean(told[:100], [1.0] * 100, [1.0] * 900)
    assert (constant.weight, constant.correlation, constant.quote) == (0.0, None, "people")


def test_labels_alone_do_as_well_below_fifty() -> None:
    told, said = judged(4, 1000, 0.7, 0.95)
    few, more = mean_of(told, said, 49), mean_of(told, said, 50)
    assert few.quote == "people" and "49 are fewer than 50" in few.why and few.quoted is few.people
    assert more.quote == "corrected" and width(more.corrected) < width(more.people)


def test_what_cannot_be_computed_has_no_value_and_says_why() -> None:
    for people, judge, rest, reason in (
        ([], [], [1.0, 0.0], "has a label"),
        ([1.0], [1.0], [1.0, 0.0], "a single label"),
        ([1.0, 0.0], [None, None], [None], "no readable verdict"),
    ):
        found = corrected_mean(people, judge, rest)
        assert found.corrected.value is found.corrected.low is found.weight is None
        assert reason in (found.corrected.reason or "") and reason in found.why and found.quote == "people"
    with pytest.raises(ValueError, match="same items"):
        corrected_mean([1.0, 0.0], [1.0], [])
    with pytest.raises(ValueError, match="clusters"):
        corrected_mean([1.0, 0.0], [1.0, 0.0], [], clusters=(["a"], []))


def test_items_that_the_judge_left_ungraded_stay_in_the_corrected_score() -> None:
    """The judge fails on wrong replies alone: its own mean is of what it read, the corrected one is not moved."""
    values = []
    for seed in range(60):
        told, said = judged(seed, 1100, 0.6, 0.9)
        lost = np.random.default_rng(seed + 1000).random(1100) < 0.5
        read = zip(told, said, lost, strict=True)
        heard = [None if y == 0 and gone else f for y, f, gone in read]
        found = corrected_mean(told[:100], heard[:100], heard[100:])
        assert found.judge.value > 0.66 and found.judge.scored < found.judge.asked == 1100
        assert found.corrected.scored == 1100
        values.append(found.corrected.value)
    assert np.mean(values) == pytest.approx(0.6, abs=0.02)


def test_items_that_hang_together_make_the_interval_wider_and_single_ones_do_not() -> None:
    told, said = judged(6, 220, 0.7, 0.85)
    alone = mean_of(told, said, 60)
    keys = [f"k{i}" for i in range(220)]
    assert corrected_mean(told[:60], said[:60], said[60:], clusters=(keys[:60], keys[60:])) == alone
    # Every item five times, some labelled and some not: worth no more than the item once.
    five = [index for index in range(220) for _ in range(5)]
    order = np.random.default_rng(6).permutation(len(five)).tolist()
    drawn, left = [five[i] for i in order[:300]], [five[i] for i in order[300:]]
    people, judge, rest = [told[i] for i in drawn], [said[i] for i in drawn], [said[i] for i in left]
    loose = corrected_mean(people, judge, rest)
    tied = corrected_mean(people, judge, rest, clusters=([keys[i] for i in drawn], [keys[i] for i in left]))
    assert tied.corrected.value == loose.corrected.value and "clusters" in tied.corrected.method
    assert width(tied.corrected) > 1.3 * width(loose.corrected)


@pytest.mark.promise("X-09")
def test_the_interval_of_the_corrected_score_holds_the_truth() -> None:
    """Nearly all right and few labels, where the plain form holds it in 56 %; and a judge that favours one model."""
    random = np.random.default_rng(20)
    held = called = alone = 0
    narrower, wider = [], []
    for _ in range(300):
        told, said = judged(int(random.integers(2**31)), 1020, 0.95, 0.95)
        found = mean_of(told, said, 20).corrected
        held += found.low <= 0.95 <= found.high
        first, heard = (np.array(x) for x in judged(int(random.integers(2**31)), 1100, 0.7, 0.9))
        second, other = (np.array(x) for x in judged(int(random.integers(2**31)), 1100, 0.7, 0.9))
        heard = np.where(random.random(1100) < 0.3, 1.0, heard)  # whatever the first model says
        apart, seen = (first - second).tolist(), (heard - other).tolist()
        two = corrected_difference(apart[:100], seen[:100], seen[100:])
        called += better(two.corrected, two.p_value) is not None
        alone += better(two.judge, two.judge_p_value) is not None
        narrower.append(width(two.corrected) / width(two.people))
        poor = mean_of(*judged(int(random.integers(2**31)), 1100, 0.7, 0.6), 100)
        wider.append(width(poor.corrected) / width(poor.people))
    assert held >= 0.92 * 300  # 0.56 of them without a disagreement added each way
    assert called <= 0.05 * 300 + 2 * (300 * 0.05 * 0.95) ** 0.5 and alone == 300
    assert np.mean(narrower) < 0.9  # what a fitted weight buys; 1.02 with none
    assert np.mean(wider) < 1.1  # and what it saves with a poor judge, whose whole word would widen it
