"""Intervals and standard errors of a share, against published figures, scipy and exact coverage."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.stats import sem
from scipy.stats import t as student

from compared import row
from proctor.findings import Estimate
from proctor.stats.estimates import Shape, TaskShape, scores
from proctor.stats.intervals import share_stderr, t95, wilson


@pytest.mark.parametrize(
    ("right", "n", "low", "high"),
    [
        (17, 20, 0.6396, 0.9476),
        (20, 20, 0.8389, 1.0),
        (850, 1000, 0.8265, 0.8708),
        (0, 56, 0.0, 0.0642),
        (46, 56, 0.7016, 0.9000),
    ],
)
def test_wilson_literals(right: int, n: int, low: float, high: float) -> None:
    assert wilson(right / n, n) == (pytest.approx(low, abs=5e-5), pytest.approx(high, abs=5e-5))


@settings(deadline=None)
@given(st.integers(1, 100_000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_is_scipys(counts: tuple[int, int]) -> None:
    right, n = counts
    theirs = stats.binomtest(right, n).proportion_ci(method="wilson")
    low, high = wilson(right / n, n)
    assert (low, high) == (pytest.approx(theirs.low, abs=1e-12), pytest.approx(theirs.high, abs=1e-12))
    assert 0 <= low <= right / n <= high <= 1


@pytest.mark.parametrize("n", [20, 56, 200])
def test_wilson_covers_95_percent_on_average(n: int) -> None:
    """Exact: the probability of each count under the true share, summed where the interval holds it."""
    intervals = [wilson(k / n, n) for k in range(n + 1)]
    truths = [i / 100 for i in range(2, 99)]
    coverage = [
        sum(stats.binom.pmf(k, n, p) for k, (low, high) in enumerate(intervals) if low <= p <= high)
        for p in truths
    ]
    assert sum(coverage) / len(coverage) == pytest.approx(0.95, abs=0.01)
    assert min(coverage) > 0.83


@pytest.mark.parametrize(
    ("share", "n", "stderr"),
    [(0.823, 1043, 0.0118), (0.945, 872, 0.0077), (0.678, 277, 0.0281), (0.512, 71, 0.0597)],
)
def test_stderr_literals(share: float, n: int, stderr: float) -> None:
    assert share_stderr(share, n) == pytest.approx(stderr, abs=5e-5)


@settings(deadline=None)
@given(st.lists(st.sampled_from([0.0, 1.0]), min_size=2, max_size=300))
def test_stderr_is_that_of_the_sample(scores: list[float]) -> None:
    assert share_stderr(sum(scores) / len(scores), len(scores)) == pytest.approx(stats.sem(scores), abs=1e-12)


def test_a_single_item_has_no_stderr() -> None:
    assert share_stderr(1.0, 1) is None


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 9, 30, 99, 500, 501, 1272, 100_000])
def test_students_quantile_is_scipys(freedom: int) -> None:
    assert t95(freedom) == pytest.approx(student.ppf(0.975, freedom), rel=1e-7)


def graded(values: Sequence[float], clusters: Sequence[str] | None = None) -> Estimate:
    rows = [row(f"q/{i}", value, cluster=clusters[i] if clusters else None) for i, value in enumerate(values)]
    spec = TaskShape("Graded", official=("mean",), kind="graded")
    return scores(rows, Shape("", {"q": spec}))[0].estimate


def test_the_interval_of_graded_scores_is_students() -> None:
    values = [12.0, 80.5, 33.0, 41.0, 95.0, 60.0]
    e = graded(values)
    low, high = student.interval(0.95, 5, loc=np.mean(values), scale=sem(values))
    assert (e.low, e.high) == pytest.approx((low, high)) and e.stderr == pytest.approx(sem(values))
    assert e.method.startswith("Student's t or Wilson between") and e.value == pytest.approx(np.mean(values))


@pytest.mark.parametrize("scale", [1.0, 100.0])
def test_clusters_of_graded_scores_are_what_counts(scale: float) -> None:
    values = [scale * value for value in (0.2, 0.4, 0.9, 0.7, 0.1, 0.3)]
    pairs = graded(values, ["a", "a", "b", "b", "c", "c"])
    means = scale * np.array([0.3, 0.8, 0.2])
    stderr = np.sqrt(3 / 2 * ((means - means.mean()) ** 2).sum()) / 3
    assert pairs.stderr == pytest.approx(stderr) and pairs.method.startswith("Student's t over clusters")
    high = means.mean() + student.ppf(0.975, 2) * stderr
    assert pairs.high == pytest.approx(min(1.0, high) if scale == 1 else high)
    alone = graded(values, list("abcdef"))
    assert (alone.low, alone.high) == (graded(values).low, graded(values).high)


def test_in_the_middle_scores_between_0_and_1_have_students_interval() -> None:
    values = [0.52, 0.48, 0.55, 0.41, 0.6, 0.47, 0.5, 0.44]
    e = graded(values)
    assert (e.low, e.high) == pytest.approx(
        student.interval(0.95, 7, loc=np.mean(values), scale=sem(values)), abs=1e-3
    )
    assert e.method == "Student's t or Wilson on the effective n, the wider of both"


def test_graded_scores_near_an_end_reach_further_from_it() -> None:
    """One poor answer of forty: t alone, which knows no skew, would end higher."""
    values = [1.0] * 39 + [0.4]
    e = graded(values)
    low, _ = student.interval(0.95, 39, loc=np.mean(values), scale=sem(values))
    assert e.low is not None and e.low < low - 0.01 and e.high == 1.0


def test_graded_scores_that_never_differ_do_not_pretend_to_be_sure() -> None:
    e = graded([1.0] * 20)
    assert e.value == 1 and e.low is not None and e.low < 0.9
    far = graded([50.0] * 20)
    assert (
        far.value == 50
        and far.low is None
        and far.reason == ("no score differs from another, so their spread cannot be seen")
    )


def test_a_real_log_of_another_tool_has_its_standard_error() -> None:
    e = graded([1.0] * 7 + [0.0] * 3)
    assert (e.value, e.stderr) == (pytest.approx(0.7), pytest.approx(0.152753, abs=1e-6))
