"""Sign flips and the paired bootstrap for items with graded scores."""

from __future__ import annotations

import random
from itertools import product

import pytest

from compared import run
from proctor.stats.compare import PAIRED, SIGN_FLIP, compare
from proctor.stats.means import bootstrap_interval, sign_flip_p


def exact_p(differences):
    """All sign patterns, counted."""
    observed = abs(sum(differences))
    sums = [abs(sum(s * d for s, d in zip(signs, differences, strict=True)))
            for signs in product((-1, 1), repeat=len(differences))]  # fmt: skip
    return sum(s >= observed - 1e-12 for s in sums) / len(sums)


@pytest.mark.parametrize("seed", range(5))
def test_sign_flips_agree_with_counting_all_patterns(seed):
    rng = random.Random(seed)
    differences = [rng.choice([-1, -2 / 3, -1 / 3, 1 / 3, 2 / 3, 1]) for _ in range(10)]
    assert sign_flip_p(differences) == pytest.approx(exact_p(differences), abs=0.02)


def test_no_difference_has_p_one_and_a_large_one_is_never_zero():
    assert sign_flip_p([0.0] * 50) == 1.0
    assert sign_flip_p([1.0] * 200) == pytest.approx(1 / 10_001)


def test_the_interval_holds_the_mean_and_swaps_with_the_models():
    rng = random.Random(1)
    differences = [rng.choice([-1 / 3, 0, 0, 1 / 3, 2 / 3]) for _ in range(120)]
    low, high = bootstrap_interval(differences)
    assert low < sum(differences) / 120 < high
    assert bootstrap_interval([-d for d in differences]) == pytest.approx((-high, -low))


def test_graded_items_are_compared_by_sign_flips():
    first = {(f"i{k}", ""): 2 / 3 for k in range(60)}
    second = {(f"i{k}", ""): 1 / 3 for k in range(60)}
    pair = compare([(run("a"), first), (run("b"), second)])[0]
    assert (pair.test, pair.difference.method, pair.verdict) == (SIGN_FLIP, PAIRED, "first better")
    assert pair.items_needed is None
