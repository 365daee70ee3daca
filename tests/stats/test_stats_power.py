"""What samples can show: the table of the design, its inverse, repeats, and tasks of unequal weight."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compared import row
from proctor.stats.intervals import Z95
from proctor.stats.paired import POWER_Z
from proctor.stats.power import (
    Assumed,
    detectable,
    effective_items,
    half_width,
    items_for,
    within_variance,
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
    points = [100 * detectable(n, Assumed(correlation=rho)) for rho in (0.0, 0.5, 0.7)]
    # The table cuts some of its last digits where others round.
    assert [100 * half_width(n), *points] == pytest.approx([half, unpaired, paired, close], abs=0.0501)


@given(st.floats(0.005, 0.9), st.floats(0.05, 0.95), st.floats(0, 0.95))
def test_the_items_for_a_difference_are_the_fewest_that_show_it(
    difference: float, share: float, correlation: float
) -> None:
    assumed = Assumed(share=share, correlation=correlation)
    needed = items_for(difference, assumed)
    assert detectable(needed, assumed) <= difference * (1 + 1e-9)
    if needed > 1:
        assert detectable(needed - 1, assumed) > difference * (1 - 1e-9)


def test_millers_formula_with_repeats_by_hand() -> None:
    # p = 0.8, rho = 0.5: one asking leaves 2 * 0.16 * 0.5 = 0.16 = omega^2 + 2 * 0.05, so omega^2 = 0.06.
    assumed = Assumed(repeats=4, within=0.05)
    variance = 0.06 + 2 * 0.05 / 4
    assert detectable(300, assumed) == pytest.approx((Z95 + POWER_Z) * math.sqrt(variance / 300))
    assert items_for(0.03, assumed) == math.ceil(variance * ((Z95 + POWER_Z) / 0.03) ** 2)
    # One model: p (1 - p) = 0.16, of which 0.05 is divided by 4.
    assert half_width(300, assumed) == pytest.approx(Z95 * math.sqrt((0.11 + 0.05 / 4) / 300))


def test_repeats_of_answers_that_never_vary_bring_nothing() -> None:
    assert detectable(200, Assumed(repeats=8)) == detectable(200)
    assert half_width(200, Assumed(repeats=8)) == half_width(200)


def test_repeats_take_away_no_more_than_what_the_models_do_not_share() -> None:
    noisy = Assumed(repeats=2, within=0.16, correlation=0.5)
    assert detectable(200, noisy) == pytest.approx(detectable(200) / math.sqrt(2))


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
