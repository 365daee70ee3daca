"""Two models on the same items: McNemar, Tango, Holm and sample sizes against independent oracles."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import optimize, stats

from proctor.stats.intervals import Z95
from proctor.stats.paired import difference_interval, holm, mcnemar_exact

COUNTS = st.integers(0, 60)


@pytest.mark.parametrize(
    ("only_first", "only_second", "p"),
    [
        (5, 15, 0.0413895),
        (10, 25, 0.0166738),
        (0, 6, 0.03125),
        (3, 3, 1.0),
        (12, 30, 0.0079159),
        (0, 0, 1.0),
        (1, 0, 1.0),
    ],
)
def test_mcnemar_literals(only_first: int, only_second: int, p: float) -> None:
    assert mcnemar_exact(only_first, only_second) == pytest.approx(p, abs=5e-8)


@settings(deadline=None)
@given(st.integers(0, 3000), st.integers(0, 3000))
def test_mcnemar_is_scipys_binomial_test(b: int, c: int) -> None:
    oracle = stats.binomtest(b, b + c).pvalue if b + c else 1.0
    assert mcnemar_exact(b, c) == pytest.approx(oracle, rel=1e-9, abs=1e-250)  # scipy gives 0 below that
    assert mcnemar_exact(b, c) == mcnemar_exact(c, b)


@settings(deadline=None)
@given(st.integers(0, 500), st.integers(0, 500))
@example(10, 1005)
def test_mcnemar_is_the_sum_in_whole_numbers(b: int, c: int) -> None:
    n = b + c
    exact = min(Fraction(1), Fraction(2 * sum(math.comb(n, i) for i in range(min(b, c) + 1)), 2**n))
    assert mcnemar_exact(b, c) == pytest.approx(float(exact), rel=1e-12)


@pytest.mark.parametrize(
    ("b", "c"),
    [
        (99_000, 101_000),
        (99_900, 100_100),
        (100_000, 100_000),
        (2_499, 2_502),
        (2_400, 2_700),
        (98_000, 102_000),
    ],
)
def test_mcnemar_of_huge_counts(b: int, c: int) -> None:
    p = mcnemar_exact(b, c)
    assert 0 < p <= 1
    assert p == pytest.approx(stats.binomtest(b, b + c).pvalue, rel=1e-7)


def test_mcnemar_of_counts_beyond_any_doubt_is_zero_and_not_an_error() -> None:
    assert mcnemar_exact(0, 200_000) == 0.0


def tango_by_force(b: int, c: int, n: int) -> tuple[float, float]:
    """The interval from its definition: the likelihood is maximised numerically at each difference."""

    def z(d: float) -> float:
        def unlikely(q: float) -> float:
            shares = ((b, q + d), (c, q), (n - b - c, 1 - 2 * q - d))
            return -sum(k * math.log(max(share, 1e-300)) for k, share in shares if k)

        bounds = (max(0.0, -d), (1 - d) / 2)
        q = optimize.minimize_scalar(unlikely, bounds=bounds, method="bounded", options={"xatol": 1e-13}).x
        return (b - c - n * d) / math.sqrt(n * (2 * q + d * (1 - d)))

    observed = (b - c) / n
    low = optimize.brentq(lambda d: z(d) - Z95, -1 + 1e-9, observed - 1e-9)
    high = optimize.brentq(lambda d: z(d) + Z95, observed + 1e-9, 1 - 1e-9)
    return low, high


@pytest.mark.parametrize(
    ("b", "c", "n"),
    [
        (5, 15, 100),
        (1, 0, 20),
        (10, 25, 60),
        (7, 7, 30),
        (0, 6, 50),
        (3, 1, 5),
        (120, 80, 1000),
        (0, 1, 1000),
    ],
)
def test_tango_is_the_inverted_score_test(b: int, c: int, n: int) -> None:
    assert difference_interval(b, c, n) == pytest.approx(tango_by_force(b, c, n), abs=2e-5)


@pytest.mark.parametrize("n", [1, 20, 500])
def test_tango_of_two_that_never_differ_is_a_wilson_like_interval(n: int) -> None:
    """With no discordant item score(d)^2 = n |d| / (1 - |d|), so the ends are +-z^2 / (n + z^2)."""
    edge = Z95**2 / (n + Z95**2)
    assert difference_interval(0, 0, n) == pytest.approx((-edge, edge), abs=1e-9)


@settings(deadline=None)
@given(COUNTS, COUNTS, COUNTS)
def test_tango_holds_the_difference_and_turns_with_the_models(b: int, c: int, same: int) -> None:
    n = max(1, b + c + same)
    low, high = difference_interval(b, c, n)
    assert -1 <= low <= (b - c) / n + 1e-12 and (b - c) / n - 1e-12 <= high <= 1
    assert difference_interval(c, b, n) == pytest.approx((-high, -low), abs=1e-12)


def outcomes(n: int) -> Iterator[tuple[int, int]]:
    return ((b, c) for b in range(n + 1) for c in range(n + 1 - b))


def test_tango_covers_95_percent() -> None:
    """Exact for 30 items: the probability of every outcome whose interval holds the true difference."""
    n = 30
    intervals = {(b, c): difference_interval(b, c, n) for b, c in outcomes(n)}
    for first, second in [(0.05, 0.05), (0.2, 0.1), (0.3, 0.3), (0.15, 0.02), (0.5, 0.2)]:
        true = first - second
        chance = stats.multinomial(n, [first, second, 1 - first - second])
        covered = [k for k, (low, high) in intervals.items() if low <= true <= high]
        coverage = sum(chance.pmf([b, c, n - b - c]) for b, c in covered)
        assert 0.93 < coverage < 0.985, (first, second)


def test_holm_literals() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([]) == []


@settings(deadline=None)
@given(st.lists(st.floats(0, 1), max_size=12), st.floats(0.001, 0.2))
def test_holm_rejects_what_the_steps_reject(p_values: list[float], alpha: float) -> None:
    """Stepping down: compare the smallest p with alpha/m, the next with alpha/(m-1), stop at the first miss."""
    rejected: set[int] = set()
    for step, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        if p_values[index] * (len(p_values) - step) >= alpha:
            break
        rejected.add(index)
    adjusted = holm(p_values)
    assert {i for i, p in enumerate(adjusted) if p < alpha} == rejected
    assert all(p <= a <= 1 for p, a in zip(p_values, adjusted, strict=True))
