"""Items that hang together in clusters of any sizes: how sure a mean is, and a difference of two."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import beta, f_oneway
from scipy.stats import t as student

from compared import row, run, scored
from proctor.findings import Difference, Estimate
from proctor.stats import clusters
from proctor.stats.compare import compare, differences
from proctor.stats.estimates import Shape, TaskShape, scores
from proctor.stats.intervals import t95
from proctor.stats.metrics import Scored

PLAIN = Shape("Questions", {"q": TaskShape("Questions")})
GRADED = Shape("Graded", {"q": TaskShape("Graded", official=("mean",), kind="graded")})
# Sizes of clusters, how much their items correlate, and the share that is right.
CELLS = {
    "one giant": ([90] + [3] * 29, 0.3, 0.8),
    "a giant and few": ([50] + [5] * 11, 0.1, 0.8),
    "two giants": ([60, 60] + [4] * 20, 0.3, 0.5),
    "by rank": ([max(1, round(100 / k)) for k in range(1, 41)], 0.8, 0.8),
    "few large, nearly all right": ([30] * 10, 0.3, 0.95),
    "equal": ([5] * 20, 0.3, 0.8),
    "three": ([20] * 3, 0.8, 0.95),
}


def clustered(right: Sequence[float], sizes: Sequence[int]) -> list[Scored]:
    places = np.repeat(np.arange(len(sizes)), sizes)
    return [row(f"q/{i}", float(r), cluster=f"c{places[i]}") for i, r in enumerate(right)]


def estimate(rows: Sequence[Scored], shape: Shape = PLAIN) -> Estimate:
    return scores(rows, shape)[0].estimate


def drawn(random: np.random.Generator, sizes: Sequence[int], together: float, able: float) -> np.ndarray:
    """Rights and wrongs whose chance is drawn for each cluster from a Beta distribution."""
    much = (1 - together) / together
    chances = beta.rvs(able * much, (1 - able) * much, size=len(sizes), random_state=random)
    return random.random(sum(sizes)) < np.repeat(chances, sizes)


@pytest.mark.slow
@pytest.mark.parametrize("name", CELLS)
def test_intervals_of_clusters_hold_the_truth_whatever_their_sizes(name: str) -> None:
    """With a giant cluster 74 % held it when the variance took all clusters to be of one size."""
    sizes, together, able = CELLS[name]
    random = np.random.default_rng(13)
    found = [estimate(clustered(drawn(random, sizes, together, able), sizes)) for _ in range(150)]
    held = sum((e.low or 0.0) <= able <= (e.high or 0.0) for e in found)
    # At 92 % one seed in a thousand would have fewer.
    assert held / 150 > 0.92 - 3.1 * (0.92 * 0.08 / 150) ** 0.5


@settings(deadline=None, max_examples=40)
@given(st.lists(st.sampled_from([0.0, 0.25, 1.0]), min_size=1, max_size=60), st.sampled_from([PLAIN, GRADED]))
def test_clusters_of_one_item_are_no_clusters(values: list[float], shape: Shape) -> None:
    alone = [row(f"q/{i}", value) for i, value in enumerate(values)]
    assert scores([replace(r, cluster=r.item) for r in alone], shape) == scores(alone, shape)


@settings(deadline=None)
@given(st.lists(st.floats(-1, 1), min_size=2, max_size=40), st.integers(2, 5))
def test_equal_units_have_the_variance_of_millers_appendix(values: list[float], size: int) -> None:
    count = len(values)
    rest = (np.array(values) - np.mean(values)) / count
    sizes = np.full(count, 1 / count)
    assert clusters.seen(rest, sizes) == pytest.approx(count / (count - 1) * (rest**2).sum())
    assert clusters.freedom(sizes) == pytest.approx(max(1, count - 1))


def test_the_correlation_within_clusters_is_that_of_the_analysis_of_variance() -> None:
    """Equal clusters of three: F is (1 + 2 rho) / (1 - rho), and the mean is worth n / (1 + 2 rho) items."""
    groups = [[0.1, 0.3, 0.2], [0.8, 0.9, 0.4], [0.5, 0.6, 0.9], [0.2, 0.1, 0.6]]
    f = f_oneway(*groups).statistic
    rho = (f - 1) / (f + 2)
    values = np.array(groups).ravel()
    rest = values - values.mean()
    found = clusters.alike(rest, np.repeat(np.arange(4.0), 3), (0.0, 0.0), 0.0)
    assert found == pytest.approx(values.var() / (12 / (1 + 2 * rho) - 1))


@pytest.mark.parametrize("freedom", [1.0, 1.2, 1.5, 1.9, 2.5, 3.1, 7.7, 29.5, 700.4])
def test_students_quantile_between_whole_degrees_of_freedom(freedom: float) -> None:
    """Never narrower than it should be, and 3 % wider at most."""
    assert 1 - 1e-7 <= t95(freedom) / student.ppf(0.975, freedom) < (1.03 if freedom < 2 else 1.006)


# Two models --------------------------------------------------------------------------------------


def difference(first: Sequence[Scored], second: Sequence[Scored], shape: Shape = PLAIN) -> Difference:
    return differences(first, second, shape)[0]


def test_one_discordant_item_each_way_is_added_not_a_cluster() -> None:
    """Twenty clusters of five, of which the second model has one item more wrong in every other."""
    sizes = [5] * 20
    first = np.ones(100)
    second = np.where(np.arange(100) % 10 == 0, 0.0, 1.0)
    of = difference(clustered(first, sizes), clustered(second, sizes))
    parts = np.array([*[1.0, 0.0] * 10, 1.0, -1.0]) / 102
    weights = np.array([*[5.0] * 20, 1.0, 1.0]) / 102
    rest = parts - parts.sum() * weights
    stderr = math.sqrt((rest**2 / (1 - weights)).sum())
    # Wider than the clusters show, since they show less than as many independent items would.
    assert of.estimate.stderr is not None and stderr <= of.estimate.stderr < 1.3 * stderr
    assert of.p_value is not None and of.p_value < 0.01
    assert of.estimate.low is not None and of.estimate.low > 0  # it used to end at -0.09


def test_two_models_in_clusters_that_never_disagree_are_not_surely_equal() -> None:
    rows = clustered(np.arange(60) % 3 > 0, [5] * 12)
    e = difference(rows, rows).estimate
    assert e.low is not None and e.high is not None and e.low < -0.03 and e.high > 0.03


@settings(deadline=None, max_examples=30)
@given(
    st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), min_size=4, max_size=30),
    st.sampled_from([0.01, 1.0, 100.0]),
    st.sampled_from([0.0, 1.0, -3.0]),
    st.booleans(),
)
def test_the_unit_of_graded_scores_changes_no_verdict(
    pairs: list[tuple[int, int]], scale: float, shift: float, grouped: bool
) -> None:
    """Scores times 0.01, or all a point higher: the same test, the same verdict, figures in the new unit."""
    assume(
        any(0 < score < 20 for pair in pairs for score in pair)
    )  # else they are rights and wrongs: McNemar's
    sizes = [2] * (len(pairs) // 2) + [1] * (len(pairs) % 2) if grouped else [1] * len(pairs)

    def compared(of: float, more: float) -> Difference:
        sides = [clustered([of * p[side] / 20 + more for p in pairs], sizes) for side in (0, 1)]
        return compare([(run("a"), sides[0]), (run("b"), sides[1])], GRADED)[0].whole

    plain, other = compared(1.0, 0.0), compared(scale, scale * shift)
    assert other.verdict == plain.verdict and other.p_value == pytest.approx(plain.p_value, abs=1e-9)
    assert other.margin == pytest.approx(scale * plain.margin)
    if plain.estimate.low is None:
        assert other.estimate.low is None and other.estimate.reason == plain.estimate.reason
    else:
        ends = [other.estimate.low, other.estimate.high]
        assert ends == pytest.approx(
            [scale * plain.estimate.low, scale * (plain.estimate.high or 0)], abs=1e-9 * scale
        )


def test_differences_that_are_equal_but_for_rounding_are_equal() -> None:
    """0.95 - 1.0 is not quite 0.0 - 0.05: what clusters show of such a spread is nothing, not all there could be."""

    def interval(more: float) -> tuple[float | None, float | None]:
        pairs = [(0, 1), (0, 1), (0, 1), (0, 1), (19, 20)]
        sides = [clustered([p[side] / 20 + more for p in pairs], [2, 2, 1]) for side in (0, 1)]
        e = compare([(run("a"), sides[0]), (run("b"), sides[1])], GRADED)[0].whole.estimate
        return e.low, e.high

    assert interval(0.0) == pytest.approx(interval(1.0))


def test_the_margin_is_in_the_metrics_units() -> None:
    """Half a point of a hundred is practically nothing, of one it is half of all there is."""
    base = [float(k % 101) for k in range(400)]
    sides = [
        (run("a"), scored(base)),
        (run("b"), scored([value + 0.25 * (-1) ** k for k, value in enumerate(base)])),
    ]
    (usual,), (narrow,) = compare(sides, GRADED), compare(sides, GRADED, margin=0.01)
    assert (usual.margin, usual.verdict) == (pytest.approx(1.005), "practically equal")
    assert (narrow.margin, narrow.verdict) == (0.01, "no difference shown")


def test_scores_of_one_value_show_no_range_and_so_no_interval() -> None:
    rows = scored([50.0] * 20)
    of = difference(rows, rows, GRADED)
    assert (of.estimate.value, of.estimate.low, of.detectable) == (0.0, None, None)
    assert of.estimate.reason == "all scores of both runs are the same number"
    assert of.verdict == "no difference shown"


def test_few_items_of_great_weight_are_worth_few() -> None:
    """Three items that are half of the headline, on which both agree: the 200 others do not make it sure."""
    shape = Shape("Suite", {"l": TaskShape("L", full_size=100), "s": TaskShape("S", full_size=100)})
    large = [scored([float(k % 5 > 0) for k in range(200)], prefix="l", task="l") for _ in range(2)]
    small = scored([1.0, 0.0, 1.0], prefix="s", task="s")
    e = difference(large[0] + small, large[1] + small, shape).estimate
    assert e.low is not None and e.high is not None and e.low < -0.2 and e.high > 0.2
    assert e.method == "Student's t of the weighted paired differences"


@pytest.mark.parametrize("scale", [1.0, 100.0])
def test_grades_that_crowd_at_an_end_cover_whatever_their_scale(scale: float) -> None:
    """On a scale of 0 to 100 Student's t alone covered 88 % of 20 grades of which four in five are full."""
    random = np.random.default_rng(2)
    values = [
        scale * np.where(random.random(20) < 0.8, 1.0, random.beta(0.5, 1.0, size=20)) for _ in range(400)
    ]
    found = [estimate(scored(list(each)), GRADED) for each in values]
    true = scale * (0.8 + 0.2 / 3)
    held = sum(e.low is None or e.low <= true <= (e.high or 0.0) for e in found)
    assert held / 400 > 0.92
