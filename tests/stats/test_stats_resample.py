"""Draws: repeatable, independent by task, as wide as theory says, and covering what they promise."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from proctor.stats import metrics, resample
from proctor.stats.estimates_task import added


def test_a_task_draws_the_same_whatever_else_was_drawn() -> None:
    once, other, again = (resample.beta(resample.stream(key), 0.8, 50) for key in ("cola", "rte", "cola"))
    assert once.tolist() == again.tolist() and len(once) == resample.DRAWS
    assert abs(np.corrcoef(once, other)[0, 1]) < 0.1


def test_beta_draws_have_the_quantiles_of_jeffreys() -> None:
    drawn = resample.beta(np.random.default_rng(1), 17 / 20, 20)
    theory = stats.beta(17.5, 3.5)
    assert stats.kstest(drawn, theory.cdf).pvalue > 0.01


def test_each_cell_of_a_drawn_table_is_a_share_with_its_own_beta() -> None:
    table = np.array([[3.0, 1.0, 0.0], [2.0, 6.0, 0.0]])
    drawn = resample.dirichlet(np.random.default_rng(1), table, added(table))
    shares = drawn / drawn.sum(axis=(1, 2), keepdims=True)
    assert drawn.shape == (resample.DRAWS, 2, 3) and not drawn[:, :, 2].any()
    assert stats.kstest(shares[:, 1, 1], stats.beta(6.5, 14 - 6.5).cdf).pvalue > 0.01


def mean_of(score: metrics.Array) -> resample.Figure:
    return lambda weights, right, wrong: (weights @ score + right) / (weights.sum(axis=-1) + right + wrong)


def test_the_bootstrap_of_a_mean_is_as_wide_as_its_standard_error() -> None:
    score = np.random.default_rng(2).random(400)
    (drawn,) = resample.bootstrap(resample.stream("t"), [mean_of(score)], np.arange(400.0), np.ones(400))
    assert len(drawn) == resample.DRAWS
    assert drawn.std() == pytest.approx(stats.sem(score), rel=0.06)
    assert drawn.mean() == pytest.approx(score.mean(), abs=0.002)


def test_clusters_are_drawn_whole() -> None:
    """Ten copies of each item are worth the items, not the copies."""
    score = np.repeat(np.random.default_rng(3).random(60), 10)
    unit = np.repeat(np.arange(60.0), 10)
    alone, whole = (
        resample.bootstrap(resample.stream("t"), [mean_of(score)], by, np.ones(600))[0].std()
        for by in (np.arange(600.0), unit)
    )
    assert whole / alone == pytest.approx(10**0.5, rel=0.1)


def test_figures_of_one_exam_are_drawn_together() -> None:
    score = np.random.default_rng(4).random(50)
    same = resample.bootstrap(
        resample.stream("t"), [mean_of(score), mean_of(1 - score)], np.arange(50.0), np.ones(50)
    )
    # What one exam wins in the first it loses in the second, but for the added units.
    assert np.corrcoef(same[0], same[1])[0, 1] < -0.8


def test_draws_in_chunks_are_as_many_as_promised() -> None:
    n = resample.CHUNK // 300  # 300 draws at a time: the last chunk is smaller
    (drawn,) = resample.bootstrap(
        resample.stream("t"), [mean_of(np.ones(n))], np.arange(float(n)), np.ones(n)
    )
    assert drawn.shape == (resample.DRAWS,)


def test_an_exam_without_a_mistake_has_an_interval() -> None:
    """About 3.8 / n wide, as Wilson's is."""
    (drawn,) = resample.bootstrap(resample.stream("t"), [mean_of(np.ones(80))], np.arange(80.0), np.ones(80))
    stderr, low, high = resample.spread(drawn, 1.0)
    assert stderr > 0 and high == 1.0 and 1 - 4.5 / 80 < low < 1 - 1.5 / 80


def test_an_interval_holds_its_value() -> None:
    assert resample.spread(np.linspace(0, 1, 101), 1.5)[1:] == (pytest.approx(0.025), 1.5)
    assert resample.spread(np.linspace(0, 1, 101), -0.5)[1:] == (-0.5, pytest.approx(0.975))


def test_unrelated_pairs_are_as_wide_as_fishers_interval() -> None:
    drawn = resample.unrelated(resample.stream("t"), 103)
    assert np.quantile(drawn, 0.975) == pytest.approx(np.tanh(1.96 / 10), abs=0.02)


def chances(right: float, priors: list[float]) -> metrics.Array:
    """The true table: each label right with the same chance, its mistakes spread evenly."""
    k = len(priors)
    shares = np.full((k, k), (1 - right) / (k - 1))
    np.fill_diagonal(shares, right)
    return np.hstack([shares * np.array(priors)[:, None], np.zeros((k, 1))])


SMALL_OR_EXTREME = [
    (0.98, [0.5, 0.5], 56),
    (0.95, [0.5, 0.5], 20),
    (0.99, [0.3, 0.7], 100),
    (0.80, [0.5, 0.5], 277),
    (0.98, [0.4, 0.5, 0.1], 56),
    (0.95, [0.4, 0.5, 0.1], 20),
    (0.80, [0.4, 0.5, 0.1], 56),
    (0.75, [0.55, 0.34, 0.11], 500),
]


@pytest.mark.slow
@pytest.mark.parametrize("metric", [metrics.mcc, metrics.macro_f1])
@pytest.mark.parametrize(("right", "priors", "n"), SMALL_OR_EXTREME)
def test_intervals_from_the_table_cover(
    metric: Callable[[metrics.Array], metrics.Array], right: float, priors: list[float], n: int
) -> None:
    """400 exams: at least 90 % of the intervals hold the truth, and none has no width."""
    random = np.random.default_rng(7)
    truth = chances(right, priors)
    covered = 0
    for _ in range(400):
        seen = random.multinomial(n, truth.ravel()).reshape(truth.shape).astype(float)
        drawn = metric(resample.dirichlet(random, seen, added(seen)))
        _, low, high = resample.spread(drawn, float(metric(seen)))
        assert high - low > 0.01
        covered += low <= float(metric(truth)) <= high
    assert covered / 400 >= 0.9
