"""Permutation tests: all signs counted where they are few, and as many draws as a family of tests needs."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from compared import row, run
from proctor.stats.compare import compare
from proctor.stats.estimates import Shape, TaskShape
from proctor.stats.exchange import exchanged
from proctor.stats.metrics import mcc
from proctor.stats.paired import mcnemar_exact
from proctor.stats.permute import Null, Toss, flips, heads, p_value, weighed

VALUES = st.lists(st.sampled_from([0.0, 1.0, -1.0, 1 / 3, -2 / 3, 0.1, -0.7, 0.45]), max_size=9)


@settings(deadline=None, max_examples=60)
@given(VALUES)
def test_few_signs_are_all_gone_through(values: list[float]) -> None:
    sums = [
        math.fsum(s * v for s, v in zip(signs, values, strict=True))
        for signs in itertools.product([1, -1], repeat=len(values))
    ]
    far = sum(abs(s) >= abs(math.fsum(values)) - 1e-12 for s in sums) / len(sums)
    assert p_value(flips(np.array(values), "q"), math.fsum(values)) == pytest.approx(far, abs=1e-12)


@pytest.mark.parametrize(("b", "c"), [(5, 15), (40, 71), (300, 260), (0, 6)])
def test_signs_of_ones_are_mcnemars_test(b: int, c: int) -> None:
    values = np.array([1.0] * b + [-1.0] * c)
    assert p_value(flips(values, "q"), values.sum()) == pytest.approx(mcnemar_exact(b, c), rel=1e-9)


def test_many_items_with_few_sizes_are_counted_and_others_drawn() -> None:
    random = np.random.default_rng(1)
    thirds = random.choice([-1.0, -2 / 3, -1 / 3, 1 / 3, 2 / 3, 1.0], 400)
    null = flips(thirds, "q")
    exact = p_value(null, thirds.sum())
    assert null.every() is not None
    assert p_value(Null(null.start), thirds.sum()) == pytest.approx(exact, abs=0.02)
    assert flips(random.normal(size=400), "q").every() is None


@pytest.mark.parametrize("n", [0, 1, 40, 300])
def test_few_tables_of_answers_are_all_gone_through(n: int) -> None:
    """MCC of two labels: what is drawn 40,000 times comes out as the sum over all tables."""
    counts = np.zeros((2, 3, 3))
    counts[0, 0, 0], counts[1, 1, 1] = 50, 60
    counts[0, 0, 1], counts[0, 1, 0], counts[1, 0, 1], counts[1, 1, 0] = n // 2, n // 3, n // 4, n // 5
    null = exchanged("q", counts, mcc)
    observed = float(mcc(counts.sum(axis=2)) - mcc(counts.sum(axis=1)))
    exact = p_value(null, observed)
    assert null.every() is not None
    assert p_value(Null(null.start, 40_000), observed) == pytest.approx(exact, abs=0.01)


def test_drawn_signs_have_the_spread_of_signs_and_come_out_alike_each_time() -> None:
    values = np.random.default_rng(2).normal(size=203)
    null = flips(values, "q")
    drawn = null.start()(40_000)
    assert drawn.std() == pytest.approx(math.sqrt(values @ values), rel=0.02)
    assert drawn.mean() == pytest.approx(0, abs=0.2)
    assert (null.start()(100) == null.start()(100)).all()
    assert not (flips(values, "other").start()(100) == drawn[:100]).any()


@pytest.mark.parametrize("coins", [0, 1, 63, 64, 65, 200, 2000])
def test_heads_are_binomial(coins: int) -> None:
    found = heads(np.random.default_rng(3), coins, 20_000)
    assert found.min() >= 0 and found.max() <= coins
    assert found.mean() == pytest.approx(coins / 2, abs=0.02 * (1 + math.sqrt(coins)))
    assert found.var() == pytest.approx(coins / 4, rel=0.05)


# As many draws as the family needs ---------------------------------------------------------------


def far_with(chance: float, seed: int, first: int) -> Null:
    """Draws of which a share of `chance` lie as far from 0 as 1."""

    def start() -> Toss:
        random = np.random.default_rng(seed)
        return lambda size: (random.random(size) < chance).astype(float)

    return Null(start, first)


def test_a_single_test_makes_the_first_draws_and_no_more() -> None:
    assert p_value(far_with(0.0, 1, 10_000), 1.0) == 1 / 10_001
    p = p_value(far_with(0.3, 1, 10_000), 1.0)
    assert p == pytest.approx(0.3, abs=0.02) and (p * 10_001) == pytest.approx(round(p * 10_001))


def test_the_smallest_p_value_is_far_below_what_the_adjustment_asks_for() -> None:
    """2,000 draws alone: from 101 tests on no p-value times their number is below 0.05."""
    for family in (1, 105, 1770):
        assert family * p_value(far_with(0.0, 1, 2_000), 1.0, family) <= 0.0251


def test_a_p_value_near_the_threshold_is_known_to_about_a_fifth() -> None:
    family, chance = 1770, 0.02 / 1770
    found = [family * p_value(far_with(chance, seed, 10_000), 1.0, family) for seed in range(12)]
    assert np.mean(found) == pytest.approx(0.022, rel=0.35)


def test_p_values_hold_their_level_whatever_ends_the_draws() -> None:
    """Under the null the exam is one more draw: P(p <= t) <= t at every t, also between the stages."""
    random, found = np.random.default_rng(4), []
    for seed in range(6_000):
        found.append(p_value(far_with(random.random() ** 3, seed, 40), 1.0, 2))
    # Chances u^3 are small ones drawn more often than under the null; each counts as much less as that.
    found_p = np.array(found)
    random = np.random.default_rng(4)
    u = random.random(6_000)
    weight = 3 * u**2
    for t in (1 / 800, 0.002, 1 / 81, 0.013, 0.02, 0.025, 0.05, 0.1, 0.26, 0.5, 0.9):
        share = (weight * (found_p <= t)).mean()
        error = (weight * (found_p <= t)).std() / math.sqrt(len(u))
        assert share <= t + 3.5 * error, t
        assert share >= t - 3.5 * error - 1 / 40, t


def test_draws_of_parts_add_up_with_their_weights() -> None:
    one, other = flips(np.array([1.0]), "a"), flips(np.array([1.0]), "b")
    drawn = weighed([one, other], [0.75, -0.25]).start()(4000)
    assert sorted(set(drawn.tolist())) == [-1.0, -0.5, 0.5, 1.0]


# Boards ------------------------------------------------------------------------------------------

LABELS = TaskShape("Labels", official=("mcc",), labels=("no", "yes"), kind="labels")


def board(models: int, able: float, less: float, *, clusters: bool, seed: int = 5, n: int = 120):
    """Half of the models right on `able` of the items, the others on `less`; the same items are hard for all."""
    random = np.random.default_rng(seed)
    hard = random.normal(size=n)
    sides = []
    for m in range(models):
        share = able if m % 2 else less
        right = hard + random.normal(size=n) < norm.ppf(share) * math.sqrt(2)
        rows = []
        for i in range(n):
            target = ("no", "yes")[i % 2]
            answer = target if right[i] else ("yes", "no")[i % 2]
            cluster = f"p{i // 2}" if clusters else None
            rows.append(row(f"q/{i}", float(right[i]), target=target, answer=answer, cluster=cluster))
        sides.append((run(f"m{m}"), rows))
    return sides


@pytest.mark.slow
def test_a_board_of_fifteen_models_can_rank_where_one_of_fourteen_can() -> None:
    """MCC over clusters: 2,000 draws give p >= 1/2,001, which times 105 pairs was never below 0.05."""
    sides = board(15, 0.98, 0.3, clusters=True, n=80)
    pairs = compare(sides, Shape("Board", {"q": LABELS}), tasks=False)
    assert sum("better" in c.verdict for c in pairs) == 7 * 8


def test_the_order_of_models_changes_no_p_value() -> None:
    sides = board(7, 0.85, 0.7, clusters=False, n=60)
    shape = Shape("Board", {"q": LABELS})
    straight = {frozenset((c.first.id, c.second.id)): c.whole for c in compare(sides, shape)}
    for c in compare(sides[::-1], shape):
        twin = straight[frozenset((c.first.id, c.second.id))]
        assert c.whole.p_value == twin.p_value and abs(c.whole.estimate.value or 0) == pytest.approx(
            abs(twin.estimate.value or 0)
        )
