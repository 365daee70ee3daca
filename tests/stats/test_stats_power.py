"""What samples can show: the table of the design, its inverse, repeats, and tasks of unequal weight."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, nct
from scipy.stats import t as student

from compared import compared, pair, row, run, scored
from proctor.findings import Comparison
from proctor.stats.intervals import Z95
from proctor.stats.paired import ALPHA, POWER_Z, difference_interval, mcnemar_exact
from proctor.stats.power import (
    Assumed,
    detectable,
    effective_items,
    half_width,
    items_for,
    within_variance,
)
from proctor.stats.power_pairs import (
    errors_to_show,
    items_of_mean,
    least_difference,
    least_items,
    mcnemar_power,
)

# n, half the interval, unpaired, correlation 0.5, correlation 0.7, in points.
TABLE = [
    (56, 10.5, 21.2, 15.0, 11.6),
    (71, 9.3, 18.8, 13.3, 10.3),
    (100, 7.8, 15.8, 11.2, 8.7),
    (200, 5.5, 11.2, 7.9, 6.1),
    (277, 4.7, 9.5, 6.7, 5.2),
    (408, 3.9, 7.8, 5.5, 4.3),
    (500, 3.5, 7.1, 5.0, 3.9),
    (1000, 2.5, 5.0, 3.5, 2.7),
    (1273, 2.2, 4.4, 3.1, 2.4),
    (4183, 1.2, 2.5, 1.7, 1.3),
    (14042, 0.7, 1.3, 0.9, 0.7),
]


@pytest.mark.parametrize(("n", "half", "unpaired", "paired", "close"), TABLE)
def test_the_power_table_comes_out(n: int, half: float, unpaired: float, paired: float, close: float) -> None:
    for rho, points in ((0.0, unpaired), (0.5, paired), (0.7, close)):
        assumed = Assumed(correlation=rho)
        normal = 100 * errors_to_show() * math.sqrt(assumed.apart / n)
        assert normal == pytest.approx(points, abs=0.0501)  # the table cuts some of its last digits
        # The exact test shows less than the normal approximation promises, the fewer items the less.
        exact = detectable(n, assumed)
        assert exact is not None and normal < 100 * exact + 0.01 * normal < normal * (1 + 3 / math.sqrt(n))
    assert 100 * half_width(n) == pytest.approx(half, abs=0.0501)


@settings(deadline=None, max_examples=60)
@given(
    st.floats(0.005, 0.9),
    st.floats(0.05, 0.95),
    st.floats(0, 0.95),
    st.sampled_from([1, 3, 45]),
    st.booleans(),
)
def test_the_items_for_a_difference_show_it(
    difference: float, share: float, correlation: float, family: int, counted: bool
) -> None:
    assumed = Assumed(share=share, correlation=correlation)
    needed = items_for(difference, assumed, family, counted=counted)
    assert needed is not None
    enough = detectable(needed, assumed, family, counted=counted)
    assert enough is not None and enough <= difference * 1.02 + 1e-4
    too_few = detectable(needed * 0.8 - 3, assumed, family, counted=counted) if needed > 5 else None
    assert too_few is None or too_few > difference


def test_millers_formula_with_repeats_by_hand() -> None:
    # p = 0.8, rho = 0.5: one asking leaves 2 * 0.16 * 0.5 = 0.16 = omega^2 + 2 * 0.05, so omega^2 = 0.06.
    assumed = Assumed(repeats=4, within=0.05)
    variance = 0.06 + 2 * 0.05 / 4
    assert detectable(30_000, assumed) == pytest.approx(
        (Z95 + POWER_Z) * math.sqrt(variance / 30_000), rel=1e-3
    )
    assert items_for(0.003, assumed) == pytest.approx(variance * ((Z95 + POWER_Z) / 0.003) ** 2, rel=1e-3)
    # One model: p (1 - p) = 0.16, of which 0.05 is divided by 4.
    assert half_width(300, assumed) == pytest.approx(Z95 * math.sqrt((0.11 + 0.05 / 4) / 300))


def test_repeats_of_answers_that_never_vary_bring_nothing() -> None:
    assert detectable(200, Assumed(repeats=8)) == detectable(200)
    assert half_width(200, Assumed(repeats=8)) == half_width(200)


def test_repeats_take_away_no_more_than_what_the_models_do_not_share() -> None:
    noisy = Assumed(repeats=2, within=0.16, correlation=0.5)
    once = detectable(200, counted=False)
    assert once is not None and detectable(200, noisy) == pytest.approx(once / math.sqrt(2))


def test_a_proportional_sample_is_worth_its_size_whatever_its_tasks() -> None:
    sizes = {"a": 400, "b": 100, "c": 500}
    assert effective_items({"a": 40, "b": 10, "c": 50}, sizes) == pytest.approx(100)


def test_a_small_task_that_counts_as_much_as_a_large_one_costs_precision() -> None:
    # 1 / ((1/2)^2 / 900 + (1/2)^2 / 100)
    assert effective_items({"a": 900, "b": 100}, {"a": 1, "b": 1}) == pytest.approx(360)
    # Weights of tasks that were not asked play no part.
    assert effective_items({"a": 7}, {"a": 3, "b": 5}) == pytest.approx(7)


@given(st.dictionaries(st.text(min_size=1), st.tuples(st.integers(1, 500), st.floats(0.1, 10)), min_size=1))
def test_no_weights_make_a_sample_worth_more_than_its_size(tasks: dict[str, tuple[int, float]]) -> None:
    asked = {task: n for task, (n, _) in tasks.items()}
    weights = {task: weight for task, (_, weight) in tasks.items()}
    assert effective_items(asked, weights) <= sum(asked.values()) * (1 + 1e-9)


def test_the_variance_between_askings_is_the_mean_over_items_asked_twice() -> None:
    rows = [
        row("q/0", 1.0),
        row("q/0", 0.0, repeat=1),  # 0.5
        row("q/1", 1.0),
        row("q/1", 1.0, repeat=1),  # 0
        row("q/2", 1.0),  # asked once
        row("q/3", None),
        row("q/3", 1.0, repeat=1),  # one of them an error
    ]
    assert within_variance(rows) == pytest.approx(0.25)
    assert within_variance(rows[4:]) is None


# The exact power ---------------------------------------------------------------------------------


def by_force(n: int, discordant: float, difference: float, family: int) -> float:
    """The power summed over every number of discordant items, with scipy's binomials."""
    total = 0.0
    for d in range(n + 1):
        losses = [c for c in range(d // 2 + 1) if mcnemar_exact(d - c, c) < ALPHA / family]
        if losses:
            worse = (1 - difference / discordant) / 2
            total += binom.pmf(d, n, discordant) * binom.cdf(max(losses), d, worse)
    return total


@pytest.mark.parametrize("family", [1, 3, 45])
@pytest.mark.parametrize(
    ("n", "discordant", "difference"),
    [(20, 0.5, 0.4), (100, 0.3, 0.15), (100, 0.05, 0.04), (240, 0.6, 0.1), (60, 1.0, 0.4)],
)
def test_the_power_is_that_of_the_exact_test(
    n: int, discordant: float, difference: float, family: int
) -> None:
    found = mcnemar_power(n, discordant, difference, family)
    assert found == pytest.approx(by_force(n, discordant, difference, family), abs=1e-9)


@pytest.mark.parametrize("family", [1, 3, 45])
@pytest.mark.parametrize("discordant", [0.05, 0.2, 0.5])
@pytest.mark.parametrize("n", [20, 100, 1000])
def test_what_is_said_to_be_shown_is_shown_in_80_of_100_exams(n: int, discordant: float, family: int) -> None:
    """With 2.80 standard errors in place of the exact power it was 0 to 79."""
    least = least_difference(n, discordant, family)
    assert least is not None
    share = max(discordant, least)
    shares = [(share + least) / 2, (share - least) / 2, 1 - share]
    draws = np.random.default_rng([n, family]).multinomial(n, shares, size=3000)
    shown = [b > c and mcnemar_exact(b, c) < ALPHA / family for b, c, _ in draws.tolist()]
    assert 0.78 <= np.mean(shown) <= 0.84


def test_what_the_exact_test_shows_the_interval_shows_too() -> None:
    """ "Better" needs both; the power is that of the test alone."""
    for d in range(6, 120, 3):
        losses = max(c for c in range(d // 2 + 1) if c == 0 or mcnemar_exact(d - c, c) < ALPHA)
        assert difference_interval(d - losses, losses, 10 * d)[0] > 0
        assert difference_interval(d - losses, losses, d)[0] > 0


def test_items_needed_give_80_percent_power() -> None:
    assert least_items(0.3, 0.1) == 249  # Connor's formula without the exact test's step: 234
    assert by_force(249, 0.3, 0.1, 1) >= 0.8 > by_force(244, 0.3, 0.1, 1)


@pytest.mark.parametrize(("share", "least"), [(1.0, 6), (0.9, 7)])
def test_items_needed_are_enough_for_the_exact_test(share: float, least: int) -> None:
    """With five discordant items p is at least 0.0625."""
    assert least_items(share, share) == least
    assert least_difference(5, 0.5) is None and mcnemar_exact(0, 5) > 0.05 > mcnemar_exact(0, 6)


@pytest.mark.parametrize(("freedom", "family"), [(5, 1), (14, 45), (19, 3), (60, 45)])
def test_few_degrees_of_freedom_take_more_standard_errors(freedom: int, family: int) -> None:
    edge = student.ppf(1 - ALPHA / family / 2, freedom)
    assert nct.sf(edge, freedom, errors_to_show(freedom, family)) == pytest.approx(0.8, abs=0.01)


@pytest.mark.slow
def test_graded_scores_show_what_is_said() -> None:
    """What a comparison of 300 graded scores names, other such comparisons show."""
    random = np.random.default_rng(6)

    def one(gap: float) -> Comparison:
        second = random.uniform(0.2, 0.6, 300)
        first = second + random.normal(gap, 0.3, 300)
        return compared([(run("a"), scored(first.tolist())), (run("b"), scored(second.tolist()))])[0]

    named = [one(0.05).whole.detectable for _ in range(8)]
    gap = math.fsum(d for d in named if d is not None) / len(named)
    assert 0.72 <= sum(one(gap).verdict == "first better" for _ in range(150)) / 150 <= 0.92
    assert items_of_mean(0.3, 0.3 / math.sqrt(30) * errors_to_show(29)) == pytest.approx(30, abs=1)


# One figure wherever it is shown -----------------------------------------------------------------


def test_plan_and_comparison_name_the_same_smallest_difference() -> None:
    """160 of 1,000 items on which two models differ: what a plan assumes of two models at 0.8."""
    found = pair(both=700, only_first=80, only_second=80, neither=140).whole
    assert found.detectable == detectable(1000) and found.comparisons == 1
    sides = [(run(name), scored([1.0] * 700 + [0.0] * 300)) for name in "abc"]
    sides.append((run("d"), scored([0.0] * 80 + [1.0] * 700 + [0.0] * 220)))
    pairs = compared(sides)
    assert {c.whole.comparisons for c in pairs} == {6}
    assert pairs[-1].whole.discordant == 160 and pairs[-1].whole.detectable == detectable(1000, family=6)


def test_no_number_of_items_follows_from_a_difference_below_its_standard_error() -> None:
    noise = pair(both=50, only_first=12, only_second=10, neither=28).whole
    assert noise.p_value is not None and noise.p_value > 0.8 and noise.items_needed is None
    hint = pair(both=50, only_first=15, only_second=8, neither=27).whole
    assert hint.items_needed == least_items(0.23, 0.07)
